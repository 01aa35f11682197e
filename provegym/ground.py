"""What the ground truth of a task must be for anything to be scored against it."""

from __future__ import annotations

from collections.abc import Collection
from graphlib import CycleError, TopologicalSorter

from provegym.errors import InputError, seen
from provegym.types import GroundCall, Task

_NAMED = 4
"""So many calls of a circle an error names."""


def check_ground(task: Task) -> None:
    """Raise `InputError` where two ground calls have one id, or where one comes after a call that
    there is none of, after itself, or after one that waits for it.
    """
    calls = [call for _, call in task.ground_truth]
    known = {call.id for call in calls}
    if len(known) < len(calls):
        raise InputError(f"task {task.id} uses one ground-truth call id twice; make them distinct")
    done: set[str] = set()
    for call in calls:
        if not done.issuperset(call.after):
            _check_links(task, calls, known)  # in order they are nearly always, and quickly seen so
            return
        done.add(call.id)


def check_world(task: Task, tools: Collection[str], tables: Collection[str]) -> None:
    """Raise `InputError` where the ground truth names a tool or a table that the task's world has
    not. `tools` and `tables` are those of the world, a table as `server.table`.
    """
    of = f"the task's servers {', '.join(task.servers)}"
    for _, call in task.ground_truth:
        if call.name not in tools:
            told = f"task {task.id}: ground call {seen(call.id)} is of {seen(call.name)}"
            raise InputError(f"{told}, which is no tool of {of}; name their server too")
    for table in task.final_changes:
        if table not in tables:
            told = f"task {task.id}: final_changes names {seen(table)}"
            raise InputError(f"{told}, which is no table of {of}; name it as server.table")


def _check_links(task: Task, calls: list[GroundCall], known: Collection[str]) -> None:
    needs = {call.id: call.after for call in calls}
    for name, sources in needs.items():
        told = f"task {task.id}: ground call {seen(name)} comes after"
        for source in sources:
            if source == name:
                raise InputError(f"{told} itself; name calls that come before it")
            if source not in known:
                raise InputError(f"{told} {seen(source)}, which is no ground call of the task")
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        names = ", ".join(seen(name) for name in error.args[1][:_NAMED])
        told = f"task {task.id}: ground calls wait for each other ({names})"
        raise InputError(f"{told}; take one out of `after`") from None
