"""Time zones, recurring series (RFC 5545) and their overlaps.

A series is expanded on the wall clock of its zone, so that a meeting at 10:00 stays at 10:00 when
the clocks change. Expansion is bounded (`MAX_OCCURRENCES`, `MAX_DAYS`) and cached.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from importlib import resources
from itertools import islice
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from dateutil.rrule import DAILY, MONTHLY, WEEKLY, rrule, weekdays
from msgspec import Struct

from provegym.world.fields import Date, Ref
from provegym.world.table import Row

Frequency = Literal["daily", "weekly", "monthly"]
Weekday = Literal["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
RuleId = Annotated[str, Ref("calendar.rules")]

WEEKDAYS: tuple[Weekday, ...] = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
MAX_OCCURRENCES = 60
MAX_DAYS = 731
"""No series reaches further than two years from its first occurrence."""

_FREQUENCIES: dict[Frequency, Literal[1, 2, 3]] = {
    "daily": DAILY,
    "weekly": WEEKLY,
    "monthly": MONTHLY,
}


class Rule(Row, frozen=True):
    """A recurrence rule (RFC 5545, 3.3.10) and its cancelled dates (EXDATE, 3.8.5.1).

    Exactly one of `count` and `until` ends it. Weekly rules name their weekdays; monthly ones
    repeat on the first occurrence's day of the month, and skip months without that day.
    """

    id: RuleId
    frequency: Frequency
    interval: int
    weekdays: tuple[Weekday, ...]
    count: int | None
    until: Date | None
    excluded: tuple[Date, ...] = ()


class Series(Struct, frozen=True):
    """All occurrences of an event: their starts (Unix seconds, rising) and common length."""

    starts: tuple[int, ...]
    seconds: int
    begin: int
    """When the first occurrence begins."""
    end: int
    """When the last occurrence ends."""

    @staticmethod
    def of(starts: tuple[int, ...], seconds: int) -> Series:
        """The series of these starts; without any it begins after it ends and meets no other."""
        if not starts:
            return Series(starts, seconds, 1, 0)
        return Series(starts, seconds, starts[0], starts[-1] + seconds)

    def within(self, begin: int, end: int) -> tuple[int, ...]:
        """Starts of the occurrences that touch the time from `begin` to `end`."""
        if self.begin >= end or self.end <= begin:
            return ()
        low = bisect_right(self.starts, begin - self.seconds)
        return self.starts[low : bisect_left(self.starts, end)]

    def upcoming(self, now: int) -> int | None:
        """Start of the first occurrence that has not ended at `now`."""
        index = bisect_right(self.starts, now - self.seconds)
        return self.starts[index] if index < len(self.starts) else None

    def overlap(self, other: Series, since: int = 0) -> int | None:
        """When the two first take place at once, looking only at what ends after `since`."""
        if self.end <= other.begin or other.end <= self.begin:
            return None
        few, many = (self, other) if len(self.starts) <= len(other.starts) else (other, self)
        for start in few.starts:
            index = bisect_left(many.starts, start + few.seconds) - 1
            if index >= 0:
                begin = max(start, many.starts[index])
                end = min(start + few.seconds, many.starts[index] + many.seconds)
                if begin < end and end > since:
                    return begin
        return None


@lru_cache(maxsize=64)
def zone(name: str) -> ZoneInfo:
    """The IANA zone from the pinned `tzdata`, whatever the machine's own zone files say."""
    *folders, file = name.split("/")
    path = resources.files("tzdata").joinpath("zoneinfo", *folders, file)
    with path.open("rb") as data:
        return ZoneInfo.from_file(data, key=name)


def local(moment: int, zone_name: str) -> str:
    """Unix seconds as ISO 8601 in a zone."""
    return datetime.fromtimestamp(moment, zone(zone_name)).isoformat()


def expand(start: str, zone_name: str, rule: Rule | None) -> tuple[int, ...]:
    """Starts of all occurrences in Unix seconds; `start` is written in the zone `zone_name`.

    A wall time that the clocks skip is read with the offset before the gap, as RFC 5545, 3.3.5
    says.
    """
    if rule is None:  # sessions make ever new ones, and they are read at once
        return (int(datetime.fromisoformat(start).timestamp()),)
    return recurring(start, zone_name, rule)


@lru_cache(maxsize=256)
def recurring(start: str, zone_name: str, rule: Rule) -> tuple[int, ...]:
    """What `expand` gives for a rule. Few are kept, since sessions make ever new rules, and each
    may have hundreds of occurrences; those of the seed are known by their rows (`Agenda.series`).
    """
    first = datetime.fromisoformat(start)
    kept = (d for d in occurrences(first.replace(tzinfo=None), rule) if _kept(d, rule))
    return tuple(_seconds(d, first, zone(zone_name)) for d in kept)


def _kept(moment: datetime, rule: Rule) -> bool:
    return moment.date().isoformat() not in rule.excluded


def _seconds(moment: datetime, first: datetime, where: ZoneInfo) -> int:
    # Of a repeated hour, ISO text keeps the offset but not which of the two it was.
    exact = first if moment == first.replace(tzinfo=None) else moment.replace(tzinfo=where)
    return int(exact.timestamp())


def occurrences(first: datetime, rule: Rule) -> list[datetime]:
    """Wall times of the occurrences, cancelled ones included, within the bounds."""
    last = first + timedelta(days=MAX_DAYS)
    if rule.until is not None:
        last = min(last, datetime.combine(date.fromisoformat(rule.until), time(23, 59, 59)))
    moments: Iterator[datetime] = iter(
        rrule(
            _FREQUENCIES[rule.frequency],
            dtstart=first,
            interval=rule.interval,
            byweekday=[weekdays[WEEKDAYS.index(d)] for d in rule.weekdays] or None,
            until=last,
        )
    )
    return list(islice(moments, min(rule.count or MAX_OCCURRENCES, MAX_OCCURRENCES)))


def rule_text(rule: Rule, zone_name: str) -> str:
    """The rule as RFC 5545 writes it: "FREQ=WEEKLY;BYDAY=MO;COUNT=6"."""
    parts = [f"FREQ={rule.frequency.upper()}"]
    if rule.interval > 1:
        parts.append(f"INTERVAL={rule.interval}")
    if rule.weekdays:
        parts.append("BYDAY=" + ",".join(rule.weekdays))
    if rule.count is not None:
        parts.append(f"COUNT={rule.count}")
    if rule.until is not None:
        end = datetime.combine(date.fromisoformat(rule.until), time(23, 59, 59), zone(zone_name))
        parts.append(f"UNTIL={end.astimezone(UTC):%Y%m%dT%H%M%SZ}")
    return ";".join(parts)
