"""The model as the assistant: its messages, validated before anything is executed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from provegym.llm.teacher import Answer
from provegym.rollout.parse import json_object
from provegym.rollout.reply import ToolCall
from provegym.synth.asker import Asker, Fault, prompt
from provegym.synth.machine import MAX_MESSAGES, Intent, Made
from provegym.synth.offline import Rejected
from provegym.types import Tool
from provegym.world.validate import Problem, understand
from provegym.world.world import World

LOOP = 3
"""The same call failing so often in one turn is a loop."""
LONGEST = 20_000
"""Characters of a result that the model is shown."""


class Assistant:
    """The assistant of one conversation."""

    def __init__(self, asker: Asker, world: World, tools: Sequence[Tool]) -> None:
        self._asker, self._world = asker, world
        self._tools = list(tools)
        today = world.cast.start.isoformat()
        self._messages = [{"role": "system", "content": prompt("step").format(today=today)}]
        self._heard = self._steps = self._calls = 0

    def hear(self, words: str, tools: Sequence[Tool]) -> None:
        """A user turn begins, with tools that become available."""
        self._tools += tools
        self._messages.append({"role": "user", "content": words})
        self._heard = self._steps = 0

    def act(self, made: Sequence[Made]) -> tuple[Intent, ...] | str:
        """Calls to make next, or the reply. Raises `Rejected` where the model goes nowhere."""
        self._messages += [_result(m) for m in made[self._heard :]]
        self._heard = len(made)
        _see_no_loop(made)
        if self._steps >= MAX_MESSAGES:
            raise Rejected("too_many_messages")
        self._steps += 1
        tools = [msgspec.to_builtins(tool) for tool in self._tools]
        answer = self._asker.message(self._messages, tools, self._flaw)
        intents = tuple(self._intent(call) for call in answer.calls)
        self._messages.append(_message(answer.content, intents))
        return intents or answer.content

    def _intent(self, call: ToolCall) -> Intent:
        self._calls += 1
        return Intent(f"call_{self._calls}", call.name, json_object(call.arguments_text) or {})

    def _flaw(self, answer: Answer) -> Fault | None:
        """What keeps a message from being carried out. A value that a tool refuses does not."""
        if not answer.calls and not answer.content.strip():
            return "empty_answer", "it had neither a call nor words"
        offered = {tool.function.name for tool in self._tools}
        for call in answer.calls:
            if not call.name:
                return "broken_call", "a call in it could not be read"
            if call.name not in offered:
                return "unknown_tool", f"there is no tool {call.name!r}"
            problem = understand(self._world.tools[call.name].tool, call.arguments_text)
            if isinstance(problem, Problem) and problem.outcome != "tool_error":
                return "broken_call", f"in the call of {call.name}: {problem.message}"
        return None


def _see_no_loop(made: Sequence[Made]) -> None:
    failed = Counter(
        (m.intent.name, msgspec.json.encode(m.intent.arguments, order="sorted"))
        for m in made
        if m.outcome != "ok"
    )
    if max(failed.values(), default=0) >= LOOP:
        raise Rejected("loop")


def _message(content: str, intents: Sequence[Intent]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if intents:
        message["tool_calls"] = [_wire(intent) for intent in intents]
    return message


def _wire(intent: Intent) -> dict[str, Any]:
    arguments = msgspec.json.encode(intent.arguments).decode()
    function = {"name": intent.name, "arguments": arguments}
    return {"id": intent.id, "type": "function", "function": function}


def _result(made: Made) -> dict[str, Any]:
    text = msgspec.json.encode(made.result).decode()
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}... [cut]"
    return {"role": "tool", "tool_call_id": made.intent.id, "content": shown}
