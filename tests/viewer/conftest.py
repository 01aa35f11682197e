"""A small run to look at, made by the verbs themselves, and the viewer over it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from provegym import cli
from provegym.gateway.http import background
from provegym.gateway.settings import Settings
from provegym.viewer.app import app
from tests.viewer.chromium import launched

STEPS = 12
SCRIPT = "<script>window.stolen = 1</script><img src=x onerror='window.stolen = 1'>"
"""What must never run, wherever it is shown."""


def verb(*arguments: object) -> None:
    """Run one command line, which must succeed."""
    assert cli.call([str(argument) for argument in arguments]) == 0


def curve(step: int) -> str:
    """A row of curves whose reward rises by 0.05 a step."""
    parts = {"validity": 0.5, "coverage": 0.4, "efficiency": -0.1, "name": 0.5, "argument": 0.3}
    row = {"step": step, "reward": 0.05 * step, **parts, "state": 0.2, "calls": 1 + step % 3}
    more = {"abstention": 0.1, "zero_variance": 0.3, "masked": int(step == 5), "seconds": 2.5}
    return json.dumps({**row, **more}) + "\n"


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tasks, and the traces of two policies on them; never changed by a test."""
    folder = tmp_path_factory.mktemp("made") / "demo"
    tasks, played = folder / "train" / "tasks.jsonl", folder / "eval"
    options = ("--limit", 12, "--seed", 3, "--servers", "banking,calendar")
    verb("synth", *options, "--out", tasks)
    for name, policy in (("before", "random"), ("after", "oracle")):
        verb("rollout", tasks, "--policy", policy, "--out", played / f"{name}.traces.jsonl")
    settings = {"run": {"name": "demo", "policy": "tiny", "servers": ["banking", "calendar"]}}
    (folder / "run.json").write_text(json.dumps(settings), "utf-8")
    (folder / "grpo").mkdir()
    rows = "".join(map(curve, range(1, STEPS + 1)))
    (folder / "grpo" / "curves.jsonl").write_text(rows, "utf-8")
    return folder


@pytest.fixture(scope="session")
def ablated(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of ablations with four of its six trainings done, and the table of those."""
    folder = tmp_path_factory.mktemp("ablated") / "smoke"
    (folder / "heldout").mkdir(parents=True)
    shutil.copy(made / "train" / "tasks.jsonl", folder / "heldout" / "tasks.jsonl")
    arm = {"cells": ["full", "-name"], "seeds": 2}
    settings = {"run": {"name": "smoke", "seed": 3}, "ablations": {"warm_tasks": 6, "tiny": arm}}
    (folder / "run.json").write_text(json.dumps(settings), "utf-8")
    done = (("base", 1), ("base", 2), ("full", 1), ("-name", 1))
    for cell, seed in done:
        played = "after" if cell == "full" else "before"
        place = folder / "tiny" / cell / str(seed)
        for name, source in (
            ("eval/after.traces.jsonl", f"eval/{played}.traces.jsonl"),
            ("grpo/curves.jsonl", "grpo/curves.jsonl"),
        ):
            (place / name).parent.mkdir(parents=True)
            shutil.copy(made / source, place / name)
        note = {"policy": "tiny", "cell": cell, "seed": seed, "episodes": 12, "masked": 0}
        more = {"steps": STEPS, "seconds": 30.5, "lost": 1, "zero_variance": 0.3}
        alarm = "the reward fell to 0.1 from 0.5" if cell == "-name" else ""
        (place / "done.json").write_text(json.dumps({**note, **more, "collapse": alarm}), "utf-8")
    verb("report", folder)
    return folder


@pytest.fixture(scope="module")
def site(made: Path) -> Iterator[str]:
    """The viewer over the run that nothing changes."""
    settings = Settings(port=0)
    with background(app(made, settings), settings) as found:
        yield found


@pytest.fixture(scope="module")
def browser(site: str) -> Iterator[Browser]:
    """After the run was made, for no other event loop may start while the browser is there."""
    with launched() as found:
        yield found


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(made, tmp_path / "demo"))


@pytest.fixture
def url(run: Path) -> Iterator[str]:
    """The viewer over the copy."""
    settings = Settings(port=0)
    with background(app(run, settings), settings) as found:
        yield found


def poison(folder: Path) -> None:
    """Write `SCRIPT` wherever a task or a trace holds text of others."""
    for path in (folder / "train" / "tasks.jsonl", folder / "eval" / "after.traces.jsonl"):
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for record in lines:
            for turn in record.get("turns", ()):
                turn["user"] = turn["reply"] = SCRIPT
            turns = [call for turn in record.get("turns", ()) for call in turn.get("calls", ())]
            for call in (*turns, *record.get("calls", ())):
                call["result"] = {SCRIPT: SCRIPT}
                call["arguments"] = {**call["arguments"], SCRIPT: SCRIPT}
            for message in record.get("messages", ()):
                message["content"] = SCRIPT
            record["persona"] = record["policy"] = SCRIPT
        path.write_text("".join(json.dumps(record) + "\n" for record in lines), "utf-8")
        path.with_name(path.name + ".manifest.json").unlink()
