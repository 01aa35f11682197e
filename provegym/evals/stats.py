"""How sure a number is: Wilson intervals for shares, bootstrap over tasks for everything else.

Tasks, not episodes, are resampled: several trials of one task are not independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import comb, fsum, sqrt

import numpy as np
from msgspec import Struct
from scipy.stats import binomtest, bootstrap, norm, t

RESAMPLES = 10_000
LEVEL = 0.95
BATCH = 1 << 22
"""Numbers that are held at once while resampling."""

ByTask = Mapping[str, Sequence[float]]
"""The values of each task's trials."""


class Estimate(Struct, frozen=True):
    """A mean with the ends of its 95 % interval; `n` is the number of tasks behind it.

    `se` is the standard error of the mean, clustered by task; None where one task is all there is.
    """

    mean: float
    low: float
    high: float
    n: int
    se: float | None = None

    def __str__(self) -> str:
        return f"{self.mean:z.3f} [{self.low:z.3f}, {self.high:z.3f}]"


NOTHING = Estimate(float("nan"), float("nan"), float("nan"), 0)
"""The estimate of no tasks at all."""


def share(successes: int, of: int) -> Estimate:
    """A share of independent episodes with its Wilson score interval (Wilson 1927)."""
    if of == 0:
        return NOTHING
    interval = binomtest(successes, of).proportion_ci(LEVEL, method="wilson")
    rate = successes / of
    return Estimate(rate, float(interval.low), float(interval.high), of, _se_of_share(rate, of))


def _se_of_share(rate: float, of: int) -> float:
    return sqrt(rate * (1 - rate) / of)


def mean(by_task: ByTask, seed: int = 0) -> Estimate:
    """The mean over tasks of each task's mean, with a bootstrap interval over tasks."""
    return over_tasks([_mean(v) for v in by_task.values() if len(v)], seed)


def rate(by_task: ByTask, seed: int = 0) -> Estimate:
    """The same for values of 0 and 1: a Wilson interval where no task's trials differ.

    Tasks that all came out alike have a bootstrap interval of no width, which claims too much.
    """
    return _over_shares([_mean(v) for v in by_task.values() if len(v)], seed)


def _over_shares(values: Sequence[float], seed: int) -> Estimate:
    if all(value in (0, 1) for value in values):
        return share(round(sum(values)), len(values))
    return over_tasks(values, seed)


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def gains(before: ByTask, after: ByTask) -> list[float]:
    """`after` minus `before` for each task that both have, each the mean of its trials."""
    both = [task for task in before if len(before[task]) and len(after.get(task, ()))]
    return [_mean(after[t]) - _mean(before[t]) for t in both]


def paired_difference(before: ByTask, after: ByTask, seed: int = 0) -> Estimate:
    """`after` minus `before` over the tasks that both have, tasks resampled as pairs."""
    return over_tasks(gains(before, after), seed)


def pass_hat(by_task: ByTask, k: int, seed: int = 0) -> Estimate:
    """pass^k: the chance that k trials of a task all succeed, over the tasks with k trials or more.

    Of n trials with c successes it is C(c, k) / C(n, k) (Yao et al. 2024, arXiv 2406.12045).
    """
    tried = [values for values in by_task.values() if len(values) >= k]
    chances = [comb(round(sum(values)), k) / comb(len(values), k) for values in tried]
    return _over_shares(chances, seed)


def pass_hats(by_task: ByTask, seed: int = 0) -> dict[int, Estimate]:
    """pass^k for each k up to the number of trials that every task has."""
    trials = min((len(values) for values in by_task.values()), default=0)
    return {k: pass_hat(by_task, k, seed) for k in range(1, trials + 1)}


def over_tasks(values: Sequence[float], seed: int = 0) -> Estimate:
    """The mean of one value a task, with an expanded percentile bootstrap interval.

    The plain percentile interval is too narrow for few tasks; the expanded one has the width of a
    t interval where values are normal (Hesterberg 2015, arXiv 1411.5279, section 5.3). Of a single
    task the interval has no width, for nothing is known of the others.
    """
    if not len(values):
        return NOTHING
    data = np.asarray(values, dtype=float)
    middle = float(data.mean())
    if len(data) == 1:
        return Estimate(middle, middle, middle, 1)
    found = bootstrap(
        (data,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=max(BATCH // len(data), 1),
        confidence_level=_expanded(len(data)),
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    se = float(data.std(ddof=1)) / sqrt(len(data))
    return Estimate(middle, float(found.low), float(found.high), len(data), se)


@lru_cache
def _expanded(n: int) -> float:
    """The level at which a percentile interval of n values covers `LEVEL`."""
    tail = norm.cdf(-sqrt(n / (n - 1)) * t.ppf((1 + LEVEL) / 2, n - 1))
    return 1 - 2 * float(tail)
