"""Episodes over HTTP are those of this process: alone, at once, and mixed in one request."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import provegym
from provegym import records, worlds
from provegym.config import Synth
from provegym.gateway.client import Connection, RemoteSession
from provegym.gateway.loopback import serving
from provegym.graph.build import build
from provegym.rewards import score
from provegym.rollout.loop import Session, tools_at
from provegym.rollout.policies import POLICIES
from provegym.rollout.run import rollout_file
from provegym.seeding import rng
from provegym.servers import load, world
from provegym.synth.make import Plan
from provegym.synth.pipeline import synthesize
from provegym.types import Task, Trace
from provegym.world.sample import arguments
from tests.gateway.control_app import Settings, control_app, new_rooms

SERVERS = ("email", "calendar")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(control_app(new_rooms(), Settings(sessions=10_000))) as url:
        yield url


@pytest.fixture(scope="module")
def connection(url: str) -> Iterator[Connection]:
    with provegym.connect(url) as connection:
        yield connection


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certified tasks of two servers."""
    path = tmp_path_factory.mktemp("tasks") / "tasks.jsonl"
    graph = build([load(name) for name in SERVERS])
    synthesize(Plan(7, servers=SERVERS, others=SERVERS), Synth(limit=16), graph, path)
    return path


# -- rollouts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["oracle", "random"])
def test_rollouts_over_http_write_the_traces_of_rollouts_in_process(
    tasks: Path, connection: Connection, tmp_path: Path, policy: str
) -> None:
    def remote(task: Task) -> Session:
        return connection.open(task.seed, task.servers)

    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    for path, open_session in ((here, worlds.open_session), (there, remote)):
        rollout_file(
            tasks, policy, path, open_session=open_session, make_policy=POLICIES[policy], trials=2
        )
    traces = list(records.read(there, Trace))
    assert len(traces) == 32
    assert sum(len(trace.calls) for trace in traces) >= 32
    assert traces == list(records.read(here, Trace))


def test_the_server_scores_what_it_saw_as_the_trace_is_scored(
    tasks: Path, connection: Connection, tmp_path: Path
) -> None:
    path = tmp_path / "traces.jsonl"
    rollout_file(
        tasks, "oracle", path, open_session=worlds.open_session, make_policy=POLICIES["oracle"]
    )
    by_id = {task.id: task for task in records.read(tasks, Task)}
    for trace in records.read(path, Trace):
        task = by_id[trace.task_id]
        session = connection.open(task=task)
        assert session.tools() == list(tools_at(task, 0))
        for call in trace.calls:
            session.enter(call.turn)
            session.call(call.name, call.arguments)
        for preset in ("paper", "strict"):
            given = session.score(preset)
            assert given == replace(score(task, trace, preset), trace_id=session.id)
        kept = session.trace()
        assert (kept.task_id, kept.final_changes) == (task.id, trace.final_changes)
        assert [replace(c, step=0) for c in kept.calls] == [replace(c, step=0) for c in trace.calls]
        session.close()


# -- many at once -----------------------------------------------------------------------------


async def ask(url: str, method: str, path: str, body: Any = None) -> Any:
    """One request on a connection of its own."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    text = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
    head += "Content-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + text)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    status, _, rest = answer.partition(b"\r\n")
    assert status.split()[1] in (b"200", b"201"), answer
    return json.loads(rest.partition(b"\r\n\r\n")[2])


async def note_alone(url: str, number: int, start: asyncio.Event) -> tuple[str, list[str]]:
    """Open a session, write one's own number twice, and see what is noted."""
    await start.wait()
    opened = await ask(url, "POST", "/v1/sessions", {"seed": number % 3, "servers": ["pad"]})
    path = f"/v1/sessions/{opened['id']}"
    for half in "ab":
        call = {"name": "write_note", "arguments": {"text": f"{number}{half}"}}
        await ask(url, "POST", f"{path}/calls", {"calls": [call]})
    answer = await ask(url, "POST", f"{path}/calls", {"calls": [{"name": "list_notes"}]})
    return opened["id"], [note["text"] for note in answer["results"][0]["value"]]


def test_of_512_sessions_opened_at_once_none_is_lost_and_none_crossed(url: str) -> None:
    async def all_at_once() -> list[tuple[str, list[str]]]:
        start = asyncio.Event()
        episodes = [asyncio.create_task(note_alone(url, n, start)) for n in range(512)]
        await asyncio.sleep(0)
        start.set()
        return await asyncio.gather(*episodes)

    seen = asyncio.run(all_at_once())
    assert len({name for name, _ in seen}) == 512
    assert [notes for _, notes in seen] == [["milk", f"{n}a", f"{n}b"] for n in range(512)]


# -- mixed in one request ---------------------------------------------------------------------


def some_calls(seed: int, length: int) -> list[tuple[str, dict[str, Any]]]:
    """Calls of any tools with arguments that fit the state that they meet."""
    session, rnd = world(seed, ("email",)).open(), rng(seed, "some calls")
    tools = list(load("email").tools.values())
    calls = []
    for _ in range(length):
        tool = rnd.choice(tools)
        given = arguments(tool, session.state("email"), rnd)
        calls.append((tool.name, given))
        session.call(tool.name, given)
    return calls


def alone(seed: int, calls: Sequence[tuple[str, dict[str, Any]]]) -> tuple[list[bytes], str]:
    session = world(seed, ("email",)).open()
    return [session.call(*call).json() for call in calls], session.digest()


@settings(max_examples=25)
@given(
    seeds=st.lists(st.integers(0, 5), min_size=2, max_size=5),
    order=st.lists(st.integers(0, 4), min_size=10, max_size=40),
    cuts=st.integers(1, 4),
)
def test_calls_of_many_sessions_mixed_equal_each_session_alone(
    connection: Connection, seeds: list[int], order: list[int], cuts: int
) -> None:
    sessions = [connection.open(seed, ("email",)) for seed in seeds]
    plans = [iter(some_calls(seed, len(order))) for seed in seeds]
    mixed: list[tuple[int, str, dict[str, Any]]] = []
    for number in order:
        place = number % len(seeds)
        mixed.append((place, *next(plans[place])))
    given: dict[int, list[bytes]] = defaultdict(list)
    size = -(-len(mixed) // cuts)
    for start in range(0, len(mixed), size):
        part = mixed[start : start + size]
        results = connection.call_many([(sessions[at], name, sent) for at, name, sent in part])
        for (place, *_), result in zip(part, results, strict=True):
            given[place].append(result.json())
    for place, session in enumerate(sessions):
        own = [(name, arguments) for at, name, arguments in mixed if at == place]
        assert (given[place], session.digest()) == alone(seeds[place], own)
        session.close()


def test_a_lost_session_in_a_mixed_request_is_told_in_its_own_result(
    connection: Connection,
) -> None:
    here, gone = (connection.open(7, ["pad"]) for _ in range(2))
    gone.close()
    calls: list[tuple[RemoteSession, str, dict[str, Any]]]
    calls = [(session, "list_notes", {}) for session in (here, gone)]
    ok, lost = connection.call_many(calls)
    assert (ok.outcome, lost.outcome) == ("ok", "infrastructure")
    assert lost.value["error"]["code"] == "session_closed"
