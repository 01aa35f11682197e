"""The edges of the dependency graph: explicit ones from types, implicit ones proved by running.

explicit   the result of A holds an id that a parameter of B takes
implicit   B is refused on a fresh world and accepted after A (the pair of calls is the proof)
bridge     A and B are on different servers, and B takes a value that A shows (see `bridges`)
none       neither was found; counted, so that the ledger covers every ordered pair
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from provegym.graph.entities import consumed, consumed_within, produced
from provegym.seeding import rng
from provegym.world.sample import arguments
from provegym.world.server import Server
from provegym.world.session import Session
from provegym.world.tool import Tool
from provegym.world.world import World, content_hash

EdgeKind = Literal["explicit", "implicit", "bridge"]
Choice = Literal["executed", "llm", "union"]
"""Whose edges within servers a graph has: those that types and execution show, those that a
language model names, or both."""


class Edge(Struct, frozen=True):
    """`source` before `target`, and why: a typed id, two calls that show it, a model's reason."""

    source: str
    target: str
    kind: EdgeKind
    evidence: dict[str, Any]
    by: tuple[str, ...] = ()
    """Who found it: "types", "execution", or the model as "llm:NAME"."""


class Graph(Struct, frozen=True):
    """All edges over some servers, with the ledger of pairs and the hash of the schemas."""

    servers: tuple[str, ...]
    tools: tuple[str, ...]
    edges: tuple[Edge, ...]
    pairs: dict[str, int]
    """How many ordered pairs within a server are explicit, implicit, none; and how many pairs
    across servers are bridges."""
    schema_hash: str
    owners: dict[str, str] = {}
    """The server of each tool."""
    choice: Choice = "executed"
    model: str = ""
    """The language model that was asked, if any."""
    asked: str = ""
    """Hash of what it was asked and how; see `Said`."""

    @property
    def alone(self) -> tuple[str, ...]:
        """The tools without an edge, which are in no chain of two or more."""
        joined = {name for edge in self.edges for name in (edge.source, edge.target)}
        return tuple(name for name in self.tools if name not in joined)


def why_alone(tool: Tool) -> str:
    """Why a tool has no edge, in words."""
    takes = ", ".join(sorted({entity for entity, _ in consumed(tool)}))
    shows = ", ".join(sorted({entity for entity, _ in produced(tool)}))
    if not takes and not shows:
        return "takes no id and shows none"
    return f"no other tool shows {takes or 'what it takes'} or takes {shows or 'what it shows'}"


def schema_hash(servers: list[Server]) -> str:
    """Identity of the tools' schemas and results and of the first world, where edges are sought:
    the graph is cached under it.
    """
    worlds = [content_hash(s, 0) for s in servers]
    parts = [
        [t.name, t.effect, msgspec.to_builtins(t.schema), produced(t), consumed(t), t.refuses]
        for s in servers
        for t in s.tools.values()
    ]
    return hashlib.sha256(msgspec.json.encode([worlds, parts], order="sorted")).hexdigest()


def explicit_edges(server: Server) -> Iterator[Edge]:
    """Edges by typed reference, each with the path and the parameter it joins. Tools of servers
    outside may take their ids within records.
    """
    for source in server.tools.values():
        paths = dict(reversed(produced(source)))
        for target in server.tools.values():
            within = consumed_within(target) if server.outside else ()
            joined = [(e, p) for e, p in (*consumed(target), *within) if e in paths]
            if source is not target and joined:
                entity, parameter = joined[0]
                evidence = {"entity": entity, "path": paths[entity], "parameter": parameter}
                yield Edge(source.name, target.name, "explicit", evidence, ("types",))


def implicit_edges(
    server: Server, known: set[tuple[str, str]], seed: int, worlds: int, tries: int
) -> list[Edge]:
    """Edges by execution: for each write A, calls on the same entities that only work after A."""
    found: dict[tuple[str, str], Edge] = {}
    writes = [t for t in server.tools.values() if t.effect == "write"]
    for w in range(worlds):
        start = World(seed + w, [server]).open()
        for source in writes:
            for k in range(tries):
                rnd = rng(seed, "implicit", source.name, w, k)
                first = arguments(source, start.state(server.name), rnd)
                after = start.fork()
                if after.call(source.name, first).outcome != "ok":
                    continue
                for target in server.tools.values():
                    pair = (source.name, target.name)
                    if source is target or pair in known or pair in found:
                        continue
                    second = {
                        **arguments(target, start.state(server.name), rnd),
                        **shared_arguments(source, first, target),
                    }
                    edge = _proof(start, after, source, first, target, second, seed + w)
                    if edge:
                        found[pair] = edge
    return list(found.values())


def shared_arguments(source: Tool, first: dict[str, Any], target: Tool) -> dict[str, Any]:
    """Values of A's arguments that B takes too: the same entity, or the same-named value."""
    by_entity = {e: first[p] for e, p in consumed(source) if p in first}
    names = {p.name for p in target.parameters}
    same = {name: value for name, value in first.items() if name in names}
    return {**same, **{p: by_entity[e] for e, p in consumed(target) if e in by_entity}}


def _proof(
    start: Session,
    after: Session,
    source: Tool,
    first: dict[str, Any],
    target: Tool,
    second: dict[str, Any],
    seed: int,
) -> Edge | None:
    before = start.fork().call(target.name, second)
    if before.outcome != "tool_error" or after.fork().call(target.name, second).outcome != "ok":
        return None
    evidence = {
        "seed": seed,
        "first": {"name": source.name, "arguments": first},
        "then": {"name": target.name, "arguments": second},
        "refused_before": before.builtins()["error"]["code"],
    }
    return Edge(source.name, target.name, "implicit", evidence, ("execution",))
