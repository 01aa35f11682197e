"""The second process that replays tasks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest

from provegym.config import Perturb, Synth
from provegym.errors import InfrastructureError
from provegym.graph.edges import Graph
from provegym.records import encode
from provegym.synth.crew import Offline
from provegym.synth.make import Candidate, Maker, Outcome, Plan, Rejection
from provegym.synth.twin import Twin
from provegym.synth.unmet import Aim

SCRIPT = """
from pathlib import Path

from provegym import servers
from provegym.config import Synth
from provegym.graph.build import build

from provegym.synth import pipeline
from provegym.synth.make import Plan

plan = Plan(0, ("banking",), ("banking",))
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


PLAN = Plan(3, ("banking", "shopping"), ("banking", "shopping"))
SETTINGS = Synth(limit=5, world_seeds=2, cross_server=0.5, perturb=Perturb(distractors=0.5))


def test_both_processes_make_the_same_of_a_number(graph: Graph) -> None:
    maker = Maker(PLAN, SETTINGS, graph)
    aims = {"banking": Aim(codes=("account_closed",))}
    with Twin(PLAN, SETTINGS, graph) as twin:
        theirs = twin.make([(i, i) for i in (4, 0, 11, 12, 13)]) + twin.make([(6, 6), (2, 2)], aims)
    ours = [maker.make(number) for number in (4, 0, 11, 12, 13)]
    ours += [maker.make(number, aims) for number in (6, 2)]
    assert [encode(made) for made in theirs] == [encode(made) for made in ours]


def test_two_processes_share_what_is_due_and_keep_its_order(graph: Graph) -> None:
    maker = Maker(PLAN, SETTINGS, graph)
    due = [(i, i) for i in (0, 4, 11, 12, 13, 14, 2, 3, 7)]
    with Twin(PLAN, SETTINGS, graph) as twin:
        crew = Offline(maker, twin)
        shared = [*crew.outcomes(due, {})]
        assert [*crew.outcomes([], {})] == []
    alone = [maker.make(i) for i, _ in due]
    assert [made.task.turns for made in shared if isinstance(made, Candidate)] == [
        made.task.turns for made in alone if isinstance(made, Candidate)
    ]
    assert [name_of(made) for made in shared] == [name_of(made) for made in alone]


def name_of(made: Outcome) -> str:
    return made.task.id if isinstance(made, Candidate) else made.id


def test_what_could_not_be_made_comes_back_with_its_reason(graph: Graph) -> None:
    hopeless = Synth(limit=5, world_seeds=1, min_chain=7, max_chain=7)
    with Twin(PLAN, hopeless, graph) as twin:
        found = twin.make([(i, i) for i in range(4)])
    lost = [made.id for made in found if isinstance(made, Rejection)]
    assert lost == [
        made.id
        for made in map(Maker(PLAN, hopeless, graph).make, range(4))
        if isinstance(made, Rejection)
    ]
    assert lost


def test_a_process_that_died_is_our_failure_and_not_the_tasks(graph: Graph) -> None:
    with Twin(PLAN, SETTINGS, graph) as twin:
        assert twin.digests([]) == []
        twin._process.kill()
        twin._process.wait()
        with pytest.raises(InfrastructureError, match="ended with code -9; see above"):
            twin.digests([])


def test_an_interrupt_waits_for_nothing_that_the_other_process_makes(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = Maker(PLAN, SETTINGS, graph)
    asked, stopped = Event(), Event()

    class Slow(Twin):
        def make(self, *_: object) -> list[Outcome]:
            asked.set()
            assert stopped.wait(60)
            return []

        def stop(self) -> None:
            stopped.set()
            super().stop()

    def interrupted(*_: object) -> Outcome:
        assert asked.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(maker, "make", interrupted)
    with Slow(PLAN, SETTINGS, graph) as twin:
        with pytest.raises(KeyboardInterrupt):
            list(Offline(maker, twin).outcomes([(i, i) for i in range(9)], {}))
        assert stopped.is_set()
