"""Workers and fronts that are killed: what is lost is said so, and nothing else is touched."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from provegym import records, worlds
from provegym.config import Synth
from provegym.errors import InfrastructureError
from provegym.gateway.client import Connection, RemoteSession
from provegym.graph.build import build
from provegym.rewards import score
from provegym.rollout.loop import Session
from provegym.rollout.policies import POLICIES
from provegym.rollout.reply import Policy, Reply
from provegym.rollout.run import rollout_file
from provegym.servers import load
from provegym.synth.make import Plan
from provegym.synth.pipeline import synthesize
from provegym.types import Task, Trace
from tests.gateway.served_fleet import Served, end, gone, post, serving, start, told

SERVERS = ("email", "calendar")


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certified tasks whose ground truth has calls."""
    folder = tmp_path_factory.mktemp("tasks")
    graph = build([load(name) for name in SERVERS])
    synthesize(Plan(7, servers=SERVERS, others=SERVERS), Synth(limit=24), graph, folder / "all.jsonl")
    kept = [task for task in records.read(folder / "all.jsonl", Task) if task.ground_truth][:16]
    assert len(kept) == 16
    records.write_atomic(folder / "tasks.jsonl", map(records.encode, kept))
    return folder / "tasks.jsonl"


@pytest.fixture
def fleet() -> Iterator[Served]:
    with serving(2) as served:
        yield served


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
    fleet: Served, tasks: Path, tmp_path: Path
) -> None:
    sessions: dict[str, str] = {}
    barrier = asyncio.Barrier(16)
    victim = fleet.pid("w0")

    def remote(task: Task) -> Session:
        session = connection.open(task.seed, task.servers)
        sessions[task.id] = session.id
        return session

    with Connection(fleet.url) as connection:
        rollout_file(
            tasks,
            "oracle",
            tmp_path / "there.jsonl",
            open_session=remote,
            make_policy=lambda task, seed: Halfway(
                task, seed, barrier, lambda: os.kill(victim, signal.SIGKILL)
            ),
            concurrency=16,
        )
    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    make_policy = POLICIES["oracle"]
    rollout_file(tasks, "oracle", here, open_session=worlds.open_session, make_policy=make_policy)
    lost = {task for task, session in sessions.items() if session.startswith("w0.")}
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


def test_lost_sessions_stay_dead_and_a_new_worker_takes_new_ones(fleet: Served) -> None:
    with Connection(fleet.url) as connection:
        by_worker: dict[str, RemoteSession] = {}
        while len(by_worker) < 2:
            session = connection.open(1, ["banking"])
            by_worker[session.id[:2]] = session
        digest = by_worker["w1"].digest()
        os.kill(fleet.pid("w0"), signal.SIGKILL)
        health = fleet.until(lost=1)
        assert sorted(health.workers) == ["w1", "w2"]
        dead = by_worker["w0"]
        for _ in range(2):
            answer = httpx2.get(f"{fleet.url}/v1/sessions/{dead.id}")
            assert (answer.status_code, answer.json()["error"]["code"]) == (502, "worker_lost")
        with pytest.raises(InfrastructureError, match="worker w0 is gone"):
            dead.call("list_accounts", "{}")
        results = connection.call_many(
            [(dead, "list_accounts", "{}"), (by_worker["w1"], "list_accounts", "{}")] * 2
        )
        assert [r.outcome for r in results] == ["infrastructure", "ok"] * 2
        assert results[0].value["error"]["code"] == "worker_lost"
        assert by_worker["w1"].digest() == digest
        assert {connection.open(1, ["banking"]).id[:2] for _ in range(4)} == {"w1", "w2"}


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_an_mcp_client_is_told_that_its_worker_is_lost(fleet: Served, mode: str) -> None:
    with Connection(fleet.url) as connection:
        session = connection.open(1, ["banking"])

    async def play() -> MCPError:
        async with Client(session.mcp, mode=mode) as client:
            await client.list_tools()
            os.kill(fleet.pid(session.id[:2]), signal.SIGKILL)
            fleet.until(lost=1)
            with pytest.raises(MCPError) as raised:
                await client.call_tool("list_accounts", {})
            return raised.value

    error = asyncio.run(play()).error
    assert (error.code, error.data) == (-32603, {"code": "worker_lost"})
    assert "its sessions with it" in error.message


def test_no_worker_outlives_a_front_that_is_killed() -> None:
    process = start(2, 0)
    served = Served(told(process), process)
    pids = [worker.pid for worker in served.health().workers.values()]
    process.kill()
    end(process)
    assert len(pids) == 2
    assert all(gone(pid) for pid in pids)


def test_an_interrupt_ends_the_front_and_its_workers_without_a_word() -> None:
    process = start(2, 0)
    served = Served(told(process), process)
    pids = [worker.pid for worker in served.health().workers.values()]
    assert end(process) == ""
    assert all(gone(pid) for pid in pids)


def test_a_token_is_asked_for_at_the_front_and_at_every_worker() -> None:
    with serving(2, "--token", "secret") as fleet:
        told = {"authorization": "Bearer secret"}
        body = {"seed": 1, "servers": ["banking"]}
        workers = [worker.url for worker in fleet.health().workers.values()]
        for url in (fleet.url, *workers):
            assert post(url, "/v1/sessions", body).status_code == 401
            assert post(url, "/v1/sessions", body, authorization="Bearer other").status_code == 401
            assert post(url, "/v1/sessions", body, host="evil.example", **told).status_code == 421
            session = post(url, "/v1/sessions", body, **told).json()
            call = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            accept = {"accept": "application/json, text/event-stream"}
            assert post(url, session["mcp"], call, **accept).status_code != 401
