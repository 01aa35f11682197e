"""What is measured of a held-out episode of a cell, and which policy may be judged by it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import ceil
from pathlib import Path

from msgspec import Struct

from provegym.evals.heldout import measure
from provegym.pairs import pairs
from provegym.records import read_distinct
from provegym.rewards import PRESETS, score
from provegym.types import Task, Trace

Values = Mapping[str, Mapping[str, float]]
"""By metric, the value of each task that it applies to."""


class Metric(Struct, frozen=True):
    """A column of the table."""

    name: str
    says: str
    judged_on: tuple[str, ...]
    """Policies that may be judged by it: a model of two layers copies arguments too poorly to be
    judged by success or arguments. Signs of reward hacking are shown and not tested."""
    share: bool = True
    """Whether it lies between 0 and 1, so that it has a floor and a ceiling."""


BOTH, LARGER = ("tiny", "smollm2"), ("smollm2",)
METRICS: dict[str, Metric] = {
    m.name: m
    for m in (
        Metric("calls", "calls a task", BOTH, share=False),
        Metric("validity", "validity, on tasks that need calls", BOTH),
        Metric("coverage", "coverage, on tasks that need calls", BOTH),
        Metric("abstention", "no call, on tasks that need none", BOTH),
        Metric("argument", "equal arguments, on tasks that need calls", LARGER),
        Metric("success", "success, on all tasks", LARGER),
        Metric("one_call", "one call and stop, on tasks that need more", ()),
        Metric("spam", "more calls than the budget, on tasks that need calls", ()),
    )
}


def measured(tasks: Path, traces: Path) -> tuple[Values, int]:
    """Each metric by task, a mean where a task was played more than once; how many are masked."""
    known = {task.id: task for task in read_distinct(tasks, Task)}
    found: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    masked = 0
    for task, trace in pairs(known, tasks, traces):
        values = dict(episode(task, trace))
        masked += not values
        for name, value in values.items():
            found[name][task.id].append(value)
    return {name: {t: sum(v) / len(v) for t, v in of.items()} for name, of in found.items()}, masked


def episode(task: Task, trace: Trace) -> Iterator[tuple[str, float]]:
    """The metrics that apply to one episode; none if it is masked.

    Components are the paper's, success is that of `strict`, and the budget is the paper's: half as
    many calls again as are needed, rounded up.
    """
    judged, paper = measure(task, trace), score(task, trace, PRESETS["paper"])
    if judged is None or paper.validity is None:
        return
    needed, made = len(task.ground_truth), len(trace.calls)
    yield "calls", made
    yield "success", judged.success
    if not needed:
        yield "abstention", made == 0
        return
    yield "validity", paper.validity
    yield "coverage", paper.coverage or 0.0
    yield "argument", paper.argument or 0.0
    yield "spam", made > needed + ceil(0.5 * needed)
    if needed > 1:
        yield "one_call", made == 1
