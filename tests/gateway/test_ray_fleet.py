"""Workers as actors of a real Ray cluster on this machine, behind the same front."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator

import pytest

import provegym
from provegym.errors import InfrastructureError, InputError
from provegym.gateway import ray_fleet
from provegym.gateway.settings import Settings
from provegym.servers import world
from tests.gateway.served_fleet import Served, end, gone, start, told

TOKEN = "a-secret-of-the-cluster"


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a cluster of two cores."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        yield ray.get_runtime_context().gcs_address
    finally:
        ray.shutdown()


@pytest.fixture(scope="module")
def fleet(cluster: str) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ADDRESS", cluster)
        process = start(2, 0, "--engine", "ray", "--token", TOKEN)
    try:
        yield Served(told(process), process, TOKEN)
    finally:
        end(process)


def test_actors_serve_sessions_and_a_killed_one_loses_its_own(fleet: Served) -> None:
    workers = fleet.health().workers
    assert all("127.0.0.1" not in worker.url for worker in workers.values())
    with provegym.connect(fleet.url, TOKEN) as connection:
        dead, alive = (connection.open(seed, ["banking"]) for seed in (1, 2))
        assert {dead.id[:2], alive.id[:2]} == {"w0", "w1"}
        results = connection.call_many([(s, "list_accounts", "{}") for s in (dead, alive)])
        here = [world(seed, ("banking",)).open() for seed in (1, 2)]
        expected = [session.call("list_accounts", "{}").json() for session in here]
        assert [result.json() for result in results] == expected
        os.kill(fleet.pids()[dead.id[:2]], signal.SIGKILL)
        after = fleet.until_whole(lost=1)
        assert sorted(after.workers) == sorted([alive.id[:2], "w2"])
        with pytest.raises(InfrastructureError, match="is gone, and its sessions with it"):
            dead.digest()
        assert alive.digest() == here[1].digest()
        assert {connection.open(1, ["banking"]).id[:2] for _ in range(4)} == set(after.workers)


def test_the_actors_end_with_the_front(fleet: Served) -> None:
    pids = fleet.pids().values()
    end(fleet.process)
    assert len(pids) == 2
    assert all(gone(pid) for pid in pids)


def test_a_cluster_needs_a_token() -> None:
    with pytest.raises(InputError, match="give a token"):
        ray_fleet.launcher(Settings())
