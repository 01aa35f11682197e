"""An OpenEnv environment, for trainers that speak its protocol (SkyRL, Unsloth, TRL, ...).

One WebSocket is one environment, which plays one episode after another, each on a live session of
its own. An action is the assistant's next message; the observation is what was said since.

    PROVEGYM_TASKS=tasks.jsonl uvicorn --factory provegym.train.openenv:app
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from openenv.core.env_server import Action, Environment, Observation, State, create_app

from provegym.errors import InputError
from provegym.rollout.steps import Steps, reply_of
from provegym.train.adapter import begin, judged, preset_named, tasks_of
from provegym.types import Task

SPLIT = "train"


class Said(Action):  # type: ignore[misc]
    """An assistant message: text, in which `<tool_call>` tags are calls, or OpenAI's `tool_calls`
    beside it.
    """

    content: str = ""
    tool_calls: list[dict[str, Any]] | None = None


class Heard(Observation):  # type: ignore[misc]
    """What was said since, as OpenAI's messages, and the tools on offer now.

    `reward` is 0 until the episode is over; then `metadata` has what it is made of.
    """

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]


class ProvegymEnvironment(Environment):  # type: ignore[misc]
    """Plays episodes of `tasks`, over sessions of this process or of the gateway at `url`.

    Faults of ours are raised, so that no trainer takes them for a reward of 0.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self, tasks: Sequence[Task], preset: str = "paper", url: str = "", max_steps: int = 10
    ) -> None:
        super().__init__()
        self._tasks, self._preset = tasks, preset_named(preset)
        self._url, self._max_steps = url, max_steps
        self._steps: Steps | None = None
        self._state = State()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        index: int | None = None,
        **kwargs: Any,
    ) -> Heard:
        """Begin the episode of the task `index`, else of the one that the seed falls on.

        Raises `IndexError` for a task that there is none of.
        """
        self.close()
        task = self._at((seed or 0) % len(self._tasks) if index is None else index)
        name = episode_id or task.id
        self._steps = begin(task, name, self._url, self._max_steps)
        self._state = State(episode_id=name, task_id=task.id)
        return Heard(messages=self._steps.messages, tools=self._steps.tools, reward=0.0)

    def step(self, action: Said, timeout_s: float | None = None, **kwargs: Any) -> Heard:
        """Give the assistant's message. Raises `InputError` where no episode is on, and
        `InfrastructureError` where a fault of ours ended it.
        """
        if self._steps is None:
            raise InputError("no episode has begun; reset first")
        said = self._steps.step(reply_of(action.content, action.tool_calls))
        self._state.step_count += 1
        trace, tools = self._steps.trace, self._steps.tools
        if trace is None:
            return Heard(messages=said, tools=tools, reward=0.0)
        reward, parts = judged(self._steps.task, trace, self._preset)
        told = {**parts, "stop": trace.stop_reason}
        return Heard(messages=said, tools=tools, done=True, reward=reward, metadata=told)

    @property
    def state(self) -> State:
        """The episode's name, its task and the messages so far."""
        return self._state

    def close(self) -> None:
        """End the episode that is on, if any, and its session."""
        if self._steps is not None:
            self._steps.close()
        self._steps = None

    # -- OpenEnv's task API: which tasks `index` may name ------------------------------------

    def list_splits(self) -> list[str]:
        """The only split."""
        return [SPLIT]

    def num_tasks(self, split: str) -> int:
        """How many there are."""
        return len(self._tasks)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """One of them. Raises `IndexError` where it is not there."""
        task = self._at(index)
        return {"id": task.id, "index": index, "kind": task.kind, "turns": len(task.turns)}

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """All of them."""
        return [self.get_task(split, index) for index in range(len(self._tasks))]

    def _at(self, index: int) -> Task:
        if not 0 <= index < len(self._tasks):
            raise IndexError(f"there is no task {index}; the last is {len(self._tasks) - 1}")
        return self._tasks[index]


def app() -> Any:
    """The server of `PROVEGYM_TASKS` (a file), with the reward `PROVEGYM_PRESET`, on the gateway
    `PROVEGYM_SESSIONS` (a URL; without one on sessions of this process), with at most
    `PROVEGYM_EPISODES` at once. Raises `InputError` for tasks that cannot be learnt from.
    """
    told = os.environ.get
    tasks = tasks_of(Path(told("PROVEGYM_TASKS", "tasks.jsonl")))
    preset, url = told("PROVEGYM_PRESET", "paper"), told("PROVEGYM_SESSIONS", "")
    most = told("PROVEGYM_EPISODES", "256")
    if not most.isdecimal() or not int(most):
        raise InputError(f"PROVEGYM_EPISODES is {most!r}, not a number of episodes")
    preset_named(preset)

    def environment() -> ProvegymEnvironment:
        return ProvegymEnvironment(tasks, preset, url)

    return create_app(environment, Said, Heard, env_name="provegym", max_concurrent_envs=int(most))
