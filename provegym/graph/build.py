"""The dependency graph of some servers, with a ledger of all its pairs of tools."""

from __future__ import annotations

from provegym.graph.bridges import bridges
from provegym.graph.edges import Edge, Graph, explicit_edges, implicit_edges, schema_hash
from provegym.world.server import Server

OUTSIDE = 1, 2
"""Worlds and tries for a server outside: its worlds are alike, and a write there may cost a process
of its own."""
BRIDGED_WORLDS = 2
"""Worlds that bridges are sought in; their stories differ."""


def build(servers: list[Server], seed: int = 0, worlds: int = 6, tries: int = 6) -> Graph:
    """Find the edges within each server and the bridges between them.

    `worlds` x `tries` bounds the search by execution.
    """
    edges: list[Edge] = []
    for server in servers:
        explicit = list(explicit_edges(server))
        known = {(e.source, e.target) for e in explicit}
        edges += explicit
        bounds = OUTSIDE if server.outside else (worlds, tries)
        edges += implicit_edges(server, known, seed, *bounds)
    joined = bridges(servers, seed, BRIDGED_WORLDS) if len(servers) > 1 else []
    tools = tuple(name for s in servers for name in s.tools)
    total = sum(len(s.tools) * (len(s.tools) - 1) for s in servers)
    counts = {k: sum(e.kind == k for e in edges) for k in ("explicit", "implicit")}
    pairs = {**counts, "none": total - sum(counts.values()), "bridge": len(joined)}
    names = tuple(s.name for s in servers)
    owners = {name: s.name for s in servers for name in s.tools}
    return Graph(names, tools, (*edges, *joined), pairs, schema_hash(servers), owners)
