"""Pages of long lists: a limit, an opaque cursor, the total."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from provegym.errors import seen
from provegym.world.tool import refuse

T = TypeVar("T")


def page(rows: Sequence[T], limit: int, cursor: str) -> tuple[list[T], int, str]:
    """The rows of one page, how many there are in all, and the next cursor ("" at the end).

    A cursor that no page gave is refused with `invalid_cursor`.
    """
    start = 0
    if cursor:
        if not (cursor.startswith("p") and cursor[1:].isdecimal()):
            refuse("invalid_cursor", f"cursor {seen(cursor, 40)} is not one that a page gave")
        start = int(cursor[1:])
    after = start + limit
    return list(rows[start:after]), len(rows), f"p{after}" if after < len(rows) else ""
