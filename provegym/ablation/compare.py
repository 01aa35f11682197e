"""Is a cell different from another one? Paired over tasks and seeds, both drawn anew.

Each value has a seed and a task, and both are a sample: other weights to start from, other tasks.
So both are resampled, crossed: a bootstrap replicate draws seeds and tasks with replacement and
takes the mean over all pairs of them (Owen 2007, "The pigeonhole bootstrap", arXiv 0712.1111).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from provegym.evals.comparison import ALPHA, holm
from provegym.evals.stats import LEVEL, NOTHING, RESAMPLES, Estimate

BySeed = Mapping[int, Mapping[str, float]]
"""A metric by seed and task."""
EDGE = 0.02
"""A share this near to 0 or 1 in both cells is at its floor or ceiling: it tells nothing."""


class Difference(Struct, frozen=True):
    """A cell minus another one, paired; `n` of the estimate counts the tasks."""

    gain: Estimate
    seeds: int
    p: float
    """Two-sided, of "no difference": how much of the bootstrap lies on the other side of 0."""
    holm: float = 1.0
    """The same, corrected for all differences that are tested of a policy."""
    at_edge: str = ""
    """"floor" or "ceiling" where both cells are there."""

    @property
    def testable(self) -> bool:
        """Whether it could tell the cells apart."""
        return bool(self.gain.n) and not self.at_edge

    @property
    def differs(self) -> bool:
        """Whether the difference holds after correction."""
        return self.testable and self.holm <= ALPHA


def mean(cell: BySeed) -> Estimate:
    """The mean over seeds and tasks, with its interval."""
    return _estimate(_matrix([cell])[0])[0]


def difference(base: BySeed, cell: BySeed, *, share: bool) -> Difference:
    """`cell` minus `base` over the seeds and tasks that both have. A `share` may be at an edge."""
    seeds = sorted(base.keys() & cell.keys())
    first, second = _matrix([{s: base[s] for s in seeds}, {s: cell[s] for s in seeds}])
    gain, p = _estimate(second - first)
    means = [float(side.mean()) if side.size else float("nan") for side in (first, second)]
    return Difference(gain, len(seeds), p, at_edge=_edge(means) if share else "")


def corrected(found: Mapping[str, Difference]) -> dict[str, Difference]:
    """The same with p-values corrected by Holm over all that can be tested."""
    p = holm({name: d.p for name, d in found.items() if d.testable})
    return {
        name: Difference(d.gain, d.seeds, d.p, p.get(name, 1.0), d.at_edge)
        for name, d in found.items()
    }


def _edge(means: Sequence[float]) -> str:
    if max(means) <= EDGE:
        return "floor"
    return "ceiling" if min(means) >= 1 - EDGE else ""


def _matrix(cells: Sequence[BySeed]) -> list[Any]:
    """Seeds by tasks for each cell, of the tasks that every seed of every cell has."""
    rows = [row for cell in cells for row in cell.values()]
    tasks = sorted(set.intersection(*map(set, rows))) if rows else []
    return [
        np.array([[cell[s][t] for t in tasks] for s in sorted(cell)], dtype=float) for cell in cells
    ]


def _estimate(values: Any) -> tuple[Estimate, float]:
    """The mean of a matrix with its interval, and the p-value of 0."""
    if not values.size:
        return NOTHING, 1.0
    generator = np.random.default_rng(0)
    seeds, tasks = values.shape
    by_seed = generator.multinomial(seeds, [1 / seeds] * seeds, RESAMPLES) / seeds
    by_task = generator.multinomial(tasks, [1 / tasks] * tasks, RESAMPLES) / tasks
    means = ((by_seed @ values) * by_task).sum(axis=1)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    sides = min((means <= 0).sum(), (means >= 0).sum()) + 1
    p = min(1.0, 2 * float(sides) / (RESAMPLES + 1))
    return Estimate(float(values.mean()), float(low), float(high), tasks), p
