"""What a result says, in one sentence: for conversations that teach a model to answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from provegym.types import Turn

FOUND = "Here is what I found."
"""How a teacher without a model ends a turn that looks something up; what it was stays unsaid."""
ROWS, MOST = 3, 6
"""Rows of a list that are told, and fields of each."""
FEW = 3
"""A record with fewer plain fields of its own is about the rows in it."""
LONGEST = 80
"""Characters of a text that are told."""


def reply(turn: Turn) -> str:
    """The turn's reply; one that only says that something was found goes on to say what."""
    if not turn.reply.endswith(FOUND) or not turn.calls:
        return turn.reply or "Done."
    found = _found(turn.calls[-1].result)
    return turn.reply.removesuffix(FOUND) + (found or FOUND)


def _found(result: Any) -> str:
    """A sentence on a page of rows or on one record; empty where there is nothing plain in it."""
    record = result if isinstance(result, Mapping) else {"": result}
    lists = [(name, value) for name, value in record.items() if isinstance(value, list)]
    total = record.get("total")
    count = total if isinstance(total, int) else None
    own = _fields({n: v for n, v in record.items() if n != "total" or count is None})
    lists = [pair for pair in lists if pair[1] or not own]
    if lists and ("next_cursor" in record or len(own) < FEW):
        return _page(*lists[0], count)
    return f"{FOUND.removesuffix('.')}: {_spoken(own[:MOST])}." if own else ""


def _page(name: str, rows: Sequence[Any], total: int | None) -> str:
    """How many rows there are, and the first of them."""
    count = len(rows) if total is None else total
    if not rows:
        return f"I found no {name.replace('_', ' ')}."
    told = [_spoken(_fields(r if isinstance(r, Mapping) else {"": r})[:MOST]) for r in rows[:ROWS]]
    found = "one" if count == 1 else f"{count} {name.replace('_', ' ')}"
    among = ":" if count <= ROWS else ", among them"
    return f"I found {found}{among} {'; '.join(filter(None, told))}."


def _spoken(fields: Sequence[tuple[str, str]]) -> str:
    """Fields with what they are called, but for a name that comes first."""
    named = [f"{name.replace('_', ' ')} {text}".strip() for name, text in fields]
    return ", ".join([fields[0][1], *named[1:]] if fields and fields[0][0] in _NAMES else named)


def _fields(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The plain fields that are no ids, as they are said."""
    found = ((name, _plain(value)) for name, value in row.items() if not _is_id(name))
    return [(name, text) for name, text in found if text]


_NAMES = frozenset(["name", "title", "subject", "nickname", "path", "topic", "description"])
"""Fields that say what a row is."""


def _is_id(name: str) -> bool:
    return name in ("id", "next_cursor") or name.endswith(("_id", "_ids"))


def _plain(value: Any) -> str:
    """A value as people say it; empty where it is no plain one."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, str | int | float):
        return ""
    text = " ".join(str(value).split()).rstrip(".")
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rstrip()}..."
