"""The rows of each format, held against what reads them."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from pydantic import ConfigDict, TypeAdapter

from provegym import records
from provegym.dataset.conversation import messages, parts
from provegym.dataset.export import Exported, Plan, export
from provegym.dataset.rows import Entry, VerlRow, nemo_gym_rows, sharegpt_rows
from provegym.dataset.told import FOUND
from provegym.rollout.loop import tools_at
from provegym.rollout.policies import oracle
from provegym.rollout.run import rollout_file
from provegym.types import (
    Function,
    GroundCall,
    Perturbations,
    Ref,
    Task,
    Tool,
    Trace,
    Turn,
)
from provegym.worlds import open_session

LOOK = GroundCall("g0", "look", {"name": "Zoë"}, result={"id": "x1", "tags": [1, "a", None]})
PAY = GroundCall("g1", "pay", {"to": "x1", "amount": 2}, ("g0",), {"/to": Ref("g0", "/id")}, True)


def tool(name: str) -> Tool:
    return Tool(Function(name, f"To {name}.", {"type": "object", "properties": {"to": {}}}))


LATE = Task(
    "late",
    "clarification",
    (
        Turn("Pay Zoë 2", (LOOK,), "I cannot pay."),
        Turn("Now you can", (PAY,), "Done.", (tool("pay"),)),
        Turn("Thanks", (), ""),
    ),
    servers=("bank",),
    seed=4,
    reference_time="2026-03-02T09:00:00+00:00",
    tools=(tool("look"),),
    perturbations=Perturbations(missing_function="pay"),
)


def tasks_of(path: Path) -> list[Task]:
    return list(records.read(path, Task))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def exported(tasks: Path, out: Path, form: str) -> Exported:
    return export(tasks, out, Plan(form), {})


# --- conversations -------------------------------------------------------------------------


def live(tasks: Path, out: Path) -> dict[str, list[dict[str, Any]]]:
    """What the oracle said and heard on live sessions, without what only traces have."""
    rollout_file(tasks, "oracle", out, open_session=open_session, make_policy=oracle)
    return {t.task_id: list(map(bare, t.messages)) for t in records.read(out, Trace)}


def bare(message: dict[str, Any]) -> dict[str, Any]:
    """A message with its JSON decoded."""
    kept = {k: v for k, v in message.items() if k not in ("name", "call_form")}
    if message["role"] == "tool":
        kept["content"] = json.loads(message["content"])
    if calls := message.get("tool_calls"):
        functions = [call["function"] for call in calls]
        made = [(f["name"], json.loads(f["arguments"])) for f in functions]
        kept["tool_calls"] = [(c["id"], c["type"], *f) for c, f in zip(calls, made, strict=True)]
    return kept


def mute(message: dict[str, Any]) -> dict[str, Any]:
    """A message without what it tells of a result: the oracle only says that there is one."""
    if message["role"] == "assistant":
        kept = re.sub(r"(I found|Here is what I found)\b.*", FOUND, message["content"])
        return {**message, "content": kept}
    return message


def test_replies_of_conversations_tell_what_was_found(made: Path) -> None:
    said = [m for task in tasks_of(made) for m in messages(task) if m["role"] == "assistant"]
    ends = [m["content"] for m in said]
    assert sum(text.startswith(("I found ", "Here is what I found: ")) for text in ends) > 3
    assert not any(text.endswith(FOUND) for text in ends)


def test_a_conversation_is_the_one_that_the_oracle_has_with_live_servers(
    made: Path, tmp_path: Path
) -> None:
    played = live(made, tmp_path / "traces.jsonl")
    assert len(played) == 24
    for task in tasks_of(made):
        assert [mute(bare(m)) for m in messages(task)] == list(map(mute, played[task.id]))


def test_a_task_is_cut_where_tools_appear_and_what_came_before_is_joined() -> None:
    first, second = parts(LATE)
    assert [[t.function.name for t in part.tools] for part in (first, second)] == [
        ["look"],
        ["look", "pay"],
    ]
    assert first.turns == LATE.turns[:1]
    assert second.turns == (
        Turn("Pay Zoë 2\n\nNow you can", (LOOK, PAY), "Done."),
        Turn("Thanks", (), ""),
    )
    assert parts(first) == (first,)


def test_openai_rows_have_the_types_of_its_client(made: Path, tmp_path: Path) -> None:
    told = exported(made, tmp_path / "out.jsonl", "openai")
    late = sum(any(turn.tools for turn in task.turns) for task in tasks_of(made))
    assert late > 0
    assert told.rows == {"train": 24 + late}
    strict = ConfigDict(extra="forbid", strict=True)
    said = TypeAdapter(list[ChatCompletionMessageParam], config=strict)
    shown = TypeAdapter(list[ChatCompletionToolParam], config=strict)
    with pytest.raises(ValueError, match="extra"):
        said.validate_python([{"role": "user", "content": "a", "other": 1}])
    rows = lines(tmp_path / "out.jsonl")
    for row in rows:
        for message in said.validate_python(row["messages"]):
            list(message.get("tool_calls", ()))  # type: ignore[call-overload]
        shown.validate_python(row["tools"])
        assert row["parallel_tool_calls"] is False
        assert set(row) == {"id", "task_id", "messages", "tools", "parallel_tool_calls"}
    assert len({row["id"] for row in rows}) == len(rows)
    assert {row["task_id"] for row in rows} == {task.id for task in tasks_of(made)}


def test_every_call_of_a_conversation_is_of_a_tool_that_it_shows_and_is_answered(
    made: Path, tmp_path: Path
) -> None:
    exported(made, tmp_path / "out.jsonl", "openai")
    calls: Counter[str] = Counter()
    for row in lines(tmp_path / "out.jsonl"):
        shown = {t["function"]["name"] for t in row["tools"]}
        asked = [c for m in row["messages"] for c in m.get("tool_calls", ())]
        assert {c["function"]["name"] for c in asked} <= shown
        heard = [m["tool_call_id"] for m in row["messages"] if m["role"] == "tool"]
        assert [c["id"] for c in asked] == heard
        calls[row["task_id"]] = max(calls[row["task_id"]], len(asked))
    assert calls == {task.id: len(task.ground_truth) for task in tasks_of(made)}


def test_sharegpt_rows_are_as_its_readers_want_them() -> None:
    first, second = sharegpt_rows(Entry(LATE, "h", "train", 0))
    assert (first.id, second.id, second.task_id) == ("h", "h.1", "late")
    assert first.system.startswith("You get things done with tools. It is 2026-03-02T09:00")
    assert json.loads(first.tools) == [
        {
            "name": "look",
            "description": "To look.",
            "parameters": {"type": "object", "properties": {"to": {}}},
        }
    ]
    assert [(m["from"], m["value"]) for m in second.conversations] == [
        ("human", "Pay Zoë 2\n\nNow you can"),
        ("function_call", '{"name":"look","arguments":{"name":"Zoë"}}'),
        ("observation", '{"id":"x1","tags":[1,"a",null]}'),
        ("function_call", '{"name":"pay","arguments":{"to":"x1","amount":2}}'),
        ("observation", "true"),
        ("gpt", "Done."),
        ("human", "Thanks"),
        ("gpt", "Done."),
    ]


def test_sharegpt_speakers_alternate(made: Path, tmp_path: Path) -> None:
    exported(made, tmp_path / "out.jsonl", "sharegpt")
    for row in lines(tmp_path / "out.jsonl"):
        speakers = [message["from"] for message in row["conversations"]]
        assert len(speakers) % 2 == 0
        assert set(speakers[::2]) <= {"human", "observation"}
        assert set(speakers[1::2]) <= {"gpt", "function_call"}


# --- prompts -------------------------------------------------------------------------------


def test_verl_rows_have_its_columns_and_the_whole_task(made: Path, tmp_path: Path) -> None:
    exported(made, tmp_path / "out.parquet", "verl")
    rows = pq.read_table(tmp_path / "out.parquet")
    assert rows.column_names == [*VerlRow.__struct_fields__]
    for number, (row, task) in enumerate(zip(rows.to_pylist(), tasks_of(made), strict=True)):
        assert [m["role"] for m in row["prompt"]] == ["system", "user"]
        assert row["prompt"][1]["content"] == task.turns[0].user
        assert (row["data_source"], row["agent_name"]) == ("provegym", "provegym")
        truth = json.loads(row["reward_model"]["ground_truth"])
        assert [(c["turn"], c["name"], c["arguments"]) for c in truth] == [
            (turn, call.name, call.arguments) for turn, call in task.ground_truth
        ]
        extra = row["extra_info"]
        assert (extra["index"], extra["split"], extra["id"]) == (number, "train", row["id"])
        assert msgspec.json.decode(extra["task"], type=Task) == task
        assert msgspec.json.decode(extra["tools"], type=tuple[Tool, ...]) == tools_at(task, 0)


def test_nemo_gym_rows_hold_the_first_request_and_the_whole_task() -> None:
    (row,) = nemo_gym_rows(Entry(LATE, "h", "train", 0))
    asked = row.responses_create_params
    assert [message["role"] for message in asked["input"]] == ["system", "user"]
    assert asked["input"][1]["content"] == LATE.turns[0].user
    shown = [tool.function for tool in LATE.tools]
    assert [tool["name"] for tool in asked["tools"]] == [function.name for function in shown]
    assert [tool["parameters"] for tool in asked["tools"]] == [f.parameters for f in shown]
    assert {(tool["type"], tool["strict"]) for tool in asked["tools"]} == {("function", False)}
    assert msgspec.json.decode(msgspec.json.encode(row.task), type=Task) == LATE
    assert (row.id, row.task_id, row.agent_ref["name"]) == ("h", "late", "provegym_agent")
