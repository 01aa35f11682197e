"""Whole rollouts with a model behind an endpoint, on a real bank."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from provegym import worlds
from provegym.errors import EndpointDown, InfrastructureError
from provegym.llm.client import openai_policy
from provegym.llm.scripted import ScriptedServer, fails, says
from provegym.records import encode, read, write_atomic
from provegym.rollout.run import rollout_file
from provegym.rollout.summary import TraceSummary
from provegym.servers import load
from provegym.types import Task, Trace, Turn

BANK = load("banking").tools
OFFERED = tuple(BANK[name].schema for name in ("list_accounts", "list_loans"))


class Stage:
    """Tasks over one bank, and where their traces go."""

    def __init__(self, folder: Path, count: int) -> None:
        self.tasks, self.out = folder / "tasks.jsonl", folder / "traces.jsonl"
        turns = (Turn(user="What accounts do I have?"), Turn(user="Thanks."))
        tasks = [
            Task(f"t{n}", "workflow", turns, servers=("banking",), seed=n, tools=OFFERED)
            for n in range(count)
        ]
        write_atomic(self.tasks, map(encode, tasks))

    def roll(self, policy: str, make_policy: Any, **options: Any) -> TraceSummary:
        opener = worlds.open_session
        return rollout_file(
            self.tasks, policy, self.out, open_session=opener, make_policy=make_policy, **options
        )

    def traces(self) -> list[Trace]:
        return list(read(self.out, Trace))


def call(name: str, arguments: str) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


def test_an_endpoint_plays_on_a_live_session(endpoint: ScriptedServer, tmp_path: Path) -> None:
    endpoint.answers = [
        says(tool_calls=[call("list_accounts", "{}")]),
        says(content="Let me see.", tool_calls=[call("list_loans", "{oops")]),
        says(content="Two."),
        says(content="Welcome."),
    ]
    stage = Stage(tmp_path, 1)
    summary = stage.roll("openai:m", openai_policy("m", endpoint.url))
    (trace,) = stage.traces()
    assert [(c.name, c.outcome) for c in trace.calls] == [
        ("list_accounts", "ok"),
        ("list_loans", "malformed"),
    ]
    assert (summary.call_forms, summary.usage.prompt_tokens) == ({"native": 2}, 44)
    told = endpoint.requests[1]["messages"][-1]
    assert json.loads(told["content"]) == trace.calls[0].result
    assert told["tool_call_id"] == "c1"
    assert [t["function"]["name"] for t in endpoint.requests[0]["tools"]] == [
        "list_accounts",
        "list_loans",
    ]


def test_an_endpoint_that_fails_masks_its_episodes_and_the_run_goes_on(
    endpoint: ScriptedServer, tmp_path: Path
) -> None:
    endpoint.answers = [fails(500, "out of memory")] * 2 + [says(content="Hi.")]
    stage = Stage(tmp_path, 3)
    factory = openai_policy("m", endpoint.url, retries=1)
    summary = stage.roll("openai:m", factory, concurrency=1)
    assert [t.stop_reason for t in stage.traces()] == ["infrastructure", "done", "done"]
    assert (summary.traces, summary.masked) == (3, 1)
    (fault,) = summary.faults
    assert fault.startswith("ModelFault")
    assert "out of memory" in fault


def test_an_endpoint_that_never_answers_ends_a_rollout_and_its_episodes_can_be_played_again(
    endpoint: ScriptedServer, tmp_path: Path
) -> None:
    endpoint.answers = [replace(says(), body=b"<html>welcome</html>")]
    stage = Stage(tmp_path, 40)
    with pytest.raises(InfrastructureError, match=r"first 20 episodes .*no chat.*--retry-masked"):
        stage.roll("openai:m", openai_policy("m", endpoint.url, retries=0), concurrency=4)
    assert 0 < len(stage.traces()) <= 24
    endpoint.answers = [says(content="Hi.")]
    policy = openai_policy("m", endpoint.url)
    summary = stage.roll("openai:m", policy, concurrency=4, retry_masked=True)
    assert (summary.traces, summary.masked) == (40, 0)


def test_a_rollout_ends_at_once_where_nobody_is_there_and_loses_no_episode(
    endpoint: ScriptedServer, tmp_path: Path
) -> None:
    stage = Stage(tmp_path, 3)
    with pytest.raises(EndpointDown, match=r"http://127\.0\.0\.1:1/v1"):
        stage.roll("openai:m", openai_policy("m", "http://127.0.0.1:1/v1", retries=0))
    assert stage.traces() == []
    endpoint.answers = [says(content="Hi.")]
    summary = stage.roll("openai:m", openai_policy("m", endpoint.url))
    assert (summary.traces, summary.masked) == (3, 0)


def test_a_rollout_goes_on_past_lost_episodes_once_one_was_played(
    endpoint: ScriptedServer, tmp_path: Path
) -> None:
    page = replace(says(), body=b"<html>welcome</html>")
    endpoint.answers = [says(content="Hi."), says(content="Hi."), page]
    stage = Stage(tmp_path, 30)
    summary = stage.roll("openai:m", openai_policy("m", endpoint.url), concurrency=1)
    assert (summary.traces, summary.masked) == (30, 29)
