"""A synthesis by a model that is killed at random moments ends as if it had not been."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from provegym.graph.edges import Graph
from provegym.graph.store import save
from provegym.llm.scripted import ScriptedServer
from provegym.records import read_manifest
from provegym.synth.make import Plan
from tests.synth.competent import Competent

NAMES = ("banking", "calendar", "filesystem", "shopping")
PLAN = Plan(seed=7, servers=NAMES, others=NAMES)
WORLDS, SLOTS = 3, 4


def settings(limit: int) -> str:
    return f"""
[run]
name = "killed"
seed = 7
servers = {json.dumps(NAMES)}
[synth]
limit = {limit}
world_seeds = {WORLDS}
[teacher]
model = "m"
concurrency = {SLOTS}
"""


@pytest.mark.parametrize(
    ("kills", "limit", "engine"),
    [
        (3, 12, "local"),
        pytest.param(10, 36, "local", marks=pytest.mark.slow),
        pytest.param(2, 12, "ray", marks=pytest.mark.slow),
    ],
)
def test_a_run_killed_again_and_again_pays_for_no_answer_twice(
    kills: int, limit: int, engine: str, graph: Graph, tmp_path: Path
) -> None:
    whole, broken = (made(tmp_path / name, graph, limit) for name in ("whole", "broken"))
    with ScriptedServer(Competent(PLAN, WORLDS)) as server:
        assert start(server, whole, "local").wait() == 0
        needed = len(server.requests)
    when = random.Random(5)
    with ScriptedServer(Competent(PLAN, WORLDS)) as server:
        for _ in range(kills):
            more = when.randrange(5, needed // (kills + 1))
            kill_after(len(server.requests) + more, server, broken, engine)
        assert start(server, broken, engine).wait() == 0
        asked = Counter(json.dumps(body) for body in server.requests)
    assert files(broken) == files(whole)
    manifest = read_manifest(broken / "tasks.jsonl")
    assert manifest
    lost = manifest.cost["lost_requests"]  # under way when the process was killed
    assert lost <= kills * SLOTS
    assert asked.total() - len(asked) <= lost
    assert manifest.cost["requests"] == len(asked)


def made(folder: Path, graph: Graph, limit: int) -> Path:
    folder.mkdir()
    save(graph, folder / "graph.json")
    (folder / "run.toml").write_text(settings(limit))
    return folder


def files(folder: Path) -> list[bytes]:
    names = ("tasks", "conversations", "rejections")
    return [(folder / f"{name}.jsonl").read_bytes() for name in names]


def start(server: ScriptedServer, folder: Path, engine: str) -> subprocess.Popen[bytes]:
    script = "import sys; from provegym.cli import main; main()"
    arguments = ["synth", str(folder / "run.toml"), "--out", str(folder / "tasks.jsonl")]
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments, "--engine", engine],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OPENAI_BASE_URL": server.url},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def kill_after(requests: int, server: ScriptedServer, folder: Path, engine: str) -> None:
    """Run until the server saw so many requests, then kill all that runs."""
    child = start(server, folder, engine)
    while child.poll() is None and len(server.requests) < requests:
        os.sched_yield()
    assert child.poll() is None, "it ended before it could be killed"
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
