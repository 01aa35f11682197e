"""State: how far the policy's final changes agree with the ground truth's (not in the paper)."""

from __future__ import annotations

from typing import Any

from provegym.rewards.equality import SCALARS
from provegym.types import Changes


def state(made: Changes, wanted: Changes, coverage: float) -> float:
    """Shared atoms over all atoms of both change sets; `coverage` where there are none.

    An atom is one field set, (table, row, field, value), or one row deleted; values are compared
    as exact JSON. Without the fallback, doing nothing would be perfect where a task only reads.
    """
    shared = _shared(made, wanted)
    union = _size(made) + _size(wanted) - shared
    return shared / union if union else coverage


def _size(changes: Changes) -> int:
    count = 0
    for rows in changes.values():
        for fields in rows.values():
            count += 1 if fields is None else len(fields)
    return count


def _shared(made: Changes, wanted: Changes) -> int:
    count = 0
    for table, rows in wanted.items():
        others = made.get(table, {})
        for row, fields in rows.items():
            if row in others:
                count += _shared_in_row(others[row], fields)
    return count


def _shared_in_row(made: dict[str, Any] | None, wanted: dict[str, Any] | None) -> int:
    if made is None or wanted is None:
        return int(made is wanted)
    count = 0
    for key, value in wanted.items():
        if key in made:
            other, kind = made[key], type(value)
            # The usual case goes without a call; but a zero has two texts, 0.0 and -0.0.
            if kind is type(other) and kind in SCALARS and (value or kind is not float):
                if value == other:
                    count += 1
            elif same(value, other):
                count += 1
    return count


def same(a: object, b: object) -> bool:
    """Whether two values are one exact JSON text: 1, 1.0 and true all differ."""
    return _written(a) == _written(b)


def _written(value: object) -> list[object]:
    """A value in preorder, each container with its keys or length, to be compared exactly.

    A loop, not a recursion: a policy may nest deeper than the interpreter recurses.
    """
    parts: list[object] = []
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            keys = sorted(value)
            parts.append(("object", *keys))
            pending.extend([value[key] for key in keys])
        elif isinstance(value, (list, tuple)):
            parts.append(("array", len(value)))
            pending.extend(value)
        else:
            parts.append((type(value), repr(value) if isinstance(value, float) else value))
    return parts
