"""Marks that a field or parameter type can carry: what it refers to, how it is written.

A mark sits in `typing.Annotated`; the schema, the validator, the canonical changes, the
dependency graph and the teacher read it from there.

    AccountId = Annotated[str, Ref("banking.accounts")]
    Money = Annotated[str, MONEY]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints


@dataclass(frozen=True, slots=True)
class Ref:
    """The value is the id of a row of `table`, qualified by its server ("banking.accounts")."""

    table: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A plain flag on a field; see SENSITIVE, VOLATILE and FREE_TEXT."""

    name: str


SENSITIVE = Mark("sensitive")
"""A secret (PIN, card number): it may be used only if the user or a tool gave it."""
VOLATILE = Mark("volatile")
"""Minted by the engine (clock stamps): left out of canonical changes."""


@dataclass(frozen=True, slots=True)
class Range:
    """Inclusive bounds of a number; a value outside is a `tool_error`."""

    minimum: int | float | None = None
    maximum: int | float | None = None


@dataclass(frozen=True, slots=True)
class Format:
    """How a string is written. `hint` ends the parameter's description; `accepts` checks it."""

    name: str
    hint: str
    accepts: Callable[[str], object]
    """Truthy where the text is well written."""


def _matches(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern, re.ASCII).fullmatch


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


_INSTANT = _matches(r"\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)")


def _is_instant(text: str) -> bool:
    try:
        return bool(_INSTANT(text)) and datetime.fromisoformat(text) is not None
    except ValueError:
        return False


MONEY = Format(
    "money", 'Decimal with two places, e.g. "12.50".', _matches(r"-?[0-9]{1,12}\.[0-9]{2}")
)
DATE = Format("date", 'ISO 8601 date, e.g. "2026-03-05".', _is_date)
INSTANT = Format(
    "instant", 'ISO 8601 time with zone, e.g. "2026-03-05T14:00:00+00:00".', _is_instant
)
CLOCK = Format("clock", 'Time of day, e.g. "14:30".', _matches(r"([01]\d|2[0-3]):[0-5]\d"))
EMAIL = Format("email", "E-mail address.", _matches(r"[^@\s]+@[^@\s]+\.[^@\s]+"))
TEXT_LENGTH = 2000
"""Most characters of a `Text`, so that no row and no result grows without bound."""
TEXT = Format("text", "", lambda text: len(text) <= TEXT_LENGTH and text.strip())
"""Free words: neither blank nor endless."""

Money = Annotated[str, MONEY]
Date = Annotated[str, DATE]
Instant = Annotated[str, INSTANT]
Clock = Annotated[str, CLOCK]
Email = Annotated[str, EMAIL]
Text = Annotated[str, TEXT]
Stamp = Annotated[str, INSTANT, VOLATILE]
"""A time set by the engine, not by the caller."""
Limit = Annotated[int, Range(1, 50)]
"""How many rows a page holds."""


def cents(amount: str) -> int:
    """Minor units of a `Money` string: "12.50" is 1250."""
    return int(Decimal(amount) * 100)


def money(amount: int) -> str:
    """The `Money` string of minor units: 1250 is "12.50"."""
    sign = "-" if amount < 0 else ""
    return f"{sign}{abs(amount) // 100}.{abs(amount) % 100:02d}"


@dataclass(frozen=True)
class Field:
    """A parameter or record field, its type taken apart."""

    name: str
    type: Any
    """The bare Python type: str, int, float, bool, list[...], a Struct or a Literal."""
    marks: tuple[Any, ...] = ()

    @cached_property
    def ref(self) -> str | None:
        """The qualified table that the value is an id of, if any."""
        return next((m.table for m in self.marks if isinstance(m, Ref)), None)

    @cached_property
    def format(self) -> Format | None:
        """How the string is written, if it is stated."""
        return next((m for m in self.marks if isinstance(m, Format)), None)

    @cached_property
    def range(self) -> Range | None:
        """The bounds of the number, if any."""
        return next((m for m in self.marks if isinstance(m, Range)), None)

    @cached_property
    def choices(self) -> tuple[Any, ...]:
        """The values of an enum, else empty."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    @cached_property
    def item(self) -> Field | None:
        """The element of a list, else None."""
        if get_origin(self.type) not in (list, tuple):
            return None
        return take_apart(self.name, get_args(self.type)[0])

    def has(self, mark: Mark) -> bool:
        """Whether the field carries the flag."""
        return mark in self.marks


def take_apart(name: str, annotation: Any) -> Field:
    """Split `Annotated[T | None, marks...]` into the bare type and its marks."""
    marks: tuple[Any, ...] = ()
    while True:
        if get_origin(annotation) is Annotated:
            marks = (*annotation.__metadata__, *marks)
            annotation = annotation.__origin__
        elif _optional(annotation):
            annotation = next(a for a in get_args(annotation) if a is not type(None))
        else:
            return Field(name, annotation, marks)


def _optional(annotation: Any) -> bool:
    is_union = get_origin(annotation) is Union or type(annotation).__name__ == "UnionType"
    return is_union and type(None) in get_args(annotation)


def fields_of(record: type[Any]) -> tuple[Field, ...]:
    """The fields of a Struct (or any annotated class), in order."""
    return _fields_of(record)  # type: ignore[arg-type]  # mypy takes classes for unhashable


@lru_cache(maxsize=4096)
def _fields_of(record: Hashable) -> tuple[Field, ...]:
    hints = get_type_hints(record, include_extras=True)
    names = getattr(record, "__struct_fields__", tuple(hints))
    return tuple(take_apart(name, hints[name]) for name in names)
