"""Agents of other people on our tasks: a program that speaks MCP, given a URL and what a user says.

The program runs once an episode. On its standard input it gets one line of JSON a user turn,

    {"mcp": URL, "system": TEXT, "user": TEXT, "turn": 0}

and when it has done what it wants by calling tools at that URL it writes one line to its standard
output: `{"reply": TEXT}`. Tools may be added with a turn, so it lists them anew in each. At the end
its input is closed. `{"fault": TEXT}` says that it could not work for a reason that is not its own,
as where its model's endpoint is down: such an episode is masked. Other lines are let pass.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from provegym.errors import InfrastructureError
from provegym.gateway import http
from provegym.gateway.client import Connection, RemoteSession
from provegym.gateway.settings import Settings
from provegym.rollout.loop import OUR_FAULTS, close_session, fault_message, system_prompt
from provegym.rollout.run import Job, Play, masked
from provegym.types import Call, StopReason, Trace

LINE_BYTES = 8 << 20
"""Longest line of an agent."""
LEAVE_SECONDS = 5.0
"""How long an agent may take to end once its input is closed."""


class Said(Struct):
    """A line of an agent that tells something."""

    reply: str | None = None
    fault: str | None = None


class AgentFault(InfrastructureError):
    """The agent says that it could not work for a reason that is not its own."""


@contextmanager
def player(command: Sequence[str], seconds: float) -> Iterator[Play]:
    """Plays episodes with an agent's command, on a gateway of its own on loopback.

    `seconds` is how long the agent may take for a user turn. The gateway wants a token for all but
    the URLs of sessions, so that no agent can score, reset or fork what it works on.
    """
    idle = 2 * seconds + 600
    settings = Settings(port=0, token=secrets.token_urlsafe(32), idle=idle, rate=0)
    app = http.app(http.new_rooms(settings), settings)
    with http.background(app, settings) as url, Connection(url, settings.token) as gym:

        async def one(job: Job) -> Trace:
            return await play(job, gym, command, seconds)

        yield one


async def play(job: Job, gym: Connection, command: Sequence[str], seconds: float) -> Trace:
    """One episode of an agent over a gateway.

    An agent that ends early or takes too long has what it did so far scored, and the stop reason
    `max_steps`; the last message says what happened.
    """
    try:
        session = await asyncio.to_thread(gym.open, task=job.task)
    except OUR_FAULTS as fault:
        return masked(job, fault)
    episode = _Episode(job, session, seconds)
    try:
        async with running(command) as agent:
            stop = await episode.play(agent)
        made = await asyncio.to_thread(session.trace)
        code = agent.returncode or 0
        if stop == "max_steps" and code > 0 and not made.calls and episode.is_silent():
            raise AgentFault(f"{command[0]} ended with code {code} and had done nothing")
    except OUR_FAULTS as fault:
        stop, made = "infrastructure", Trace("", "", ())
        episode.said.append((-1, fault_message(fault, job.trace_id)))
    finally:
        await asyncio.to_thread(close_session, session, job.trace_id)
    return replace(
        made,
        id=job.trace_id,
        task_id=job.task.id,
        policy=job.policy,
        seed=job.seed,
        messages=tuple(episode.messages(made.calls)),
        stop_reason=stop,
    )


class _Episode:
    """What user and agent have said so far, each with its turn."""

    def __init__(self, job: Job, session: RemoteSession, seconds: float) -> None:
        self.job, self.session, self.seconds = job, session, seconds
        self.said: list[tuple[int, dict[str, Any]]] = []

    async def play(self, agent: Process) -> StopReason:
        """All user turns. Raises `AgentFault`, and what the session does."""
        for turn, script in enumerate(self.job.task.turns):
            if turn:
                await asyncio.to_thread(self.session.enter, turn)
            self.said.append((turn, {"role": "user", "content": script.user}))
            heard, why = await self._ask(agent, turn, script.user)
            if heard is None:
                self.said.append((turn, {"role": "assistant", "content": "", "stopped": why}))
                return "max_steps"
            if heard.fault is not None:
                raise AgentFault(heard.fault)
            self.said.append((turn, {"role": "assistant", "content": heard.reply}))
        return "done"

    def is_silent(self) -> bool:
        """Whether the agent has not said anything yet."""
        return not any(message.get("content") for _, message in self.said[1:])

    async def _ask(self, agent: Process, turn: int, user: str) -> tuple[Said | None, str]:
        """What the agent says to a user turn; None and the reason where nothing comes."""
        assert agent.stdin
        told = {
            "mcp": self.session.mcp,
            "system": system_prompt(self.job.task),
            "user": user,
            "turn": turn,
        }
        agent.stdin.write(msgspec.json.encode(told) + b"\n")
        try:
            async with asyncio.timeout(self.seconds):
                with suppress(ConnectionError):  # what it wrote before it ended counts
                    await agent.stdin.drain()
                heard = await _heard(agent)
        except TimeoutError:
            return None, f"the agent took over {self.seconds:g} s"
        return heard, "the agent ended without a reply"

    def messages(self, calls: Sequence[Call]) -> Iterator[dict[str, Any]]:
        """The conversation as the loop would keep it: the calls of a turn before its answer."""
        yield {"role": "system", "content": system_prompt(self.job.task)}
        for turn, message in self.said:
            if message["role"] == "assistant":
                for place, call in enumerate(calls):
                    if call.turn == turn:
                        yield from _call_messages(call, f"call_{place}")
            yield message


def _call_messages(call: Call, name: str) -> Iterator[dict[str, Any]]:
    arguments = call.arguments
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    function = {"name": call.name, "arguments": text}
    made = {"id": name, "type": "function", "function": function}
    yield {"role": "assistant", "content": "", "tool_calls": [made]}
    result = msgspec.json.encode(call.result).decode()
    yield {"role": "tool", "tool_call_id": name, "content": result}


async def _heard(agent: Process) -> Said | None:
    """The next line of an agent that says something; None at the end of its output."""
    assert agent.stdout
    while True:
        try:
            line = await agent.stdout.readline()
        except ValueError:
            continue  # longer than `LINE_BYTES`, which is dropped
        if not line:
            return None
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            said = msgspec.json.decode(line, type=Said)
            if said.reply is not None or said.fault is not None:
                return said


@asynccontextmanager
async def running(command: Sequence[str]) -> AsyncIterator[Process]:
    """The agent's process, which is ended with all that it started.

    Raises `AgentFault` where it cannot be started.
    """
    try:
        agent = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, limit=LINE_BYTES, start_new_session=True
        )
    except OSError as error:
        raise AgentFault(f"{command[0]} cannot be started: {error}") from error
    try:
        yield agent
    finally:
        await _end(agent)


async def _end(agent: Process) -> None:
    """Close the agent's input, wait a while, and end what is left of its process group."""
    assert agent.stdin
    agent.stdin.close()
    with suppress(ConnectionError):
        await agent.stdin.wait_closed()
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                await agent.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(agent.pid, signal.SIGKILL)
    await agent.wait()
