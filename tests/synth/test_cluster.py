"""A synthesis whose work is spread over a real Ray cluster, on this machine."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ray

from provegym import cli, config
from provegym.config import Mix, Synth
from provegym.errors import BudgetSpent, InfrastructureError
from provegym.graph.edges import Graph
from provegym.llm.scripted import Json, Response, ScriptedServer, fails
from provegym.records import read_manifest
from provegym.synth import cluster as cluster_module
from provegym.synth.cluster import Cluster
from provegym.synth.make import Plan
from provegym.synth.pipeline import Summary, synthesize
from provegym.synth.studio import Studio
from tests.synth.competent import Competent

NAMES = ("banking", "calendar", "filesystem", "shopping")
PLAN = Plan(seed=7, servers=NAMES, others=NAMES)
WORLDS = 3
SETTINGS = Synth(limit=24, world_seeds=WORLDS, tools_per_task=8, mix=Mix())
FEW = Synth(limit=6, world_seeds=WORLDS)


@pytest.fixture(scope="module", autouse=True)
def two_cpus() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


def files(out: Path) -> list[bytes]:
    names = ("tasks.jsonl", "conversations.jsonl", "rejections.jsonl")
    return [out.with_name(name).read_bytes() for name in names]


def modelled(
    url: str, graph: Graph, out: Path, cluster: Cluster | None, **settings: Any
) -> Summary:
    told = {"concurrency": 4, "patience": 5.0, **settings}
    model = config.Teacher(model="m", base_url=url, **told)
    with Studio(model, out.with_name("answers.sqlite")) as studio:
        return synthesize(PLAN, FEW, graph, out, studio=studio, cluster=cluster)


@pytest.fixture(scope="module")
def offline(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tasks of the offline teacher in two local processes."""
    out = tmp_path_factory.mktemp("offline") / "tasks.jsonl"
    synthesize(PLAN, SETTINGS, graph, out)
    return out


@pytest.fixture(scope="module")
def written(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tasks of a model with this process computing."""
    out = tmp_path_factory.mktemp("model") / "tasks.jsonl"
    with ScriptedServer(Competent(PLAN, WORLDS)) as server:
        modelled(server.url, graph, out, None)
    return out


def test_a_cluster_writes_the_bytes_that_two_processes_write(
    graph: Graph, tmp_path: Path, offline: Path
) -> None:
    out = tmp_path / "tasks.jsonl"
    with Cluster() as cluster:
        assert cluster.size == 2
        synthesize(PLAN, SETTINGS, graph, out, cluster=cluster)
    assert files(out) == files(offline)
    assert read_manifest(out) == read_manifest(offline)


def test_a_model_whose_candidates_compute_in_a_cluster_writes_the_same_and_is_paid_as_much(
    graph: Graph, tmp_path: Path, written: Path
) -> None:
    out = tmp_path / "tasks.jsonl"
    with ScriptedServer(Competent(PLAN, WORLDS)) as server, Cluster() as cluster:
        modelled(server.url, graph, out, cluster)
        assert len({str(body) for body in server.requests}) == len(server.requests)
    assert files(out) == files(written)
    here, there = read_manifest(written), read_manifest(out)
    assert here and there
    assert there.config == here.config
    # How many candidates were begun that nobody needed any more depends on the moment.
    assert there.cost["requests"] == len(server.requests)
