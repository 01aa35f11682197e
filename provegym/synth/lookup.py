"""Look-ups: which read tools show an entity, and what one can search for a row by."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from random import Random

from provegym.graph.entities import consumed, produced, slots_of
from provegym.world.fields import Field, fields_of
from provegym.world.server import Server
from provegym.world.table import Row
from provegym.world.tool import Tool

FILTERED = 0.5
"""How often a look-up for one row alone is filtered by a value that this row holds."""


@lru_cache(maxsize=4096)
def readers(server: Server, entity: str) -> tuple[Tool, ...]:
    """Read tools whose results show ids of the entity."""
    tools = server.tools.values()
    return tuple(
        t for t in tools if t.effect == "read" and any(e == entity for e, _ in produced(t))
    )


@lru_cache(maxsize=4096)
def lookers(server: Server, entity: str) -> tuple[tuple[Tool, str], ...]:
    """Read tools that need one id of the entity and nothing else, with that parameter."""
    return tuple(
        (t, name)
        for t in server.tools.values()
        for e, name in consumed(t)
        if t.effect == "read" and e == entity and t.required == {name}
    )


@lru_cache(maxsize=4096)
def alternatives(server: Server, tool: Tool) -> frozenset[str]:
    """Other read tools that need no id and show an entity that this one shows."""
    return frozenset(
        other.name
        for entity, _ in produced(tool)
        for other in readers(server, entity)
        if other is not tool and not ids_needed(other)
    )


def ids_needed(tool: Tool) -> int:
    """How many ids a call must give."""
    return sum(name in tool.required for _, name in consumed(tool))


def demands(tool: Tool) -> int:
    """How many arguments a call must give."""
    return len(tool.required)


def owners(tool: Tool, row: Row) -> dict[str, str]:
    """The tool's parameters that take an id which the row holds, with that id."""
    known = _traits(row)
    return {name: known[entity] for entity, name in consumed(tool) if entity in known}


def filters(tool: Tool, rows: Sequence[Row], rnd: Random) -> dict[str, str]:
    """Optional arguments by which a look-up may show the last of the rows, about half of those
    that there are; the rows before it are what it is to lead to.

    A filter takes what the row holds under its name or format; one with choices may take any, for
    a state may be shown that no row holds.
    """
    known = _traits(rows[-1])
    found = {p.name: known[n] for p in tool.parameters for n in _known_as(p) if n in known}
    odd = [p for p in tool.parameters if p.choices and rnd.random() < FILTERED]
    found |= {p.name: rnd.choice(p.choices) for p in odd}
    found |= owners(tool, rows[-1])
    said = [word for row in rows for word in words(row)]
    found |= {"query": rnd.choice(said)} if said else {}
    return {name: v for name, v in found.items() if rnd.random() < FILTERED}


def words(row: Row) -> list[str]:
    """What people call the row by: the texts that its label is made of."""
    known = _traits(row)
    return [known[slot] for slot in slots_of(row.label) if slot in known]


def _traits(row: Row) -> dict[str, str]:
    """What a row holds by the names of its fields, by the tables that it refers to and by format:
    its first date, as "date" and perhaps as "instant".
    """
    texts = [(f, getattr(row, f.name)) for f in fields_of(type(row)) if f.name != "id"]
    found: dict[str, str] = {}
    for f, text in texts:
        if isinstance(text, str) and text:
            found |= {f.name: text, f.ref: text} if f.ref else {f.name: text}
            if f.format and f.format.name in ("instant", "date") and "date" not in found:
                found |= {f.format.name: text, "date": text[:10]}
    return found


def _known_as(p: Field) -> tuple[str, ...]:
    """What a filter's value may be known under, the best last."""
    return (p.format.name, p.name) if p.format else (p.name,)
