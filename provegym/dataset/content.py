"""What makes two tasks the same, whoever made them: a hash of their content."""

from __future__ import annotations

import hashlib

import msgspec

from provegym.types import Task

LABELS = frozenset({"id", "teacher", "certificate", "schema"})
"""Fields that say where a task comes from, not what it is."""
CONTENT = tuple(f for f in msgspec.structs.fields(Task) if f.name not in LABELS)
DIGITS = 32
"""Hexadecimal digits of an id: 128 bits."""

_canonical = msgspec.json.Encoder(order="sorted").encode


def content_id(task: Task) -> str:
    """SHA-256, cut to `DIGITS`, of the task in canonical JSON (keys sorted, no white space).

    The same task from two runs has the same id. Fields at their default are left out, so that a
    field that later versions add changes no id.
    """
    values = ((f, getattr(task, f.name)) for f in CONTENT)
    content = {f.name: value for f, value in values if value != f.default}
    return hashlib.sha256(_canonical(content)).hexdigest()[:DIGITS]
