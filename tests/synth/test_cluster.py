"""A synthesis whose work is spread over a real Ray cluster, on this machine."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ray

from provegym import cli, config
from provegym.config import Mix, Synth
from provegym.dataset.stats import stats
from provegym.errors import BudgetSpent, InfrastructureError, InputError
from provegym.graph.edges import Graph
from provegym.llm.scripted import Json, Response, Script, ScriptedServer, fails
from provegym.records import Manifest, read_manifest
from provegym.synth import cluster as cluster_module
from provegym.synth.cluster import Cluster, SpreadModelled
from provegym.synth.external import import_file
from provegym.synth.hand import Hand
from provegym.synth.make import Plan
from provegym.synth.pipeline import Summary, synthesize
from provegym.synth.studio import Studio
from tests.synth.competent import Competent

NAMES = ("banking", "calendar", "filesystem", "shopping")
PLAN = Plan(seed=7, servers=NAMES, others=NAMES)
WORLDS = 3
FEW = Synth(limit=6, world_seeds=WORLDS)


@pytest.fixture(scope="module", autouse=True)
def two_cpus() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    yield
    ray.shutdown()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as opened:
        yield opened


def files(out: Path) -> list[bytes]:
    names = ("tasks.jsonl", "conversations.jsonl", "rejections.jsonl")
    return [out.with_name(name).read_bytes() for name in names]


def kill(cluster: Cluster, n: int) -> None:
    """End the n-th process as a machine would that fails."""
    pid = ray.get(cluster._hands[n].__ray_call__.remote(lambda hand: os.getpid()))
    os.kill(pid, signal.SIGKILL)


# -- the offline teacher -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Synth:
    """A mix with two imported abstentions."""
    folder = tmp_path_factory.mktemp("imported")
    ride = {"name": "ride", "description": "Order a ride.", "parameters": {}}
    rows = [{"query": f"Question {i}?", "tools": json.dumps([ride]), "answers": "[]"} for i in "ab"]
    (folder / "xlam.json").write_text(json.dumps(rows))
    import_file("xlam-irrelevance", folder / "xlam.json", folder / "xlam.jsonl")
    mix = Mix(kinds={"workflow": 16, "clarification": 4, "abstention": 4})
    told = mix.model_copy(update={"abstentions": (str(folder / "xlam.jsonl"),)})
    return Synth(limit=24, world_seeds=WORLDS, tools_per_task=8, mix=told)


@pytest.fixture(scope="module")
def offline(graph: Graph, settings: Synth, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tasks that two local processes made."""
    out = tmp_path_factory.mktemp("offline") / "tasks.jsonl"
    synthesize(PLAN, settings, graph, out)
    return out


def test_a_cluster_writes_the_bytes_that_two_processes_write(
    graph: Graph, settings: Synth, tmp_path: Path, offline: Path, cluster: Cluster
) -> None:
    assert cluster.size == 2
    out = tmp_path / "tasks.jsonl"
    synthesize(PLAN, settings, graph, out, cluster=cluster)
    assert files(out) == files(offline)
    assert read_manifest(out) == read_manifest(offline)
    assert stats(out).teachers == {"offline": 22, "xlam-irrelevance": 2}


class Deadly(Cluster):
    """A cluster in which every process dies that is asked something for the `nth` time."""

    nth = 2

    def ask(self, n: int, request: Any) -> Any:
        self.asked = getattr(self, "asked", 0) + 1
        if self.asked == self.nth:
            kill(self, n % 2)
        return super().ask(n, request)


def test_a_process_that_dies_is_replaced_and_what_it_had_is_made_again(
    graph: Graph, settings: Synth, tmp_path: Path, offline: Path
) -> None:
    out = tmp_path / "tasks.jsonl"
    with Deadly() as cluster:
        synthesize(PLAN, settings, graph, out, cluster=cluster)
        assert cluster._deaths == 1
    assert files(out) == files(offline)


def test_where_too_many_die_a_line_says_so_and_two_processes_go_on(
    graph: Graph,
    settings: Synth,
    tmp_path: Path,
    offline: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster_module, "MOST_DEATHS", 0)
    monkeypatch.setattr(Deadly, "nth", 6)
    out = tmp_path / "tasks.jsonl"
    dead = r"^1 processes of the Ray cluster died, the last: .*what is finished is kept$"
    with Deadly() as cluster, pytest.raises(InfrastructureError, match=dead):
        synthesize(PLAN, settings, graph, out, cluster=cluster)
    assert synthesize(PLAN, settings, graph, out).tasks == settings.limit
    assert files(out) == files(offline)


def test_another_provegym_in_the_cluster_is_a_line_that_says_so(
    graph: Graph, settings: Synth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "__version__", "9.9")
    with Cluster() as cluster, pytest.raises(InputError, match=r"but this is 9\.9; install it"):
        synthesize(PLAN, settings, graph, tmp_path / "tasks.jsonl", cluster=cluster)


def test_a_process_that_does_not_start_is_a_line_that_says_why(
    graph: Graph, settings: Synth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = type("Absent", (Hand,), {"__init__": lambda hand, *told: __import__("no_such_module")})
    monkeypatch.setattr(cluster_module, "Hand", absent)
    why = "does not start: .*No module named 'no_such_module'; see that provegym"
    with Cluster() as cluster, pytest.raises(InputError, match=why):
        synthesize(PLAN, settings, graph, tmp_path / "tasks.jsonl", cluster=cluster)


# -- a model -----------------------------------------------------------------------------------


def modelled(
    script: Script, graph: Graph, out: Path, cluster: Cluster | None, **settings: Any
) -> tuple[Summary, list[Json]]:
    """A whole run, and all that the model was asked."""
    told = {"concurrency": 4, "patience": 5.0, **settings}
    with ScriptedServer(script) as server:
        model = config.Teacher(model="m", base_url=server.url, **told)
        with Studio(model, out.with_name("answers.sqlite")) as studio:
            made = synthesize(PLAN, FEW, graph, out, studio=studio, cluster=cluster)
    return made, server.requests


def noted(out: Path) -> Manifest:
    found = read_manifest(out)
    assert found
    return found


@pytest.fixture(scope="module")
def written(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tasks of a model, for which this process computed."""
    out = tmp_path_factory.mktemp("model") / "tasks.jsonl"
    modelled(Competent(PLAN, WORLDS), graph, out, None)
    return out


def test_a_model_whose_candidates_compute_in_a_cluster_writes_the_same(
    graph: Graph, tmp_path: Path, written: Path, cluster: Cluster
) -> None:
    out = tmp_path / "tasks.jsonl"
    _, asked = modelled(Competent(PLAN, WORLDS), graph, out, cluster)
    assert files(out) == files(written)
    assert noted(out).config == noted(written).config
    assert len({json.dumps(body) for body in asked}) == len(asked) == noted(out).cost["requests"]


def test_a_model_is_paid_once_where_a_process_dies_in_the_middle(
    graph: Graph, tmp_path: Path, written: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, talk, now = Studio.ask, SpreadModelled._talk, threading.local()

    def known(crew: SpreadModelled, hand: Any, i: int, *told: Any) -> Any:
        now.candidate, now.asked = i, 0
        return talk(crew, hand, i, *told)

    def deadly(studio: Studio, *told: Any) -> Any:
        answer = ask(studio, *told)
        now.asked += 1
        if now.candidate == 0 and now.asked == 3 and not answer.cached:
            kill(cluster, 0)
        return answer

    monkeypatch.setattr(SpreadModelled, "_talk", known)
    monkeypatch.setattr(Studio, "ask", deadly)
    out = tmp_path / "tasks.jsonl"
    _, asked = modelled(Competent(PLAN, WORLDS), graph, out, cluster)
    assert cluster._deaths == 1
    assert files(out) == files(written)
    assert len({json.dumps(body) for body in asked}) == len(asked)
    assert noted(out).cost["cache_hits"] >= 3  # what the dead process had been told


def test_a_budget_is_as_hard_and_what_is_finished_is_kept(
    graph: Graph, tmp_path: Path, written: Path, cluster: Cluster
) -> None:
    out, model = tmp_path / "tasks.jsonl", Competent(PLAN, WORLDS)
    with pytest.raises(BudgetSpent, match="raise budget_tokens"):
        modelled(model, graph, out, cluster, budget_tokens=60_000)
    spent = noted(out).cost
    assert 0 < spent["prompt_tokens"] + spent["completion_tokens"] <= 60_000
    modelled(model, graph, out, None)
    assert files(out) == files(written)


def test_a_request_that_fails_alone_costs_its_candidate_and_no_more(
    graph: Graph, tmp_path: Path, cluster: Cluster
) -> None:
    competent, left = Competent(PLAN, WORLDS), [1]

    def once(request: Json) -> Response:
        if left and "tools" in request:
            left.clear()
            return fails(400, "no")
        return competent(request)

    made, _ = modelled(once, graph, tmp_path / "tasks.jsonl", cluster)
    assert made.rejected["model_fault"] == 1
    assert made.tasks == FEW.limit


# -- the command line --------------------------------------------------------------------------

Say = Callable[..., int]


@pytest.fixture
def synth(tmp_path: Path) -> Say:
    """The verb, for two tasks about one server."""
    bank = ["synth", "--servers", "banking", "--limit", "2", "--out", str(tmp_path / "tasks.jsonl")]
    return lambda *arguments: cli.call([*bank, *arguments])


def test_what_computes_is_no_part_of_what_a_file_was_made_by(
    synth: Say, capsys: pytest.CaptureFixture[str]
) -> None:
    assert synth("--engine", "ray", "--json") == 0
    in_cluster = capsys.readouterr().out
    assert json.loads(in_cluster)["tasks"] == 2
    assert synth("--engine", "local", "--json") == 0
    assert capsys.readouterr().out == in_cluster
    assert Synth(engine="ray").model_dump() == Synth().model_dump()


def test_an_address_at_which_nobody_is_is_one_line_and_2(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    script = "import sys; from provegym.cli import main; main()"
    bank = ["synth", "--servers", "banking", "--limit", "1", "--out", str(tmp_path / "t.jsonl")]
    ran = subprocess.run(
        [sys.executable, "-c", script, *bank, "--engine", "ray"],
        env={**os.environ, "RAY_ADDRESS": f"127.0.0.1:{port}"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    (line,) = [line for line in ran.stderr.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: no Ray cluster can be used: ")
    assert line.endswith("Connection refused; mend RAY_ADDRESS, or take --engine local")


def test_an_engine_that_is_not_there_is_one_line_and_2(
    synth: Say, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert synth("--engine", "moon") == 2
    assert capsys.readouterr().err == "error: unknown engine 'moon'; known: local, ray\n"
    monkeypatch.setitem(sys.modules, "ray", None)
    assert synth("--engine", "ray") == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert told == (
        "error: ray is not installed; run: pip install 'provegym[ray]', or take --engine local"
    )
