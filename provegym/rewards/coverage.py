"""Coverage: the share of needed calls made, each after those it depends on (paper section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from provegym.types import GroundCall


def coverage(truth: Sequence[GroundCall], mu: Mapping[str, int]) -> float:
    """Share of `truth` that is matched with every dependency matched earlier in the sequence.

    `mu` gives the position of each matched call by its id; see `provegym.rewards.matching`.
    """
    covered = 0
    for ground in truth:
        at = mu.get(ground.id)
        if at is None:
            continue
        for other in ground.after:
            if mu.get(other, at) >= at:
                break
        else:
            covered += 1
    return covered / len(truth)
