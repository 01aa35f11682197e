"""Steps from one server to another: bridges by facts, values that are carried, chains across."""

from __future__ import annotations

from functools import lru_cache

from provegym import servers
from provegym.graph.bridges import bridges
from provegym.graph.build import build
from provegym.graph.edges import Edge, Graph
from provegym.graph.leaves import leaves
from provegym.graph.paths import Crossings
from provegym.world.facts import known
from provegym.world.world import World

NAMES = ("budget", "banking", "crm", "email")


@lru_cache(maxsize=1)
def graph() -> Graph:
    return build([servers.load(name) for name in NAMES], worlds=1, tries=1)


def found() -> list[Edge]:
    return [e for e in graph().edges if e.kind == "bridge"]


def test_the_evidence_of_a_bridge_can_be_run_again() -> None:
    assert len(found()) > 10
    for edge in found():
        told = edge.evidence
        session = servers.world(told["seed"], NAMES).open()
        fact = next(f for f in known(session.world) if f.name == told["fact"])
        shown = session.call(told["first"]["name"], told["first"]["arguments"])
        value = shown.builtins()
        for step in told["path"].split("/")[1:]:
            value = value[int(step)] if isinstance(value, list) else value[step]
        assert value == fact.value
        given = told["then"]["arguments"][told["parameter"]]
        assert fact.value in (given if isinstance(given, list) else [given])
        assert session.call(told["then"]["name"], told["then"]["arguments"]).outcome == "ok"


def test_a_bridge_joins_two_servers_that_know_the_fact() -> None:
    for edge in found():
        fact = next(
            f
            for f in known(servers.world(edge.evidence["seed"], NAMES))
            if f.name == edge.evidence["fact"]
        )
        ends = graph().owners[edge.source], graph().owners[edge.target]
        assert ends[0] != ends[1]
        assert set(ends) <= set(fact.servers)


def test_a_lone_server_has_no_bridge() -> None:
    assert bridges([servers.load("budget")], 0, 1) == []


def test_the_ledger_counts_bridges_apart_from_the_pairs_within() -> None:
    sizes = [len(servers.load(name).tools) for name in NAMES]
    within = sum(n for kind, n in graph().pairs.items() if kind != "bridge")
    assert within == sum(n * (n - 1) for n in sizes)
    assert graph().pairs["bridge"] == len(found())


def test_a_crossing_chain_leads_from_the_first_server_to_the_second_once() -> None:
    first, second = servers.load("budget"), servers.load("banking")
    across = Crossings(graph(), first, second)
    assert across.bridged
    for i in range(200):
        chain = across.crossing(5, i, most=4)
        sides = [name in first.tools for name in chain]
        assert 2 <= len(chain) <= 4
        assert sides == sorted(sides, reverse=True)
        assert any(sides)
        assert not all(sides)


def test_a_value_is_pointed_at_by_its_field_and_its_record() -> None:
    world = World(0, [servers.load("banking")])
    session = world.open()
    tool = servers.load("banking").tools["list_accounts"]
    result = session.call("list_accounts", {}).builtins()
    said = {leaf.words: leaf.value for leaf in leaves(tool, result, "g0", world.templates)}
    row = result["accounts"][0]
    assert said[f"the balance of the {row['nickname']} account"] == row["balance"]


def test_an_amount_that_is_nothing_or_owed_is_no_amount_to_carry() -> None:
    world = World(0, [servers.load("banking")])
    tool = servers.load("banking").tools["list_accounts"]
    result = world.open().call("list_accounts", {}).builtins()
    for row, balance in zip(result["accounts"], ("0.00", "-5.00"), strict=False):
        row["balance"] = balance
    carried = {leaf.path for leaf in leaves(tool, result, "g0", world.templates)}
    assert not carried & {"/accounts/0/balance", "/accounts/1/balance"}
