"""One tool, all about it: schema, phrases, two calls made on a live world, and its edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from provegym.errors import UnknownName
from provegym.graph.edges import Edge, explicit_edges, implicit_edges
from provegym.graph.entities import label_of, noun
from provegym.seeding import rng
from provegym.servers import world
from provegym.synth import say
from provegym.types import Outcome
from provegym.world.sample import arguments
from provegym.world.server import Server
from provegym.world.session import Session
from provegym.world.tool import Tool

DRAWS = 200
"""Calls that are tried in one state to find one that is accepted, or one that is refused."""
PROOFS = (3, 6)
"""Worlds, and calls of each write in each, by which implicit edges are sought."""


class Example(Struct, frozen=True):
    """A call that was made on the world of seed 0, and what came of it."""

    arguments: dict[str, Any]
    outcome: Outcome
    code: str
    """Of the refusal; empty where the call was accepted."""
    result: Any
    again: bool = False
    """Whether the accepted call was made before it; else the world was untouched."""


class Shown(Struct, frozen=True):
    """All about one tool; what a model is told of it is `schema`."""

    server: str
    name: str
    description: str
    effect: str
    parameters: str
    """Names with commas between, optional ones in brackets."""
    schema: Any
    refuses: tuple[str, ...]
    phrases: tuple[str, ...]
    """Ways a person asks for the accepted call; with open slots where no call was accepted."""
    accepted: Example | None
    """None where none of `DRAWS` calls was; so for `refused`."""
    refused: Example | None
    before: tuple[Edge, ...]
    """Edges of the server's dependency graph that lead to the tool."""
    after: tuple[Edge, ...]
    """Edges that lead from it."""


def shown(server: Server, name: str) -> Shown:
    """All about the tool of that name. Raises UnknownName, which lists the server's tools.

    Implicit edges are sought with few calls of this tool's pairs alone, so the whole graph
    (`provegym graph`) may hold others.
    """
    if name not in server.tools:
        raise UnknownName("tool", name, list(server.tools))
    tool = server.tools[name]
    session = world(0, (server.name,)).open()
    accepted = _first(tool, server, session, lambda e: e.outcome == "ok")
    refused = _refused(tool, server, session, accepted)
    said = _said(tool, session, accepted.arguments) if accepted else {}
    edges = list(edges_of(server, name))
    return Shown(
        server=server.name,
        name=name,
        description=tool.description,
        effect=tool.effect,
        parameters=tool.usage,
        schema=tool.schema,
        refuses=tool.refuses,
        phrases=say.phrases(tool, said) if accepted else tool.phrases,
        accepted=accepted,
        refused=refused,
        before=tuple(edge for edge in edges if edge.target == name),
        after=tuple(edge for edge in edges if edge.source == name),
    )


def edges_of(server: Server, name: str) -> Iterator[Edge]:
    """The explicit edges that begin or end at a tool, and such implicit ones as `PROOFS` finds."""
    explicit = list(explicit_edges(server))
    yield from (edge for edge in explicit if name in (edge.source, edge.target))
    elsewhere = {(a, b) for a in server.tools for b in server.tools if name not in (a, b)}
    known = elsewhere | {(edge.source, edge.target) for edge in explicit}
    worlds, tries = PROOFS
    yield from implicit_edges(server, known, 0, worlds, tries)


def _first(
    tool: Tool, server: Server, session: Session, fits: Callable[[Example], bool]
) -> Example | None:
    """The first that fits of calls drawn for the session as it is."""
    rnd = rng(0, "show", tool.name)
    for _ in range(DRAWS):
        given = arguments(tool, session.state(server.name), rnd)
        made = _made(tool, session, given)
        if fits(made):
            return made
    return None


def _made(tool: Tool, session: Session, given: dict[str, Any]) -> Example:
    """What comes of a call in the session's state, which stays as it is."""
    result = session.fork().call(tool.name, given)
    value = result.builtins()
    code = "" if result.outcome == "ok" else str(value["error"]["code"])
    return Example(given, result.outcome, code, value)


def _refused(
    tool: Tool, server: Server, session: Session, accepted: Example | None
) -> Example | None:
    """A call with a declared refusal; if the untouched world has none, after the accepted call."""
    found = _first(tool, server, session, lambda e: e.code in tool.refuses)
    if found or not accepted or not tool.refuses:
        return found
    after = session.fork()
    after.call(tool.name, accepted.arguments)
    found = _made(tool, after, accepted.arguments)
    if found.code not in tool.refuses:
        found = _first(tool, server, after, lambda e: e.code in tool.refuses)
    return replace(found, again=True) if found else None


def _said(tool: Tool, session: Session, given: dict[str, Any]) -> dict[str, str]:
    """How a person says each argument: rows by their labels, all else as a plain value."""
    found = {}
    for p in tool.parameters:
        if p.name in given:
            ref = p.ref or (p.item.ref if p.item else None)
            value = given[p.name]
            ids = value if isinstance(value, list) else [value]
            words = [_label(ref, i, session) for i in ids] if ref else []
            found[p.name] = " and ".join(words) if words else say.value(tool, p.name, value)
    return found


def _label(entity: str, row_id: str, session: Session) -> str:
    """The row's label from its own fields, or what such rows are called; the id of what has no
    name, or is not there.
    """
    template = session.world.templates.get(entity)
    row = template.rows.get(row_id) if template else None
    if template is None or row is None or not template.row.label:
        return row_id
    return label_of(template.row.label, msgspec.to_builtins(row)) or f"that {noun(entity)}"
