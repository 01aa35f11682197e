"""Tasks as the page lists and shows them."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from provegym.errors import InputError
from provegym.types import Perturbations, Task
from provegym.viewer.index import Row, Table
from provegym.viewer.lists import Shape

SAID = 200
"""Characters of what the user said first that a list shows and searches."""

TABLE = Table(
    {
        "id": "TEXT",
        "kind": "TEXT",
        "server": "TEXT",
        "turns": "INTEGER",
        "calls": "INTEGER",
        "perturbation": "TEXT",
        "information": "TEXT",
        "teacher": "TEXT",
        "certified": "TEXT",
        "said": "TEXT",
    },
    indexed=("id",),
)
SHAPE = Shape(
    facets=("server", "kind", "calls", "turns", "perturbation", "information", "certified"),
    shown=tuple(TABLE.columns),
    orders={"file": "r.n", "longest": "r.calls DESC, r.n", "shortest": "r.calls, r.n"},
    searched=("id", "said"),
    several=frozenset({"server", "perturbation"}),
)


def read(line: bytes) -> Task:
    """The task of a line. Raises `InputError`."""
    try:
        return msgspec.json.decode(line, type=Task)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"this is no task: {error}") from error


def slim(task: Task) -> Task:
    """The same without schemas of tools, which are most of its memory and no part of a score."""
    turns = tuple(replace(turn, tools=()) for turn in task.turns)
    return replace(task, tools=(), turns=turns)


def row(line: bytes) -> Row:
    """What a task is listed by. Raises `InputError`."""
    task = read(line)
    return {
        "id": task.id,
        "kind": task.kind,
        "server": ",".join(task.servers),
        "turns": len(task.turns),
        "calls": len(task.ground_truth),
        "perturbation": ",".join(perturbed(task.perturbations)) or "none",
        "information": task.information,
        "teacher": task.teacher,
        "certified": "yes" if task.certificate.passed else "no",
        "said": storable(task.turns[0].user if task.turns else "")[:SAID],
    }


def perturbed(told: Perturbations) -> list[str]:
    """What was done to a task, by name."""
    done = {
        "distractors": bool(told.distractors),
        "enum_stripped": told.enum_stripped,
        "missing_function": told.missing_function is not None,
        "irrelevant": told.irrelevant,
    }
    return [name for name, is_so in done.items() if is_so]


def storable(text: str) -> str:
    """Text without the lone surrogates that no database holds."""
    return text.encode("utf-8", "replace").decode()


def shown(task: Task) -> dict[str, Any]:
    """A task as JSON, with the fields of its turns that a file leaves out, too."""
    turns = [msgspec.structs.asdict(turn) for turn in task.turns]
    told: dict[str, Any] = msgspec.to_builtins({**msgspec.structs.asdict(task), "turns": turns})
    return {**told, "perturbed": perturbed(task.perturbations)}
