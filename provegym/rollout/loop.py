"""The one agent loop: scripted user turns, a policy, a live session, and the trace of it all.

A session is an interface and a policy a coroutine, so synthesis, training and evaluation run the
very same episodes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from provegym.errors import EndpointDown, InfrastructureError, SessionError
from provegym.rollout.parse import json_object, storable
from provegym.rollout.reply import Policy, Reply, ToolCall, aclose
from provegym.types import Call, Changes, Outcome, StopReason, Task, Tool, Trace, Usage

log = logging.getLogger(__name__)

OUR_FAULTS = (InfrastructureError, SessionError)
"""Masks the episode: a lost server or model, and a session that ended under a running episode."""


class Result(Protocol):
    """What one call gave."""

    @property
    def outcome(self) -> Outcome:
        """What became of the call."""
        ...

    def builtins(self) -> Any:
        """The value as plain JSON types."""
        ...

    def json(self) -> bytes:
        """The value as JSON text."""
        ...


class Session(Protocol):
    """One episode's private world. Nothing raises for what the policy did, only for our faults."""

    def call(self, name: str, arguments: str | bytes | dict[str, Any]) -> Result:
        """Run one tool on JSON text or an object of arguments."""
        ...

    def offer(self, names: Iterable[str]) -> None:
        """From now on these tools exist; a call of any other is `unknown_tool`."""
        ...

    def changes(self) -> Changes:
        """What differs from the world's start, in canonical form."""
        ...

    def digest(self) -> str:
        """Hash of the whole state."""
        ...

    def close(self) -> None:
        """End the session; it stays closed."""
        ...


class Limits(Struct, frozen=True):
    """When an episode is cut.

    `max_steps`: assistant messages in one user turn. `max_tokens`: tokens of the conversation as
    the policy counts them, checked before each message (None = no limit). `max_result_chars`:
    characters of one tool result that the policy is shown; the trace keeps the whole result.
    """

    max_steps: int = 10
    max_tokens: int | None = None
    max_result_chars: int = 65_536


DEFAULT_LIMITS = Limits()


def system_prompt(task: Task) -> str:
    """What the assistant is told before the first user turn."""
    return (
        f"You get things done with tools. It is {task.reference_time}. "
        "Take ids and facts from the user or from tool results; never make them up. "
        "If something is missing that no tool can find, ask the user for it. "
        "If no tool can do what is asked, say so and call nothing. "
        "When the request is done, answer in words."
    )


def tools_at(task: Task, turn: int) -> tuple[Tool, ...]:
    """The tools that exist in user turn `turn` (0-based): the task's and those added until then."""
    return task.tools + tuple(tool for t in task.turns[: turn + 1] for tool in t.tools)


async def run_episode(
    task: Task,
    session: Session,
    policy: Policy,
    *,
    limits: Limits = DEFAULT_LIMITS,
    trace_id: str,
    policy_name: str = "",
    seed: int = 0,
) -> Trace:
    """Play all user turns of `task`; `session` and `policy` are closed at the end, come what may.

    Our faults (`InfrastructureError`, a session that ended) give a trace with the stop reason
    `infrastructure`, which scoring masks; its last message tells the fault. Other exceptions,
    `BudgetSpent` among them, pass through, and so does `EndpointDown`: no episode after this one
    could be played.
    """
    episode = _Episode(task, session, policy, limits)
    changes: Changes = {}
    try:
        stop = await episode.play()
        changes = session.changes()
    except EndpointDown:
        raise
    except OUR_FAULTS as fault:
        stop = "infrastructure"
        episode.messages.append(fault_message(fault, trace_id))
    finally:
        close_session(session, trace_id)
        await aclose(policy)
    return Trace(
        id=trace_id,
        task_id=task.id,
        calls=tuple(episode.calls),
        policy=policy_name,
        seed=seed,
        messages=tuple(episode.messages),
        final_changes=changes,
        stop_reason=stop,
        usage=Usage(episode.read, episode.written),
    )


def close_session(session: Session, trace_id: str) -> None:
    """Close a session; a fault of ours on the way out is logged, for the episode is over."""
    try:
        session.close()
    except OUR_FAULTS as fault:
        log.warning("%s: the session could not be closed: %s", trace_id, fault)


def record(call: ToolCall, turn: int, step: int, outcome: Outcome, result: Any) -> Call:
    """The record of a call; the raw text stands for arguments that are no JSON object."""
    arguments = None if outcome == "malformed" else json_object(call.arguments_text)
    kept = call.arguments_text if arguments is None else arguments
    return Call(call.name, kept, turn, step, outcome, result)


def lost(fault: Exception) -> dict[str, Any]:
    """The result of a call that hit a fault of ours."""
    return {"error": {"code": "infrastructure", "message": storable(str(fault))}}


def fault_message(fault: Exception, trace_id: str) -> dict[str, Any]:
    """The last message of a masked episode; it says which fault of ours ended it."""
    text = " ".join(storable(f"{type(fault).__name__}: {fault}").split())
    log.warning("%s is masked: %s", trace_id, text)
    return {"role": "assistant", "content": "", "fault": text}


class _Episode:
    """What has been said and done so far."""

    def __init__(self, task: Task, session: Session, policy: Policy, limits: Limits) -> None:
        self.task, self.session, self.policy, self.limits = task, session, policy, limits
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": system_prompt(task)}]
        self.calls: list[Call] = []
        self.read = self.written = self.steps = self._tokens = 0
        self._waits = getattr(session, "blocking", False)
        """Whether a call may wait for another process; other episodes go on meanwhile."""

    async def play(self) -> StopReason:
        for turn, script in enumerate(self.task.turns):
            offered = tools_at(self.task, turn)
            self.session.offer([tool.function.name for tool in offered])
            self.messages.append({"role": "user", "content": script.user})
            stop = await self._answer(turn, [msgspec.to_builtins(tool) for tool in offered])
            if stop != "done":
                return stop
        return "done"

    async def _answer(self, turn: int, tools: list[dict[str, Any]]) -> StopReason:
        """One user turn: ask and execute until the policy answers without calls."""
        for _ in range(self.limits.max_steps):
            if self.limits.max_tokens is not None and self._tokens >= self.limits.max_tokens:
                return "max_tokens"
            reply = await self.policy(list(self.messages), tools)
            if reply.overflow:
                return "max_tokens"
            if not await self._execute(reply, turn):
                return "done"
        return "max_steps"

    async def _execute(self, reply: Reply, turn: int) -> bool:
        """Record the message and run its calls in order; whether there were any."""
        self._count(reply.usage)
        first = len(self.calls)
        calls = [_clean(call, first + i) for i, call in enumerate(reply.calls)]
        self.messages.append(_assistant_message(reply, calls))
        step, self.steps = self.steps, self.steps + 1
        for call in calls:
            await self._call(call, turn, step)
        return bool(calls)

    async def _call(self, call: ToolCall, turn: int, step: int) -> None:
        try:
            if self._waits:
                result = await asyncio.to_thread(self.session.call, call.name, call.arguments_text)
            else:
                result = self.session.call(call.name, call.arguments_text)
        except OUR_FAULTS as fault:
            self.calls.append(record(call, turn, step, "infrastructure", lost(fault)))
            raise
        self.calls.append(record(call, turn, step, result.outcome, result.builtins()))
        content = cut(result.json().decode(), self.limits.max_result_chars)
        self.messages.append(
            {
                "role": "tool",
                "tool_call_id": call.id,
                "name": call.name,
                "content": content,
            }
        )

    def _count(self, usage: Usage) -> None:
        self.read += usage.prompt_tokens
        self.written += usage.completion_tokens
        self._tokens = usage.prompt_tokens + usage.completion_tokens


def _clean(call: ToolCall, number: int) -> ToolCall:
    """The call with an id, and in text that a file can hold, for a replay to find it again."""
    written = storable(call.name), storable(call.arguments_text)
    return ToolCall(storable(call.id) or f"call_{number}", *written)


def _assistant_message(reply: Reply, calls: list[ToolCall]) -> dict[str, Any]:
    """The message as OpenAI's format has it, with the form of its calls beside them."""
    message: dict[str, Any] = {"role": "assistant", "content": storable(reply.content)}
    if reply.reasoning:
        message["reasoning_content"] = storable(reply.reasoning)
    if calls:
        message["tool_calls"] = [_wire(call) for call in calls]
        message["call_form"] = reply.form
    return message


def _wire(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments_text}
    return {"id": call.id, "type": "function", "function": function}


def cut(text: str, limit: int) -> str:
    """A text of at most so many characters, or its start and how long it is."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}... [cut: {len(text)} characters in all]"
