"""What a planned comparison can see: the smallest true gain that it finds four times in five."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from msgspec import Struct
from scipy.stats import norm

from provegym.evals.stats import ByTask

POWER = 0.8
ALPHA = 0.05
NONE = "no gain at all"


class Spread(Struct, frozen=True):
    """Where a paired comparison's noise comes from, as variances of scores from 0 to 1."""

    within: float
    """Of one policy's trials of one task; p (1 - p) for success with the chance p."""
    gain: float
    """Of the true gain, from task to task."""


ASSUMED = Spread(within=1 / 6, gain=1 / 64)
"""Where nothing has been measured: chances of success spread evenly from 0 to 1 over the tasks,
and true gains with a standard deviation of 12.5 points."""


def detectable(tasks: int, trials: int, spread: Spread = ASSUMED) -> float:
    """The smallest true gain that a paired two-sided test at 5 % finds with a power of 80 %.

    `trials` are those of each task by each of both policies. From Miller 2024 (arXiv 2411.00640):
    the variance of a paired mean is (gain + 2 within / trials) / tasks.
    """
    quantiles = float(norm.ppf(1 - ALPHA / 2) + norm.ppf(POWER))
    return quantiles * sqrt((spread.gain + 2 * spread.within / trials) / tasks)


def spread(before: ByTask, after: ByTask) -> Spread | None:
    """The spread that two policies showed; None unless two tasks have two trials by each."""
    both = [t for t in before if len(before[t]) > 1 and len(after.get(t, ())) > 1]
    if len(both) < 2:
        return None
    sides = [[np.asarray(side[t], dtype=float) for t in both] for side in (before, after)]
    variances = [[float(trials.var(ddof=1)) for trials in side] for side in sides]
    noise = [
        float(np.mean([v / len(x) for v, x in zip(of_side, side, strict=True)]))
        for of_side, side in zip(variances, sides, strict=True)
    ]
    moved = [float(b.mean() - a.mean()) for a, b in zip(*sides, strict=True)]
    gain = float(np.var(moved, ddof=1)) - sum(noise)
    return Spread(within=float(np.mean(variances)), gain=max(gain, 0.0))


def alone(by_task: ByTask) -> Spread | None:
    """The spread to expect from what one policy showed, gains as assumed; None unless some task
    has two trials.
    """
    variances = [float(np.var(v, ddof=1)) for v in by_task.values() if len(v) > 1]
    return Spread(float(np.mean(variances)), ASSUMED.gain) if variances else None


def plan(tasks: int, trials: Sequence[int] = (1, 4), spread: Spread = ASSUMED) -> str:
    """Such as "with 1 trial you can see 8.1 points; with 4, 4.3"."""
    seen = [(count, _points(detectable(tasks, count, spread))) for count in trials]
    (first, points), *rest = seen
    told = f"with {first} trial{'s' * (first > 1)} you can see {points}"
    if points != NONE:
        told = f"{told} points"
    return "; ".join([told, *(f"with {count}, {points}" for count, points in rest)])


def _points(gain: float) -> str:
    """A score cannot move by more than a hundred points."""
    return f"{100 * gain:.1f}" if gain <= 1 else NONE
