"""The same seed gives the same worlds and the same tasks in processes that differ in all else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from provegym.servers import SERVERS, load
from provegym.world.world import World

DIGESTS = """
import sys
from provegym.servers import SERVERS, load
from provegym.world.world import World
sys.stdout.write("\\n".join(World(5, [load(name)]).digest for name in SERVERS))
"""
SYNTH = "import sys; from provegym.cli import main; sys.argv = ['provegym', *sys.argv[1:]]; main()"
PLACES = (
    {"PYTHONHASHSEED": "1", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    {"PYTHONHASHSEED": "2", "LC_ALL": "C.UTF-8", "TZ": "Asia/Kathmandu"},
)
"""Environments: in the first, text is ASCII unless a program says otherwise."""


def run(place: int, cwd: Path, code: str, *arguments: str) -> str:
    """What a program prints in one of the environments."""
    cwd.mkdir()
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "PYTHON"))}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={
            **plain,
            "TZ": "America/St_Johns",
            **PLACES[place],
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        cwd=cwd,
        capture_output=True,
        check=True,
        text=True,
    ).stdout


@pytest.mark.parametrize("place", range(len(PLACES)))
def test_every_server_has_the_same_world_in_any_process(place: int, tmp_path: Path) -> None:
    here = [World(5, [load(name)]).digest for name in SERVERS]
    assert run(place, tmp_path / "other", DIGESTS).split() == here
    assert len(set(here)) == 20


def test_synthesis_writes_the_same_tasks_in_any_process(tmp_path: Path) -> None:
    found = []
    for place in range(len(PLACES)):
        out = tmp_path / f"tasks-{place}" / "tasks.jsonl"
        servers = ("--servers", "calendar,banking,crm", "--seed", "11", "--limit", "12")
        run(place, out.parent, SYNTH, "synth", *servers, "--out", out.name)
        found.append(out.read_bytes())
    assert found[0] == found[1]
    assert len(found[0].splitlines()) == 12
