"""Traces as the page lists them: scored under `strict`, with the first mistake of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from provegym.errors import InputError
from provegym.rewards.explain import explain
from provegym.rewards.success import success
from provegym.types import Task, Trace
from provegym.viewer.index import Row, Table
from provegym.viewer.lists import Shape
from provegym.viewer.mistakes import first
from provegym.viewer.tasks import SAID, storable

COMPONENTS = ("validity", "coverage", "efficiency", "name", "argument", "state")
TaskOf = Callable[[str], Task | None]
"""The task of an id, None where it is not known."""

FACETS = ("result", "failure", "policy", "server", "kind", "stop")

TABLE = Table(
    {
        "id": "TEXT",
        "task": "TEXT",
        "policy": "TEXT",
        "kind": "TEXT",
        "server": "TEXT",
        "calls": "INTEGER",
        "needed": "INTEGER",
        "stop": "TEXT",
        "result": "TEXT",
        "failure": "TEXT",
        "place": "INTEGER",
        "reward": "REAL",
        **dict.fromkeys(COMPONENTS, "REAL"),
        "said": "TEXT",
    },
    indexed=("id", "task", "reward", ", ".join(FACETS)),  # the last one answers every count
)
_RANK = "CASE r.result WHEN 'failed' THEN 0 WHEN 'masked' THEN 1 ELSE 2 END"
SHAPE = Shape(
    facets=FACETS,
    shown=tuple(TABLE.columns),
    orders={
        "file": "r.n",
        "failed first": f"{_RANK}, r.failure, r.reward, r.n",
        "worst first": "r.reward IS NULL, r.reward, r.n",
        "best first": "r.reward DESC, r.n",
        "most calls": "r.calls DESC, r.n",
        "gained most": "other IS NULL, r.reward - other DESC, r.n",
        "lost most": "other IS NULL, r.reward - other, r.n",
    },
    searched=("id", "said"),
    several=frozenset({"server"}),
)


def read(line: bytes) -> Trace:
    """The trace of a line. Raises `InputError`."""
    try:
        return msgspec.json.decode(line, type=Trace)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"this is no trace: {error}") from error


def row_maker(task_of: TaskOf) -> Callable[[bytes], Row]:
    """What a trace is listed by, once its task is looked up."""

    def row(line: bytes) -> Row:
        trace = read(line)
        task = task_of(trace.task_id)
        told: Row = {
            "id": storable(trace.id),
            "task": storable(trace.task_id),
            "policy": storable(trace.policy),
            "calls": len(trace.calls),
            "stop": trace.stop_reason,
            "result": "unscored",
            "failure": "unscored",
            "said": storable(_said(trace))[:SAID],
        }
        return told if task is None else {**told, **judged(task, trace)}

    return row


def judged(task: Task, trace: Trace) -> dict[str, Any]:
    """The columns that need the task."""
    told = explain(task, replace(trace, messages=()), "strict")
    score, mistake = told.score, first(told)
    done = "success" if success(task, trace, score) else "failed"
    return {
        "kind": task.kind,
        "server": ",".join(task.servers),
        "needed": len(task.ground_truth),
        "result": "masked" if score.masked else done,
        "failure": mistake.kind or "none",
        "place": mistake.position,
        "reward": score.normalized,
        **{name: getattr(score, name) for name in COMPONENTS},
    }


def _said(trace: Trace) -> str:
    words = (m.get("content") for m in trace.messages if m.get("role") == "user")
    return next((text for text in words if isinstance(text, str)), "")
