"""Refusals that no conversation has met, and candidates that aim at them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from provegym import servers
from provegym.config import Synth
from provegym.graph.edges import Graph
from provegym.records import read
from provegym.seeding import rng
from provegym.synth import pipeline
from provegym.synth.make import Candidate, Maker, Outcome, Plan
from provegym.synth.plan import Planner
from provegym.synth.unmet import NO_AIMS, Aim, Aims, unmet
from provegym.types import Call, Trace

NAMES = ("banking", "calendar", "filesystem", "shopping")
PLAN = Plan(seed=7, servers=NAMES, others=NAMES)
SETTINGS = Synth(limit=24, world_seeds=3, tools_per_task=8)


def trace(*calls: tuple[str, str]) -> Trace:
    """A conversation of calls, each with the code it was refused with, if any."""
    made = (
        Call(tool, {}, 0, 0, "tool_error", {"error": {"code": code}})
        if code
        else Call(tool, {}, 0, 0, "ok", {})
        for tool, code in calls
    )
    return Trace("t-0", "t", tuple(made))


def test_codes_are_unmet_until_a_tool_of_their_own_server_was_refused_with_them() -> None:
    names = ("shopping", "food_delivery")
    before = unmet([], names)
    assert "cart_empty" in before["shopping"].codes
    assert "cart_empty" in before["food_delivery"].codes
    assert "not_found" not in before["shopping"].codes
    after = unmet([trace(("place_order", "cart_empty"), ("get_cart", ""))], names)
    assert {*before["shopping"].codes} - {*after["shopping"].codes} == {"cart_empty"}
    assert after["food_delivery"] == before["food_delivery"]


def test_a_server_whose_codes_were_all_met_has_nothing_to_aim_at() -> None:
    maps = servers.load("maps")
    talk = trace(*((tool.name, code) for tool in maps.tools.values() for code in tool.refuses))
    assert unmet([talk], ("maps",)) == {}


def test_the_last_tools_that_nobody_called_are_aimed_at() -> None:
    tools = sorted(servers.load("maps").tools)
    all_but = [unmet([trace(*((tool, "") for tool in tools[n:]))], ("maps",)) for n in (2, 3, 4)]
    assert [[*aims["maps"].tools] for aims in all_but] == [tools[:2], tools[:3], []]
    refused = unmet([trace((tools[0], "not_found"), *((t, "") for t in tools[1:]))], ("maps",))
    assert refused["maps"].tools == (tools[0],)
    assert not {*refused["maps"].codes} & {*tools}


def test_candidates_that_aim_at_a_tool_call_it_far_more_often(graph: Graph) -> None:
    plan = Plan(seed=7, servers=("banking",), others=NAMES)
    maker = Maker(plan, SETTINGS, graph)
    aims = {"banking": Aim(tools=("manage_card",))}
    plain, aimed = ([*called(maker.make(i, to) for i in range(40))] for to in (NO_AIMS, aims))
    assert aimed.count("manage_card") > 3 * plain.count("freeze_card")


def called(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Tools of all calls of the ground truths."""
    for made in outcomes:
        if isinstance(made, Candidate):
            yield from (call.name for _, call in made.task.ground_truth)


def refusals(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Codes of all refused calls."""
    for made in outcomes:
        if isinstance(made, Candidate):
            for call in made.conversation.calls:
                if call.outcome == "tool_error":
                    yield call.result["error"]["code"]


def test_candidates_that_aim_at_a_refusal_meet_it_far_more_often(graph: Graph) -> None:
    plan = Plan(seed=7, servers=("banking",), others=NAMES)
    maker = Maker(plan, SETTINGS, graph)
    aims = {"banking": Aim(codes=("account_closed", "card_frozen"))}
    plain, aimed = ([*refusals(maker.make(i, to) for i in range(40))] for to in (NO_AIMS, aims))
    for code in aims["banking"].codes:
        assert aimed.count(code) > 2 * plain.count(code)


def test_a_call_without_arguments_can_be_a_wish_that_is_refused() -> None:
    for seed in range(16):
        session = servers.world(seed, ("shopping",)).open()
        for line in session.call("get_cart", {}).builtins()["lines"]:
            session.call("remove_from_cart", {"line_id": line["line_id"]})
        refusal = Planner(session, rng(seed, "empty")).give_up("place_order", "cart_empty")
        if refusal and not refusal.choice.arguments:
            return
    raise AssertionError("an empty cart is never a reason without arguments")


def test_parts_after_the_first_aim_at_what_the_parts_before_did_not_meet(
    tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    aims: dict[int, Aims] = {}
    make = Maker.make

    def watched(self: Maker, i: int, to: Aims, k: int | None = None) -> Outcome:
        aims[i] = to
        return make(self, i, to, k)

    monkeypatch.setattr(Maker, "make", watched)
    settings = SETTINGS.model_copy(update={"limit": 50})
    pipeline.synthesize(PLAN, settings, graph, tmp_path / "tasks.jsonl")
    talks = list(read(tmp_path / "conversations.jsonl", Trace))
    number = Maker(PLAN, settings, graph).number
    for i, to in aims.items():
        start = max(n for n in (0, 25, 30, 35, 40, 45) if n <= i)
        before = [talk for talk in talks if number(talk.task_id) < start]
        assert to == (unmet(before, NAMES) if start else {})
    assert max(aims) >= 45
