"""Synthesis end to end with the offline teacher, on real servers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from provegym import servers
from provegym.config import Mix, Synth
from provegym.dataset.dedupe import JACCARD, Duplicates, fingerprint
from provegym.errors import InputError, ManifestMismatch
from provegym.graph.edges import Graph
from provegym.graph.store import save
from provegym.records import read
from provegym.synth import pipeline
from provegym.synth.machine import TRANSITIONS
from provegym.synth.make import Candidate, Maker, Plan, Rejection
from provegym.synth.pipeline import synthesize
from provegym.types import GroundCall, Task, Trace, Turn
from provegym.worlds import world_of

NAMES = ("banking", "calendar", "filesystem", "shopping")
PLAN = Plan(seed=7, servers=NAMES, others=NAMES)
SETTINGS = Synth(limit=24, world_seeds=3, tools_per_task=8)
OFFERED = 8


@pytest.fixture(scope="module")
def tasks(candidates: list[Candidate]) -> list[Task]:
    return [c.task for c in candidates]


def test_nearly_all_candidates_become_tasks_and_every_kind_occurs(
    tasks: list[Task], outcomes: list[Candidate | Rejection]
) -> None:
    assert len(tasks) > 0.95 * len(outcomes)
    assert {t.kind for t in tasks} == {"workflow", "clarification", "abstention"}


def test_every_task_has_two_or_three_turns_and_at_most_eight_tools_at_first(
    tasks: list[Task],
) -> None:
    for task in tasks:
        assert 2 <= len(task.turns) <= 3
        assert len(task.tools) <= OFFERED


def test_the_kind_follows_from_where_the_calls_are(tasks: list[Task]) -> None:
    for task in tasks:
        calls = [len(turn.calls) for turn in task.turns]
        if task.kind == "abstention":
            assert sum(calls) == 0
        elif task.kind == "clarification":
            assert calls[0] == 0 < sum(calls)
        else:
            assert calls[0] > 0


def test_every_value_in_the_ground_truth_was_said_or_shown_before(tasks: list[Task]) -> None:
    for task in tasks:
        heard = ""
        shown: dict[str, Any] = {}
        for turn in task.turns:
            heard += turn.user
            for call in turn.calls:
                for name, value in call.arguments.items():
                    refs = [r for w, r in call.refs.items() if w.split("/")[1] == name]
                    assert refs or all(part in heard for part in spoken(value)), (task.id, name)
                    assert all(r.call in shown for r in refs)
                shown[call.id] = call.result


def spoken(value: Any) -> list[str]:
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    if isinstance(value, list):
        return [part for item in value for part in spoken(item)]
    return [str(value)]


def test_a_call_comes_after_the_calls_it_takes_ids_from(tasks: list[Task]) -> None:
    for task in tasks:
        for _, call in task.ground_truth:
            assert {ref.call for ref in call.refs.values()} <= set(call.after)


def test_tasks_whose_sets_of_calls_overlap_seven_tenths_are_duplicates() -> None:
    def task(*numbers: int, seed: int = 0) -> Task:
        calls = tuple(GroundCall(f"g{n}", "look", {"n": n}) for n in numbers)
        return Task("t", "workflow", (Turn("Look", calls),), seed=seed)

    seen = Duplicates([task(*range(10))])
    assert JACCARD == 0.7
    assert seen.has(task(*range(7)))
    assert seen.has(task(*range(7), seed=1))
    assert not seen.has(task(*range(6)))
    assert fingerprint(task(1, 2)) == fingerprint(task(2, 1))


def test_the_state_machine_can_reach_its_end_from_every_state() -> None:
    reaches = {"done"}
    for _ in range(len(TRANSITIONS)):
        reaches |= {state for (state, _), after in TRANSITIONS.items() if after in reaches}
    assert reaches == {state for state, _ in TRANSITIONS} | {"done"}


def test_distractors_are_three_to_eight_tools_of_other_servers_and_can_be_called(
    tasks: list[Task],
) -> None:
    with_distractors = [t for t in tasks if t.perturbations.distractors]
    assert with_distractors
    for task in with_distractors:
        tools = world_of(task).tools
        about = {task.servers[0], *(tools[call.name].place for _, call in task.ground_truth)}
        own = {name for server in about for name in servers.load(server).tools}
        foreign = [t.function.name for t in task.tools if t.function.name not in own]
        assert 3 <= len(foreign) == task.perturbations.distractors <= 8
        assert set(foreign) <= set(world_of(task).tools)


def test_a_stripped_task_shows_no_enum(tasks: list[Task]) -> None:
    stripped = [t for t in tasks if t.perturbations.enum_stripped]
    assert stripped
    for task in stripped:
        shown = [*task.tools, *(tool for turn in task.turns for tool in turn.tools)]
        assert not any("'enum': [" in str(tool.function.parameters) for tool in shown)


def test_the_limit_counts_written_tasks_and_a_second_run_adds_nothing(
    tmp_path: Path, graph: Graph
) -> None:
    out = tmp_path / "tasks.jsonl"
    first = synthesize(PLAN, SETTINGS, graph, out)
    before = out.read_bytes()
    assert first.tasks == SETTINGS.limit == len(list(read(out, Task)))
    assert len(list(read(tmp_path / "conversations.jsonl", Trace))) == first.tasks
    assert first.candidates == first.tasks + sum(first.rejected.values())
    assert synthesize(PLAN, SETTINGS, graph, out) == first
    assert out.read_bytes() == before
    assert all(t.certificate.checks["two_processes_agree"] for t in read(out, Task))
    with pytest.raises(ManifestMismatch):
        synthesize(PLAN, SETTINGS.model_copy(update={"limit": 25}), graph, out)


def test_servers_that_yield_too_few_tasks_are_reported(
    tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "MOST_CANDIDATES", 2)
    settings = Synth(limit=5, world_seeds=1, min_chain=7, max_chain=7)
    with pytest.raises(InputError, match="of 5 tasks after 10 candidates"):
        synthesize(PLAN, settings, graph, tmp_path / "tasks.jsonl")


MANY = SETTINGS.model_copy(update={"limit": 60})
MIXED = MANY.model_copy(update={"mix": Mix()})
RUN = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from provegym.graph.store import load
import test_pipeline
from test_pipeline import PLAN, synthesize
from provegym.synth import crew
crew.CHUNK = 8
settings = getattr(test_pipeline, sys.argv[4])
synthesize(PLAN, settings, load(Path(sys.argv[2])), Path(sys.argv[3]))
"""


@pytest.mark.parametrize("name", ["MANY", "MIXED"])
def test_a_run_killed_again_and_again_ends_with_the_same_files(
    name: str, tmp_path: Path, graph: Graph
) -> None:
    settings: Synth = globals()[name]
    whole, broken = tmp_path / "whole" / "tasks.jsonl", tmp_path / "broken" / "tasks.jsonl"
    synthesize(PLAN, settings, graph, whole)
    edges = tmp_path / "graph.json"
    save(graph, edges)
    for lines in (1, 20, 46, 58):
        kill_after(lines, name, broken, edges)
    synthesize(PLAN, settings, graph, broken)
    for name in ("tasks.jsonl", "conversations.jsonl", "rejections.jsonl"):
        assert (broken.parent / name).read_bytes() == (whole.parent / name).read_bytes()
    tried = [t.id for t in read(whole, Task)]
    tried += [r.id for r in read(whole.with_name("rejections.jsonl"), Rejection)]
    assert sorted(tried) == [Maker(PLAN, settings, graph).id(i) for i in range(len(tried))]


def kill_after(lines: int, name: str, file: Path, edges: Path) -> None:
    """Make tasks until the file has so many lines, then kill all who write; small chunks leave
    the time for it.
    """
    command = [sys.executable, "-c", RUN, str(Path(__file__).parent), str(edges), str(file), name]
    child = subprocess.Popen(command, cwd=Path(__file__).parents[2], start_new_session=True)
    while child.poll() is None and not (file.exists() and file.read_bytes().count(b"\n") >= lines):
        os.sched_yield()
    assert child.poll() is None, "it ended before it could be killed"
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
