from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from provegym.servers.calendar.recurrence import (
    MAX_OCCURRENCES,
    Frequency,
    Rule,
    Series,
    Weekday,
    expand,
    recurring,
    rule_text,
)


def rule(
    frequency: Frequency,
    *,
    interval: int = 1,
    days: tuple[Weekday, ...] = (),
    count: int | None = None,
    until: str | None = None,
    excluded: tuple[str, ...] = (),
) -> Rule:
    return Rule("", frequency, interval, days, count, until, excluded)


def utc(moments: tuple[int, ...]) -> list[str]:
    return [f"{datetime.fromtimestamp(m, UTC):%m-%d %H:%M}" for m in moments]


def test_a_weekly_series_keeps_its_wall_time_when_the_clocks_change() -> None:
    starts = expand("2026-03-23T10:00:00+01:00", "Europe/Berlin", rule("weekly", count=2))
    assert utc(starts) == ["03-23 09:00", "03-30 08:00"]


def test_a_monthly_series_on_the_31st_skips_shorter_months() -> None:
    starts = expand("2026-01-31T12:00:00+00:00", "UTC", rule("monthly", count=3))
    assert utc(starts) == ["01-31 12:00", "03-31 12:00", "05-31 12:00"]


def test_a_fortnightly_series_on_two_days_leaves_out_every_other_week() -> None:
    twice = rule("weekly", interval=2, days=("TU", "TH"), count=4)
    starts = expand("2026-03-03T09:00:00+00:00", "UTC", twice)
    assert utc(starts) == ["03-03 09:00", "03-05 09:00", "03-17 09:00", "03-19 09:00"]


def test_a_series_runs_through_its_last_day() -> None:
    starts = expand("2026-03-02T23:00:00+00:00", "UTC", rule("daily", until="2026-03-04"))
    assert utc(starts) == ["03-02 23:00", "03-03 23:00", "03-04 23:00"]


def test_cancelled_dates_count_as_occurrences() -> None:
    without = rule("daily", count=3, excluded=("2026-03-03",))
    starts = expand("2026-03-02T08:00:00+00:00", "UTC", without)
    assert utc(starts) == ["03-02 08:00", "03-04 08:00"]


def test_a_time_that_the_clocks_skip_takes_the_offset_before_the_gap() -> None:
    starts = expand("2026-03-28T02:30:00+01:00", "Europe/Berlin", rule("daily", count=3))
    assert utc(starts) == ["03-28 01:30", "03-29 01:30", "03-30 00:30"]


def test_a_rule_is_written_as_the_standard_says() -> None:
    text = rule_text(
        rule("weekly", interval=2, days=("MO", "FR"), until="2026-03-30"), "Europe/Berlin"
    )
    assert text == "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR;UNTIL=20260330T215959Z"
    assert rule_text(rule("monthly", count=6), "UTC") == "FREQ=MONTHLY;COUNT=6"


@given(
    day=st.dates(datetime(2026, 1, 1, tzinfo=UTC).date(), datetime(2027, 1, 1, tzinfo=UTC).date()),
    frequency=st.sampled_from(("daily", "weekly", "monthly")),
    interval=st.integers(1, 12),
    count=st.integers(1, 400),
    name=st.sampled_from(("Europe/Berlin", "America/New_York", "Australia/Sydney", "UTC")),
)
@settings(max_examples=60, deadline=None)
def test_expansion_is_bounded_rising_and_the_same_without_its_cache(
    day: Any, frequency: Frequency, interval: int, count: int, name: str
) -> None:
    start = datetime(day.year, day.month, day.day, 2, 30, tzinfo=UTC).astimezone(ZoneInfo(name))
    wanted = rule(frequency, interval=interval, count=count)
    starts = expand(start.isoformat(), name, wanted)
    assert starts == recurring.__wrapped__(start.isoformat(), name, wanted)
    assert 1 <= len(starts) <= min(count, MAX_OCCURRENCES)
    assert list(starts) == sorted(set(starts))
    assert starts[0] == int(start.timestamp())


@given(st.lists(st.integers(0, 60), min_size=1, unique=True), st.integers(1, 5), st.data())
@settings(max_examples=150, deadline=None)
def test_overlaps_of_series_are_those_of_their_occurrences(
    first: list[int], length: int, data: st.DataObject
) -> None:
    second = data.draw(st.lists(st.integers(0, 60), min_size=1, unique=True))
    starts = tuple(s * 5 for s in sorted(first))
    others = tuple(s * 5 for s in sorted(second))
    a, b = Series.of(starts, length), Series.of(others, 4)
    slow = [max(x, y) for x in starts for y in others if x < y + 4 and y < x + length]
    assert a.overlap(b) == b.overlap(a) == (min(slow) if slow else None)
