"""A SkyRL environment: text in, text out, with tools and calls in Hermes' form.

Rows are those of `provegym dataset export --format trl`: SkyRL hands each row's other columns, the
task among them, to the environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from provegym.llm.hermes import as_text
from provegym.records import encode
from provegym.rollout.steps import Steps, reply_of
from provegym.train.adapter import announcement, begin, judged, preset_named
from provegym.types import Task

Messages = list[dict[str, str]]


class ProvegymTextEnv(BaseTextEnv):  # type: ignore[misc]
    """One episode of the task in `extras`. `env_config` may set `preset`, `sessions` (the URL of a
    gateway; without one, sessions of this process) and `max_steps`, messages in one user turn.

    Faults of ours are raised, so that SkyRL does not take them for a reward of 0.
    """

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        settings, row = env_config or {}, extras or {}
        self._task = msgspec.json.decode(row["task"], type=Task)
        self._preset = preset_named(str(settings.get("preset", "paper")))
        url, most = str(settings.get("sessions", "")), int(settings.get("max_steps", 10))
        self.max_turns = most * len(self._task.turns)
        self._steps: Steps = begin(self._task, self._task.id, url, most)
        self._parts: dict[str, float] = {}

    def init(self, prompt: Messages) -> tuple[Messages, dict[str, Any]]:
        """The system prompt with the tools, and the first user turn, in place of the row's."""
        return as_text(self._steps.messages, self._steps.tools), {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Give the model's text. Raises `InfrastructureError` where a fault of ours ended it."""
        self.turns += 1
        known = {tool["function"]["name"] for tool in self._steps.tools}
        said = as_text(self._steps.step(reply_of(action)), [])
        trace, reward = self._steps.trace, 0.0
        if trace is not None:
            reward, self._parts = judged(self._task, trace, self._preset)
        new = [tool for tool in self._steps.tools if tool["function"]["name"] not in known]
        if new:
            told = announcement(encode(tool).decode() for tool in new)
            said[-1] = {**said[-1], "content": f"{told}{said[-1]['content']}"}
        return BaseTextEnvStepOutput(
            observations=said, reward=reward, done=trace is not None, metadata=dict(self._parts)
        )

    def get_metrics(self) -> dict[str, float]:
        """What the reward was made of."""
        return self._parts

    def close(self) -> None:
        """End the episode wherever it is, and its session."""
        self._steps.close()
