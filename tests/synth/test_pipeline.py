"""Synthesis end to end with the offline teacher, on a real server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from provegym import servers
from provegym.config import Synth
from provegym.errors import InputError, ManifestMismatch
from provegym.graph.edges import Graph, build
from provegym.records import read
from provegym.rewards import PRESETS, score
from provegym.synth.certify import certify, task_tools
from provegym.synth.filters import JACCARD, Duplicates, fingerprint
from provegym.synth.machine import TRANSITIONS
from provegym.synth.pipeline import Candidate, Maker, Plan, Rejection, synthesize, world_of
from provegym.synth.replay import replay, start_of
from provegym.types import GroundCall, Task, Trace

NAMES = ("banking", "calendar", "filesystem", "shopping")
PLAN = Plan(seed=7, servers=NAMES, others=NAMES)
SETTINGS = Synth(limit=24, world_seeds=4, tools_per_task=8)


@lru_cache(maxsize=1)
def graph() -> Graph:
    return build([servers.load(name) for name in NAMES], worlds=1, tries=2)


@lru_cache(maxsize=1)
def outcomes() -> tuple[Candidate | Rejection, ...]:
    maker = Maker(PLAN, SETTINGS, graph())
    return tuple(maker.make(i) for i in range(150))


def tasks() -> list[Task]:
    return [o.task for o in outcomes() if isinstance(o, Candidate)]


def test_most_candidates_become_tasks_and_every_kind_occurs() -> None:
    assert len(tasks()) > 0.6 * len(outcomes())
    assert {t.kind for t in tasks()} == {"workflow", "clarification", "abstention"}


def test_every_task_has_two_or_three_turns_and_at_most_eight_tools_at_first() -> None:
    for task in tasks():
        assert 2 <= len(task.turns) <= 3
        assert len(task.tools) <= 8


def test_the_kind_follows_from_where_the_calls_are() -> None:
    for task in tasks():
        calls = [len(turn.calls) for turn in task.turns]
        if task.kind == "abstention":
            assert sum(calls) == 0
        elif task.kind == "clarification":
            assert calls[0] == 0 < sum(calls)
        else:
            assert calls[0] > 0


def test_replaying_the_ground_truth_scores_the_maximum_with_state_one() -> None:
    for task in tasks():
        trace = replay(start_of(world_of(task), task_tools(task)), task.ground_truth).trace(task)
        for preset in ("paper", "strict"):
            judged = score(task, trace, PRESETS[preset])
            assert judged.total == pytest.approx(judged.max_total, abs=1e-9)


def test_every_id_in_the_ground_truth_was_said_or_shown_before() -> None:
    for task in tasks():
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


def test_a_call_comes_after_the_calls_it_takes_ids_from() -> None:
    for task in tasks():
        for _, call in task.ground_truth:
            assert {ref.call for ref in call.refs.values()} <= set(call.after)


def test_the_certificate_refuses_a_task_whose_recorded_value_is_wrong() -> None:
    task = next(t for t in tasks() if t.ground_truth and t.final_changes)
    changed = replace(task, final_changes={})
    assert not certify(changed, world_of(task)).passed
    turns = [
        replace(t, calls=tuple(replace(c, result={"no": 1}) for c in t.calls)) for t in task.turns
    ]
    assert not certify(replace(task, turns=tuple(turns)), world_of(task)).checks["same_results"]


def test_tasks_whose_sets_of_calls_overlap_seven_tenths_are_duplicates() -> None:
    def task(*numbers: int) -> Task:
        calls = tuple(GroundCall(f"g{n}", "look", {"n": n}) for n in numbers)
        base = next(t for t in tasks())
        return replace(base, turns=(replace(base.turns[0], calls=calls),))

    seen = Duplicates([task(*range(10))])
    assert JACCARD == 0.7
    assert seen.has(task(*range(7)))
    assert not seen.has(task(*range(6)))
    assert fingerprint(task(1, 2)) == fingerprint(task(2, 1))


def test_the_state_machine_can_reach_its_end_from_every_state() -> None:
    reaches = {"done"}
    for _ in range(len(TRANSITIONS)):
        reaches |= {state for (state, _), after in TRANSITIONS.items() if after in reaches}
    assert reaches == {state for state, _ in TRANSITIONS} | {"done"}


def test_refused_attempts_stay_in_the_conversation_and_out_of_the_ground_truth() -> None:
    talks = [o.conversation for o in outcomes() if isinstance(o, Candidate)]
    outcomes_seen = Counter(c.outcome for t in talks for c in t.calls)
    assert outcomes_seen["tool_error"] > 0
    assert set(outcomes_seen) == {"ok", "tool_error"}


def test_distractors_come_from_other_servers_and_can_be_called() -> None:
    with_distractors = [t for t in tasks() if t.perturbations.distractors]
    assert with_distractors
    for task in with_distractors:
        own = set(servers.load(task.servers[0]).tools)
        foreign = [t.function.name for t in task.tools if t.function.name not in own]
        assert len(foreign) == task.perturbations.distractors
        assert set(foreign) <= set(world_of(task).tools)


def test_a_stripped_task_shows_no_enum() -> None:
    stripped = [t for t in tasks() if t.perturbations.enum_stripped]
    assert stripped
    assert not any('"enum"' in str(t.function.parameters) for task in stripped for t in task.tools)
    assert not any("'enum':" in str(t.function.parameters) for task in stripped for t in task.tools)


def test_the_limit_counts_written_tasks_and_a_second_run_adds_nothing(tmp_path: Path) -> None:
    out = tmp_path / "tasks.jsonl"
    first = synthesize(PLAN, SETTINGS, graph(), out)
    before = out.read_bytes()
    assert first.tasks == SETTINGS.limit == len(list(read(out, Task)))
    assert len(list(read(tmp_path / "conversations.jsonl", Trace))) == first.tasks
    assert first.candidates == first.tasks + sum(first.rejected.values())
    assert synthesize(PLAN, SETTINGS, graph(), out) == first
    assert out.read_bytes() == before
    assert all(t.certificate.checks["two_processes_agree"] for t in read(out, Task))
    with pytest.raises(ManifestMismatch):
        synthesize(PLAN, SETTINGS.model_copy(update={"limit": 25}), graph(), out)


def test_servers_that_yield_too_few_tasks_are_reported(tmp_path: Path) -> None:
    settings = Synth(limit=4, world_seeds=1, min_turns=3, max_turns=3, min_chain=7, max_chain=7)
    with pytest.raises(InputError, match="of 4 tasks after"):
        synthesize(PLAN, settings, graph(), tmp_path / "tasks.jsonl")


MANY = SETTINGS.model_copy(update={"limit": 140})
RUN = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_pipeline import MANY, PLAN, graph, synthesize
synthesize(PLAN, MANY, graph(), Path(sys.argv[2]))
"""


def test_a_run_killed_again_and_again_ends_with_the_same_files(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole" / "tasks.jsonl", tmp_path / "broken" / "tasks.jsonl"
    synthesize(PLAN, MANY, graph(), whole)
    for lines in (1, 70):
        kill_after(lines, broken)
    synthesize(PLAN, MANY, graph(), broken)
    for name in ("tasks.jsonl", "conversations.jsonl", "rejections.jsonl"):
        assert (broken.parent / name).read_bytes() == (whole.parent / name).read_bytes()


def kill_after(lines: int, file: Path) -> None:
    """Make tasks until the file has so many lines, then kill all who write; chunks of 64
    candidates leave the time for it.
    """
    command = [sys.executable, "-c", RUN, str(Path(__file__).parent), str(file)]
    child = subprocess.Popen(command, cwd=Path(__file__).parents[2], start_new_session=True)
    while child.poll() is None and not (file.exists() and file.read_bytes().count(b"\n") >= lines):
        os.sched_yield()
    assert child.poll() is None, "it ended before it could be killed"
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
