"""Bridges: edges from a tool of one server to a tool of another, proved by running.

A bridge carries a value that both servers know by a fact of their world: the source shows it and
the target takes it (a look-up finds something by it). What carries no fact is no bridge, though a
plan may still put, say, one server's amount into another's call.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from provegym.graph.edges import Edge
from provegym.graph.entities import consumed
from provegym.graph.leaves import taken
from provegym.seeding import rng
from provegym.world.facts import Fact, known
from provegym.world.fields import DATE, EMAIL, INSTANT, MONEY, TEXT
from provegym.world.sample import arguments
from provegym.world.server import Server
from provegym.world.session import Session
from provegym.world.tool import Tool
from provegym.world.world import World

TRIES = 4
"""Calls of a tool that are tried for one fact in one world."""
_FORMATS = (EMAIL, MONEY, INSTANT, DATE)
"""How values are written that a parameter of the same format takes; all others are text."""


def bridges(servers: list[Server], seed: int, worlds: int) -> list[Edge]:
    """One edge for each pair of tools on two servers that some fact of the first worlds joins."""
    found: dict[tuple[str, str], Edge] = {}
    for number in range(seed, seed + worlds):
        session = World(number, servers).open()
        for fact in known(session.world):
            for edge in _of(fact, session):
                found.setdefault((edge.source, edge.target), edge)
    return list(found.values())


def _of(fact: Fact, session: Session) -> Iterator[Edge]:
    rnd = rng(session.world.seed, "bridge", fact.name)
    takers = list(_takers(fact, session, rnd))
    for place in fact.places:
        server = session.world.servers[place[0].split(".")[0]]
        for tool in server.tools.values():
            shown = _showing(tool, fact, place, session, rnd) if tool.effect == "read" else None
            if shown is None:
                continue
            for target, call, parameter in takers:
                if session.world.tools[target].place != server.name:
                    evidence = {
                        "fact": fact.name,
                        "seed": session.world.seed,
                        "first": {"name": tool.name, "arguments": shown[0]},
                        "path": shown[1],
                        "then": {"name": target, "arguments": call},
                        "parameter": parameter,
                    }
                    yield Edge(tool.name, target, "bridge", evidence, ("execution",))


def _showing(
    tool: Tool, fact: Fact, place: tuple[str, str], session: Session, rnd: Random
) -> tuple[dict[str, Any], str] | None:
    """Arguments with which the tool shows the fact's value, and the JSON Pointer to it."""
    table, field = place
    rows = [r for r in session.world.templates[table].rows.values() if _tells(r, field, fact)]
    asked = [p.name for p in tool.parameters if p.type is str and _is_text(p)]
    for row in rows[:TRIES]:
        given = arguments(tool, session.state(table.split(".")[0]), rnd)
        given |= {name: row.id for entity, name in consumed(tool) if entity == table}
        for extra in ({}, *({name: fact.value} for name in asked)):
            result = session.call(tool.name, {**given, **extra})
            path = _pointer(result.builtins(), fact.value) if result.outcome == "ok" else None
            if path:
                return {**given, **extra}, path
    return None


def _tells(row: Any, field: str, fact: Fact) -> bool:
    value = getattr(row, field)
    return value == fact.value or not isinstance(value, str) or fact.value in value


def _pointer(value: Any, wanted: str, path: str = "") -> str | None:
    """Where in a JSON value the text stands."""
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        found = (_pointer(item, wanted, f"{path}/{key}") for key, item in inner)
        return next((at for at in found if at), None)
    return path if value == wanted else None


def _takers(fact: Fact, session: Session, rnd: Random) -> Iterator[tuple[str, dict[str, Any], str]]:
    """(tool, arguments, parameter) of calls on the fact's servers that take its value."""
    for name in fact.servers:
        for tool in session.world.servers[name].tools.values():
            for parameter, value in _given(tool, fact.value):
                call = _accepted(tool, parameter, value, fact, session, rnd)
                if call is not None:
                    yield tool.name, call, parameter


def _given(tool: Tool, value: str) -> Iterator[tuple[str, Any]]:
    """Parameters that could take the value, each with what to give."""
    kind = next((form.name for form in _FORMATS if form.accepts(value)), None)
    for p in tool.parameters:
        takes = (kind, p.name) in taken(tool) if kind else p.type is str and _is_text(p)
        if takes and (kind or tool.effect == "read"):
            yield p.name, [value] if p.item else value


def _is_text(p: Any) -> bool:
    return not p.ref and not p.choices and (p.format is None or p.format is TEXT)


def _accepted(
    tool: Tool, parameter: str, value: Any, fact: Fact, session: Session, rnd: Random
) -> dict[str, Any] | None:
    """A call that takes the value; by a look-up something must be found that shows it."""
    for _ in range(TRIES):
        fork = session.fork()
        drawn = arguments(tool, fork.state(session.world.tools[tool.name].place), rnd)
        call = {n: v for n, v in drawn.items() if n in tool.required} | {parameter: value}
        result = fork.call(tool.name, call)
        finds = tool.effect == "write" or fact.value.encode() in result.json()
        if result.outcome == "ok" and finds:
            return call
    return None
