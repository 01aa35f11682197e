"""The second process that replays tasks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from provegym.errors import InfrastructureError
from provegym.synth.twin import Twin

SCRIPT = """
from pathlib import Path

from provegym import servers
from provegym.config import Synth
from provegym.graph.build import build

from provegym.synth import pipeline

plan = pipeline.Plan(0, ("banking",), ("banking",))
graph = build([servers.load("banking")], worlds=1, tries=1)
found = pipeline.synthesize(plan, Synth(limit=2, world_seeds=1), graph, Path("some.jsonl"))
print(found.tasks)
"""


def test_a_script_without_a_main_guard_may_synthesize(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("2\n", "")
    written = sorted(path.name for path in tmp_path.glob("*.jsonl"))
    assert written == ["some.conversations.jsonl", "some.jsonl", "some.rejections.jsonl"]


def test_a_process_that_died_is_our_failure_and_not_the_tasks() -> None:
    with Twin() as twin:
        assert twin.digests([]) == []
        twin._process.kill()
        twin._process.wait()
        with pytest.raises(InfrastructureError, match="ended with code -9; see above"):
            twin.digests([])
