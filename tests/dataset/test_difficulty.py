"""The estimate, worked out by hand, and successes set beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from provegym import cli, records
from provegym.dataset.difficulty import Band, Difficulty, bands, difficulty
from provegym.types import Call, Function, GroundCall, Perturbations, Task, Tool, Trace, Turn


def call(name: str, *after: str) -> GroundCall:
    return GroundCall(name, name, after=after)


def tools(count: int) -> tuple[Tool, ...]:
    return tuple(Tool(Function(f"tool_{i}")) for i in range(count))


EASY = Task("easy", "workflow", (Turn("Look", (call("a"),)),), tools=tools(1))
CHAIN = Task(
    "chain",
    "clarification",
    (Turn("Do it"), Turn("Here", (call("a"), call("b", "a"), call("c", "b"), call("d", "a")))),
    tools=tools(16),
    information="minimal",
)
LATE = Task(
    "late",
    "clarification",
    (Turn("Do it"), Turn("Now", (call("a"), call("b")), tools=(Tool(Function("late")),))),
    tools=tools(7),
    perturbations=Perturbations(missing_function="late"),
)
NOTHING = Task("nothing", "abstention", (Turn("Fly"),), tools=tools(8))


@pytest.mark.parametrize(
    ("task", "parts", "points"),
    [
        (EASY, Difficulty(1, 0, 0.0, 0.0, 0, 1), 1.0),
        (CHAIN, Difficulty(4, 2, 2.0, 0.5, 2, 16), 10.5),  # 16 tools for 4: two doublings
        (LATE, Difficulty(2, 0, 2.0, 0.5, 1, 8), 5.5),  # 8 tools for 2
        (NOTHING, Difficulty(0, 0, 3.0, 0.0, 0, 8), 3.0),
    ],
    ids=lambda value: value.id if isinstance(value, Task) else "",
)
def test_points_can_be_counted_by_hand(task: Task, parts: Difficulty, points: float) -> None:
    assert difficulty(task) == parts
    assert difficulty(task).points == points


def test_a_task_without_anything_is_as_easy_as_can_be() -> None:
    assert difficulty(Task("t", "abstention", ())).points == 0.0


def test_the_histogram_has_the_mean_success_of_the_tasks_that_were_played() -> None:
    found = bands([CHAIN, LATE, NOTHING, EASY], {"late": [1, 0], "easy": [1], "chain": []})
    assert found == [
        Band(0, 1, 1.0, 1, 1.0),
        Band(2, 1, 0.0, 0, None),
        Band(4, 1, 2.0, 1, 0.5),
        Band(10, 1, 4.0, 0, None),
    ]


def test_the_command_sets_successes_of_traces_beside_the_estimate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks, traces = tmp_path / "tasks.jsonl", tmp_path / "traces.jsonl"
    records.write_atomic(tasks, map(records.encode, [EASY, NOTHING]))
    played = [
        Trace("t1", "easy", (Call("a", {}, 0, 0, "ok"),)),
        Trace("t2", "easy", ()),
        Trace("t3", "nothing", ()),
    ]
    records.write_atomic(traces, map(records.encode, played))
    assert cli.call(["dataset", "difficulty", str(tasks), "--traces", str(traces)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [
        ["points", "from", "tasks", "calls", "played", "success"],
        ["0", "1", "1", "1", "0.5"],
        ["2", "1", "0", "1", "1"],
        ["2", "tasks"],
    ]
    assert cli.call(["dataset", "difficulty", str(tasks), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["points"] == {"easy": 1.0, "nothing": 3.0}
    assert shown["parts"]["nothing"]["choice"] == 3.0
