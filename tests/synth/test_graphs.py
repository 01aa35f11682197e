"""Graphs that a language model had a say in, on the command line and in synthesis."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from provegym import cli, config, servers
from provegym.errors import InputError, ManifestMismatch
from provegym.graph.edges import Graph
from provegym.graph.store import cached, load
from provegym.llm.scripted import Json, Response, ScriptedServer, says
from provegym.records import encode, read
from provegym.synth.graphs import graph_of
from provegym.types import Task
from tests.synth.asked import all_explicit, model

ROOT = Path(__file__).parents[2]
MEETINGS = servers.load("video_meeting")
NOBODY = config.Teacher()


def relate(a: str, b: str) -> tuple[str, str]:
    """What lists things comes before all that does not."""
    forward = a.startswith("list_") and not b.startswith("list_")
    backward = b.startswith("list_") and not a.startswith("list_")
    return "explicit" if forward else "none", "explicit" if backward else "none"


def arguments(endpoint: ScriptedServer, out: Path, *more: str) -> list[str]:
    asked = ["--servers", "video_meeting", "--teacher", "openai:m", "--base-url", endpoint.url]
    return ["graph", "--edges", "llm", *asked, "--out", str(out), *more]


def test_the_verb_shows_where_model_and_execution_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "graph.json"
    with ScriptedServer(model(all_explicit)) as endpoint:
        assert cli.call(arguments(endpoint, out)) == 0
    told = capsys.readouterr().out
    assert "named by m (columns)" in told
    assert "unclassified      0\n" in told
    assert "3 requests so far, 42 tokens, $0.0000; 0 answers were there already\n" in told
    compared = json.loads((tmp_path / "graph.agreement.json").read_bytes())
    graph = load(out)
    assert (compared["model"], compared["asked"]) == (graph.model, graph.asked)
    assert compared["schema_hash"] == graph.schema_hash
    shown = load(tmp_path / "graph.executed.json")
    named = {row: cells["explicit"] for row, cells in compared["total"]["counts"].items()}
    assert named == {kind: shown.pairs[kind] for kind in ("explicit", "implicit", "none")}
    assert f"{90 - shown.pairs['explicit']} disagreements" in told
    evidence = {(e.source, e.target): e.evidence for e in shown.edges}
    for found in compared["disagreements"]:
        assert found["evidence"] == evidence.get((found["source"], found["target"]), {})
    assert "<svg" in (tmp_path / "graph.svg").read_text("utf-8")


def test_a_second_run_asks_nothing_and_writes_the_same(tmp_path: Path) -> None:
    out = tmp_path / "graph.json"
    with ScriptedServer(model(relate)) as endpoint:
        assert cli.call(arguments(endpoint, out)) == 0
        first = out.read_bytes()
        assert cli.call(arguments(endpoint, out)) == 0
        assert (out.read_bytes(), len(endpoint.seen)) == (first, 3)


def test_a_killed_run_goes_on_without_asking_again_what_was_answered(tmp_path: Path) -> None:
    out, settings = tmp_path / "graph.json", tmp_path / "run.toml"
    third = threading.Event()

    def script(request: Json) -> Response:
        if third.is_set() or len(endpoint.seen) < 3:
            return model(relate)(request)
        third.set()
        return Response(hold=True)

    with ScriptedServer(script) as endpoint:
        settings.write_text(
            '[run]\nname = "x"\nservers = ["video_meeting"]\n'
            f'[teacher]\nmodel = "m"\nbase_url = "{endpoint.url}"\nconcurrency = 1\n'
        )
        command = ["graph", str(settings), "--edges", "llm", "--out", str(out)]
        script_ = f"from provegym import cli; cli.call({command!r})"
        process = subprocess.Popen(
            [sys.executable, "-c", script_], cwd=ROOT, stderr=subprocess.DEVNULL
        )
        assert third.wait(120)
        process.kill()
        process.wait()
        assert not out.exists()
        assert cli.call(command) == 0
        answered = Counter(json.dumps(s.body) for s in endpoint.seen if s.sent)
    assert sorted(answered.values()) == [1, 1, 1]
    assert load(out).pairs["unclassified"] == 0


def test_a_budget_stops_before_it_is_exceeded_and_keeps_what_is_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "graph.json"

    def dear(request: Json) -> Response:
        told = json.loads(model(relate)(request).body)
        return says(told["choices"][0]["message"]["content"], usage=(20_000, 10))

    with ScriptedServer(dear) as endpoint:
        assert cli.call(arguments(endpoint, out, "--budget-tokens", "1000")) == 1
        assert "the budget of 1,000 tokens is spent" in capsys.readouterr().err
        assert len(endpoint.seen) == 0
        assert cli.call(arguments(endpoint, out, "--budget-tokens", "20000")) == 1
        assert len(endpoint.seen) == 1
        assert not out.exists()
        assert cli.call(arguments(endpoint, out)) == 0
        assert len(endpoint.seen) == 3


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--edges", "llm"], "--edges llm needs a model to ask"),
        (["--edges", "all"], "unknown choice of edges 'all'; known: executed, llm, union"),
        (
            ["--teacher", "m"],
            "unknown teacher 'm'; known: offline, gemma-4-31b, qwen3-32b, openai:MODEL",
        ),
        (
            ["--teacher", "openai:m", "--budget-usd", "1"],
            "the options: teacher: budget_usd needs prices",
        ),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], told: str
) -> None:
    out = tmp_path / "graph.json"
    assert cli.call(["graph", "--servers", "video_meeting", "--out", str(out), *more]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {told}")
    assert error.count("\n") == 1
    assert not out.exists()


# --- synthesis -------------------------------------------------------------------------------


def run_file(folder: Path, endpoint: ScriptedServer, choice: str) -> Path:
    path = folder / "run.toml"
    asked = f'model = "m"\nbase_url = "{endpoint.url}"\n'
    path.write_text(
        '[run]\nname = "x"\nseed = 3\nservers = ["video_meeting"]\n'
        f'[synth]\nlimit = 6\nedges = "{choice}"\n[teacher]\n{asked}'
    )
    return path


@pytest.mark.parametrize(("choice", "script"), [("llm", relate), ("union", all_explicit)])
def test_chains_along_the_models_edges_become_certified_tasks(
    tmp_path: Path, choice: str, script: Any
) -> None:
    out, graph = tmp_path / "tasks.jsonl", tmp_path / "graph.json"
    with ScriptedServer(model(script)) as endpoint:
        settings = str(run_file(tmp_path, endpoint, choice))
        assert cli.call(["graph", settings, "--edges", choice, "--out", str(graph)]) == 0
        command = ["synth", settings, "--teacher", "offline", "--out", str(out)]
        assert cli.call(command) == 0
        first = out.read_bytes()
        out.unlink()
        assert cli.call(command) == 0
        assert (out.read_bytes(), len(endpoint.seen)) == (first, 3)
    tasks = list(read(out, Task))
    assert [task.certificate.passed for task in tasks] == [True] * 6
    assert load(graph).choice == choice


def graph_by(choice: Any, path: Path, settings: config.Teacher = NOBODY) -> Graph:
    return graph_of([MEETINGS], path, choice, settings, path.with_name("answers.sqlite"))


def test_a_synthesis_asks_for_the_edges_that_it_lacks_and_only_once(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    with ScriptedServer(model(relate)) as endpoint:
        settings = config.Teacher(model="m", base_url=endpoint.url)
        first = graph_by("union", path, settings)
        path.with_name("answers.sqlite").unlink()
        assert graph_by("union", path, settings) == first == load(path)
        spoken = settings.model_copy(update={"languages": ("German",)})
        assert graph_by("union", path, spoken) == first
        assert len(endpoint.seen) == 3


def test_a_graph_of_other_edges_is_neither_taken_nor_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    graph = cached([MEETINGS], path)
    with pytest.raises(ManifestMismatch, match="holds executed edges; llm ones are asked for"):
        graph_by("llm", path)
    path.write_bytes(encode(graph).replace(b'"choice":"executed"', b'"choice":"llm"'))
    with pytest.raises(ManifestMismatch, match="holds llm edges; executed ones are asked for"):
        graph_by("executed", path)
    with pytest.raises(ManifestMismatch, match="holds llm edges; llm ones, asked as"):
        graph_by("llm", path, config.Teacher(model="other"))
    assert graph_by("llm", path).choice == "llm"


def test_without_a_model_and_without_a_graph_there_are_no_such_edges(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="edges = 'union' needs a model to ask"):
        graph_by("union", tmp_path / "graph.json")
