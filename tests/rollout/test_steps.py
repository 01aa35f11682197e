"""Episodes that a trainer plays from outside are those of the loop."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from provegym.errors import InputError
from provegym.rollout.loop import Limits, run_episode
from provegym.rollout.policies import POLICIES, oracle
from provegym.rollout.reply import Policy, Reply, ToolCall
from provegym.rollout.steps import Steps, reply_of
from provegym.types import Task, Trace


def played(kiosk: SimpleNamespace, task: Task, policy: Policy, limits: Limits) -> Trace:
    """The episode of a policy that is asked from outside."""
    steps = Steps(task, kiosk.open(task), limits=limits, trace_id="t")
    while steps.trace is None:
        reply = asyncio.run(policy(list(steps.messages), steps.tools))
        steps.step(reply)
    return steps.trace


@pytest.mark.parametrize("name", sorted(POLICIES))
@pytest.mark.parametrize("limits", [Limits(), Limits(max_steps=1), Limits(max_result_chars=3)])
def test_an_episode_in_steps_is_the_loop_s_own(
    kiosk: SimpleNamespace, name: str, limits: Limits
) -> None:
    task = kiosk.chain_task()
    make = POLICIES[name]
    whole = run_episode(task, kiosk.open(task), make(task, 3), limits=limits, trace_id="t")
    assert played(kiosk, task, make(task, 3), limits) == kiosk.run(whole)


def test_a_step_tells_only_what_was_said_since(kiosk: SimpleNamespace) -> None:
    task = kiosk.chain_task()
    steps = Steps(task, kiosk.open(task), trace_id="t")
    assert [message["role"] for message in steps.messages] == ["system", "user"]
    (result,) = steps.step(kiosk.calling(("list_orders", '{"limit": 1}')))
    assert result["role"] == "tool"
    assert json.loads(result["content"])[0]["id"] == "ord_1"
    assert steps.step(Reply("Tea.")) == [{"role": "user", "content": "What did I order?"}]
    assert steps.step(Reply("Nothing.")) == []
    assert steps.trace is not None
    assert steps.trace.stop_reason == "done"
    with pytest.raises(InputError, match="episode t is over"):
        steps.step(Reply("Hello?"))


def test_the_results_that_come_with_the_end_are_told(kiosk: SimpleNamespace) -> None:
    task = kiosk.chain_task()
    steps = Steps(task, kiosk.open(task), limits=Limits(max_steps=1), trace_id="t")
    (result,) = steps.step(kiosk.calling(("list_orders", "{}")))
    assert result["role"] == "tool"
    assert steps.trace is not None
    assert steps.trace.stop_reason == "max_steps"


def test_tools_are_offered_from_their_turn_on(kiosk: SimpleNamespace) -> None:
    task = kiosk.chain_task()
    (pay,) = [tool for tool in task.tools if tool.function.name == "pay_order"]
    others = tuple(tool for tool in task.tools if tool != pay)
    first, second = task.turns
    late = replace(task, tools=others, turns=(first, replace(second, tools=(pay,))))
    steps = Steps(late, kiosk.open(late), trace_id="t")
    assert [tool["function"]["name"] for tool in steps.tools] == ["list_orders", "place_order"]
    steps.step(Reply("I cannot."))
    assert steps.tools[-1]["function"]["name"] == "pay_order"


@pytest.mark.parametrize("end", ["close", "forgotten", "over"])
def test_the_session_is_closed_however_the_episode_ends(kiosk: SimpleNamespace, end: str) -> None:
    task = kiosk.make_task()
    session = kiosk.open(task)
    steps = Steps(task, session, trace_id="t")
    assert not session.closed
    if end == "close":
        steps.close()
        steps.close()
        assert steps.trace is None
    elif end == "over":
        steps.step(Reply("Bye."))
    else:
        del steps
    assert session.closed


def test_a_fault_of_ours_masks_the_episode(kiosk: SimpleNamespace) -> None:
    task = kiosk.make_task(tools=kiosk.schema("jam"))
    steps = Steps(task, kiosk.open(task), trace_id="t")
    steps.step(kiosk.calling(("jam", "{}")))
    assert steps.trace is not None
    assert steps.trace.stop_reason == "infrastructure"
    assert "jammed" in steps.trace.messages[-1]["fault"]


def test_a_session_that_waits_is_waited_for(kiosk: SimpleNamespace) -> None:
    task = kiosk.chain_task()
    session = kiosk.open(task)
    slow: Any = SimpleNamespace(blocking=True)
    for name in ("call", "offer", "changes", "digest", "close"):
        setattr(slow, name, getattr(session, name))
    steps = Steps(task, slow, trace_id="t")
    (result,) = steps.step(kiosk.calling(("list_orders", "{}")))
    assert json.loads(result["content"])[1]["id"] == "ord_2"
    steps.close()
    assert session.closed


WIRE = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}


@pytest.mark.parametrize(
    ("content", "calls", "reply"),
    [
        ("Done.", None, Reply("Done.")),
        (None, [], Reply("")),
        (None, [WIRE], Reply("", (ToolCall("a", "f", '{"x": 1}'),), form="native")),
        (
            'Now. <tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>',
            None,
            Reply("Now.", (ToolCall("", "f", '{"x": 1}'),), form="tags"),
        ),
        ("<think>Hm.</think>Done.", None, Reply("Done.", reasoning="Hm.")),
    ],
)
def test_a_message_is_read_with_its_calls_beside_or_inside(
    content: str | None, calls: list[dict[str, Any]] | None, reply: Reply
) -> None:
    assert reply_of(content, calls) == reply


def test_the_oracle_written_as_text_plays_as_well(kiosk: SimpleNamespace) -> None:
    task = kiosk.chain_task()
    policy = oracle(task, 0)
    steps = Steps(task, kiosk.open(task), trace_id="t")
    while steps.trace is None:
        reply = asyncio.run(policy(list(steps.messages), steps.tools))
        tags = [
            f'<tool_call>{{"name": "{c.name}", "arguments": {c.arguments_text}}}</tool_call>'
            for c in reply.calls
        ]
        steps.step(reply_of("\n".join([reply.content, *tags])))
    assert [call.outcome for call in steps.trace.calls] == ["ok"] * 3
    assert steps.trace.stop_reason == "done"
