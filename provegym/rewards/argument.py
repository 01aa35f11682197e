"""Argument: how many argument values of the matched calls are right (paper section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from provegym.rewards.equality import MISSING, SCALARS, equal
from provegym.rewards.pointer import replace, resolve, tokens
from provegym.types import Call, GroundCall, Ref


def argument(
    truth: Sequence[GroundCall], calls: Sequence[Call], mu: Mapping[str, int], over: int
) -> float:
    """Sum over matched pairs of the share of equal values, divided by `over`; 0 with no pair."""
    shares = 0.0
    for ground in truth:
        at = mu.get(ground.id)
        if at is not None:
            wanted = expected(ground, calls, mu) if ground.refs else ground.arguments
            made = calls[at].arguments
            shares += count_equal(wanted, made) / len(wanted) if wanted else 1.0
    return shares / over if shares else 0.0


def count_equal(wanted: Mapping[str, Any], made: Mapping[str, Any]) -> int:
    """How many of the wanted arguments `made` holds with an equal value."""
    count = 0
    for key, value in wanted.items():
        other, kind = made[key], type(value)
        if kind is type(other) and kind in SCALARS and value == other:
            count += 1  # the usual case, without the cost of a call
        elif equal(value, other):
            count += 1
    return count


def expected(ground: GroundCall, calls: Sequence[Call], mu: Mapping[str, int]) -> Mapping[str, Any]:
    """The values that the call matched to `ground` should hold.

    They are the recorded ones, with each referenced place replaced in a copy by the value found
    in the policy's own run: ids made during an episode may differ from the teacher's.
    """
    values = ground.arguments.copy()
    for pointer, ref in ground.refs.items():
        path, found = tokens(pointer), referred(ground, ref, calls, mu)
        if found is not MISSING and path and path[0] in values:
            values[path[0]] = replace(values[path[0]], path[1:], found)
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
