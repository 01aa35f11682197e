"""What lies between two states of a session, row by row, with the ids that its tools show.

`Session.changes` tells of a whole episode in a form that scores compare; here a person looks at
one call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from provegym.world.session import Snapshot
from provegym.world.table import Row, Template
from provegym.world.world import World

START = Snapshot({}, {}, 0)
"""The state in which every session begins."""

Change = dict[str, Any]
"""`{table, row, kind, fields}`: `kind` is created, changed or deleted, `fields` a list of
`[name, before, after]`."""


def between(world: World, before: Snapshot, after: Snapshot) -> list[Change]:
    """The rows that differ, by table and row."""
    return [
        change
        for name in sorted({*before.overlays, *after.overlays})
        for change in _of_table(world.templates[name], before, after)
    ]


def _of_table(table: Template[Any], before: Snapshot, after: Snapshot) -> Iterator[Change]:
    old, new = before.overlays.get(table.name, {}), after.overlays.get(table.name, {})
    for row in sorted({*old, *new}):
        at_start = table.rows.get(row)
        was, now = old.get(row, at_start), new.get(row, at_start)
        if was != now:
            kind = "created" if was is None else "deleted" if now is None else "changed"
            yield {"table": table.name, "row": row, "kind": kind, "fields": _fields(was, now)}


def _fields(was: Row | None, now: Row | None) -> list[list[Any]]:
    a: dict[str, Any] = msgspec.to_builtins(was) if was else {}
    b: dict[str, Any] = msgspec.to_builtins(now) if now else {}
    both = was is not None and now is not None
    return [
        [name, a.get(name), b.get(name)]
        for name in {**a, **b}
        if name != "id" and not (both and a[name] == b[name])
    ]
