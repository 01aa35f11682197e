"""What a language model said of the pairs within servers, beside what types and execution show.

In the paper the graph is the model's word alone (section 3.2, step 1). Here it can take the place
of the edges that types and execution show, or be added to them. Bridges between servers are
proved in any case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import permutations
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from provegym.graph.edges import Choice, Edge, Graph

RELATIONS = ("explicit", "implicit", "none")
UNCLASSIFIED = "unclassified"

Pair = tuple[str, str]
"""Two tools of one server: the first before the second."""
Cells = Counter[tuple[str, str]]
"""Pairs by the relation shown and the one named."""


class Said(Struct, frozen=True):
    """A model's word on every pair within some servers, in both directions."""

    model: str
    asked: str
    """Hash of what shapes the answers besides the tools: the model, its settings, the question."""
    edges: tuple[Edge, ...]
    unclassified: tuple[Pair, ...] = ()
    """Pairs that no valid answer came for."""


class Matrix(Struct, frozen=True):
    """How often each relation that types and execution show met each that the model named."""

    pairs: int
    counts: dict[str, dict[str, int]]
    """By the relation shown (rows), then by the one named (columns)."""
    agreement: float | None
    """Share of the classified pairs on which both agree; None of none."""
    kappa: float | None
    """The same beyond chance (Cohen 1960): 1 is full agreement, 0 that of chance; None where both
    know but one and the same relation, or nothing is classified."""


class Disagreement(Struct, frozen=True):
    """A pair on which the two differ, with what speaks for either."""

    server: str
    source: str
    target: str
    shown: str
    named: str
    evidence: dict[str, Any]
    """The typed path or the two calls that show the edge; empty where none was found."""
    why: str
    """The model's reason; empty where it names no edge."""


class Agreement(Struct, frozen=True):
    """The model's word beside what types and execution show."""

    model: str
    asked: str
    schema_hash: str
    total: Matrix
    servers: dict[str, Matrix]
    disagreements: tuple[Disagreement, ...]
    unclassified: tuple[Pair, ...]


def chosen(executed: Graph, said: Said, choice: Choice) -> Graph:
    """The graph with the edges of that choice. In a union an edge that both have is one edge, and
    where they differ in kind the shown one stands.
    """
    bridges = tuple(e for e in executed.edges if e.kind == "bridge")
    shown, named = _by_pair(executed.edges), _by_pair(said.edges)
    if choice == "llm":
        edges = tuple(named.values())
    elif choice == "union":
        both = (_joined(edge, named.get(pair)) for pair, edge in shown.items())
        edges = (*both, *(edge for pair, edge in named.items() if pair not in shown))
    else:
        return executed
    return replace(
        executed,
        edges=(*edges, *bridges),
        pairs=_ledger(executed, edges, said),
        choice=choice,
        model=said.model,
        asked=said.asked,
    )


def agreement(executed: Graph, said: Said) -> Agreement:
    """Compare the two on every ordered pair within a server."""
    shown, named = _by_pair(executed.edges), _by_pair(said.edges)
    unclassified = set(said.unclassified)
    cells: dict[str, Cells] = {name: Counter() for name in executed.servers}
    differing = []
    for server in executed.servers:
        tools = [name for name in executed.tools if executed.owners[name] == server]
        for pair in permutations(tools, 2):
            row = _relation(shown, pair)
            column = UNCLASSIFIED if pair in unclassified else _relation(named, pair)
            cells[server][row, column] += 1
            if column not in (row, UNCLASSIFIED):
                evidence = shown[pair].evidence if pair in shown else {}
                why = named[pair].evidence["why"] if pair in named else ""
                differing.append(Disagreement(server, *pair, row, column, evidence, why))
    return Agreement(
        model=said.model,
        asked=said.asked,
        schema_hash=executed.schema_hash,
        total=_matrix(sum(cells.values(), Counter())),
        servers={name: _matrix(counts) for name, counts in cells.items()},
        disagreements=tuple(differing),
        unclassified=said.unclassified,
    )


def _by_pair(edges: Iterable[Edge]) -> dict[Pair, Edge]:
    return {(e.source, e.target): e for e in edges if e.kind != "bridge"}


def _joined(edge: Edge, other: Edge | None) -> Edge:
    """The shown edge, found by the model, too, if it named the same kind."""
    same = other is not None and other.kind == edge.kind
    return replace(edge, by=(*edge.by, *other.by)) if other and same else edge


def _ledger(executed: Graph, edges: Iterable[Edge], said: Said) -> dict[str, int]:
    """How many ordered pairs are what; see `Graph.pairs`."""
    kinds = Counter(e.kind for e in edges)
    joined = {(e.source, e.target) for e in edges}
    within = sum(count for kind, count in executed.pairs.items() if kind != "bridge")
    open_ = sum(pair not in joined for pair in said.unclassified)
    none = within - kinds.total() - open_
    counts = {kind: kinds[kind] for kind in ("explicit", "implicit")}
    return {**counts, "none": none, UNCLASSIFIED: open_, "bridge": executed.pairs["bridge"]}


def _relation(edges: dict[Pair, Edge], pair: Pair) -> str:
    return edges[pair].kind if pair in edges else "none"


def _matrix(cells: Cells) -> Matrix:
    columns = (*RELATIONS, UNCLASSIFIED)
    counts = {row: {column: cells[row, column] for column in columns} for row in RELATIONS}
    n = sum(cells[a, b] for a in RELATIONS for b in RELATIONS)
    same = sum(cells[name, name] for name in RELATIONS)
    rows = {name: sum(cells[name, b] for b in RELATIONS) for name in RELATIONS}
    named = {name: sum(cells[a, name] for a in RELATIONS) for name in RELATIONS}
    chance = sum(rows[name] * named[name] for name in RELATIONS)
    kappa = (n * same - chance) / (n * n - chance) if n * n > chance else None
    return Matrix(cells.total(), counts, same / n if n else None, kappa)
