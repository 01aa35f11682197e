"""Where and when instruments trade, and the check digit of their numbers.

Hours are those of the continuous session in the exchange's own time zone; holidays are not kept.
ISIN: ISO 6166, whose check digit is the Luhn formula over the letters read as 10 to 35.
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

Exchange = Literal["LSE", "XETRA", "NYSE", "NASDAQ"]

HALF_HOUR = timedelta(minutes=30)
_SATURDAY = 5


class Hours(NamedTuple):
    """An exchange's place, time zone, and daily session."""

    country: str
    zone: str
    opens: time
    closes: time


VENUES: dict[Exchange, Hours] = {
    "LSE": Hours("GB", "Europe/London", time(8), time(16, 30)),
    "XETRA": Hours("DE", "Europe/Berlin", time(9), time(17, 30)),
    "NYSE": Hours("US", "America/New_York", time(9, 30), time(16)),
    "NASDAQ": Hours("US", "America/New_York", time(9, 30), time(16)),
}


@lru_cache(maxsize=4096)
def session_of(exchange: Exchange, day: datetime) -> tuple[datetime, datetime]:
    """When the exchange opens and closes on the calendar day of `day` (UTC midnight), in UTC."""
    hours = VENUES[exchange]
    zone = ZoneInfo(hours.zone)
    opens, closes = (
        datetime.combine(day.date(), at, zone).astimezone(UTC) for at in (hours.opens, hours.closes)
    )
    return opens, closes


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def is_open(exchange: Exchange, moment: datetime) -> bool:
    """Whether the exchange trades at that moment (UTC)."""
    if moment.weekday() >= _SATURDAY:
        return False
    opens, closes = session_of(exchange, _midnight(moment))
    return opens <= moment < closes


def next_close(exchange: Exchange, moment: datetime) -> datetime:
    """The end of the session that runs at that moment, else of the next one."""
    return _next(exchange, moment, 1)


def next_open(exchange: Exchange, moment: datetime) -> datetime:
    """The start of the first session that begins after that moment."""
    return _next(exchange, moment, 0)


def _next(exchange: Exchange, moment: datetime, edge: int) -> datetime:
    day = _midnight(moment)
    while day.weekday() >= _SATURDAY or session_of(exchange, day)[edge] <= moment:
        day += timedelta(days=1)
    return session_of(exchange, day)[edge]


def isin(country: str, number: int) -> str:
    """The ISIN of a country's nine-digit security number, check digit included."""
    body = f"{country}{number:09d}"
    return body + _check_digit(body)


def is_isin(text: str) -> bool:
    """Whether the text is a well-formed ISIN with the right check digit."""
    plain = len(text) == 12 and text.isascii() and text.isalnum() and text[:2].isupper()
    return plain and text == text.upper() and _check_digit(text[:-1]) == text[-1]


def _check_digit(body: str) -> str:
    digits = "".join(str(int(letter, 36)) for letter in body)
    doubled = [int(d) * (2 if i % 2 == 0 else 1) for i, d in enumerate(reversed(digits))]
    return str(-sum(d // 10 + d % 10 for d in doubled) % 10)
