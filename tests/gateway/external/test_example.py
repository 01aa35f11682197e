"""`examples/external_server.py`: real servers of other people, from npm and PyPI, end to end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from provegym.records import read
from provegym.types import Score, Task

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples/external_server.py"


def run(folder: Path, name: str) -> tuple[str, list[Task], list[Score]]:
    """What the example prints and makes."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, EXAMPLE, folder, name], env=env, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    tasks = list(read(folder / f"{name}.jsonl", Task))
    return ran.stdout, tasks, list(read(folder / f"{name}-scores.jsonl", Score))


def check(tasks: list[Task], scores: list[Score]) -> None:
    assert len(tasks) == len(scores) == 10
    assert all(task.certificate.passed for task in tasks)
    assert all(t.certificate.checks["deterministic"] for t in tasks if t.ground_truth)
    assert all(score.normalized == 1 for score in scores)
    assert sum(bool(task.ground_truth) for task in tasks) >= 5


@pytest.mark.skipif(not shutil.which("npm"), reason="needs npm")
def test_the_memory_server_from_npm(tmp_path: Path) -> None:
    shown, tasks, scores = run(tmp_path, "memory")
    check(tasks, scores)
    assert "10 of 10 tasks certified" in shown
    assert "delete_relations     write   annotation" in shown
    assert "9 tools, 9 in chains" in shown
    changed = [task for task in tasks if task.final_changes]
    assert changed
    assert all([*task.final_changes] == ["memory.records"] for task in changed)


def test_the_git_server_from_pypi(tmp_path: Path) -> None:
    shown, tasks, scores = run(tmp_path, "git")
    check(tasks, scores)
    assert "git_commit         write" in shown
    assert {"git_add", "git_create_branch"} & {c.name for t in tasks for _, c in t.ground_truth}
