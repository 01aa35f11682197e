"""Episodes on live sessions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from provegym.errors import BudgetSpent, ModelFault, ServerFault, SessionExpired
from provegym.rollout.loop import Limits, Result, fault_message, run_episode, system_prompt
from provegym.rollout.policies import oracle
from provegym.rollout.reply import Policy, Reply, ToolCall
from provegym.rollout.summary import is_masked
from provegym.types import Changes, Task, Trace, Turn, Usage


def play(kiosk: SimpleNamespace, task: Task, policy: Policy, **options: Any) -> Trace:
    session = options.pop("session", None) or kiosk.open(task)
    trace: Trace = kiosk.run(run_episode(task, session, policy, trace_id="t/p/0", **options))
    return trace


def test_the_system_prompt_tells_the_time_and_when_to_ask_and_to_decline(
    kiosk: SimpleNamespace,
) -> None:
    prompt = system_prompt(kiosk.chain_task())
    assert "2026-03-02T09:00:00+00:00" in prompt
    assert "ask the user" in prompt
    assert "call nothing" in prompt


def test_an_episode_records_messages_calls_results_and_changes(kiosk: SimpleNamespace) -> None:
    task = kiosk.chain_task()
    trace = play(kiosk, task, oracle(task, 0), policy_name="oracle", seed=5)
    assert [(c.name, c.turn, c.step, c.outcome) for c in trace.calls] == [
        ("place_order", 0, 0, "ok"),
        ("pay_order", 0, 1, "ok"),
        ("list_orders", 1, 3, "ok"),
    ]
    roles = "system user assistant tool assistant tool assistant user assistant tool assistant"
    assert [m["role"] for m in trace.messages] == roles.split()
    created = {"item": "cake", "count": 3, "paid": True}
    assert trace.final_changes == {"kiosk.orders": {"+1": created}}
    assert (trace.stop_reason, trace.policy, trace.seed) == ("done", "oracle", 5)
    assert (trace.id, trace.task_id) == ("t/p/0", "chain")


def test_a_tool_message_answers_its_call_with_the_result_as_json(kiosk: SimpleNamespace) -> None:
    policy = kiosk.Scripted([kiosk.calling(("list_orders", '{"limit": 1}')), Reply("Tea.")])
    trace = play(kiosk, kiosk.make_task(), policy)
    asked, told = trace.messages[2], trace.messages[3]
    assert told["tool_call_id"] == asked["tool_calls"][0]["id"]
    assert json.loads(told["content"]) == trace.calls[0].result
    assert trace.calls[0].result == [{"id": "ord_1", "item": "tea", "count": 2, "paid": False}]
    assert policy.seen[1][0] == list(trace.messages[:4])


def test_parallel_calls_run_in_order_within_one_step(kiosk: SimpleNamespace) -> None:
    calls = kiosk.calling(
        ("pay_order", '{"order_id": "ord_1"}'), ("pay_order", '{"order_id": "ord_9"}')
    )
    trace = play(kiosk, kiosk.make_task(), kiosk.Scripted([calls, Reply("Done.")]))
    assert [(c.step, c.outcome) for c in trace.calls] == [(0, "ok"), (0, "tool_error")]
    ids = [m["tool_call_id"] for m in trace.messages if m["role"] == "tool"]
    assert len(set(ids)) == 2


def test_every_mistake_is_an_outcome_and_the_episode_goes_on(kiosk: SimpleNamespace) -> None:
    calls = kiosk.calling(
        ("no_such_tool", "{}"),
        ("no_such_tool", "not json"),  # unknown wins over malformed
        ("", "{"),
        ("pay_order", '{"order_id": NaN}'),
        ("pay_order", '{"order_id": "\ud800"}'),
        ("pay_order", "[]"),
        ("pay_order", '{"order_id": 7}'),
        ("pay_order", '{"order_id": "ord_9"}'),
        ("pay_order", '{"order_id": "x", "order_id": "ord_2"}'),
    )
    trace = play(kiosk, kiosk.make_task(), kiosk.Scripted([calls, Reply("Sorry.")]))
    assert [(c.outcome, c.arguments) for c in trace.calls] == [
        ("unknown_tool", {}),
        ("unknown_tool", "not json"),
        ("unknown_tool", "{"),
        ("malformed", '{"order_id": NaN}'),
        ("malformed", '{"order_id": "\\ud800"}'),
        ("malformed", "[]"),
        ("invalid_arguments", {"order_id": 7}),
        ("tool_error", {"order_id": "ord_9"}),
        ("ok", {"order_id": "ord_2"}),
    ]
    assert trace.stop_reason == "done"


def test_tools_of_a_later_turn_exist_from_that_turn_on(kiosk: SimpleNamespace) -> None:
    turns = (Turn(user="Pay tea."), Turn(user="Now you can.", tools=kiosk.schema("pay_order")))
    task = kiosk.make_task(turns=turns, tools=kiosk.schema("list_orders"))
    pay = kiosk.calling(("pay_order", '{"order_id": "ord_1"}'))
    policy = kiosk.Scripted([pay, Reply("I cannot."), pay, Reply("Paid.")])
    trace = play(kiosk, task, policy)
    assert [(c.turn, c.outcome) for c in trace.calls] == [(0, "unknown_tool"), (1, "ok")]
    offered = [[tool["function"]["name"] for tool in tools] for _, tools in policy.seen]
    assert offered == [["list_orders"]] * 2 + [["list_orders", "pay_order"]] * 2


def test_a_turn_without_an_end_stops_at_the_limit_of_steps(kiosk: SimpleNamespace) -> None:
    policy = kiosk.Scripted([kiosk.calling(("list_orders", "{}"))] * 9)
    task = kiosk.make_task(turns=(Turn(user="a"), Turn(user="b")))
    trace = play(kiosk, task, policy, limits=Limits(max_steps=3))
    assert (trace.stop_reason, len(trace.calls), len(policy.seen)) == ("max_steps", 3, 3)


def test_the_limit_of_tokens_is_looked_at_before_each_message(kiosk: SimpleNamespace) -> None:
    step = kiosk.calling(("list_orders", "{}"))
    replies = [Reply(calls=step.calls, usage=Usage(read, 10)) for read in (100, 200, 300)]
    trace = play(kiosk, kiosk.make_task(), kiosk.Scripted(replies), limits=Limits(max_tokens=210))
    assert (trace.stop_reason, len(trace.calls)) == ("max_tokens", 2)
    assert trace.usage == Usage(300, 20)


def test_a_conversation_that_no_longer_fits_the_model_stops(kiosk: SimpleNamespace) -> None:
    trace = play(kiosk, kiosk.make_task(), kiosk.Scripted([Reply(overflow=True)]))
    assert trace.stop_reason == "max_tokens"
    assert [m["role"] for m in trace.messages] == ["system", "user"]


def test_a_long_result_is_cut_for_the_policy_and_kept_in_the_trace(kiosk: SimpleNamespace) -> None:
    policy = kiosk.Scripted([kiosk.calling(("list_orders", "{}")), Reply("Much.")])
    trace = play(kiosk, kiosk.make_task(), policy, limits=Limits(max_result_chars=20))
    whole = json.dumps(trace.calls[0].result, separators=(",", ":"))
    assert trace.messages[3]["content"] == f"{whole[:20]}... [cut: {len(whole)} characters in all]"
    assert len(trace.calls[0].result) == 2


def test_reasoning_and_the_form_of_calls_stand_in_the_message(kiosk: SimpleNamespace) -> None:
    call = ToolCall("mine", "list_orders", "{}")
    reply = Reply("Let me look.", (call,), form="fence", reasoning="hm")
    trace = play(kiosk, kiosk.make_task(), kiosk.Scripted([reply, Reply("ok")]))
    assert trace.messages[2] == {
        "role": "assistant",
        "content": "Let me look.",
        "reasoning_content": "hm",
        "tool_calls": [
            {
                "id": "mine",
                "type": "function",
                "function": {"name": "list_orders", "arguments": "{}"},
            }
        ],
        "call_form": "fence",
    }


class Doomed:
    """A session that a fault of ours hits; there is no way to have one from the real engine."""

    def __init__(self, fault: Exception, at: str) -> None:
        self.fault, self.at, self.closed = fault, at, 0

    def _maybe(self, where: str) -> None:
        if where == self.at:
            raise self.fault

    def call(self, name: str, arguments: str | bytes | dict[str, Any]) -> Result:
        raise self.fault

    def offer(self, names: Iterable[str]) -> None:
        self._maybe("offer")

    def changes(self) -> Changes:
        self._maybe("changes")
        return {}

    def digest(self) -> str:
        return ""

    def close(self) -> None:
        self.closed += 1
        self._maybe("close")


@pytest.mark.parametrize("fault", [ServerFault("lost"), SessionExpired("idle")])
def test_a_fault_during_a_call_masks_the_episode_and_keeps_its_trace(
    kiosk: SimpleNamespace, fault: Exception
) -> None:
    session = Doomed(fault, "call")
    policy = kiosk.Scripted([kiosk.calling(("pay_order", '{"order_id": "x"}'))])
    trace = play(kiosk, kiosk.make_task(), policy, session=session)
    assert [(c.outcome, c.arguments) for c in trace.calls] == [
        ("infrastructure", {"order_id": "x"})
    ]
    assert (trace.stop_reason, is_masked(trace)) == ("infrastructure", True)
    assert trace.messages[-1]["fault"] == f"{type(fault).__name__}: {fault}"
    assert (session.closed, policy.closed) == (1, 1)


def test_a_bug_in_a_tool_masks_the_episode(kiosk: SimpleNamespace) -> None:
    task = kiosk.make_task(tools=kiosk.schema("jam", "pay_order"))
    calls = kiosk.calling(("pay_order", '{"order_id": "ord_1"}'), ("jam", "{}"), ("jam", "{}"))
    trace = play(kiosk, task, kiosk.Scripted([calls]))
    assert [c.outcome for c in trace.calls] == ["ok", "infrastructure"]
    assert (trace.stop_reason, trace.final_changes) == ("infrastructure", {})


@pytest.mark.parametrize("at", ["offer", "changes"])
def test_a_fault_outside_a_call_masks_the_episode(kiosk: SimpleNamespace, at: str) -> None:
    session = Doomed(ServerFault("lost"), at)
    trace = play(kiosk, kiosk.make_task(), kiosk.Scripted([Reply("Hi.")]), session=session)
    assert (trace.stop_reason, session.closed) == ("infrastructure", 1)


def test_a_fault_while_closing_comes_too_late_to_mask(kiosk: SimpleNamespace) -> None:
    session = Doomed(ServerFault("lost"), "close")
    policy = kiosk.Scripted([Reply("Hi.")])
    trace = play(kiosk, kiosk.make_task(), policy, session=session)
    assert (trace.stop_reason, policy.closed) == ("done", 1)


def test_a_fault_of_the_model_masks_the_episode(kiosk: SimpleNamespace) -> None:
    policy = kiosk.Scripted([kiosk.calling(("list_orders", "{}")), ModelFault("timed out")])
    task = kiosk.make_task()
    session = kiosk.open(task)
    trace = play(kiosk, task, policy, session=session)
    assert (trace.stop_reason, [c.outcome for c in trace.calls]) == ("infrastructure", ["ok"])
    assert "timed out" in trace.messages[-1]["fault"]
    assert (session.closed, policy.closed) == (True, 1)


def test_a_spent_budget_passes_through_with_the_session_closed(kiosk: SimpleNamespace) -> None:
    policy = kiosk.Scripted([BudgetSpent("5 of 5 dollars are spent")])
    task = kiosk.make_task()
    session = kiosk.open(task)
    with pytest.raises(BudgetSpent):
        play(kiosk, task, policy, session=session)
    assert (session.closed, policy.closed) == (True, 1)


def test_what_a_fault_says_stays_on_one_line(caplog: pytest.LogCaptureFixture) -> None:
    told = fault_message(ModelFault("boo\n  line two"), "t/p/0")
    assert told["fault"] == "ModelFault: boo line two"
    assert [record.getMessage() for record in caplog.records] == [
        "t/p/0 is masked: ModelFault: boo line two"
    ]
