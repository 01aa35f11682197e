"""Policies without a model."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from provegym.rollout.loop import run_episode
from provegym.rollout.policies import POLICIES
from provegym.types import Call, GroundCall, Ref, Trace, Turn


def play(kiosk: SimpleNamespace, name: str, task: Any, seed: int = 0) -> Trace:
    policy = POLICIES[name](task, seed)
    trace: Trace = kiosk.run(run_episode(task, kiosk.open(task), policy, trace_id="x"))
    return trace


def made(trace: Trace) -> list[tuple[str, int]]:
    return [(call.name, call.turn) for call in trace.calls]


def test_the_oracle_takes_references_from_its_own_results(kiosk: SimpleNamespace) -> None:
    trace = play(kiosk, "oracle", kiosk.chain_task())
    placed, paid, _ = trace.calls
    assert placed.result["id"] != "ord_recorded"
    assert paid.arguments == {"order_id": placed.result["id"]}
    assert paid.outcome == "ok"


def test_the_oracle_speaks_the_recorded_replies(kiosk: SimpleNamespace) -> None:
    trace = play(kiosk, "oracle", kiosk.chain_task())
    said = [m["content"] for m in trace.messages if m["role"] == "assistant"]
    assert said == ["", "", "Paid.", "", "Cake."]


@pytest.mark.parametrize("ref", [Ref("g0", "/no/such"), Ref("nobody", "/id")])
def test_the_oracle_keeps_the_recorded_value_where_a_reference_fails(
    kiosk: SimpleNamespace, ref: Ref
) -> None:
    calls = (
        GroundCall("g0", "list_orders"),
        GroundCall("g1", "pay_order", {"order_id": "ord_1"}, refs={"/order_id": ref}),
    )
    trace = play(kiosk, "oracle", kiosk.make_task(turns=(Turn(user="u", calls=calls),)))
    assert trace.calls[1].arguments == {"order_id": "ord_1"}


def test_the_oracle_keeps_silent_in_turns_without_calls(kiosk: SimpleNamespace) -> None:
    later = Turn(user="ord_1", calls=(GroundCall("g0", "pay_order", {"order_id": "ord_1"}),))
    task = kiosk.make_task(turns=(Turn(user="Pay."), later, Turn(user="Thanks.")))
    trace = play(kiosk, "oracle", task)
    assert (made(trace), trace.stop_reason) == ([("pay_order", 1)], "done")


def test_noop_answers_every_turn_in_words(kiosk: SimpleNamespace) -> None:
    trace = play(kiosk, "noop", kiosk.chain_task())
    assert (trace.calls, trace.stop_reason) == ((), "done")
    assert sum(m["role"] == "assistant" for m in trace.messages) == 2


def random_calls(kiosk: SimpleNamespace, seed: int) -> tuple[Call, ...]:
    turns = tuple(Turn(user=str(turn)) for turn in range(5))
    return play(kiosk, "random", kiosk.make_task(turns=turns), seed).calls


def test_random_makes_valid_calls_only(kiosk: SimpleNamespace) -> None:
    calls = [call for seed in range(20) for call in random_calls(kiosk, seed)]
    assert {call.outcome for call in calls} == {
        "ok"
    }  # an example in the schema is an order of this world
    assert {call.name for call in calls} == {"list_orders", "place_order", "pay_order"}


def test_random_uses_ids_that_it_has_seen(kiosk: SimpleNamespace) -> None:
    for seed in range(20):
        known: set[str] = set()
        for call in random_calls(kiosk, seed):
            if call.name == "pay_order" and known:
                assert call.arguments["order_id"] in known
            rows = call.result if isinstance(call.result, list) else [call.result]
            known |= {row["id"] for row in rows if "id" in row}


def test_random_repeats_itself_by_its_seed(kiosk: SimpleNamespace) -> None:
    assert random_calls(kiosk, 3) == random_calls(kiosk, 3)
    assert len({json.dumps([c.name for c in random_calls(kiosk, s)]) for s in range(9)}) > 1


def test_random_without_tools_answers(kiosk: SimpleNamespace) -> None:
    assert play(kiosk, "random", kiosk.make_task(tools=())).calls == ()
