"""What a task must be for a session to be opened for it, whether HTTP or a file brings it.

A file of tasks may hold what no session can be about (see `provegym.records`); here it is told in
one sentence before anything is opened.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from provegym.errors import InputError, UnknownName
from provegym.gateway.wire import MOST_SEED
from provegym.types import SCHEMA, Task

MOST_LETTERS = 200
"""Of a task's id."""
NAMED = 20
"""So many names an error lists."""


def check_task(task: Task) -> None:
    """Raise `InputError` that names the field and the value no session can be opened for."""
    if task.schema > SCHEMA:
        raise InputError(f"task.schema {task.schema} is newer than {SCHEMA}; use a newer provegym")
    if not task.id.strip():
        raise InputError(f"task.id {task.id!r} is empty; give the task a name")
    if len(task.id) > MOST_LETTERS:
        told = f"task.id {task.id[:40]!r}... has {len(task.id)} letters"
        raise InputError(f"{told}; give it at most {MOST_LETTERS}")
    if not task.turns:
        raise InputError("task.turns is empty; a task has at least one turn of its user")
    if not 0 <= task.seed <= MOST_SEED:
        raise InputError(f"task.seed {task.seed} is not from 0 to {MOST_SEED}")
    check_servers("task.servers", task.servers)
    _check_time(task.reference_time)


def check_servers(field: str, names: Sequence[str]) -> None:
    """Raise `InputError` where a server is named twice."""
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{field} names {name[:80]!r} twice; name each server once")


def check_tools(names: Sequence[str], known: Collection[str], told: Collection[str]) -> None:
    """Raise `UnknownName` for a tool that is none of the known; the message names those told."""
    for name in names:
        if name not in known:
            raise UnknownName("tool", name[:80], sorted(told)[:NAMED])


def _check_time(text: str) -> None:
    try:
        datetime.fromisoformat(text or "2026-01-01")
    except ValueError:
        told = f"task.reference_time {text[:80]!r} is no time of ISO 8601"
        raise InputError(f"{told}, such as 2026-03-02T09:00:00") from None
