"""A stretch of days that a caller names by its first and its last day, or by one of them."""

from __future__ import annotations

from provegym.world.tool import refuse


def period(since: str | None, until: str | None) -> tuple[str, str]:
    """Texts between which all dates and times in UTC of those days lie; None leaves an end open.

    A last day before the first is refused with `invalid_dates`.
    """
    if since and until and until < since:
        refuse("invalid_dates", f"{since} is after {until}; the first day comes first")
    return since or "", f"{until or '9999'}T99"
