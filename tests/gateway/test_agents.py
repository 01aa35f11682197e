"""Agents of other people: scored by the calls that they made, whatever else they do."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from provegym import records, worlds
from provegym.config import Synth
from provegym.gateway.agents import player
from provegym.graph.build import build
from provegym.rewards import score
from provegym.rollout.policies import oracle
from provegym.rollout.run import Job, play, play_file
from provegym.servers import load
from provegym.synth.make import Plan
from provegym.synth.pipeline import synthesize
from provegym.types import Call, Task, Trace

SERVERS = ("email", "calendar")
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certified tasks of two servers, all kinds among them."""
    path = tmp_path_factory.mktemp("tasks") / "tasks.jsonl"
    graph = build([load(name) for name in SERVERS])
    synthesize(Plan(7, servers=SERVERS, others=SERVERS), Synth(limit=12), graph, path)
    return path


@pytest.fixture
def one(tasks: Path) -> Task:
    """A task of several turns."""
    return next(task for task in records.read(tasks, Task) if len(task.turns) > 1)


async def nothing() -> None:
    """Nothing is held."""


def played(task: Task, *command: str, seconds: float = 60) -> Trace:
    """One episode of an agent."""

    async def episode() -> Trace:
        with player(command, seconds) as play:
            return await play(Job(task, 0, "agent", 0))

    return asyncio.run(episode())


def python(program: str) -> tuple[str, ...]:
    """An agent of a few lines that sees each line of its input as `told`."""
    lines = "import json, sys\nfor line in sys.stdin:\n    told = json.loads(line)\n"
    body = "".join(f"    {line}\n" for line in program.splitlines())
    return sys.executable, "-c", lines + body


def made(calls: tuple[Call, ...]) -> list[Call]:
    """Calls without their place among messages, which the gateway does not know."""
    return [replace(call, step=0) for call in calls]


def test_an_agent_that_plays_the_ground_truth_is_scored_as_the_oracle_is(
    tasks: Path, tmp_path: Path
) -> None:
    every = {task.kind: task for task in records.read(tasks, Task)}
    chosen, out = tmp_path / "tasks.jsonl", tmp_path / "traces.jsonl"
    records.write_atomic(chosen, map(records.encode, every.values()))
    command = (sys.executable, str(HERE / "oracle_agent.py"), str(chosen))
    with player(command, 120) as playing:
        summary = play_file(
            chosen, "agent", out, playing, end=nothing, concurrency=3, trials=1, seed=0,
            settings={}, world="", retry_masked=False, progress=None,
        )  # fmt: skip
    assert (summary.traces, summary.masked) == (3, 0)
    for trace in records.read(out, Trace):
        task = next(task for task in every.values() if task.id == trace.task_id)
        there = asyncio.run(play(Job(task, 0, "oracle", 0), worlds.open_session, oracle))
        assert made(trace.calls) == made(there.calls)
        assert trace.final_changes == there.final_changes
        assert score(task, trace, "strict").normalized == 1
        assert [m["content"] for m in trace.messages if m["role"] == "user"] == [
            turn.user for turn in task.turns
        ]
        told = [m["tool_call_id"] for m in trace.messages if m["role"] == "tool"]
        assert len(told) == len(set(told)) == len(trace.calls)


def test_an_agent_that_only_talks_made_no_call(one: Task) -> None:
    trace = played(one, *python("print(json.dumps({'reply': 'no'}), flush=True)"))
    assert (trace.calls, trace.stop_reason) == ((), "done")
    assert score(one, trace, "strict").normalized == 0
    assert sum(m["role"] == "assistant" for m in trace.messages) == len(one.turns)


@pytest.mark.parametrize(
    "program", ["sys.exit(0)", "print('{\"reply\": 3}', flush=True); sys.exit()"]
)
def test_an_agent_that_ends_early_is_scored_for_what_it_did(one: Task, program: str) -> None:
    trace = played(one, *python(program))
    assert trace.stop_reason == "max_steps"
    assert trace.messages[-1]["stopped"] == "the agent ended without a reply"
    assert not score(one, trace, "strict").masked


def test_an_agent_that_takes_too_long_is_stopped_and_scored(one: Task) -> None:
    trace = played(one, "cat", "/dev/stdin", seconds=0.3)  # says what it is told, for ever
    assert trace.messages[-1]["stopped"] == "the agent took over 0.3 s"
    assert not score(one, trace, "strict").masked


def test_a_fault_that_is_not_the_agents_masks_the_episode(one: Task) -> None:
    program = "print(json.dumps({'fault': 'the endpoint is down'}), flush=True)"
    trace = played(one, *python(program))
    assert trace.stop_reason == "infrastructure"
    assert trace.messages[-1]["fault"] == "AgentFault: the endpoint is down"
    assert score(one, trace, "strict").masked


def test_an_agent_that_fails_before_it_does_anything_masks_the_episode(one: Task) -> None:
    trace = played(one, *python("import no_such_module"))
    assert score(one, trace, "strict").masked
    assert "ended with code 1 and had done nothing" in trace.messages[-1]["fault"]
    spoke = played(one, *python("print(json.dumps({'reply': 'no'}), flush=True); sys.exit(1)"))
    assert not score(one, spoke, "strict").masked


def test_an_agent_that_cannot_be_started_masks_the_episode(one: Task) -> None:
    trace = played(one, "/no/such/agent")
    assert score(one, trace, "strict").masked
    assert "/no/such/agent cannot be started" in trace.messages[-1]["fault"]


CONTROL = """
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen
at = urlsplit(told["mcp"])
session = f"http://{at.netloc}/v1/sessions/" + at.path.split("/")[2]
codes = []
for method, end in (("POST", "/reset"), ("POST", "/score"), ("GET", "/trace"), ("DELETE", "")):
    try:
        codes.append(urlopen(Request(session + end, method=method)).status)
    except HTTPError as error:
        codes.append(error.code)
print(json.dumps({"reply": str(codes)}), flush=True)
"""


def test_an_agent_can_neither_score_nor_reset_what_it_works_on(one: Task) -> None:
    trace = played(one, *python(CONTROL.strip()))
    replies = [m["content"] for m in trace.messages if m["role"] == "assistant"]
    assert replies == ["[401, 401, 401, 401]"] * len(one.turns)


def test_what_an_agent_is_told_holds_neither_the_task_nor_its_seed(one: Task) -> None:
    trace = played(one, *python("print(json.dumps({'reply': line}), flush=True)"))
    told = [json.loads(m["content"]) for m in trace.messages if m["role"] == "assistant"]
    assert [set(line) for line in told] == [{"mcp", "system", "user", "turn"}] * len(one.turns)
    assert all(one.id not in json.dumps(line) for line in told)
