"""Traces beside their tasks: what is taken for the same task, and what for a stranger of its id."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from provegym import records, worlds
from provegym.errors import InputError
from provegym.evals.heldout import measure_file
from provegym.pairs import pairs
from provegym.rollout.policies import POLICIES
from provegym.rollout.rescore import rescore_file
from provegym.rollout.run import load_tasks, rollout_file
from provegym.scoring import score_files
from provegym.types import Task, Trace, Turn

ASK = Task("t", "abstention", (Turn("Sing.", reply="I can't."), Turn("Please.")), ("banking",))
OTHER = replace(ASK, id="u", turns=(Turn("Dance."),))


class Played(NamedTuple):
    """A file of tasks and the traces that were made from it."""

    tasks: Path
    traces: Path


def written(path: Path, tasks: Iterable[Task]) -> Path:
    records.write_atomic(path, map(records.encode, tasks))
    return path


@pytest.fixture
def played(tmp_path: Path) -> Played:
    tasks = written(tmp_path / "tasks.jsonl", [ASK, OTHER])
    traces = tmp_path / "traces.jsonl"
    silent = POLICIES["noop"]
    rollout_file(tasks, "noop", traces, open_session=worlds.open_session, make_policy=silent)
    return Played(tasks, traces)


def paired(tasks: Path, traces: Path) -> list[tuple[str, str]]:
    known = {task.id: task for task in load_tasks(tasks)}
    return [(task.id, trace.task_id) for task, trace in pairs(known, tasks, traces)]


STRANGERS = [
    (replace(ASK, turns=(Turn("Draw."), Turn("Please."))), r"said 'Sing\.', not 'Draw\.'"),
    (replace(ASK, turns=(Turn("Sing."), Turn("Now."))), r"said 'Please\.', not 'Now\.'"),
    (replace(ASK, turns=(Turn("Sing."),)), r"said 'Please\.', when the task was over"),
    (replace(ASK, turns=(Turn("x" * 200),)), r"not 'x{75}\.\.\.'; pass the tasks"),
]


@pytest.mark.parametrize(("stranger", "told"), STRANGERS)
def test_traces_of_another_task_with_the_same_id_are_refused(
    played: Played, tmp_path: Path, stranger: Task, told: str
) -> None:
    others = written(tmp_path / "others.jsonl", [stranger, OTHER])
    with pytest.raises(InputError, match=r"another task 't' than that of .*others\.jsonl.*" + told):
        paired(others, played.traces)


def test_every_stage_that_reads_traces_refuses_them_and_writes_nothing(
    played: Played, tmp_path: Path
) -> None:
    others = written(tmp_path / "others.jsonl", [STRANGERS[0][0], OTHER])
    out = tmp_path / "out.jsonl"
    with pytest.raises(InputError, match="another task 't'"):
        score_files(others, played.traces, "paper", out)
    with pytest.raises(InputError, match="another task 't'"):
        measure_file(others, played.traces)
    with pytest.raises(InputError, match="another task 't'"):
        rescore_file(others, played.traces, out, open_session=worlds.open_session)
    assert not out.exists()


def test_tasks_that_were_reordered_mended_or_joined_by_others_stay_the_same(
    played: Played, tmp_path: Path
) -> None:
    mended = replace(ASK, persona="a baker", final_changes={"banking.cards": {"c": None}})
    more = written(tmp_path / "more.jsonl", [replace(OTHER, id="v"), OTHER, mended])
    assert paired(more, played.traces) == [("t", "t"), ("u", "u")]


def test_an_episode_that_ended_early_is_known_by_the_turns_it_had(
    played: Played, tmp_path: Path
) -> None:
    cut, lost = records.read(played.traces, Trace)
    cut, lost = replace(cut, messages=cut.messages[:3]), replace(lost, messages=())
    records.write_atomic(played.traces, map(records.encode, (cut, lost)))
    copy = written(tmp_path / "copy.jsonl", [ASK, OTHER, replace(ASK, id="w")])
    assert paired(copy, played.traces) == [("t", "t"), ("u", "u")]


def test_traces_without_a_manifest_are_taken_as_they_are(played: Played, tmp_path: Path) -> None:
    records.manifest_path(played.traces).unlink()
    others = written(tmp_path / "others.jsonl", [STRANGERS[0][0], OTHER])
    assert paired(others, played.traces) == [("t", "t"), ("u", "u")]


def test_replayed_traces_belong_to_the_tasks_that_they_were_replayed_on(
    played: Played, tmp_path: Path
) -> None:
    again = tmp_path / "again.jsonl"
    rescore_file(played.tasks, played.traces, again, open_session=worlds.open_session)
    assert paired(played.tasks, again) == [("t", "t"), ("u", "u")]
