"""Argument: how many argument values of the matched calls are right (paper section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from provegym.rewards.equality import MISSING, equal
from provegym.rewards.pointer import replace, resolve, tokens
from provegym.types import Call, GroundCall, Ref


def argument(
    truth: Sequence[GroundCall], calls: Sequence[Call], mu: Mapping[str, int], over: int
) -> float:
    """Sum over matched pairs of the share of equal values, divided by `over`; 0 with no pair."""
    if not mu:
        return 0.0
    shares = [
        equal_share(expected(ground, calls, mu), calls[mu[ground.id]].arguments)
        for ground in truth
        if ground.id in mu
    ]
    return sum(shares) / over


def equal_share(wanted: Mapping[str, Any], made: Mapping[str, Any]) -> float:
    """The share of the wanted arguments that `made` holds with an equal value; 1 of none."""
    return count_equal(wanted, made) / len(wanted) if wanted else 1.0


def count_equal(wanted: Mapping[str, Any], made: Mapping[str, Any]) -> int:
    """How many of the wanted arguments `made` holds with an equal value."""
    return sum([equal(value, made[key]) for key, value in wanted.items()])


def expected(ground: GroundCall, calls: Sequence[Call], mu: Mapping[str, int]) -> Mapping[str, Any]:
    """The values that the call matched to `ground` should hold.

    They are the recorded ones, with each referenced place replaced in a copy by the value found
    in the policy's own run: ids made during an episode may differ from the teacher's.
    """
    values = ground.arguments
    for pointer in ground.refs:
        path = tokens(pointer)
        found = referred(ground, ground.refs[pointer], calls, mu)
        if path and path[0] in values and found is not MISSING:
            key, *inner = path
            values = {**values, key: replace(values[key], inner, found)}
    return values


def referred(ground: GroundCall, ref: Ref, calls: Sequence[Call], mu: Mapping[str, int]) -> object:
    """What `ref` finds in the result of the policy's own matched call.

    `MISSING` where that call was not made, not before `ground`'s, or not executed, and where its
    result lacks the path; the recorded value counts then.
    """
    at = mu.get(ref.call)
    if at is None or at >= mu[ground.id] or calls[at].outcome != "ok":
        return MISSING
    return resolve(calls[at].result, ref.path)
