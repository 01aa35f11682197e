"""Our own held-out tasks as a suite: played live, scored with both presets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from provegym import worlds
from provegym.errors import ManifestMismatch
from provegym.evals.heldout import measure
from provegym.evals.items import Advance, Item, Keep, Policy, Roles, State, key
from provegym.llm.factory import policy_factory
from provegym.llm.relay import Relay
from provegym.records import encode, read, read_tasks, write_atomic
from provegym.rewards import PRESETS, score
from provegym.rollout.run import rollout_file
from provegym.types import Task, Trace

PARTS = ("success", "strict", "paper")
"""`success` as `provegym eval TASKS TRACES` has it; the normalized reward under both presets."""


def names(tasks: Path) -> list[str]:
    """The ids of the tasks."""
    return [task.id for task in read_tasks(tasks)]


def play(
    tasks: Path,
    wanted: Sequence[str],
    folder: Path,
    player: Roles | Policy,
    keep: Keep,
    *,
    trials: int = 1,
    seed: int = 0,
    concurrency: int = 4,
    advance: Advance | None = None,
) -> None:
    """Let a model (by its roles) or a known policy play the wanted tasks, and judge it.

    The traces stay in `folder`, for `provegym eval` and `score`. Masked episodes are played again
    by the next call and are not told. Raises `ManifestMismatch` for tasks that have changed since.
    """
    chosen = [task for task in read_tasks(tasks) if task.id in set(wanted)]
    folder.mkdir(parents=True, exist_ok=True)
    own, traces = folder / "tasks.jsonl", folder / "traces.jsonl"
    rows = [encode(task) for task in chosen]
    if own.exists() and own.read_bytes().splitlines() != rows:
        raise ManifestMismatch(
            f"{own} was made of other tasks than {tasks} now holds; choose another --out"
        )
    write_atomic(own, rows)

    def rollout(policy: str, name: str, base_url: str | None = None) -> None:
        rollout_file(
            own,
            name,
            traces,
            open_session=worlds.open_session,
            make_policy=policy_factory(policy, base_url=base_url, seed=seed),
            concurrency=concurrency,
            trials=trials,
            seed=seed,
            world=worlds.content(chosen),
            retry_masked=True,
            progress=advance,
        )

    if isinstance(player, str):
        rollout(player, player)
    else:
        with Relay(player) as relay:
            rollout("openai:agent", "agent", relay.url)
    known = {task.id: task for task in chosen}
    for trace in read(traces, Trace):
        for item in judged(known[trace.task_id], trace):
            keep(item)


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
