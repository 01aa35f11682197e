"""Trace files: order, resuming, masking."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from provegym.errors import InputError, ManifestMismatch, ModelFault, ServerFault
from provegym.records import encode, read, read_manifest, write_atomic
from provegym.rollout.policies import POLICIES
from provegym.rollout.reply import Policy, Reply, ToolCall
from provegym.rollout.run import rollout_file
from provegym.rollout.summary import TraceSummary
from provegym.types import Task, Trace, Usage


class Stage:
    """One tasks file and what it is rolled out with."""

    def __init__(self, kiosk: SimpleNamespace, folder: Path, count: int = 7) -> None:
        self.kiosk, self.folder = kiosk, folder
        self.tasks = folder / "tasks.jsonl"
        self.ids = [f"t{number}" for number in range(count)]
        write_atomic(self.tasks, [encode(kiosk.chain_task(name)) for name in self.ids])

    def roll(self, name: str = "out.jsonl", policy: str = "random", **options: Any) -> TraceSummary:
        options.setdefault("make_policy", POLICIES.get(policy))
        options.setdefault("open_session", self.kiosk.open)
        return rollout_file(self.tasks, policy, self.folder / name, **options)

    def traces(self, name: str = "out.jsonl") -> list[Trace]:
        return list(read(self.folder / name, Trace))

    def bytes(self, name: str = "out.jsonl") -> bytes:
        return (self.folder / name).read_bytes()


@pytest.fixture
def stage(kiosk: SimpleNamespace, tmp_path: Path) -> Stage:
    return Stage(kiosk, tmp_path)


def test_every_task_is_played_as_often_as_asked_in_the_order_of_the_file(stage: Stage) -> None:
    summary = stage.roll(trials=2, seed=4)
    assert [t.id for t in stage.traces()] == [f"{i}/random/{n}" for i in stage.ids for n in (0, 1)]
    assert (summary.traces, summary.masked) == (14, 0)
    assert summary.calls == sum(len(t.calls) for t in stage.traces())
    assert summary.stop_reasons == {"done": 14}


def test_trials_have_seeds_of_their_own_that_the_root_seed_fixes(stage: Stage) -> None:
    stage.roll("a.jsonl", trials=2, seed=1)
    stage.roll("b.jsonl", trials=2, seed=1, concurrency=1)
    stage.roll("c.jsonl", trials=2, seed=2)
    assert stage.bytes("a.jsonl") == stage.bytes("b.jsonl")
    seeds = [t.seed for name in ("a.jsonl", "c.jsonl") for t in stage.traces(name)]
    assert len(set(seeds)) == 28


def test_rows_stand_in_task_order_whatever_ends_first(stage: Stage) -> None:
    ended: list[str] = []
    gates: dict[str, asyncio.Event] = {}

    def make(task: Task, seed: int) -> Policy:
        place = stage.ids.index(task.id)

        async def policy(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
            if place < len(stage.ids) - 1 and len(messages) == 2:  # wait for the one behind
                await gates.setdefault(stage.ids[place + 1], asyncio.Event()).wait()
            if len(messages) > 2:
                ended.append(task.id)
                gates.setdefault(task.id, asyncio.Event()).set()
            return Reply("Hm.")

        return policy

    stage.roll(policy="backwards", make_policy=make, concurrency=7)
    assert ended == stage.ids[::-1]
    assert [t.task_id for t in stage.traces()] == stage.ids


def test_no_more_episodes_run_at_once_than_allowed(stage: Stage) -> None:
    live: set[str] = set()
    most: list[int] = []

    def make(task: Task, seed: int) -> Policy:
        async def policy(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
            live.add(task.id)
            most.append(len(live))
            await asyncio.sleep(0)
            if len(messages) > 2:
                live.discard(task.id)
            return Reply("Hm.")

        return policy

    stage.roll(policy="counting", make_policy=make, concurrency=3)
    assert max(most) == 3


def kill_after(stage: Stage, rows: int, **options: Any) -> None:
    """Run the rollout in a child that kills itself once `rows` rows are written."""

    def progress(written: int, wanted: int) -> None:
        if written == rows:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        stage.roll(progress=progress, **options)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(stage: Stage) -> None:
    stage.roll("whole.jsonl", trials=2)
    for rows in (1, 5, 13):
        kill_after(stage, rows, trials=2)
    opened: list[str] = []

    def open_session(task: Task) -> Any:
        opened.append(task.id)
        return stage.kiosk.open(task)

    summary = stage.roll(trials=2, open_session=open_session)
    assert stage.bytes() == stage.bytes("whole.jsonl")
    assert (opened, summary.traces) == (["t6"], 14)


def test_a_torn_last_line_is_played_again(stage: Stage) -> None:
    stage.roll("whole.jsonl")
    kill_after(stage, 3)
    with (stage.folder / "out.jsonl").open("ab") as file:
        file.write(stage.bytes("whole.jsonl").splitlines()[3][:40])
    stage.roll()
    assert stage.bytes() == stage.bytes("whole.jsonl")


def test_a_finished_file_is_not_played_again(stage: Stage) -> None:
    first = stage.roll()

    def refuse(task: Task) -> Any:
        raise AssertionError("nothing is left to play")

    assert stage.roll(open_session=refuse) == first


def test_other_settings_refuse_the_file(stage: Stage) -> None:
    stage.roll()
    for options in ({"seed": 1}, {"trials": 2}, {"settings": {"temperature": 1}}, {"world": "w"}):
        with pytest.raises(ManifestMismatch):
            stage.roll(**options)


def test_the_manifest_says_what_the_run_cost(stage: Stage) -> None:
    stage.roll()
    manifest = read_manifest(stage.folder / "out.jsonl")
    assert manifest
    assert (manifest.kind, manifest.complete, manifest.rows) == ("traces", True, 7)
    assert set(manifest.cost) == {"seconds", "prompt_tokens", "completion_tokens"}


def test_faults_of_ours_are_masked_and_counted(stage: Stage) -> None:
    def open_session(task: Task) -> Any:
        if task.id == "t1":
            raise ServerFault("no server")
        return stage.kiosk.open(task)

    def make(task: Task, seed: int) -> Policy:
        fault = ModelFault("no model") if task.id in ("t2", "t5") else Reply("Hi.")
        scripted: Policy = stage.kiosk.Scripted([fault, fault])
        return scripted

    summary = stage.roll(policy="faulty", open_session=open_session, make_policy=make)
    assert (summary.traces, summary.masked) == (7, 3)
    assert summary.faults == {"ServerFault: no server": 1, "ModelFault: no model": 2}
    assert summary.stop_reasons == {"done": 4, "infrastructure": 3}
    assert [t.stop_reason for t in stage.traces()][:3] == ["done"] + ["infrastructure"] * 2


def test_masked_episodes_are_played_again_if_asked_for(stage: Stage) -> None:
    sick = {"t1", "t4"}

    def open_session(task: Task) -> Any:
        if task.id in sick:
            raise ServerFault("no server")
        return stage.kiosk.open(task)

    stage.roll("whole.jsonl", seed=3)
    stage.roll(open_session=open_session, seed=3)
    broken = stage.bytes()
    sick.clear()
    assert stage.roll(open_session=open_session, seed=3).masked == 2  # only where it is asked for
    assert stage.bytes() == broken
    summary = stage.roll(open_session=open_session, seed=3, retry_masked=True)
    assert (summary.traces, summary.masked) == (7, 0)
    lost = ["t1/random/0", "t4/random/0"]
    assert [t.id for t in stage.traces()][-2:] == lost
    assert sorted(stage.bytes().splitlines()) == sorted(stage.bytes("whole.jsonl").splitlines())
    manifest = read_manifest(stage.folder / "out.jsonl")
    assert manifest
    assert (manifest.complete, manifest.rows) == (True, 7)


def test_a_file_in_which_all_is_masked_is_played_anew(stage: Stage) -> None:
    def refuse(task: Task) -> Any:
        raise ServerFault("no server")

    assert stage.roll(open_session=refuse).masked == 7
    assert stage.roll(open_session=refuse, retry_masked=True).masked == 7
    assert stage.roll(retry_masked=True).masked == 0
    assert stage.roll("new.jsonl", retry_masked=True).masked == 0
    assert stage.bytes() == stage.bytes("new.jsonl")


def test_a_file_of_other_settings_loses_nothing_to_a_retry(stage: Stage) -> None:
    stage.roll(seed=1)
    before = stage.bytes()
    with pytest.raises(ManifestMismatch, match="seed"):
        stage.roll(seed=2, retry_masked=True)
    assert stage.bytes() == before


def test_lenient_forms_are_counted_apart(stage: Stage) -> None:
    def make(task: Task, seed: int) -> Policy:
        call = (ToolCall("", "list_orders", "{}"),)
        form: Any = "bare" if task.id == "t0" else "tags"
        reply = Reply(calls=call, form=form, usage=Usage(10, 2))
        scripted: Policy = stage.kiosk.Scripted([reply, Reply("a"), Reply("b")])
        return scripted

    summary = stage.roll(policy="forms", make_policy=make)
    assert (summary.call_forms, summary.lenient) == ({"bare": 1, "tags": 6}, 1)
    assert summary.usage == Usage(70, 14)


def test_a_bug_in_a_policy_ends_the_run_and_closes_all_sessions(stage: Stage) -> None:
    sessions: list[Any] = []

    def open_session(task: Task) -> Any:
        sessions.append(stage.kiosk.open(task))
        return sessions[-1]

    def make(task: Task, seed: int) -> Policy:
        async def policy(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
            await asyncio.sleep(0)
            if task.id == "t2":
                raise ZeroDivisionError
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

        return policy

    with pytest.raises(ZeroDivisionError):
        stage.roll(policy="buggy", open_session=open_session, make_policy=make)
    assert [session.closed for session in sessions] == [True] * 7


def test_a_factory_that_holds_something_is_closed_in_the_end(stage: Stage) -> None:
    class Factory:
        closed = 0

        def __call__(self, task: Task, seed: int) -> Policy:
            return POLICIES["noop"](task, seed)

        async def aclose(self) -> None:
            self.closed += 1

    factory = Factory()
    stage.roll(policy="holding", make_policy=factory)
    assert factory.closed == 1


def test_progress_counts_rows_also_after_a_kill(stage: Stage) -> None:
    kill_after(stage, 4)
    told: list[tuple[int, int]] = []
    stage.roll(progress=lambda written, wanted: told.append((written, wanted)))
    assert told == [(5, 7), (6, 7), (7, 7)]


def test_no_more_episodes_are_begun_at_once_than_there_are(stage: Any) -> None:
    stage.roll(concurrency=10**15)


@pytest.mark.parametrize("bad", [{"concurrency": 0}, {"trials": 0}])
def test_counts_below_one_are_refused(stage: Stage, bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="must be at least 1"):
        stage.roll(**bad)


def test_two_tasks_of_one_id_are_refused_before_anything_is_played(stage: Stage) -> None:
    twin = encode(stage.kiosk.chain_task("t0"))
    write_atomic(stage.tasks, [twin, twin])
    with pytest.raises(InputError, match="jsonl:2: id 't0' is that of line 1"):
        stage.roll()
    assert not (stage.folder / "out.jsonl").exists()
