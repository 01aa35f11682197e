"""Coverage: the share of needed calls made, each after those it depends on (paper section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from provegym.types import GroundCall


def coverage(truth: Sequence[GroundCall], mu: Mapping[str, int]) -> float:
    """Share of `truth` that is matched with every dependency matched earlier in the sequence.

    `mu` gives the position of each matched call by its id; see `provegym.rewards.matching`.
    """
    return sum([in_order(ground, mu) for ground in truth]) / len(truth)


def in_order(ground: GroundCall, mu: Mapping[str, int]) -> bool:
    """Whether `ground` is matched, and each call it comes after is matched at an earlier place."""
    at = mu.get(ground.id)
    if at is None:
        return False
    for other in ground.after:  # noqa: SIM110 - a generator takes twice the time
        if mu.get(other, at) >= at:
            return False
    return True
