"""The kiosk of the episode loop's tests, known as a server, and what its episodes are worth."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from provegym import records, worlds
from provegym.rewards.total import score
from provegym.rollout.loop import run_episode
from provegym.rollout.policies import POLICIES
from provegym.rollout.reply import PolicyFactory, Reply
from provegym.servers import SERVERS
from provegym.types import Score, Task, Turn
from tests.rollout.conftest import KIOSK, calling, chain_task, make_task, schema

SERVER = KIOSK
"""What the library asks a server's module for."""
LATE, ALL = "list_orders", ("list_orders", "place_order", "pay_order")


def register() -> None:
    """Make it known to this process."""
    SERVERS["kiosk"] = __name__


def perturbed() -> Task:
    """Two turns, and a tool that appears with the second; the first tool is told in other words."""
    task = chain_task("late")
    first, second = task.turns
    place, pay = schema("place_order", "pay_order")
    told = replace(place, function=replace(place.function, description="Buy something."))
    (late,) = schema(LATE)
    return replace(task, tools=(told, pay), turns=(first, replace(second, tools=(late,))))


def _tasks() -> tuple[Task, ...]:
    return (
        chain_task("chain"),
        perturbed(),
        replace(make_task("none", (Turn("Sing!", reply="I cannot sing."),)), kind="abstention"),
        make_task("broken", (Turn("Jam it."), Turn("Again.")), tools=schema("jam")),
    )


TASKS = {
    task.id: replace(task, reference_time=f"2026-03-0{day}T09:00:00+00:00")
    for day, task in enumerate(_tasks(), start=1)
}
FINE = ("chain", "late", "none")


def write(path: Path) -> Path:
    """A file of all of them, in that order."""
    records.write_atomic(path, [records.encode(task) for task in TASKS.values()])
    return path


def clumsy(task: Task, seed: int) -> Any:
    """Calls what is not there, breaks its JSON, and calls twice in one message, in each turn."""

    async def policy(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        if messages[-1]["role"] != "user":
            return Reply("Done.")
        return calling(
            ("sing", "{}"), ("pay_order", '{"order_id": '), ("pay_order", '{"order_id": "ord_1"}')
        )

    return policy


PLAYERS: dict[str, PolicyFactory] = {
    "oracle": POLICIES["oracle"],
    "noop": POLICIES["noop"],
    "clumsy": clumsy,
}


def worth(task: Task, player: str) -> Score:
    """The score of the same episode in this process, by the loop itself."""
    policy = PLAYERS[player](task, 0)
    session = worlds.open_session(task)
    trace = asyncio.run(run_episode(task, session, policy, trace_id=task.id))
    return score(task, trace)


def next_message(player: Any, messages: list[Any], tools: list[Any]) -> dict[str, Any]:
    """What a player says, as an assistant message of OpenAI's."""
    return as_message(asyncio.run(player(messages, tools)), len(messages))


def as_message(reply: Reply, number: int) -> dict[str, Any]:
    """A reply as the message of that number, with ids of its own for its calls."""
    calls = [
        {
            "id": f"id{number}_{place}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments_text},
        }
        for place, call in enumerate(reply.calls)
    ]
    return {"role": "assistant", "content": reply.content, "tool_calls": calls}


def as_text(reply: Reply) -> str:
    """A reply as a model writes it that calls in Hermes' form."""
    calls = [
        f'<tool_call>{{"name": "{call.name}", "arguments": {call.arguments_text}}}</tool_call>'
        for call in reply.calls
    ]
    return "\n".join([reply.content, *calls])
