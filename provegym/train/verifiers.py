"""A verifiers taskset and environment, for prime-rl and whatever else trains on verifiers (0.4).

Sessions live in a gateway (`provegym serve --http`), for verifiers pins an MCP SDK that ours does
not run on. Its `null` harness is the agent: it lists and calls the session's tools over MCP, and is
relaunched with each user turn, so that tools may appear on the way.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import verifiers.v1 as vf
from msgspec.structs import replace

from provegym.errors import InfrastructureError
from provegym.gateway.client import RemoteSession
from provegym.records import encode
from provegym.rollout.loop import close_session, system_prompt, tools_at
from provegym.train.adapter import judged, preset_named, tasks_of
from provegym.train.sessions import connection
from provegym.types import Task, Trace

__all__ = ["ProvegymEnv", "ProvegymTaskset"]


class GymConfig(vf.TaskConfig):  # type: ignore[misc]
    """The gateway, the reward's preset, and the tools: an episode fills in its session's URL."""

    gateway: str = "http://127.0.0.1:8765"
    preset: str = "paper"
    tools: vf.ToolsetConfig = vf.ToolsetConfig()


class ProvegymConfig(vf.TasksetConfig):  # type: ignore[misc]
    """`tasks` is a file of `provegym synth`."""

    tasks: Path = Path("tasks.jsonl")
    task: GymConfig = GymConfig()


class GymData(vf.TaskData):  # type: ignore[misc]
    """A task of ours, as JSON."""

    task: str


class Tools(vf.Toolset[vf.ToolsetConfig, vf.State]):  # type: ignore[misc]
    """The session's tools, which the gateway serves."""

    TOOL_PREFIX = None  # they have their own names


class GymTask(vf.Task[GymData, vf.State, GymConfig]):  # type: ignore[misc]
    """One task."""

    @classmethod
    def toolsets(cls, config: GymConfig) -> list[Tools]:
        """Those of the episode's session, once it is open."""
        return [Tools(config.tools)] if config.tools.url else []


class ProvegymTaskset(vf.Taskset[GymTask, ProvegymConfig]):  # type: ignore[misc]
    """The tasks of a file. Raises `InputError` for those that cannot be learnt from."""

    def load(self) -> Iterator[GymTask]:
        """Each task with its first user turn as the prompt."""
        preset_named(self.config.task.preset)
        for task in tasks_of(self.config.tasks):
            said = {"prompt": task.turns[0].user, "system_prompt": system_prompt(task)}
            data = GymData(id=task.id, name=task.id, task=encode(task).decode(), **said)
            yield GymTask(data, self.config.task)


class ProvegymEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """`agent.max_turns` limits the messages of a whole episode."""

    agent: vf.AgentConfig = vf.AgentConfig(
        harness={"id": "null"}, runtime={"type": "subprocess"}, max_turns=50
    )


class ProvegymEnv(vf.Env[ProvegymEnvConfig]):  # type: ignore[misc]
    """Plays the user and scores what the session saw. A fault of ours is an error, no reward."""

    async def run(self, task: GymTask, agents: Any) -> None:
        """One episode, on a session of its own."""
        known = msgspec.json.decode(task.data.task, type=Task)
        session = await asyncio.to_thread(connection(task.config.gateway).open, task=known)
        tools = {"tools": vf.ToolsetConfig(url=session.mcp)}
        own = GymTask(task.data, task.config.model_copy(update=tools))
        try:
            async with agents.agent.interaction(own) as talk:
                order, done = await converse(known, session, talk)
            if talk.trace.has_error:
                return  # the model or the harness failed, which is told and is no 0
            trace = await asyncio.to_thread(recorded, session, order, done)
        finally:
            await asyncio.to_thread(close_session, session, known.id)
        reward, parts = judged(known, trace, task.config.preset)
        talk.trace.record_metrics(parts)
        talk.trace.record_reward("provegym", reward)


async def converse(task: Task, session: RemoteSession, talk: Any) -> tuple[list[int], bool]:
    """Say all user turns. For each call of the conversation its place in the session's record, and
    whether every turn was answered.

    The harness itself answers those whose arguments are no JSON object, or whose tool is not on
    offer. They are given to the session afterwards, for they count.
    """
    order: list[int] = []
    for turn, script in enumerate(task.turns):
        if turn:
            await asyncio.to_thread(session.enter, turn)
        segment = await talk.turn(script.user if turn else None)
        said = [message for message in segment.messages if message.role == "assistant"]
        calls = [call for message in said for call in message.tool_calls or ()]
        offered = {tool.function.name for tool in tools_at(task, turn)}
        held = [call.name not in offered or not _is_object(call.arguments) for call in calls]
        for call, kept in zip(calls, held, strict=True):
            if kept:
                await asyncio.to_thread(session.call, call.name, call.arguments)
        recorded_as = sorted(range(len(calls)), key=held.__getitem__)
        order += [len(order) + recorded_as.index(place) for place in range(len(calls))]
        if segment.terminated or (said and said[-1].tool_calls):
            return order, False
    return order, True


def recorded(session: RemoteSession, order: Sequence[int], done: bool) -> Trace:
    """What the session saw, in order. Raises `InfrastructureError` where a call is missing."""
    trace = session.trace()
    if (seen := len(trace.calls)) != len(order):
        raise InfrastructureError(f"the session saw {seen} of {len(order)} calls")
    calls, stop = tuple(trace.calls[place] for place in order), "done" if done else "max_steps"
    return replace(trace, calls=calls, stop_reason=stop)


def _is_object(text: str) -> bool:
    """Whether the harness takes these arguments."""
    try:
        return isinstance(json.loads(text or "{}"), dict)
    except ValueError:
        return False
