"""The contract's check of ranges: one that ends before it begins is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any

from provegym.seeding import rng
from provegym.world.contract.judged import Judged
from provegym.world.fields import DATE, INSTANT, MONEY, Field
from provegym.world.sample import arguments, value
from provegym.world.server import Server, State
from provegym.world.tool import Tool
from provegym.world.world import World

ENDS = {
    "since": "until",
    "from": "until",
    "start": "end",
    "starts": "ends",
    "in": "out",
    "min": "max",
}
"""Words in the names of a range's lower end, each with what the upper end has in its place."""
DRAWS = 20


def ranges(server: Server, worlds: list[World]) -> Judged:
    """Call every tool that takes a range with the two ends of one exchanged."""
    wrong, found = [], 0
    for t in server.tools.values():
        for low, high in pairs(t):
            found += 1
            rnd = rng(0, "ranges", t.name, low.name)
            taken = [_accepted(t, low, high, world, rnd) for world in worlds * DRAWS]
            wrong += [f"{t.name} takes {given}" for given in taken if given][:1]
    return wrong, f"{found} ranges, none of them taken in reverse"


def pairs(tool: Tool) -> Iterator[tuple[Field, Field]]:
    """The parameters that are a lower and an upper end. Times of day go on past midnight."""
    known = {p.name: p for p in tool.parameters}
    for p in tool.parameters:
        for word, other in ENDS.items():
            q = known.get(re.sub(rf"(?<![a-z]){word}(?![a-z])", other, p.name))
            if q and q is not p and _kind(q) == _kind(p) is not None:
                yield p, q


def _kind(p: Field) -> Any:
    """What orders the values; None where nothing does."""
    if p.type in (int, float):
        return float
    return p.format if p.format in (DATE, INSTANT, MONEY) else None


def _accepted(
    tool: Tool, low: Field, high: Field, world: World, rnd: Random
) -> dict[str, Any] | None:
    """The arguments of a call with a reversed range, if it is taken."""
    session = world.open()
    given = arguments(tool, session.state(world.tools[tool.name].place), rnd)
    lower, upper = _two(low, session.state(world.tools[tool.name].place), rnd)
    given |= {low.name: upper, high.name: lower}
    return given if session.call(tool.name, given).outcome == "ok" else None


def _two(p: Field, state: State, rnd: Random) -> list[Any]:
    """Two values of a parameter, the lower one first."""
    key = float if _kind(p) in (float, MONEY) else str
    drawn = {value(p, state, rnd) for _ in range(8)}
    return [min(drawn, key=key), max(drawn, key=key)]
