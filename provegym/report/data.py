"""What a run's folder holds, read for its report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from msgspec import Struct

from provegym.errors import InputError, seen
from provegym.evals.heldout import Measure, difference, judge, report
from provegym.evals.stats import Estimate
from provegym.records import read, read_manifest, read_rows
from provegym.types import Task, Trace

COMPONENTS = ("validity", "coverage", "efficiency", "name", "argument", "state")
ENDS = 5
"""Headlines compare the first and the last of so many equal parts of training."""


class Yield(Struct, frozen=True):
    """How synthesis went: certified tasks by kind, candidates lost by reason."""

    kinds: dict[str, int]
    rejected: dict[str, int]
    servers: dict[str, int]


class Policy(Struct, frozen=True):
    """One policy's held-out episodes, judged."""

    name: str
    estimates: dict[str, Estimate]
    groups: dict[str, dict[str, Estimate]]
    measures: list[Measure]
    masked: int
    traces: dict[str, Trace]
    """The first unmasked episode of each task."""


class Run(Struct, frozen=True):
    """Everything the page shows."""

    name: str
    settings: dict[str, Any]
    train: Yield
    heldout: Yield
    curves: list[dict[str, Any]]
    policies: dict[str, Policy]
    gain: dict[str, Estimate]
    tasks: dict[str, Task]
    costs: dict[str, dict[str, float]]
    folder: Path
    world: str
    """Hash of the content of the worlds of its held-out tasks; "" where it is not known."""


class _Rejected(Struct, frozen=True):
    id: str
    reason: str


def load(folder: Path) -> Run:
    """Read a run's folder. InputError if it holds no run, or one without held-out episodes."""
    settings = settings_of_run(folder)
    played = {name: folder / "eval" / f"{name}.traces.jsonl" for name in ("before", "after", "sft")}
    played = {name: path for name, path in played.items() if path.exists()}
    if not {"before", "after"} <= set(played):
        raise InputError(f"{folder} has no held-out episodes yet; let `provegym run` finish first")
    source = folder / "heldout" / "tasks.jsonl"
    tasks = {t.id: t for t in read(source, Task)}
    seed = settings["run"]["seed"]
    policies = {name: _policy(name, path, tasks, source, seed) for name, path in played.items()}
    return Run(
        name=settings["run"]["name"],
        settings=settings,
        train=_yield(folder / "train"),
        heldout=_yield(folder / "heldout"),
        curves=read_rows(folder / "grpo" / "curves.jsonl"),
        policies=policies,
        gain=difference(policies["before"].measures, policies["after"].measures, seed),
        tasks=tasks,
        costs=_costs(folder),
        folder=folder,
        world=_world(source),
    )


def ends(values: Sequence[float]) -> tuple[float, float]:
    """The means of the first and of the last fifth."""
    count = max(1, round(len(values) / ENDS))
    return fmean(values[:count]), fmean(values[-count:])


def _world(source: Path) -> str:
    manifest = read_manifest(source)
    return manifest.world if manifest else ""


def settings_of_run(folder: Path) -> dict[str, Any]:
    """What a run was made with. Raises `InputError` for no folder of one, and for a broken note."""
    path = folder / "run.json"
    if not path.is_file():
        raise InputError(f"{folder} is not the folder of a run (no run.json)")
    try:
        settings = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no JSON: {error}; make the run anew elsewhere") from error
    if not isinstance(settings, dict):
        raise InputError(f"{path} holds {seen(settings)}, not the settings of a run")
    return settings


def _policy(name: str, path: Path, tasks: dict[str, Task], source: Path, seed: int) -> Policy:
    measures: list[Measure] = []
    first: dict[str, Trace] = {}
    masked = 0
    for trace, judged in judge(tasks, source, path):
        if judged is None:
            masked += 1
            continue
        measures.append(judged)
        first.setdefault(trace.task_id, trace)
    found = report(name, measures, masked, seed)
    return Policy(name, found.overall, found.groups, measures, masked, first)


def _yield(folder: Path) -> Yield:
    kinds: Counter[str] = Counter()
    servers: Counter[str] = Counter()
    for task in read(folder / "tasks.jsonl", Task):
        kinds[task.kind] += 1
        servers.update(task.servers[:1])
    rejected = Counter(r.reason for r in read(folder / "rejections.jsonl", _Rejected))
    return Yield(dict(kinds), dict(rejected), dict(servers))


def _costs(folder: Path) -> dict[str, dict[str, float]]:
    """What each file's manifest says its making took."""
    found = {}
    for path in sorted(folder.rglob("*.jsonl")):
        manifest = read_manifest(path)
        if manifest is not None and manifest.cost:
            found[str(path.relative_to(folder))] = dict(manifest.cost)
    return found
