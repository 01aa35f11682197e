"""What is measured of an episode of a cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from provegym import records
from provegym.ablation.measures import METRICS, episode, measured
from provegym.records import Manifest, Store, content_hash
from provegym.types import Call, GroundCall, Kind, StopReason, Task, Trace, Turn


def task(needed: int, name: str = "t") -> Task:
    calls = tuple(GroundCall(f"g{i}", f"tool{i}", {"x": i}) for i in range(needed))
    kind: Kind = "workflow" if needed else "abstention"
    return Task(id=name, kind=kind, turns=(Turn("Do it.", calls, "Done."),))


def trace(*calls: tuple[str, int], name: str = "t", stop: StopReason = "done") -> Trace:
    made = tuple(Call(n, {"x": x}, 0, i, "ok", {}) for i, (n, x) in enumerate(calls))
    return Trace(id=f"{name}-0", task_id=name, calls=made, stop_reason=stop)


def test_one_call_and_stop_counts_where_more_are_needed() -> None:
    one = ("tool0", 0)
    assert dict(episode(task(2), trace(one)))["one_call"]
    assert not dict(episode(task(2), trace(one, ("tool1", 1))))["one_call"]
    assert "one_call" not in dict(episode(task(1), trace(one)))


@pytest.mark.parametrize(("made", "spam"), [(3, False), (4, True)])
def test_spam_is_more_than_the_paper_s_budget(made: int, spam: bool) -> None:
    # Two calls are needed, so the budget is 2 + ceil(1) = 3.
    assert dict(episode(task(2), trace(*[("tool0", 0)] * made)))["spam"] == spam


def test_the_components_are_the_paper_s() -> None:
    found = dict(episode(task(2), trace(("tool0", 9))))
    assert (found["calls"], found["validity"], found["coverage"]) == (1, 1.0, 0.5)
    assert (found["argument"], found["success"]) == (0.0, False)


def test_a_task_without_calls_measures_abstention_alone() -> None:
    assert dict(episode(task(0), trace())) == {"calls": 0, "success": True, "abstention": True}
    assert dict(episode(task(0), trace(("tool0", 0))))["abstention"] is False


def test_trials_are_means_and_masked_episodes_are_counted(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.jsonl"
    records.write_atomic(tasks, map(records.encode, [task(1, "a"), task(0, "b")]))
    rows = [
        trace(("tool0", 0), name="a"),
        trace(("tool0", 1), ("tool0", 0), ("tool0", 0), name="a"),
        trace(name="b", stop="infrastructure"),
    ]
    told = Manifest("traces", parent=content_hash(tasks))
    with Store(tmp_path / "traces.jsonl", Trace, told) as store:
        for i, row in enumerate(rows):
            store.append(Trace(id=str(i), task_id=row.task_id, calls=row.calls,
                               stop_reason=row.stop_reason))  # fmt: skip
        store.finish()
    values, masked = measured(tasks, tmp_path / "traces.jsonl")
    assert masked == 1
    assert values["calls"] == {"a": 2.0}
    assert values["spam"] == {"a": 0.5}
    assert "abstention" not in values


def test_a_two_layer_policy_is_not_judged_by_success_or_arguments() -> None:
    judged = {name for name, metric in METRICS.items() if "tiny" in metric.judged_on}
    assert judged == {"calls", "validity", "coverage", "abstention"}
