"""Is training still sound? Told from the rows of `curves.jsonl` alone, so a resumed run agrees.

Collapses of GRPO on tools look alike: the reward falls and stays down, calls vanish, or the policy
writes at random (reports at verl #1581 and #4818, ToolRL #10).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from statistics import fmean
from typing import Any

Rows = Sequence[Mapping[str, Any]]

WINDOW = 5
"""Steps that are judged together (ours: single steps of few groups are noisy)."""
FALLEN = 0.5
"""The reward has collapsed below this share of the best window's."""
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
    first, last = rows[:WINDOW], rows[-WINDOW:]
    rewards, best = _mean(last, "reward"), max(_rewards(rows))
    if best > 0 and rewards < FALLEN * best:
        return f"the reward fell to {rewards:.3f} from {best:.3f}"
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


def _rewards(rows: Rows) -> list[float]:
    """The mean reward of each whole window, a window a step."""
    ends = range(WINDOW, len(rows) + 1)
    return [_mean(rows[end - WINDOW : end], "reward") for end in ends]


def _mean(rows: Rows, key: str) -> float:
    known = [float(row[key]) for row in rows if row.get(key) is not None]
    return fmean(known) if known else 0.0


def _sound(value: Any) -> bool:
    return value is None or isfinite(value)
