"""The dependency graph over a real server."""

from __future__ import annotations

import itertools
from functools import lru_cache
from pathlib import Path

import pytest

from provegym import servers
from provegym.errors import InputError
from provegym.graph.build import build
from provegym.graph.edges import Graph, schema_hash, why_alone
from provegym.graph.paths import LENGTHS, Paths
from provegym.graph.store import cached, load, save
from provegym.world.world import World


@lru_cache(maxsize=1)
def graph() -> Graph:
    return build([servers.load("banking"), servers.load("calendar")], worlds=2, tries=3)


def test_every_ordered_pair_within_a_server_is_counted() -> None:
    sizes = [len(servers.load(name).tools) for name in graph().servers]
    within = {kind: count for kind, count in graph().pairs.items() if kind != "bridge"}
    assert sum(within.values()) == sum(n * (n - 1) for n in sizes)


def test_an_explicit_edge_joins_a_result_path_to_a_parameter() -> None:
    tools = {n: t for s in graph().servers for n, t in servers.load(s).tools.items()}
    explicit = [e for e in graph().edges if e.kind == "explicit"]
    assert explicit
    for edge in explicit:
        parameter = {p.name: p for p in tools[edge.target].parameters}[edge.evidence["parameter"]]
        refs = {parameter.ref, parameter.item.ref if parameter.item else None}
        assert edge.evidence["entity"] in refs


def test_the_evidence_of_an_implicit_edge_can_be_run_again() -> None:
    for edge in (e for e in graph().edges if e.kind == "implicit"):
        server = next(s for s in graph().servers if edge.source in servers.load(s).tools)
        world = World(edge.evidence["seed"], [servers.load(server)])
        then = edge.evidence["then"]
        fresh, after = world.open(), world.open()
        assert fresh.call(then["name"], then["arguments"]).outcome == "tool_error"
        first = edge.evidence["first"]
        assert after.call(first["name"], first["arguments"]).outcome == "ok"
        assert after.call(then["name"], then["arguments"]).outcome == "ok"


def test_a_tool_without_an_edge_is_told_with_the_reason() -> None:
    assert graph().alone == ("find_free_slots",)
    tool = servers.load("calendar").tools["find_free_slots"]
    assert why_alone(tool) == "takes no id and shows none"


def test_one_round_of_chains_covers_every_tool() -> None:
    paths = Paths(graph())
    chains = [paths.chain(3, i) for i in range(len(paths.tools))]
    assert {name for chain in chains for name in chain} == set(paths.tools)


def test_a_chain_follows_edges_repeats_no_tool_and_stays_within_five() -> None:
    joined = {(e.source, e.target) for e in graph().edges}
    for i in range(300):
        chain = Paths(graph()).chain(1, i)
        assert len(chain) <= max(LENGTHS)
        assert len(set(chain)) == len(chain)
        assert all(pair in joined for pair in itertools.pairwise(chain))


def test_chains_are_the_same_in_another_sampler() -> None:
    assert [Paths(graph()).chain(5, i) for i in range(50)] == [
        Paths(graph()).chain(5, i) for i in range(50)
    ]


def test_a_stored_graph_is_used_until_the_schemas_change(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    save(graph(), path)
    banking, calendar = servers.load("banking"), servers.load("calendar")
    assert schema_hash([banking, calendar]) == graph().schema_hash
    assert cached([banking, calendar], path) == graph() == load(path)
    assert schema_hash([banking]) != graph().schema_hash


def test_a_broken_graph_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text("{")
    with pytest.raises(InputError, match=r"graph\.json is not a graph .*choose another path"):
        load(path)
