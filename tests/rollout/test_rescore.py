"""Stored calls, replayed live."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from provegym.errors import InputError, ServerFault
from provegym.records import encode, read, read_manifest, write_atomic
from provegym.rollout.loop import run_episode
from provegym.rollout.policies import POLICIES
from provegym.rollout.reply import Reply
from provegym.rollout.rescore import rescore, rescore_file
from provegym.types import Call, Task, Trace, Turn


@pytest.fixture
def trace(kiosk: SimpleNamespace) -> Trace:
    task = kiosk.chain_task()
    lived: Trace = kiosk.run(
        run_episode(task, kiosk.open(task), POLICIES["oracle"](task, 0), trace_id="chain/oracle/0")
    )
    return lived


def forget(trace: Trace) -> Trace:
    """The trace as if nobody had looked at what the calls gave."""
    calls = tuple(replace(c, outcome="tool_error", result=None) for c in trace.calls)
    return replace(trace, calls=calls, final_changes={})


def test_a_replay_finds_outcomes_results_and_changes_again(
    kiosk: SimpleNamespace, trace: Trace
) -> None:
    task = kiosk.chain_task()
    session = kiosk.open(task)
    assert rescore(task, forget(trace), session) == trace
    assert session.closed


def test_every_mistake_replays_as_the_same_mistake(kiosk: SimpleNamespace) -> None:
    turns = (Turn(user="a"), Turn(user="b", tools=kiosk.schema("pay_order")))
    task = kiosk.make_task(turns=turns, tools=kiosk.schema("list_orders", "place_order"))
    mistakes = kiosk.calling(
        ("no_such_tool", "{"),
        ("pay_order", '{"order_id": "ord_1"}'),  # not yet on offer
        ("place_order", '{"item": "\ud800", "count": 1}'),
        ("place_order", '{"item": "x", "count": NaN}'),
        ("place_order", '{"item": "x", "count": "1"}'),
        ("list_orders", '{"limit": 10, "limit": 1}'),
    )
    pay = kiosk.calling(("pay_order", '{"order_id": "ord_9"}'))
    policy = kiosk.Scripted([mistakes, Reply("no"), pay, Reply("no")])
    lived = kiosk.run(run_episode(task, kiosk.open(task), policy, trace_id="x"))
    outcomes = "unknown_tool unknown_tool malformed malformed invalid_arguments ok tool_error"
    assert [c.outcome for c in lived.calls] == outcomes.split()
    assert rescore(task, forget(lived), kiosk.open(task)) == lived


def test_a_stored_list_of_arguments_is_replayed_as_json_text(kiosk: SimpleNamespace) -> None:
    task = kiosk.make_task()
    stored = Trace("x", "t", (Call("pay_order", ["ord_1"], 0, 0, "ok"),))
    assert rescore(task, stored, kiosk.open(task)).calls[0].outcome == "malformed"


def test_an_episode_that_a_fault_cut_short_stays_masked(
    kiosk: SimpleNamespace, trace: Trace
) -> None:
    cut = replace(trace, calls=trace.calls[:1], stop_reason="infrastructure")
    again = rescore(kiosk.chain_task(), cut, kiosk.open(kiosk.chain_task()))
    assert (again.stop_reason, again.calls) == ("infrastructure", trace.calls[:1])


def test_a_fault_while_replaying_masks_the_episode(kiosk: SimpleNamespace) -> None:
    task = kiosk.make_task(tools=kiosk.schema("jam", "list_orders"))
    calls = tuple(Call(name, {}, 0, 0, "ok") for name in ("list_orders", "jam", "list_orders"))
    again = rescore(task, Trace("x", "t", calls), kiosk.open(task))
    assert [c.outcome for c in again.calls] == ["ok", "infrastructure"]
    assert again.stop_reason == "infrastructure"


class Files:
    """A tasks file and a traces file."""

    def __init__(self, folder: Path, tasks: list[Task], traces: list[Trace]) -> None:
        self.tasks, self.traces = folder / "tasks.jsonl", folder / "traces.jsonl"
        self.out = folder / "out.jsonl"
        write_atomic(self.tasks, map(encode, tasks))
        write_atomic(self.traces, map(encode, traces))


def test_a_file_is_replayed_in_order(kiosk: SimpleNamespace, trace: Trace, tmp_path: Path) -> None:
    second = replace(trace, id="chain/oracle/1")
    files = Files(tmp_path, [kiosk.chain_task()], [forget(second), forget(trace)])
    told: list[tuple[int, int]] = []
    summary = rescore_file(
        files.tasks,
        files.traces,
        files.out,
        open_session=kiosk.open,
        progress=lambda done, all_: told.append((done, all_)),
    )
    assert list(read(files.out, Trace)) == [second, trace]
    assert (summary.traces, summary.outcomes, told) == (2, {"ok": 6}, [(1, 2), (2, 2)])
    manifest = read_manifest(files.out)
    assert manifest
    assert (manifest.complete, manifest.rows) == (True, 2)


def test_a_session_that_cannot_be_opened_masks_its_trace(
    kiosk: SimpleNamespace, trace: Trace, tmp_path: Path
) -> None:
    def refuse(task: Task) -> Any:
        raise ServerFault("no server")

    files = Files(tmp_path, [kiosk.chain_task()], [trace])
    summary = rescore_file(files.tasks, files.traces, files.out, open_session=refuse)
    assert (summary.masked, summary.stop_reasons) == (1, {"infrastructure": 1})


def test_a_trace_of_an_unknown_task_is_refused_and_nothing_written(
    kiosk: SimpleNamespace, trace: Trace, tmp_path: Path
) -> None:
    files = Files(tmp_path, [kiosk.chain_task("other")], [trace])
    with pytest.raises(InputError, match="is of task 'chain', which is not among"):
        rescore_file(files.tasks, files.traces, files.out, open_session=kiosk.open)
    assert not files.out.exists()
