"""Our own tasks as a suite, held-out ones or the benchmark's: played live, scored with both
presets.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from provegym import worlds
from provegym.errors import ManifestMismatch
from provegym.evals.heldout import measure
from provegym.evals.items import Advance, Item, Keep, Roles, State, key
from provegym.llm.factory import policy_factory
from provegym.llm.relay import Remote, RemotePolicies
from provegym.records import read, read_tasks, write_atomic
from provegym.rewards import PRESETS, score
from provegym.rollout.reply import PolicyFactory
from provegym.rollout.run import rollout_file
from provegym.types import Task, Trace

PARTS = ("success", "strict", "paper")
"""`success` as `provegym eval TASKS TRACES` has it; the normalized reward under both presets."""
TASKS, TRACES = "tasks.jsonl", "traces.jsonl"
"""What is played and what came of it, in a suite's folder."""

Plays = Callable[[Path, Path], object]
"""Plays a file of tasks into a file of traces, and goes on where it was stopped."""
Player = Roles | str | Plays
"""A model by its roles, a policy of ours by its name, or whatever else plays tasks."""


def names(tasks: Path) -> list[str]:
    """The ids of the tasks."""
    return [task.id for task in read_tasks(tasks)]


def play(
    tasks: Path,
    wanted: Sequence[str],
    folder: Path,
    player: Player,
    keep: Keep,
    *,
    trials: int = 1,
    seed: int = 0,
    concurrency: int = 4,
    advance: Advance | None = None,
) -> None:
    """Let `player` play the wanted tasks, and judge it.

    The traces stay in `folder`, for `provegym eval` and `score`. Masked episodes are played again
    by the next call and are not told. Raises `ManifestMismatch` for tasks that have changed since,
    and what ends the service of a model.
    """
    own, traces = folder / TASKS, folder / TRACES
    _copy(tasks, set(wanted), own)
    chosen = list(read_tasks(own))

    def rollout(name: str, policies: PolicyFactory) -> None:
        rollout_file(
            own,
            name,
            traces,
            open_session=worlds.open_session,
            make_policy=policies,
            concurrency=concurrency,
            trials=trials,
            seed=seed,
            world=worlds.content(chosen),
            retry_masked=True,
            progress=advance,
        )

    if isinstance(player, str):
        rollout(player, policy_factory(player, seed=seed))
    elif callable(player):
        player(own, traces)
    else:
        remote = player["agent"]
        assert isinstance(remote, Remote)
        rollout("agent", RemotePolicies(remote))
    known = {task.id: task for task in chosen}
    for trace in read(traces, Trace):
        for item in judged(known[trace.task_id], trace):
            keep(item)


def _copy(tasks: Path, wanted: set[str], own: Path) -> None:
    """The wanted lines as they stand, so that a whole split keeps its hash and each line its
    canary; as private as they were.
    """
    known = {task.id for task in read_tasks(tasks)} & wanted  # refuses what is no task
    rows = [r for r in tasks.read_bytes().splitlines() if r and _id(r) in known]
    if own.exists() and own.read_bytes().splitlines() != rows:
        raise ManifestMismatch(
            f"{own} was made of other tasks than {tasks} now holds; choose another --out"
        )
    write_atomic(own, rows)
    shutil.copymode(tasks, own)


def _id(line: bytes) -> str:
    return str(msgspec.json.decode(line)["id"])


def judged(task: Task, trace: Trace) -> list[Item]:
    """An episode's items, none where it is masked."""
    found = measure(task, trace)
    if found is None:
        return []
    trial = int(trace.id.rsplit("/", 1)[1])
    rewards = {name: score(task, trace, PRESETS[name]).normalized for name in ("strict", "paper")}
    state: State = "overflow" if trace.stop_reason == "max_tokens" else "scored"
    scores = {"success": float(found.success), **rewards}
    return [
        Item(key(part, task.id, trial), part, task.id, trial, value, state)
        for part, value in scores.items()
    ]
