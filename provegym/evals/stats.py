"""How sure a number is: Wilson intervals for shares, bootstrap over tasks for everything else.

Tasks, not episodes, are resampled: several trials of one task are not independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from scipy.stats import binomtest

RESAMPLES = 10_000
LEVEL = 0.95


class Estimate(Struct, frozen=True):
    """A mean with the ends of its 95 % interval; `n` is the number of tasks behind it."""

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


NOTHING = Estimate(float("nan"), float("nan"), float("nan"), 0)
"""The estimate of no tasks at all."""


def share(successes: int, of: int) -> Estimate:
    """A share of independent episodes with its Wilson score interval."""
    if of == 0:
        return NOTHING
    interval = binomtest(successes, of).proportion_ci(LEVEL, method="wilson")
    return Estimate(successes / of, float(interval.low), float(interval.high), of)


def mean(by_task: Mapping[str, Sequence[float]], seed: int = 0) -> Estimate:
    """The mean over tasks of each task's mean, with a percentile bootstrap interval."""
    return _bootstrap([float(np.mean(v)) for v in by_task.values() if len(v)], seed)


def paired_difference(
    before: Mapping[str, Sequence[float]], after: Mapping[str, Sequence[float]], seed: int = 0
) -> Estimate:
    """`after` minus `before` over the tasks that both have, tasks resampled as pairs."""
    both = [task for task in before if len(before[task]) and len(after.get(task, ()))]
    gains = [float(np.mean(after[t])) - float(np.mean(before[t])) for t in both]
    return _bootstrap(gains, seed)


def _bootstrap(values: Sequence[float], seed: int) -> Estimate:
    if not values:
        return NOTHING
    data = np.asarray(values, dtype=float)
    generator = np.random.default_rng(seed)
    picks = generator.integers(0, len(data), size=(RESAMPLES, len(data)))
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(data[picks].mean(axis=1), [tail, 1 - tail])
    return Estimate(float(data.mean()), float(low), float(high), len(data))
