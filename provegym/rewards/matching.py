"""mu: which call made stands for which ground-truth call.

The paper leaves the rule open. Here it is one-to-one between calls of the same tool, and a call
may stand for a ground-truth call only if it holds all of its argument keys. Within one tool the
assignment has the most matches, then the largest total of equal-value shares, then the earliest
positions, compared in ground-truth order with an unmatched call counting as infinity.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from typing import Final

from provegym.rewards.argument import count_equal
from provegym.rewards.assignment import heaviest
from provegym.types import Call, GroundCall

MATCHABLE: Final = frozenset({"ok", "tool_error", "invalid_arguments"})
"""Outcomes of calls that may stand for something."""
_OK: Final = frozenset({"ok"})

Row = tuple[GroundCall, list[int]]
"""A ground-truth call and the positions, in order, where it may match."""


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

    Each row's own best position is optimal where no two rows want the same one, which is the
    usual case: no assignment can give any row more equal values, or as many earlier.
    """
    fit = _OK if ok_only else MATCHABLE
    made: dict[str, list[int]] = {}
    for position, call in enumerate(calls):
        if call.outcome in fit and type(call.arguments) is dict:
            made.setdefault(call.name, []).append(position)
    rows: list[Row] = []
    mu: dict[str, int] = {}
    for turn, ground in truth:
        keys, earliest = ground.arguments.keys(), turn if from_turn else 0
        open_to = []
        for position in made.get(ground.name, ()):
            call = calls[position]
            if call.turn >= earliest and keys <= call.arguments.keys():
                open_to.append(position)
        if open_to:
            rows.append((ground, open_to))
            mu[ground.id] = open_to[0] if len(open_to) == 1 else _best(ground, open_to, calls)
    return mu if len(set(mu.values())) == len(mu) else _contested(rows, calls)


def is_matchable(call: Call) -> bool:
    """Whether `call` may stand for anything: its tool was offered and it holds an object."""
    return call.outcome in MATCHABLE and type(call.arguments) is dict


def _best(ground: GroundCall, open_to: Sequence[int], calls: Sequence[Call]) -> int:
    """The earliest of the positions with the most equal arguments."""
    wanted = ground.arguments
    best, most = open_to[0], -1
    for position in open_to:
        count = count_equal(wanted, calls[position].arguments)
        if count > most:
            best, most = position, count
            if count == len(wanted):
                break
    return best


def _contested(rows: Sequence[Row], calls: Sequence[Call]) -> dict[str, int]:
    """The best positions where rows want the same one, tool by tool."""
    tools: dict[str, list[Row]] = {}
    for row in rows:
        tools.setdefault(row[0].name, []).append(row)
    return {id_: p for tool in tools.values() for id_, p in _heaviest(tool, calls).items()}


def _heaviest(rows: Sequence[Row], calls: Sequence[Call]) -> dict[str, int]:
    """The best positions of the rows of one tool.

    The three aims are folded into one exact integer weight, most significant first. A row needs
    no more columns than there are rows, since the others can take all its better ones but one;
    so the work does not grow with the number of times a policy repeats a call.
    """
    count = len(rows)
    shares, unit = _shares(rows, calls)
    kept = [sorted(row, key=lambda p: (-row[p], p))[:count] for row in shares]
    columns = sorted({position for row in kept for position in row})
    base = len(columns) + 1
    weights: list[dict[int, int]] = []
    for index, row in enumerate(shares):
        place = base ** (count - 1 - index)
        weights.append(
            {
                column: (count * unit + 1 + row[p]) * base**count + (base - 1 - column) * place
                for column, p in enumerate(columns)
                if p in kept[index]
            }
        )
    assigned = heaviest(weights, len(columns))
    return {ground.id: columns[c] for (ground, _), c in zip(rows, assigned, strict=True) if c >= 0}


def _shares(rows: Sequence[Row], calls: Sequence[Call]) -> tuple[list[dict[int, int]], int]:
    """Each row's equal-value shares by position, in whole parts of the `unit` given with them."""
    unit = lcm(*[len(ground.arguments) or 1 for ground, _ in rows])
    shares = []
    for ground, open_to in rows:
        part = unit // (len(ground.arguments) or 1)
        if ground.arguments:
            found = [count_equal(ground.arguments, calls[p].arguments) * part for p in open_to]
        else:
            found = [unit] * len(open_to)
        shares.append(dict(zip(open_to, found, strict=True)))
    return shares, unit
