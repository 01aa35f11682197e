"""Whether two policies differ: paired tests on the same tasks, corrected for how many are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from scipy.stats import binomtest, permutation_test

from provegym.evals.stats import BATCH, ByTask, Estimate, gains, over_tasks

RESAMPLES = 9_999
ALPHA = 0.05
"""A corrected p-value up to this is called a difference."""


class Comparison(Struct, frozen=True):
    """After minus before, with the p-value of "no difference", alone and corrected by Holm."""

    gain: Estimate
    p: float
    holm: float

    @property
    def differs(self) -> bool:
        """Whether the difference holds after correction."""
        return self.holm <= ALPHA


def compare(cells: Mapping[str, tuple[ByTask, ByTask]], seed: int = 0) -> dict[str, Comparison]:
    """Each cell's before and after, paired by task; cells without a common task are left out.

    A cell is a suite, a measure or an ablation: all of one call are corrected together.
    """
    found = {name: gains(*both) for name, both in cells.items()}
    found = {name: values for name, values in found.items() if values}
    alone = {name: paired_p(values, seed) for name, values in found.items()}
    corrected = holm(alone)
    return {
        name: Comparison(over_tasks(values, seed), alone[name], corrected[name])
        for name, values in found.items()
    }


def paired_p(values: Sequence[float], seed: int = 0) -> float:
    """Two-sided p-value of "gains are as often up as down", tasks being the units.

    Gains of one size, as with a single trial of success or failure, make it McNemar's exact test
    (1947). Otherwise signs are flipped: all ways for few tasks, else `RESAMPLES` of them.
    """
    moved = np.asarray([value for value in values if value], dtype=float)
    if not len(moved):
        return 1.0
    if np.allclose(abs(moved), abs(moved[0])):
        return float(binomtest(int((moved > 0).sum()), len(moved)).pvalue)
    found = permutation_test(
        (moved,),
        np.mean,
        permutation_type="samples",
        n_resamples=RESAMPLES,
        batch=max(BATCH // len(moved), 1),
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)


def holm(p: Mapping[str, float]) -> dict[str, float]:
    """P-values corrected so that one false find among all has the stated chance (Holm 1979)."""
    order = sorted(p, key=lambda name: p[name])
    raised = [p[name] * (len(order) - place) for place, name in enumerate(order)]
    corrected = np.minimum(np.maximum.accumulate(raised), 1.0).tolist() if raised else []
    by_name = dict(zip(order, corrected, strict=True))
    return {name: by_name[name] for name in p}
