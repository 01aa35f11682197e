"""Is training still sound? Told from the rows of `curves.jsonl` alone, so a resumed run agrees.

Collapses of GRPO on tools look alike: the reward falls and stays down, calls vanish, or the policy
writes at random (reports at verl #1581 and #4818, ToolRL #10).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from math import isfinite, sqrt
from statistics import fmean
from typing import Any

Rows = Sequence[Mapping[str, Any]]

WINDOW = 5
"""Steps that are judged together (ours: single steps of few groups are noisy)."""
FALLEN = 0.5
"""The reward has collapsed below this share of the best window's..."""
BY_CHANCE = 5.0
"""... if it fell by more standard errors than this: a step of few groups earns more or less by the
tasks that it drew..."""
LONGER = (WINDOW, 2 * WINDOW, 4 * WINDOW)
"""... in windows of one of these lengths: where steps differ much, a fall needs more of them."""
SILENT = 0.98
"""Share of episodes without a call from which calls count as vanished..."""
TALKED = 0.7
"""... where the first window was below this one."""
WILD = 2.0
"""Nats a token; an entropy above it, and above three times the first window's, is noise."""


def collapse(rows: Rows) -> str:
    """What is wrong in the last window, in a few words; empty where nothing is."""
    if rows and not all(_sound(rows[-1].get(key)) for key in ("loss", "grad_norm", "kl")):
        return "a loss, gradient or KL that is no number"
    if len(rows) < 2 * WINDOW:
        return ""
    for window in LONGER:
        if fall := _fall(rows, window):
            return fall
    first, last = rows[:WINDOW], rows[-WINDOW:]
    if _mean(last, "abstention") >= SILENT and _mean(first, "abstention") < TALKED:
        return "the policy makes no call any more"
    if _mean(last, "entropy") > max(WILD, 3 * _mean(first, "entropy")):
        return f"the entropy rose to {_mean(last, 'entropy'):.2f} nats a token"
    return ""


def is_best(rows: Rows) -> bool:
    """Whether the last window earned more than any before it, and nothing is wrong in it."""
    found = _rewards(rows)
    return bool(found) and found[-1] > max(found[:-1], default=-1.0) and not collapse(rows)


def earned(rows: Rows) -> float:
    """The mean reward of the last window."""
    return _mean(rows[-WINDOW:], "reward")


def _fall(rows: Rows, window: int) -> str:
    """What the last window earned less than the best one, where that is a collapse."""
    means = _rewards(rows, window)
    if len(means) <= window:
        return ""
    best, last = max(means), means[-1]
    if best > 0 and last < FALLEN * best and best - last > BY_CHANCE * _noise(rows, window):
        return f"the reward fell to {last:.3f} from {best:.3f}"
    return ""


def _noise(rows: Rows, window: int) -> float:
    """The standard error of the difference of two windows, from how much neighbouring steps differ,
    so that a slow rise or fall is no noise (von Neumann's mean square successive difference).
    """
    steps = pairwise(_rewards(rows, 1))
    return sqrt(fmean((b - a) ** 2 for a, b in steps) / window)


def _rewards(rows: Rows, window: int = WINDOW) -> list[float]:
    """The mean reward of each whole window of steps in which anything was scored."""
    known = (float(row["reward"]) for row in rows if row.get("reward") is not None)
    sums = list(accumulate(known, initial=0.0))
    return [(end - start) / window for start, end in zip(sums, sums[window:], strict=False)]


def _mean(rows: Rows, key: str) -> float:
    known = [float(row[key]) for row in rows if row.get(key) is not None]
    return fmean(known) if known else 0.0


def _sound(value: Any) -> bool:
    return value is None or isfinite(value)
