"""State: how far the policy's final changes agree with the ground truth's (not in the paper)."""

from __future__ import annotations

from typing import Any

from provegym.types import Changes


def state(made: Changes, wanted: Changes, coverage: float) -> float:
    """Shared atoms over all atoms of both change sets; `coverage` where there are none.

    Without the fallback, doing nothing would be perfect on every task that only reads.
    """
    a, b = atoms(made), atoms(wanted)
    return len(a & b) / len(a | b) if a or b else coverage


def atoms(changes: Changes) -> set[tuple[Any, ...]]:
    """One atom for each field set, (table, row, field, value), and one for each row deleted."""
    found: set[tuple[Any, ...]] = set()
    for table, rows in changes.items():
        for row, fields in rows.items():
            if fields is None:
                found.add((table, row))
            else:
                found.update((table, row, key, _exact(value)) for key, value in fields.items())
    return found


def _exact(value: object) -> tuple[object, ...]:
    """A hashable stand-in that is equal exactly where the JSON is: 1, 1.0 and true all differ.

    A container is written out in preorder, each with its keys or length, by a loop: a policy may
    nest deeper than the interpreter recurses.
    """
    parts: list[tuple[Any, ...]] = []
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
    return tuple(parts)
