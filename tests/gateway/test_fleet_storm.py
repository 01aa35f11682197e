"""Hundreds of rollouts against a gateway that has not even started."""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import provegym
from provegym import records, worlds
from provegym.rollout.loop import Session
from provegym.rollout.policies import POLICIES
from provegym.rollout.run import Job, play
from provegym.types import Task, Trace
from tests.gateway.fleet_tasks import write_tasks
from tests.gateway.served_fleet import end, free_port, start

ROLLOUTS = 512


def test_of_512_rollouts_at_once_from_a_cold_start_none_is_lost_and_none_crossed(
    tmp_path: Path,
) -> None:
    tasks = list(records.read(write_tasks(tmp_path, 8), Task))
    jobs = [Job(task, trial, "oracle", 0) for trial in range(ROLLOUTS // 8) for task in tasks]
    barrier = Barrier(ROLLOUTS)
    opened: list[str] = []
    port = free_port()

    def rollout(job: Job) -> Trace:
        with provegym.connect(f"http://127.0.0.1:{port}", patience=60) as connection:

            def remote(task: Task) -> Session:
                session = connection.open(task.seed, task.servers)
                opened.append(session.id)
                return session

            barrier.wait()
            return asyncio.run(play(job, remote, POLICIES["oracle"]))

    process = start(2, port)
    try:
        with ThreadPoolExecutor(ROLLOUTS) as threads:
            there = list(threads.map(rollout, jobs))
    finally:
        said = end(process)
    oracle = POLICIES["oracle"]
    alone = [asyncio.run(play(job, worlds.open_session, oracle)) for job in jobs[:8]]
    for place, trace in enumerate(there):
        here = alone[place % 8]
        assert (trace.calls, trace.messages) == (here.calls, here.messages)
        assert (trace.final_changes, trace.stop_reason) == (here.final_changes, "done")
    assert len(set(opened)) == len(opened) == ROLLOUTS
    assert Counter(name[:2] for name in opened) == {"w0": ROLLOUTS // 2, "w1": ROLLOUTS // 2}
    first, note = said.splitlines()
    assert first == f"serving http://127.0.0.1:{port}"
    assert note.startswith("without a token")
