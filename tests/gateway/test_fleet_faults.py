"""Workers and fronts that are killed: what is lost is said so, and nothing else is touched."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

import provegym
from provegym import records, worlds
from provegym.errors import InfrastructureError
from provegym.gateway.client import Connection, RemoteSession
from provegym.rewards import score
from provegym.rollout.loop import Session
from provegym.rollout.policies import POLICIES
from provegym.rollout.reply import Policy, Reply
from provegym.rollout.run import rollout_file
from provegym.types import Task, Trace
from tests.gateway.fleet_tasks import write_tasks
from tests.gateway.served_fleet import Served, end, get, gone, post, serving, start, told


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tasks(tmp_path_factory.mktemp("tasks"), 16)


@pytest.fixture(scope="module")
def fleet() -> Iterator[Served]:
    """Two workers; each test may kill one, and the next finds it replaced."""
    with serving(2) as served:
        yield served


@pytest.fixture
def connection(fleet: Served) -> Iterator[Connection]:
    fleet.until_whole()
    with provegym.connect(fleet.url) as connection:
        yield connection


def worker_of(session: RemoteSession) -> str:
    return session.id.partition(".")[0]


def kill(fleet: Served, worker: str) -> None:
    os.kill(fleet.pids()[worker], signal.SIGKILL)


class Halfway:
    """The oracle, who waits after its first calls until everyone has made theirs and `strike` was
    called once.
    """

    def __init__(self, task: Task, seed: int, barrier: asyncio.Barrier, strike: Any) -> None:
        self._oracle: Policy = POLICIES["oracle"](task, seed)
        self._barrier, self._strike = barrier, strike
        self._said = 0

    async def __call__(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        self._said += 1
        if self._said == 2:
            if await self._barrier.wait() == 0:
                self._strike()
            await self._barrier.wait()
        return await self._oracle(messages, tools)


def test_a_killed_worker_masks_its_episodes_and_no_other(
    fleet: Served, connection: Connection, tasks: Path, tmp_path: Path
) -> None:
    sessions: dict[str, RemoteSession] = {}
    barrier = asyncio.Barrier(16)
    victim = next(iter(fleet.health().workers))

    def remote(task: Task) -> Session:
        return sessions.setdefault(task.id, connection.open(task.seed, task.servers))

    def policy(task: Task, seed: int) -> Halfway:
        return Halfway(task, seed, barrier, lambda: kill(fleet, victim))

    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    rollout_file(tasks, "oracle", there, open_session=remote, make_policy=policy, concurrency=16)
    oracle = POLICIES["oracle"]
    rollout_file(tasks, "oracle", here, open_session=worlds.open_session, make_policy=oracle)
    lost = {task for task, session in sessions.items() if worker_of(session) == victim}
    assert len(lost) == 8
    for alone, trace in zip(records.read(here, Trace), records.read(there, Trace), strict=True):
        if trace.task_id in lost:
            assert trace.stop_reason == "infrastructure"
            assert "InfrastructureError" in trace.messages[-1]["fault"]
        else:
            assert trace == alone
    by_id = {task.id: task for task in records.read(tasks, Task)}
    masked = {t.task_id for t in records.read(there, Trace) if score(by_id[t.task_id], t).masked}
    assert masked == lost


def test_lost_sessions_stay_dead_and_a_new_worker_takes_new_ones(
    fleet: Served, connection: Connection
) -> None:
    before = fleet.health()
    dead, alive = (connection.open(1, ["banking"]) for _ in range(2))
    digest = alive.digest()
    kill(fleet, worker_of(dead))
    after = fleet.until_whole(before.lost + 1)
    assert worker_of(dead) not in after.workers
    assert worker_of(alive) in after.workers
    for _ in range(2):
        answer = get(fleet.url, f"/v1/sessions/{dead.id}")
        assert (answer.status, answer.code) == (502, "worker_lost")
    with pytest.raises(InfrastructureError, match="is gone, and its sessions with it"):
        dead.call("list_accounts", "{}")
    results = connection.call_many(
        [(session, "list_accounts", "{}") for session in (dead, alive, dead, alive)]
    )
    assert [r.outcome for r in results] == ["infrastructure", "ok"] * 2
    assert results[0].value["error"]["code"] == "worker_lost"
    assert alive.digest() == digest
    fresh = {worker_of(connection.open(1, ["banking"])) for _ in range(4)}
    assert fresh == set(after.workers) != set(before.workers)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_an_mcp_client_is_told_that_its_worker_is_lost(
    fleet: Served, connection: Connection, mode: str
) -> None:
    session = connection.open(1, ["banking"])
    lost = fleet.health().lost

    async def play() -> MCPError:
        async with Client(session.mcp, mode=mode) as client:
            await client.list_tools()
            kill(fleet, worker_of(session))
            fleet.until_whole(lost + 1)
            with pytest.raises(MCPError) as raised:
                await client.call_tool("list_accounts", {})
            return raised.value

    error = asyncio.run(play()).error
    assert (error.code, error.data) == (-32603, {"code": "worker_lost"})
    assert "its sessions with it" in error.message


def test_no_worker_outlives_a_front_that_is_killed() -> None:
    process = start(2, 0)
    served = Served(told(process), process)
    pids = served.pids().values()
    process.kill()
    end(process)
    assert len(pids) == 2
    assert all(gone(pid) for pid in pids)


def test_a_token_is_asked_for_at_the_front_and_at_every_worker() -> None:
    process = start(2, 0, "--token", "secret")
    stranger = Served(told(process), process)
    assert {(worker.url, worker.pid) for worker in stranger.health().workers.values()} == {
        ("", None)
    }
    served = stranger._replace(token="secret")
    workers, pids = served.health().workers.values(), served.pids().values()
    for url in (served.url, *(worker.url for worker in workers)):
        assert opened(url) == opened(url, authorization="Bearer other") == 401
        assert opened(url, authorization="Bearer secret", host="evil.example") == 421
        assert opened(url, authorization="Bearer secret", origin="http://evil.example") == 403
        assert opened(url, authorization="Bearer secret") == 201
    assert (end(process), process.returncode) == ("", 0), "an interrupt is no failure"
    assert all(gone(pid) for pid in pids)


def opened(url: str, **headers: str) -> int:
    """The status of an answer to who wants to open a session."""
    return post(url, "/v1/sessions", {"seed": 1, "servers": ["banking"]}, **headers).status
