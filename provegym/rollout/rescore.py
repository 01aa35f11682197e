"""Replay stored calls live, without a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from provegym.errors import InputError
from provegym.pairs import pairs
from provegym.records import (
    Manifest,
    check_output,
    config_hash,
    content_hash,
    encode,
    read,
    write_atomic,
    write_manifest,
)
from provegym.rollout.loop import OUR_FAULTS, Session, close_session, lost, tools_at
from provegym.rollout.run import Progress, SessionOpener, load_tasks
from provegym.rollout.summary import TraceSummary, is_masked, summarize
from provegym.types import Call, Changes, Task, Trace


def rescore(task: Task, trace: Trace, session: Session) -> Trace:
    """`trace` with outcomes, results and final changes as its calls give them on `session`, new.

    The session is closed. Messages stay as the policy saw them, and a trace that a fault of ours
    cut short stays masked, for the policy never had its say. A fault now masks it, too.
    """
    calls: list[Call] = []
    changes: Changes = {}
    stop = "infrastructure" if is_masked(trace) else trace.stop_reason
    try:
        for call in trace.calls:
            calls.append(_again(task, call, session))
        changes = session.changes()
    except OUR_FAULTS as fault:
        stop = "infrastructure"
        if len(calls) < len(trace.calls):
            broken = trace.calls[len(calls)]
            calls.append(replace(broken, outcome="infrastructure", result=lost(fault)))
    finally:
        close_session(session, trace.id)
    return replace(trace, calls=tuple(calls), final_changes=changes, stop_reason=stop, score={})


def rescore_file(
    tasks: Path,
    traces: Path,
    out: Path,
    *,
    open_session: SessionOpener,
    world: str = "",
    progress: Progress | None = None,
) -> TraceSummary:
    """Replay every trace into `out`, in order; `out` is written whole or not at all.

    Raises `InputError` for a broken or empty file and for a trace whose task is not among the
    tasks (see `provegym.pairs`).
    """
    check_output(out, "traces", (tasks, traces))
    by_id = {task.id: task for task in load_tasks(tasks)}
    total = sum(1 for _ in read(traces, Trace))
    if not total:
        raise InputError(f"{traces} holds no trace; make some with `provegym rollout`")

    def lines() -> Iterator[bytes]:
        for number, (task, trace) in enumerate(pairs(by_id, tasks, traces), start=1):
            yield encode(_replayed(task, trace, open_session))
            if progress:
                progress(number, total)

    write_atomic(out, lines())
    made_by = Manifest(
        "traces",
        config=config_hash({"rescored": content_hash(traces)}),
        world=world,
        parent=content_hash(tasks),
        complete=True,
        rows=total,
    )
    write_manifest(out, made_by)
    return summarize(read(out, Trace))


def _replayed(task: Task, trace: Trace, open_session: SessionOpener) -> Trace:
    try:
        session = open_session(task)
    except OUR_FAULTS:
        return replace(trace, stop_reason="infrastructure", score={})
    return rescore(task, trace, session)


def _again(task: Task, call: Call, session: Session) -> Call:
    session.offer([tool.function.name for tool in tools_at(task, call.turn)])
    result = session.call(call.name, _arguments(call.arguments))
    return replace(call, outcome=result.outcome, result=result.builtins())


def _arguments(stored: Any) -> str | dict[str, Any]:
    """An object or raw text as it is; anything else, which others may have stored, as JSON text."""
    return stored if isinstance(stored, (dict, str)) else msgspec.json.encode(stored).decode()
