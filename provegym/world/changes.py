"""What a session changed, in a canonical form that does not depend on ids or order.

Volatile fields are dropped, minted ids are replaced by the row's key, and created rows are
numbered `+1, +2, ...` by their content: two legal orders of independent writes give the same
changes, and so does a policy whose new rows got other ids than the teacher's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from provegym.types import Changes
from provegym.world.fields import VOLATILE, fields_of
from provegym.world.table import Overlay, Row, Template

_canonical = msgspec.json.Encoder(order="sorted").encode

Names = dict[str, str]
"""What stands for each created id."""


def canonical_changes(
    templates: Mapping[str, Template[Any]], overlays: Mapping[str, Overlay]
) -> Changes:
    """`{table: {row: {field: value} | None}}` of every difference from the templates."""
    created = {
        name: {k: _visible(row) for k, row in own.items() if row and k not in templates[name].rows}
        for name, own in overlays.items()
    }
    names = _number(created)
    changes: Changes = {}
    for name, own in overlays.items():
        rows = _differences(templates[name].rows, own, names)
        rows.update({names[k]: _rename(row, names) for k, row in created[name].items()})
        if rows:
            changes[name] = dict(sorted(rows.items(), key=lambda item: item[0]))
    return dict(sorted(changes.items()))


def _differences(base: Mapping[str, Row], own: Overlay, names: Names) -> dict[str, Any]:
    """Replaced and deleted rows of the seed: only the fields that differ."""
    found: dict[str, Any] = {}
    for key, row in own.items():
        before = base.get(key)
        if before is None:
            continue
        if row is None:
            found[key] = None
            continue
        old, new = _visible(before), _visible(row)
        changed = {f: _rename(v, names) for f, v in new.items() if old[f] != v}
        if changed:
            found[key] = changed
    return found


@lru_cache(maxsize=1024)
def _kept(row: type[Row]) -> frozenset[str]:
    return frozenset(f.name for f in fields_of(row) if f.name != "id" and not f.has(VOLATILE))


def _visible(row: Row) -> dict[str, Any]:
    kept = _kept(type(row))
    return {f: v for f, v in msgspec.to_builtins(row).items() if f in kept}


def _number(created: Mapping[str, Mapping[str, dict[str, Any]]]) -> Names:
    """Name created rows by content; rows that refer to each other are refined until stable.

    Colour refinement (Weisfeiler and Leman): a row's colour is its content with every created id
    replaced by that row's colour of the round before.
    """
    colours: Names = {key: table for table, rows in created.items() for key in rows}
    for _ in range(len(colours)):
        after = {
            key: f"{table}:{_canonical(_rename(row, colours)).decode()}"
            for table, rows in created.items()
            for key, row in rows.items()
        }
        compact = {text: f"~{i}" for i, text in enumerate(sorted(set(after.values())))}
        refined = {key: compact[text] for key, text in after.items()}
        if len(set(refined.values())) == len(set(colours.values())) and _ > 0:
            colours = refined
            break
        colours = refined
    names: Names = {}
    for rows in created.values():
        ordered = sorted(rows, key=lambda key: int(colours[key].lstrip("~") or 0))
        names.update({key: f"+{i}" for i, key in enumerate(ordered, 1)})
    return names


def _rename(value: Any, names: Names) -> Any:
    """`value` with every string that is a created id replaced by its name."""
    if not names:
        return value
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [_rename(item, names) for item in value]
    if isinstance(value, dict):
        return {names.get(k, k): _rename(v, names) for k, v in value.items()}
    return value
