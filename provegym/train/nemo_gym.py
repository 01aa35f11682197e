"""A resources server for NeMo Gym, played by its `gymnasium_agent`.

A row is a task as `provegym dataset export --format nemo-gym` writes it; an episode is a live
session of its own. The agent gives each message of the model, and is given the results and user
turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from nemo_gym.base_resources_server import BaseResourcesServerConfig
from nemo_gym.server_utils import SESSION_ID_KEY
from resources_servers.gymnasium import GymnasiumServer, extract_text

from provegym.errors import InfrastructureError
from provegym.records import encode
from provegym.rollout.reply import Reply, ToolCall
from provegym.rollout.steps import Steps, reply_of
from provegym.train.adapter import announcement, begin, judged, preset_named
from provegym.types import Task

Step = tuple[str | None, float, bool, bool, dict[str, Any]]
"""Observation, reward, terminated, truncated, info."""


class ProvegymConfig(BaseResourcesServerConfig):  # type: ignore[misc]
    """Settings in the server's YAML: the reward's preset, the URL of a gateway ("": sessions of
    this process), and how many messages a model may write in one user turn.
    """

    preset: str = "paper"
    sessions: str = ""
    max_steps: int = 10


class ProvegymServer(GymnasiumServer):  # type: ignore[misc]
    """Plays the episodes of all sessions of NeMo Gym's.

    The reward comes with the last step. A fault of ours answers with an error, never with a reward
    of 0; the agent then closes the episode, as `supports_explicit_close` tells it to.
    """

    ray_enabled = False
    config: ProvegymConfig

    def setup_webserver(self) -> FastAPI:
        """NeMo Gym's routes, and `/close`. Raises `UnknownName` for the reward's preset."""
        preset_named(self.config.preset)
        app: FastAPI = super().setup_webserver()
        app.post("/close")(self._close_endpoint)
        return app

    async def reset(
        self, metadata: dict[str, Any], session_id: str | None = None
    ) -> tuple[None, dict[str, Any]]:
        """Begin the episode of the row's task. The row holds the first user turn already."""
        await self.close_session(session_id)
        task = msgspec.convert(metadata["task"], Task)
        settings = self.config.sessions, self.config.max_steps
        self.session_state[session_id] = await asyncio.to_thread(
            begin, task, str(session_id), *settings
        )
        return None, {"supports_explicit_close": True}

    async def step(
        self, action: Any, metadata: dict[str, Any], session_id: str | None = None
    ) -> Step:
        """Give the model's message; what was said since. Raises `InfrastructureError` where a fault
        of ours ended the episode, or where none is on.
        """
        steps: Steps | None = self.session_state.get(session_id)
        if steps is None:
            raise InfrastructureError("no episode is on in this session; it was lost, or is over")
        known = {tool["function"]["name"] for tool in steps.tools}
        said = await asyncio.to_thread(steps.step, read(action))
        outputs = [
            {"call_id": message["tool_call_id"], "output": message["content"]}
            for message in said
            if message["role"] == "tool"
        ]
        if steps.trace is None:
            new = [tool for tool in steps.tools if tool["function"]["name"] not in known]
            return _user(said, new), 0.0, False, False, {"tool_outputs": outputs}
        reward, parts = judged(steps.task, steps.trace, self.config.preset)
        done = steps.trace.stop_reason == "done"
        return None, reward, done, not done, {**parts, "stop": steps.trace.stop_reason}

    async def close_session(self, session_id: str | None) -> None:
        """End an episode wherever it is, and its session."""
        steps: Steps | None = self.session_state.pop(session_id, None)
        if steps is not None:
            await asyncio.to_thread(steps.close)

    async def _close_endpoint(self, request: Request) -> dict[str, bool]:
        await self.close_session(request.session.get(SESSION_ID_KEY))
        return {"ok": True}


def read(action: Any) -> Reply:
    """A response of the Responses API as an assistant message."""
    text = extract_text(action)
    calls = tuple(
        ToolCall(item.call_id, item.name, item.arguments)
        for item in action.output
        if item.type == "function_call"
    )
    return Reply(text, calls, form="native") if calls else reply_of(text)


def _user(said: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> str | None:
    """The next user turn, if it has come, behind the tools that come with it: the agent's list of
    tools stays as the row has it.
    """
    for message in said:
        if message["role"] == "user":
            told = announcement(encode(tool).decode() for tool in new) if new else ""
            return f"{told}{message['content']}"
    return None


if __name__ == "__main__":
    ProvegymServer.run_webserver()
