"""mu: which call made stands for which ground-truth call.

The paper leaves the rule open. Here it is one-to-one between calls of the same tool, and a call
may stand for a ground-truth call only if it holds all of its argument keys. Within one tool the
assignment has the most matches, then the largest total of equal-value shares, then the earliest
positions, compared in ground-truth order with an unmatched call counting as infinity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import lcm

from provegym.rewards.argument import count_equal
from provegym.rewards.assignment import heaviest
from provegym.types import Call, GroundCall

UNMATCHABLE = frozenset({"malformed", "unknown_tool"})
"""Outcomes of calls that stand for nothing."""

Edges = dict[int, int]
"""Positions where one ground-truth call may match, in order, each with its equal arguments."""


def match(
    truth: Sequence[tuple[int, GroundCall]],
    calls: Sequence[Call],
    *,
    ok_only: bool = False,
    from_turn: bool = False,
) -> dict[str, int]:
    """The position of the matched call made, by ground-truth id; unmatched ids are absent.

    `truth` pairs each ground-truth call with its turn. With `ok_only` a match must have executed;
    with `from_turn` it must have been made in the ground-truth call's turn or later.
    """
    tools: dict[str, list[tuple[GroundCall, Edges]]] = {}
    for turn, ground in truth:
        edges = _edges(ground, calls, ok_only, turn if from_turn else None)
        if edges:
            tools.setdefault(ground.name, []).append((ground, edges))
    mu: dict[str, int] = {}
    for rows in tools.values():
        for (ground, _), position in zip(rows, _assign(rows), strict=True):
            if position is not None:
                mu[ground.id] = position
    return mu


def mismatch(ground: GroundCall, call: Call, ok_only: bool, turn: int | None) -> str:
    """Why `call` may not stand for `ground`; empty where it may."""
    if call.name != ground.name:
        return "another tool"
    if call.outcome in UNMATCHABLE:
        return f"the call is {call.outcome}"
    lacking = ground.arguments.keys() - call.arguments.keys()
    if lacking:
        return f"lacks {', '.join(sorted(lacking))}"
    if ok_only and call.outcome != "ok":
        return f"a match must be ok, not {call.outcome}"
    if turn is not None and call.turn < turn:
        return f"made in turn {call.turn}, needed from turn {turn} on"
    return ""


def _edges(ground: GroundCall, calls: Sequence[Call], ok_only: bool, turn: int | None) -> Edges:
    return {
        position: count_equal(ground.arguments, call.arguments)
        for position, call in enumerate(calls)
        if call.name == ground.name and not mismatch(ground, call, ok_only, turn)
    }


def _assign(rows: Sequence[tuple[GroundCall, Edges]]) -> list[int | None]:
    """Each row's own best position where no two rows want the same one, which is the usual case.

    That is optimal: no assignment can give any row more equal values, or as many earlier.
    """
    best = [max(edges, key=edges.__getitem__) for _, edges in rows]
    return list(best) if len(set(best)) == len(best) else _assign_contested(rows)


def _assign_contested(rows: Sequence[tuple[GroundCall, Edges]]) -> list[int | None]:
    """The three aims folded into one exact integer weight, most significant first.

    A row needs no more columns than there are rows: the others can take all its better ones but
    one. So the work does not grow with the number of times a policy repeats a call.
    """
    count = len(rows)
    kept = [sorted(edges, key=lambda p: (-edges[p], p))[:count] for _, edges in rows]
    columns = sorted({position for row in kept for position in row})
    sizes = [len(ground.arguments) for ground, _ in rows]
    unit, base = lcm(*[size or 1 for size in sizes]), len(columns) + 1
    weights: list[Mapping[int, int]] = []
    for index, ((_, edges), size) in enumerate(zip(rows, sizes, strict=True)):
        place = base ** (count - 1 - index)
        shares = {p: edges[p] * unit // size if size else unit for p in kept[index]}
        weights.append(
            {
                column: (count * unit + 1 + shares[p]) * base**count + (base - 1 - column) * place
                for column, p in enumerate(columns)
                if p in shares
            }
        )
    return [None if c is None else columns[c] for c in heaviest(weights, len(columns))]
