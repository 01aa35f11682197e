"""What a session changed, in a canonical form that does not depend on ids or order.

Volatile fields are dropped, minted ids are replaced by the row's key, and created rows are
numbered `+1, +2, ...` by their content: two legal orders of independent writes give the same
changes, and so does a policy whose new rows got other ids than the teacher's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from provegym.types import Changes
from provegym.world.fields import VOLATILE, Field, fields_of
from provegym.world.numbering import number, rename
from provegym.world.table import Overlay, Row, Template


def canonical_changes(
    templates: Mapping[str, Template[Any]], overlays: Mapping[str, Overlay]
) -> Changes:
    """`{table: {row: {field: value} | None}}` of every difference from the templates."""
    created: dict[str, dict[str, dict[str, Any]]] = {}
    changed: dict[str, dict[str, dict[str, Any] | None]] = {}
    overlays = {name: own for name, own in overlays.items() if templates[name].row.told}
    for name, own in overlays.items():
        base = templates[name].rows
        created[name] = {k: _visible(row) for k, row in own.items() if row and k not in base}
        changed[name] = _differences(base, own)
    names, mentioned = number(created, changed)
    changes: Changes = {}
    for name in sorted(overlays):
        rows: dict[str, Any] = {**changed[name]}
        rows.update({names[k]: row for k, row in created[name].items()})
        if mentioned:
            rows = {k: rename(row, names) for k, row in rows.items()}
        if rows:
            changes[name] = dict(sorted(rows.items()))
    return changes


def _differences(base: Mapping[str, Row], own: Overlay) -> dict[str, dict[str, Any] | None]:
    """Replaced and deleted rows of the seed: only the fields that differ."""
    found: dict[str, dict[str, Any] | None] = {}
    for key, row in own.items():
        before = base.get(key)
        if before is None:
            continue
        if row is None:
            found[key] = None
        elif row != before:
            old = _visible(before)
            changed = {f: v for f, v in _visible(row).items() if old[f] != v}
            if changed:
                found[key] = changed
    return found


def _visible(row: Row) -> dict[str, Any]:
    return _shower(type(row))(row)


Shower = Callable[[Any], Any]


@lru_cache(maxsize=1024)
def _shower(row: type[Row]) -> Callable[[Row], dict[str, Any]]:
    """What turns a row of that type into its non-volatile fields as JSON values, without the id."""
    kept = tuple((f.name, _value_shower(f)) for f in fields_of(row) if _stays(f) and f.name != "id")
    return lambda value: {name: show(getattr(value, name)) for name, show in kept}


def _stays(f: Field) -> bool:
    return not f.has(VOLATILE)


def _value_shower(f: Field) -> Shower:
    """Plain text and numbers stay as they are; records inside lose their volatile fields."""
    if f.type in (str, int, bool, float) or f.choices:
        return _as_is
    if f.item is not None and _holds_volatile(f.item):
        inner = _value_shower(f.item)
        return lambda items: None if items is None else [inner(item) for item in items]
    if _is_record(f) and _holds_volatile(f):
        kept = tuple((g.name, _value_shower(g)) for g in fields_of(f.type) if _stays(g))
        return lambda record: record and {name: show(getattr(record, name)) for name, show in kept}
    return _listed


def _as_is(value: Any) -> Any:
    return value


def _listed(value: Any) -> Any:
    """A value as JSON would give it back: tuples are lists."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _is_record(f: Field) -> bool:
    return isinstance(f.type, type) and issubclass(f.type, Struct)


def _holds_volatile(f: Field) -> bool:
    if f.item is not None:
        return _holds_volatile(f.item)
    return _is_record(f) and any(not _stays(g) or _holds_volatile(g) for g in fields_of(f.type))
