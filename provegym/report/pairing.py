"""Two runs beside each other: which held-out tasks both played, what may be compared and why not.

Only a task that is the same in both runs, on the same worlds, tells their policies apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from provegym.errors import InputError
from provegym.evals.comparison import Comparison
from provegym.evals.heldout import Measure, compared, report
from provegym.evals.stats import Estimate
from provegym.report.data import Run
from provegym.report.data import load as load_run
from provegym.types import Task

OWN = ("run.name",)
"""Settings in which any two runs differ."""
NAMED = 3
"""Differing settings that a caution names."""


class Side(Struct, frozen=True):
    """One run's policy on the tasks that both runs share."""

    estimates: dict[str, Estimate]
    episodes: int


class Contest(Struct, frozen=True):
    """Two policies of one name, paired task by task; differences are the run minus the other."""

    sides: tuple[Side, Side]
    differences: dict[str, Comparison]


class Pair(Struct, frozen=True):
    """Two runs, and what of them can be compared."""

    run: Run
    other: Run
    names: tuple[str, str]
    shared: tuple[str, ...]
    """Ids of held-out tasks that are the same in both."""
    reasons: tuple[str, ...]
    """Why held-out results cannot be compared; none where they can."""
    cautions: tuple[str, ...]
    """What else has to be kept in mind."""
    settings: dict[str, tuple[Any, Any]]
    """Settings that differ, by their path; None where a run has no such setting."""
    contests: dict[str, Contest]
    """`after`, `sft`, `before`: those that both runs have; empty where there are reasons."""


def load(folder: Path, other: Path) -> Pair:
    """Read both runs. Raises `InputError` where one is none, or where they are one and the same."""
    if folder.resolve() == other.resolve():
        raise InputError(f"{folder} is compared with itself; name another run's folder")
    return pair(load_run(folder), load_run(other))


def pair(run: Run, other: Run) -> Pair:
    """Find what may be compared, and compare it."""
    shared = tuple(t for t in run.tasks if t in other.tasks and same(run.tasks[t], other.tasks[t]))
    reasons = tuple(_reasons(run, other, shared))
    changed = differing(run.settings, other.settings)
    return Pair(
        run=run,
        other=other,
        names=_names(run, other),
        shared=shared,
        reasons=reasons,
        cautions=tuple(_cautions(run, other, shared, changed)),
        settings=changed,
        contests={} if reasons else _contests(run, other, frozenset(shared)),
    )


def same(one: Task, other: Task) -> bool:
    """Whether two tasks ask the same of a policy; who wrote and certified them does not count."""
    names = ("kind", "turns", "servers", "seed", "reference_time", "tools", "final_changes")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def differing(
    one: Mapping[str, Any], other: Mapping[str, Any], above: str = ""
) -> dict[str, tuple[Any, Any]]:
    """Settings of two runs that are not the same, by dotted path."""
    found: dict[str, tuple[Any, Any]] = {}
    for key in dict.fromkeys([*one, *other]):
        path, a, b = f"{above}{key}", one.get(key), other.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            found |= differing(a, b, f"{path}.")
        elif a != b and path not in OWN:
            found[path] = a, b
    return found


def _names(run: Run, other: Run) -> tuple[str, str]:
    """What the runs are called: by their names, else by their folders."""
    if run.name != other.name:
        return run.name, other.name
    return str(run.folder), str(other.folder)


def _reasons(run: Run, other: Run, shared: tuple[str, ...]) -> Iterator[str]:
    """Why held-out results of two runs say nothing about each other."""
    common = [task for task in run.tasks if task in other.tasks]
    if not common:
        yield (
            f"They played other held-out tasks: none of {len(run.tasks)} and {len(other.tasks)} "
            f"has the same id (seeds {_seed(run)} and {_seed(other)})."
        )
    elif not shared:
        yield (
            f"Their held-out tasks have the same ids and are others: none of {len(common)} asks "
            f"the same on the same world (servers {_servers(run)}, and {_servers(other)})."
        )
    elif run.world and other.world and run.world != other.world:
        yield (
            f"Their worlds are not the same: the content of the servers has the hash "
            f"{run.world[:10]} in one and {other.world[:10]} in the other."
        )


def _cautions(
    run: Run, other: Run, shared: tuple[str, ...], changed: Mapping[str, Any]
) -> Iterator[str]:
    most = max(len(run.tasks), len(other.tasks))
    if shared and len(shared) < most:
        yield (
            f"Held-out results are taken over the {len(shared)} tasks that both have, of "
            f"{len(run.tasks)} and {len(other.tasks)}."
        )
    if "grpo.preset" in changed:
        one, two = changed["grpo.preset"]
        yield (
            f"They were trained by other rewards ({one}, and {two}): curves of the reward and its "
            "components are not on one scale. Held-out results are judged by the same one."
        )
    trained = [path for path in changed if path.startswith("synth.") or path == "run.servers"]
    if trained:
        more = len(trained) - NAMED
        told = ", ".join(trained[:NAMED]) + (f" and {more} more" if more > 0 else "")
        yield f"They were trained on other tasks; these settings differ: {told}."


def _seed(run: Run) -> Any:
    return run.settings["run"]["seed"]


def _servers(run: Run) -> str:
    return ", ".join(run.settings["run"].get("servers", ())) or "not told"


def _contests(run: Run, other: Run, shared: frozenset[str]) -> dict[str, Contest]:
    return {
        name: _contest(
            [m for m in run.policies[name].measures if m.task_id in shared],
            [m for m in other.policies[name].measures if m.task_id in shared],
            _seed(run),
        )
        for name in ("after", "sft", "before")
        if name in run.policies and name in other.policies
    }


def _contest(mine: list[Measure], theirs: list[Measure], seed: int) -> Contest:
    sides = (_side(mine, seed), _side(theirs, seed))
    return Contest(sides, compared(theirs, mine, seed))


def _side(measures: list[Measure], seed: int) -> Side:
    return Side(report("", measures, 0, seed).overall, len(measures))
