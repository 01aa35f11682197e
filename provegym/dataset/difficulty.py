"""How hard tasks are: points that can be counted by hand, and successes where some were played."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import fsum, log2

from msgspec import Struct

from provegym.types import Information, Task, Tool

LEFT_OUT: dict[Information, int] = {"complete": 0, "missing_required": 1, "minimal": 2}
"""Points for what the first turn does not say."""
BAND = 2
"""Points in one row of the histogram."""


class Difficulty(Struct, frozen=True):
    """What makes a task hard. Each field but `tools` is a number of points."""

    calls: int
    """Calls of the ground truth."""
    depth: int
    """Longest chain of calls that need each other, less the first."""
    choice: float
    """Doublings from the tools that are needed to those that are offered, distractors included."""
    turns: float
    """Half a point for each user turn after the first."""
    left_out: int
    """1 for a required value, 2 for nearly all of them, 1 for a tool that comes later."""
    tools: int
    """Tools offered in all."""

    @property
    def points(self) -> float:
        """The estimate: all points together."""
        return self.calls + self.depth + self.choice + self.turns + self.left_out


class Band(Struct, frozen=True):
    """Tasks of like difficulty: from `points` up to `BAND` more, and the share of successes."""

    points: int
    tasks: int
    calls: float
    """Mean calls of the ground truth."""
    played: int
    """Tasks of which there are episodes."""
    success: float | None
    """Mean over these of their share of successful episodes."""


def difficulty(task: Task) -> Difficulty:
    """Estimate from the task alone."""
    calls = [call for _, call in task.ground_truth]
    offered = {tool.function.name for tools in _tool_lists(task) for tool in tools}
    needed = len({call.name for call in calls}) or 1
    return Difficulty(
        calls=len(calls),
        depth=max(0, _longest_chain(task) - 1),
        choice=log2(max(len(offered), needed) / needed),
        turns=max(0, len(task.turns) - 1) / 2,
        left_out=LEFT_OUT[task.information] + (task.perturbations.missing_function is not None),
        tools=len(offered),
    )


def _tool_lists(task: Task) -> list[Sequence[Tool]]:
    return [task.tools, *(turn.tools for turn in task.turns)]


def _longest_chain(task: Task) -> int:
    """In calls; a call stands after those that it is `after`."""
    length: dict[str, int] = {}
    for _, call in task.ground_truth:
        length[call.id] = 1 + max((length.get(before, 0) for before in call.after), default=0)
    return max(length.values(), default=0)


def bands(tasks: Iterable[Task], successes: Mapping[str, Sequence[float]] = {}) -> list[Band]:
    """A histogram over points; `successes` has 1 or 0 for each episode of a task, by task."""
    grouped: defaultdict[int, list[Task]] = defaultdict(list)
    for task in tasks:
        grouped[int(difficulty(task).points // BAND) * BAND].append(task)
    return [_band(points, grouped[points], successes) for points in sorted(grouped)]


def _band(points: int, tasks: Sequence[Task], successes: Mapping[str, Sequence[float]]) -> Band:
    shares = [fsum(found) / len(found) for t in tasks if (found := successes.get(t.id))]
    calls = sum(len(task.ground_truth) for task in tasks)
    success = fsum(shares) / len(shares) if shares else None
    return Band(points, len(tasks), calls / len(tasks), len(shares), success)
