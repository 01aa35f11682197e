"""Measures of a policy on held-out tasks: success, over-calling, abstention, recovery."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from provegym.errors import InputError
from provegym.evals import power
from provegym.evals.comparison import Comparison, compare
from provegym.evals.stats import Estimate, mean, paired_difference, pass_hats, rate
from provegym.pairs import pairs
from provegym.records import read_distinct
from provegym.rewards import PRESETS, score
from provegym.rewards.success import solved, success
from provegym.types import Kind, Task, Trace


class Measure(Struct, frozen=True):
    """One episode, judged under `strict`. Values that the kind of task has no use for are None."""

    trace_id: str
    task_id: str
    kind: Kind
    server: str
    """The server that the task is about."""
    calls: int
    success: bool
    coverage: float | None
    over_called: bool | None
    """More calls than the ground truth has, on tasks with calls."""
    abstained: bool | None
    """No call, on tasks without."""
    premature: bool | None
    """A call in the first turn of a task that lacks information or a tool there."""
    reward: float
    """Normalized total, 0 to 1 (below 0 where calls are spammed)."""
    reward_paper: float | None = None
    """The same under `paper`."""
    recovered: bool | None = None
    """All was done in the end, whatever it took, in an episode with a call that failed."""
    chain: int = 0
    """Calls of the ground truth."""


METRICS: dict[str, Callable[[Measure], float | bool | None]] = {
    "success": lambda m: m.success,
    "reward": lambda m: m.reward,
    "reward_paper": lambda m: m.reward_paper,
    "coverage": lambda m: m.coverage,
    "over_calling": lambda m: m.over_called,
    "abstention": lambda m: m.abstained,
    "premature_calls": lambda m: m.premature,
    "recovery": lambda m: m.recovered,
    "calls": lambda m: m.calls,
}


SHARES = frozenset({"success", "over_calling", "abstention", "premature_calls", "recovery"})
"""Metrics that are 0 or 1 for an episode."""


class Report(Struct, frozen=True):
    """Estimates by metric, over all tasks and by group ("server banking", "kind workflow",
    "length 2" for tasks whose ground truth has two calls).

    `pass_hat` has pass^k of success by k, where every task was tried more than once.
    """

    policy: str
    episodes: int
    masked: int
    overall: dict[str, Estimate]
    groups: dict[str, dict[str, Estimate]]
    pass_hat: dict[int, Estimate] = {}


def measure(task: Task, trace: Trace) -> Measure | None:
    """Judge one episode; None if it is masked."""
    judged = score(task, trace, PRESETS["strict"])
    if judged.masked or judged.normalized is None:
        return None
    truth = len(task.ground_truth)
    made = len(trace.calls)
    failed = any(call.outcome != "ok" for call in trace.calls)
    waiting = task.kind == "clarification"
    return Measure(
        trace_id=trace.id,
        task_id=task.id,
        kind=task.kind,
        server=task.servers[0] if task.servers else "",
        calls=made,
        success=success(task, trace, judged),
        coverage=judged.coverage if truth else None,
        over_called=made > truth if truth else None,
        abstained=made == 0 if not truth else None,
        premature=any(c.turn == 0 for c in trace.calls) if waiting else None,
        reward=judged.normalized,
        reward_paper=score(task, trace, PRESETS["paper"]).normalized,
        recovered=solved(judged) if truth and failed else None,
        chain=truth,
    )


def judge(
    known: Mapping[str, Task], tasks: Path, traces: Path
) -> Iterator[tuple[Trace, Measure | None]]:
    """Each trace of a file with its measure, None if masked; see `provegym.pairs`."""
    for task, trace in pairs(known, tasks, traces):
        yield trace, measure(task, trace)


def measure_file(tasks: Path, traces: Path) -> tuple[list[Measure], int]:
    """All unmasked episodes of a trace file, and how many are masked."""
    known = {task.id: task for task in read_distinct(tasks, Task)}
    found = [judged for _, judged in judge(known, tasks, traces)]
    if not found:
        raise InputError(f"{traces} holds no trace; make some with `provegym rollout`")
    measures = [judged for judged in found if judged is not None]
    return measures, len(found) - len(measures)


def report(policy: str, measures: list[Measure], masked: int, seed: int = 0) -> Report:
    """Every metric with its interval, over all and by server, kind and length."""
    groups: defaultdict[str, list[Measure]] = defaultdict(list)
    for m in measures:
        groups[f"server {m.server}"].append(m)
        groups[f"kind {m.kind}"].append(m)
        groups[f"length {m.chain}"].append(m)
    overall = _estimates(measures, seed)
    by_group = {name: _estimates(groups[name], seed) for name in sorted(groups, key=_in_order)}
    hats = pass_hats(by_task(measures, "success"), seed)
    told = hats if len(hats) > 1 else {}
    return Report(policy, len(measures) + masked, masked, overall, by_group, told)


def _in_order(group: str) -> tuple[str, int, str]:
    """Groups by name, lengths by number."""
    what, _, which = group.partition(" ")
    return what, int(which) if which.isdigit() else 0, which


def _estimates(measures: list[Measure], seed: int) -> dict[str, Estimate]:
    found = {
        name: (rate if name in SHARES else mean)(by_task(measures, name), seed) for name in METRICS
    }
    return {name: estimate for name, estimate in found.items() if estimate.n}


def by_task(measures: Iterable[Measure], metric: str) -> Mapping[str, list[float]]:
    """The metric's values of each task, tasks that it does not apply to left out."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    for m in measures:
        value = METRICS[metric](m)
        if value is not None:
            values[m.task_id].append(float(value))
    return values


def difference(before: list[Measure], after: list[Measure], seed: int = 0) -> dict[str, Estimate]:
    """After minus before, paired by task, with the interval of the difference; empty where no
    task was played by both.
    """
    gains = {
        name: paired_difference(by_task(before, name), by_task(after, name), seed)
        for name in METRICS
    }
    return {name: estimate for name, estimate in gains.items() if estimate.n}


def compared(before: list[Measure], after: list[Measure], seed: int = 0) -> dict[str, Comparison]:
    """The same with p-values, corrected for how many measures there are."""
    sides = {name: (by_task(before, name), by_task(after, name)) for name in METRICS}
    return compare(sides, seed)


def outlook(before: list[Measure], after: list[Measure] | None = None) -> str:
    """What gains in success a comparison on these tasks can see, by the number of trials.

    How much scores vary is taken from what the policies showed, as far as they tried tasks more
    than once, and else assumed.
    """
    one = by_task(before, "success")
    other = one if after is None else by_task(after, "success")
    seen = power.alone(one) if after is None else power.spread(one, other)
    told = power.plan(len(one.keys() & other.keys()), spread=seen or power.ASSUMED)
    return f"{told} (80 % power{'' if seen else ', spread assumed'})"
