"""The ground truth played as a correct conversation, in the format of OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from provegym.dataset.told import reply
from provegym.records import encode
from provegym.rollout.loop import system_prompt, tools_at
from provegym.types import GroundCall, Task, Turn

Message = dict[str, Any]


def opening(task: Task) -> list[Message]:
    """What a policy reads before its first message: the system prompt and the first user turn."""
    return [
        {"role": "system", "content": system_prompt(task)},
        {"role": "user", "content": task.turns[0].user},
    ]


def messages(task: Task) -> list[Message]:
    """All user turns, calls, results and replies: what the oracle says and hears, a call a message.

    Results are those that the ground truth recorded; no session is opened. Replies say what was
    found, where the oracle only says that something was.
    """
    said = opening(task)[:1]
    number = 0
    for turn in task.turns:
        said.append({"role": "user", "content": turn.user})
        for call in turn.calls:
            said += _called(call, f"call_{number}")
            number += 1
        said.append({"role": "assistant", "content": reply(turn)})
    return said


def parts(task: Task) -> tuple[Task, ...]:
    """The task cut where tools appear, for formats with one list of tools a conversation.

    A later part begins with one turn that joins those before it. Shown as they were, they would
    teach to say that a tool is missing while the list has it.
    """
    starts = [0, *(i for i, turn in enumerate(task.turns) if i and turn.tools)]
    return tuple(
        replace(
            task,
            tools=tools_at(task, start),
            turns=(_joined(task.turns[: start + 1]), *map(_plain, task.turns[start + 1 : end])),
        )
        for start, end in pairwise([*starts, len(task.turns)])
    )


def _joined(turns: Sequence[Turn]) -> Turn:
    said = "\n\n".join(turn.user for turn in turns)
    return Turn(said, tuple(call for turn in turns for call in turn.calls), turns[-1].reply)


def _plain(turn: Turn) -> Turn:
    return replace(turn, tools=())


def _called(call: GroundCall, name: str) -> list[Message]:
    """A call and its result as two messages."""
    function = {"name": call.name, "arguments": encode(call.arguments).decode()}
    wire = {"id": name, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": "", "tool_calls": [wire]},
        {"role": "tool", "tool_call_id": name, "content": encode(call.result).decode()},
    ]
