"""Seeded random walks over a server: plausible calls, and calls that ought to be refused.

A walk draws on what has happened in its session: it repeats calls, and takes arguments over from
earlier ones, which is how most refusals come about (freezing a frozen card, moving into itself).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from random import Random
from typing import Any

from msgspec import Struct

from provegym.seeding import rng
from provegym.world.fields import Field, fields_of
from provegym.world.sample import arguments, value
from provegym.world.server import Server, State
from provegym.world.session import Result, Session
from provegym.world.tool import Tool
from provegym.world.world import World

Goal = tuple[str, str]
"""A tool and what should happen to it: "ok" or the code of a refusal."""

GOAL_RATE = 0.5
"""How often a tool with open goals is chosen before the others."""
REPEAT_RATE = 0.1
"""How often a write is called twice in a row with the same arguments."""
PLAIN_RATE = 0.55
"""How often arguments are left as the tool's sampler made them."""
MEMORY = 32
"""Earlier values kept for each parameter name."""


class Step(Struct, frozen=True):
    """One call of a walk; `plain` if its arguments are the tool's own sample."""

    tool: Tool
    arguments: dict[str, Any]
    plain: bool
    result: Result

    @property
    def code(self) -> str:
        """The code of the error, "ok" without one."""
        ok = self.result.outcome == "ok"
        return "ok" if ok else str(self.result.value["error"]["code"])


def goals(server: Server) -> set[Goal]:
    """Each tool's success and each of its declared refusals."""
    tools = server.tools.values()
    return {(t.name, code) for t in tools for code in ("ok", *t.refuses)}


class Walk:
    """A generator of calls for one session. It remembers what it has tried."""

    def __init__(self, server: Server, session: Session, rnd: Random) -> None:
        self.session = session
        self._tools = list(server.tools.values())
        self._state: State = session.state(server.name)
        self._rnd = rnd
        self._seen: defaultdict[str, list[Any]] = defaultdict(list)
        self._last: tuple[Tool, dict[str, Any]] | None = None
        self._like = _places(server)

    def propose(self, wanted: set[Goal]) -> tuple[Tool, dict[str, Any], bool]:
        """A tool, arguments that fit its schema, and whether they are its plain sample."""
        rnd = self._rnd
        if self._last and self._last[0].effect == "write" and rnd.random() < REPEAT_RATE:
            return (*self._last, False)
        tool = self._choose(wanted)
        given = arguments(tool, self._state, rnd)
        plain = rnd.random() < PLAIN_RATE or not tool.parameters
        if not plain:
            given = self._altered(tool, given)
        self._remember(tool, given)
        return tool, given, plain

    def steps(self, count: int, wanted: set[Goal] | None = None) -> Iterator[Step]:
        """Make `count` calls."""
        for _ in range(count):
            tool, given, plain = self.propose(wanted or set())
            yield Step(tool, given, plain, self.session.call(tool.name, given))

    def _choose(self, wanted: set[Goal]) -> Tool:
        if wanted and self._rnd.random() < GOAL_RATE:
            names = {name for name, _ in wanted}
            return self._rnd.choice([t for t in self._tools if t.name in names])
        return self._rnd.choice(self._tools)

    def _altered(self, tool: Tool, given: dict[str, Any]) -> dict[str, Any]:
        """The sample with one or more values from earlier calls or straight from the types."""
        rnd = self._rnd
        for p in rnd.sample(tool.parameters, min(len(tool.parameters), rnd.choice((1, 1, 2)))):
            source = rnd.choice((self._earlier, self._written, self._from_a_row))
            other = source(p)
            given[p.name] = value(p, self._state, rnd) if other is None else other
        return given

    def _earlier(self, p: Field) -> Any:
        """What an earlier call gave for a parameter of that name."""
        kept = self._seen[p.name]
        return self._rnd.choice(kept) if kept else None

    def _written(self, p: Field) -> Any:
        """The id of a row that this session wrote to, the latest ones most often."""
        own = list(self._state.table_of(p.ref).own) if p.ref else []
        return own[-1 - int(self._rnd.random() ** 2 * len(own))] if own else None

    def _from_a_row(self, p: Field) -> Any:
        """What some row holds in a field of that name."""
        place = self._rnd.choice(self._like[p.name]) if self._like[p.name] else None
        row_id = place and self._state.table_of(place[0]).any_id(self._rnd)
        row = self._state.table_of(place[0]).get(row_id) if place and row_id else None
        return getattr(row, place[1]) or None if place and row else None

    def _remember(self, tool: Tool, given: dict[str, Any]) -> None:
        self._last = (tool, given)
        types = {p.name: p.type for p in tool.parameters}
        for name, item in given.items():
            kept = self._seen[name]
            if types[name] is str and len(kept) < MEMORY:
                kept.append(item)
            elif types[name] is str:
                kept[self._rnd.randrange(MEMORY)] = item


@lru_cache(maxsize=256)
def _places(server: Server) -> dict[str, list[tuple[str, str]]]:
    """For each parameter of text, the (table, field) of text that is called like it."""
    columns = [
        (f"{server.name}.{name}", f.name)
        for name, table in server.state.tables().items()
        for f in fields_of(table.row)
        if f.type is str
    ]
    parameters = {p.name: p for t in server.tools.values() for p in t.parameters}
    return {
        name: [c for c in columns if p.type is str and not p.ref and _alike(name, c[1])]
        for name, p in parameters.items()
    }


def _alike(one: str, other: str) -> bool:
    """As "iban" and "payee_iban" are, "id" and "paid" are not."""
    return f"_{one}".endswith(f"_{other}") or f"_{other}".endswith(f"_{one}")


def trail(server: Server, seeds: range, calls: int) -> list[str]:
    """What must be the same in every process: each world's digest, and that after a walk."""
    found = []
    for seed in seeds:
        world = World(seed, [server])
        session = world.open()
        results = [s.result.json() for s in Walk(server, session, rng(seed, "trail")).steps(calls)]
        found += [world.digest, session.digest(), str(len(b"".join(results)))]
    return found
