"""The rows of every export format, one function a format. A frozen record says its columns.

The columns are those that the consumers read: verl 0.9.1's `RLHFDataset`, TRL's `GRPOTrainer`,
NeMo Gym 0.7's agents, OpenAI's fine-tuning files, and ShareGPT as LLaMA-Factory documents it. Each
row also has `id`, the hash of the task's content, and `task_id`, the id that the task has in its
file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from provegym.dataset.conversation import messages, opening, parts
from provegym.records import encode
from provegym.rollout.loop import tools_at
from provegym.types import Task, Tool

AGENT = "provegym"
"""Name of the agent loop that verl is to play a row with, and of the data source."""


class Entry(NamedTuple):
    """A task on its way out: the hash of its content, its split, its number within that."""

    task: Task
    id: str
    split: str
    number: int


class TaskRow(Task, frozen=True, kw_only=True):
    """A whole task; `id` is the hash of its content."""

    task_id: str


class Message(Struct, frozen=True):
    """A chat message without calls."""

    role: str
    content: str


class PromptRow(Struct, frozen=True):
    """What TRL's trainer takes: a prompt, and for the environment the tools and task as JSON."""

    id: str
    task_id: str
    prompt: tuple[Message, ...]
    tools: str
    task: str


class RewardModel(Struct, frozen=True):
    """verl: how a row is scored. `ground_truth` is JSON: the calls, each with its user turn."""

    style: Literal["rule"]
    ground_truth: str


class ExtraInfo(Struct, frozen=True):
    """verl: what a row's agent loop and reward are given. `tools` and `task` are JSON."""

    index: int
    split: str
    id: str
    task_id: str
    tools: str
    task: str


class VerlRow(Struct, frozen=True):
    """What verl's `RLHFDataset` takes."""

    id: str
    task_id: str
    data_source: str
    agent_name: str
    prompt: tuple[Message, ...]
    ability: str
    reward_model: RewardModel
    extra_info: ExtraInfo


class ChatRow(Struct, frozen=True):
    """A line of OpenAI's fine-tuning files."""

    id: str
    task_id: str
    messages: list[dict[str, Any]]
    tools: tuple[Tool, ...]
    parallel_tool_calls: bool = False


class ShareGptRow(Struct, frozen=True):
    """ShareGPT. `tools` is JSON: a list of name, description and parameters."""

    id: str
    task_id: str
    conversations: list[dict[str, str]]
    system: str
    tools: str


class NemoGymRow(Struct, frozen=True):
    """NeMo Gym: a request to OpenAI's Responses API, which agent plays it, and the task for our
    resources server.
    """

    id: str
    task_id: str
    responses_create_params: dict[str, Any]
    agent_ref: dict[str, str]
    task: Task


def task_rows(entry: Entry) -> Iterator[TaskRow]:
    """The task itself."""
    fields = {name: getattr(entry.task, name) for name in Task.__struct_fields__}
    yield TaskRow(**{**fields, "id": entry.id}, task_id=entry.task.id)


def prompt_rows(entry: Entry) -> Iterator[PromptRow]:
    """The first user turn; the rest is the environment's."""
    task = entry.task
    yield PromptRow(entry.id, task.id, _prompt(task), _json(tools_at(task, 0)), _json(task))


def verl_rows(entry: Entry) -> Iterator[VerlRow]:
    """The same for verl. What varies from row to row is JSON, for Parquet would join the keys."""
    task, tools = entry.task, _json(tools_at(entry.task, 0))
    calls = [
        {"turn": turn, "name": call.name, "arguments": call.arguments}
        for turn, call in task.ground_truth
    ]
    yield VerlRow(
        id=entry.id,
        task_id=task.id,
        data_source=AGENT,
        agent_name=AGENT,
        prompt=_prompt(task),
        ability="tool_use",
        reward_model=RewardModel("rule", _json(calls)),
        extra_info=ExtraInfo(entry.number, entry.split, entry.id, task.id, tools, _json(task)),
    )


def chat_rows(entry: Entry) -> Iterator[ChatRow]:
    """The ground truth as a conversation; two rows where tools appear on the way."""
    for name, part in _named_parts(entry):
        yield ChatRow(name, part.id, messages(part), part.tools)


def sharegpt_rows(entry: Entry) -> Iterator[ShareGptRow]:
    """The same in ShareGPT's words."""
    for name, part in _named_parts(entry):
        system, *said = messages(part)
        tools = [msgspec.to_builtins(tool.function) for tool in part.tools]
        conversation = list(map(_sharegpt, said))
        yield ShareGptRow(name, part.id, conversation, system["content"], _json(tools))


def nemo_gym_rows(entry: Entry) -> Iterator[NemoGymRow]:
    """The first user turn and its tools; the rest is the resources server's."""
    task = entry.task
    functions = [msgspec.to_builtins(tool.function) for tool in tools_at(task, 0)]
    tools = [{"type": "function", "strict": False, **function} for function in functions]
    asked = {"input": opening(task), "tools": tools}
    agent = {"type": "responses_api_agents", "name": f"{AGENT}_agent"}
    yield NemoGymRow(entry.id, task.id, asked, agent, task)


class Format(NamedTuple):
    """How tasks become rows of the type `row`, and the suffix of a file of them."""

    rows: Callable[[Entry], Iterable[Struct]]
    row: type[Struct]
    suffix: str


FORMATS: dict[str, Format] = {
    "jsonl": Format(task_rows, TaskRow, ".jsonl"),
    "parquet": Format(task_rows, TaskRow, ".parquet"),
    "hf": Format(task_rows, TaskRow, ".parquet"),
    "trl": Format(prompt_rows, PromptRow, ".parquet"),
    "verl": Format(verl_rows, VerlRow, ".parquet"),
    "nemo-gym": Format(nemo_gym_rows, NemoGymRow, ".jsonl"),
    "openai": Format(chat_rows, ChatRow, ".jsonl"),
    "sharegpt": Format(sharegpt_rows, ShareGptRow, ".jsonl"),
}


def _json(value: object) -> str:
    return encode(value).decode()


def _prompt(task: Task) -> tuple[Message, ...]:
    return tuple(Message(**message) for message in opening(task))


def _named_parts(entry: Entry) -> Iterator[tuple[str, Task]]:
    """The parts of the task, from the second on with their number in the id."""
    for number, part in enumerate(parts(entry.task)):
        yield f"{entry.id}.{number}" if number else entry.id, part


def _sharegpt(message: Mapping[str, Any]) -> dict[str, str]:
    if calls := message.get("tool_calls"):
        function = calls[0]["function"]
        call = {"name": function["name"], "arguments": msgspec.json.decode(function["arguments"])}
        return {"from": "function_call", "value": _json(call)}
    speaker = {"user": "human", "assistant": "gpt", "tool": "observation"}[message["role"]]
    return {"from": speaker, "value": message["content"]}
