"""One episode with everything that is known about it: chat, ground truth, reward, changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from provegym import worlds
from provegym.errors import ProvegymError
from provegym.rewards.explain import CallNote, Explanation, explain
from provegym.rewards.presets import Preset
from provegym.rewards.presets import preset as preset_of
from provegym.rewards.state import same
from provegym.rollout.loop import tools_at
from provegym.types import Changes, Task, Trace
from provegym.viewer import tasks
from provegym.viewer.changed import Change, between
from provegym.viewer.mistakes import FAILURES, first, of_call
from provegym.viewer.traces import COMPONENTS

REPLAYED = 200
"""Calls that are replayed to see what each changed; a policy that runs wild makes thousands."""


def shown(task: Task | None, trace: Trace, preset: str) -> dict[str, Any]:
    """The episode as JSON. Without its task there is the chat alone. Raises `UnknownName`."""
    chosen = preset_of(preset)
    told: dict[str, Any] = {"trace": msgspec.to_builtins(trace), "task": None}
    if task is None:
        return told
    found = explain(task, trace, chosen)
    changes = changes_by_call(task, trace)
    return {
        **told,
        "task": tasks.shown(task),
        "score": msgspec.to_builtins(found.score),
        "bars": bars(found, chosen) if task.ground_truth else silence(found),
        "calls": [_call(note, changes) for note in found.calls],
        "unmatched": {u.ground.id: u.reason for u in found.unmatched},
        "first": _first(task, trace),
        "state": list(atoms(trace.final_changes, task.final_changes)),
    }


def _first(task: Task, trace: Trace) -> dict[str, Any]:
    """The first mistake as lists have it, whatever preset is looked at."""
    found = first(explain(task, trace, "strict"))
    return {"kind": found.kind, "said": FAILURES.get(found.kind, ""), "position": found.position}


def _call(note: CallNote, changes: list[list[Change] | None]) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(note)
    del told["call"]  # it stands in the trace
    made = changes[note.position] if note.position < len(changes) else None
    return {**told, "mistake": of_call(note), "changes": made}


def bars(found: Explanation, preset: Preset) -> list[dict[str, Any]]:
    """Each component of the reward: its value, its weight, and what both make of the total."""
    rows = []
    for name in COMPONENTS:
        value, weight = getattr(found.score, name), getattr(preset, f"w_{name}")
        part = None if value is None else value * weight
        rows.append({"name": name, "value": value, "weight": weight, "part": part})
    return rows


def silence(found: Explanation) -> list[dict[str, Any]]:
    """The same of a task that needs no call: silence earns everything, and any call nothing."""
    return [{"name": "no_call", "value": found.score.total, "weight": 1, "part": found.score.total}]


def atoms(made: Changes, wanted: Changes) -> Iterator[dict[str, Any]]:
    """The end state field by field, as the component `state` counts it: what was made of it, what
    was wanted, and whether they are the same. A side without the atom lacks its key.
    """
    for table in sorted({*made, *wanted}):
        rows, others = made.get(table, {}), wanted.get(table, {})
        for row in sorted({*rows, *others}):
            yield from _row_atoms(table, row, _fields(rows, row), _fields(others, row))


def _fields(rows: dict[str, dict[str, Any] | None], row: str) -> dict[str, Any]:
    """Fields by name; a deleted row is one atom of the name ""."""
    if row not in rows:
        return {}
    found = rows[row]
    return {"": "deleted"} if found is None else found


def _row_atoms(
    table: str, row: str, made: dict[str, Any], wanted: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    for field in sorted({*made, *wanted}):
        told: dict[str, Any] = {"table": table, "row": row, "field": field}
        told |= {"made": made[field]} if field in made else {}
        told |= {"wanted": wanted[field]} if field in wanted else {}
        both = field in made and field in wanted
        yield {**told, "equal": both and same(made[field], wanted[field])}


def changes_by_call(task: Task, trace: Trace) -> list[list[Change] | None]:
    """What each call changed, found by replaying the calls on a session of the task's world.

    None from where on that cannot be told: another outcome than the recorded one, a world that
    cannot be made here, a call beyond the first `REPLAYED`.
    """
    found: list[list[Change] | None] = []
    with suppress(ProvegymError):  # the page says that the changes are not known
        session = worlds.open_session(task)
        before = session.snapshot()
        for call in trace.calls[:REPLAYED]:
            session.offer([tool.function.name for tool in tools_at(task, call.turn)])
            stored = call.arguments
            told = stored if isinstance(stored, dict | str) else msgspec.json.encode(stored)
            if session.call(call.name, told).outcome != call.outcome:
                break
            after = session.snapshot()
            found.append(between(session.world, before, after))
            before = after
    return [*found, *[None] * (len(trace.calls) - len(found))]
