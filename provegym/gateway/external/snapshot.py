"""A whole state, as a tool shows it, to rows that can be compared one by one."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from provegym.gateway.external.trees import Tree

Rows = dict[str, Any]
"""Values by row."""

KEYS = ("id", "uuid", "key", "name", "path", "uri", "title")
"""Fields that tell records apart, the surest first."""

_canonical = msgspec.json.Encoder(order="sorted").encode


def rows_of(value: Any, volatile: frozenset[str]) -> Rows:
    """A row for each record of each list (`entities/Ann`), one for all else; without what is
    volatile.
    """
    rows: Rows = {}
    rest = _rows(value, "", volatile, rows)
    if rest not in ({}, None, ""):
        rows["state"] = rest
    return rows


def file_rows(tree: Tree) -> Rows:
    """A row for each file and folder that is not hidden: its text, of other bytes their hash."""
    shown = {n: c for n, (_, c) in tree.items() if not any(p[0] == "." for p in n.split("/"))}
    return {name: _content(content) for name, content in shown.items()}


def _content(content: bytes | None) -> Any:
    if content is None:
        return {"folder": True}
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"sha256": hashlib.sha256(content).hexdigest()}


def _rows(value: Any, path: str, volatile: frozenset[str], rows: Rows) -> Any:
    """Move lists of records into `rows`; what is left over."""
    if isinstance(value, dict):
        kept = {n: _rows(v, f"{path}{n}/", volatile, rows) for n, v in value.items()}
        return {n: v for n, v in kept.items() if n not in volatile and v is not None}
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        key = _key(value)
        for item in value:
            record = _without(item, volatile)
            name = str(item[key]) if key else hashlib.sha256(_canonical(record)).hexdigest()[:12]
            rows[_free(f"{path}{name}", rows)] = record
        return None
    return None if value == [] and path else value


def _free(name: str, rows: Rows) -> str:
    found, number = name, 2
    while found in rows:
        found, number = f"{name}#{number}", number + 1
    return found


def _key(records: list[dict[str, Any]]) -> str:
    """The field by which no two records are alike; empty where there is none."""
    for key in KEYS:
        values = [record.get(key) for record in records]
        plain = all(isinstance(v, str | int) and v != "" for v in values)
        if plain and len(set(values)) == len(values):
            return key
    return ""


def _without(value: Any, volatile: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {n: _without(v, volatile) for n, v in value.items() if n not in volatile}
    return [_without(item, volatile) for item in value] if isinstance(value, list) else value
