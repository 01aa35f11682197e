"""Where the values in a text come from: what a user names must be there, or be free to choose.

A mark is a part of a text that has to have a source: what stands in quotes, a name of several
capitalized words, a number, an amount, a date, a time, a code, a path, an address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import cached_property
from typing import Literal

from msgspec import Struct

from provegym.world.fields import Field, fields_of
from provegym.world.schema import bounds
from provegym.world.tool import Tool
from provegym.world.world import World

Kind = Literal["quoted", "name", "number", "date", "time", "code"]

SEARCHED = frozenset(["query", "cursor"])
"""Parameters whose value is a matter of what there is, although any text will do; so it is with
plain text that a tool that only reads takes."""
_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|«([^»]+)»|「([^」]+)」|„([^“]+)“')
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_MONTH = r"(?P<m>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DAY = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_SAID_DATES = tuple(
    re.compile(rf"\b{text}\b(?:,? (?P<y>\d{{4}})\b)?")
    for text in (f"{_MONTH} {_DAY}", f"{_DAY} (?:of )?{_MONTH}")
)
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T[\d:.+Z-]+)?")
_TIME = re.compile(
    r"(?<![\d:.])(\d{1,2})(?::(\d\d))?(?::\d\d)?\s?([ap]\.?m\b\.?)|"
    r"(?<![\d:])(\d{1,2}):(\d\d)(?::\d\d)?(?![\d:])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[$€£¥#+-]*(\d[\d.,]*\d|\d)(?:st|nd|rd|th|%|°?[a-zA-Z]{1,3})?")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_GROUPS = re.compile(r"\d{1,3}(?:\.\d{3})+")
"""Thousands as most of Europe writes them."""
_ENDS = ".,;:!?…。！？、，)"
_CALENDAR = frozenset(
    [*_MONTHS, *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")]
)


class Mark(Struct, frozen=True):
    """A part of a text that must have a source."""

    kind: Kind
    text: str


class Known:
    """Texts that were said or shown, and parameters that may take a value of one's own."""

    def __init__(self, texts: Iterable[str], tools: Iterable[Tool] = ()) -> None:
        self.text = _plain("\n".join(texts))
        self._free = [
            leaf
            for tool in tools
            for p in tool.parameters
            for leaf in _leaves(p)
            if leaf.format or leaf.type is not str or tool.effect == "write"
        ]

    @cached_property
    def numbers(self) -> set[Decimal]:
        """All numbers in the texts."""
        return {n for found in _DIGITS.findall(self.text) for n in _numbers(found)}

    def holds(self, text: str) -> bool:
        """Whether the texts hold this one, upper or lower case."""
        return _plain(text) in self.text

    def strays(self, words: str) -> list[str]:
        """The marks in the words that have no source."""
        return [mark.text for mark in marks(words) if not self._traced(mark)]

    def _traced(self, mark: Mark) -> bool:
        if mark.kind == "name":
            return self._named(mark.text)
        if mark.kind == "number" and self.numbers & _numbers(mark.text):
            return True
        if mark.kind == "time" and self._timed(mark.text):
            return True
        return self.holds(mark.text) or any(_takes(p, mark) for p in self._free)

    def _named(self, text: str) -> bool:
        """A name, or one behind the word that a sentence begins with (marked by a bar)."""
        words = text.lstrip("|").split()
        starts = range(2) if text.startswith("|") else range(1)
        tails = [" ".join(words[start:]) for start in starts]
        return any(self._is_name(tail) for tail in tails)

    def _is_name(self, text: str) -> bool:
        free = any(_takes(p, Mark("name", text)) for p in self._free)
        return " " not in text or free or self.holds(text)

    def _timed(self, text: str) -> bool:
        """Whether a time of day stands there; "9:00" is in "09:00", too."""
        return self.holds(text) or self.holds(text.zfill(5))


def marks(words: str) -> Iterator[Mark]:
    """All marks in a text."""
    rest = words.replace("’", "'")
    for found in _QUOTED.finditer(rest):
        yield Mark("quoted", next(filter(None, found.groups())).strip(_ENDS))
    rest = _QUOTED.sub(" , ", rest)
    for pattern in _SAID_DATES:
        for found in pattern.finditer(rest):
            yield Mark("date", _iso(found))
        rest = pattern.sub(" , ", rest)
    for found in _ISO_DATE.finditer(rest):
        yield Mark("date", found[0])
    rest = _ISO_DATE.sub(" , ", rest)
    for found in _TIME.finditer(rest):
        yield Mark("time", _clock(found))
    tokens = _TIME.sub(" , ", rest).split()
    yield from _codes_and_numbers(tokens)
    yield from _names(tokens)


def _codes_and_numbers(tokens: Iterable[str]) -> Iterator[Mark]:
    for token in tokens:
        text = _bare(token)
        if number := _NUMBER.fullmatch(text):
            yield Mark("number", number[1])
        elif _is_code(text):
            yield Mark("code", text)


def _names(tokens: Iterable[str]) -> Iterator[Mark]:
    """Runs of capitalized words; one that begins a sentence has a bar in front."""
    run: list[str] = []
    begins = fresh = True
    for token in [*tokens, ","]:
        text = _bare(token)
        capital = text[:1].isupper() and not _is_code(text) and text not in ("I", "I'm", "I'd")
        if capital and text.lower() not in _CALENDAR:
            begins = fresh if not run else begins
            run.append(text)
        if run and (not capital or token[-1] in _ENDS):
            if len(run) > 1:
                yield Mark("name", ("|" if begins else "") + " ".join(run))
            run = []
        fresh = token[-1] in ".!?…:。！？"


def _is_code(text: str) -> bool:
    mixed = any(c.isdigit() for c in text) and any(c.isalpha() for c in text)
    return mixed or "@" in text or "_" in text or text.startswith(("/", "~/"))


def _bare(token: str) -> str:
    """A word without what stands around it: brackets, full stops, a possessive s."""
    text = token.strip(_ENDS + "([{}]'*`—–")
    return text.removesuffix("'s")


def _iso(found: re.Match[str]) -> str:
    """A date in words as texts have it: "2026-04-25", or "-04-25" without a year."""
    month = next(i for i, name in enumerate(_MONTHS, 1) if name.startswith(found["m"].lower()))
    return f"{found['y'] or ''}-{month:02d}-{int(found['d']):02d}"


def _clock(found: re.Match[str]) -> str:
    """A time of day as "14:30"."""
    if found[3]:
        hour = int(found[1]) % 12 + 12 * found[3].lower().startswith("p")
        return f"{hour:02d}:{found[2] or '00'}"
    return f"{int(found[4]):02d}:{found[5]}"


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").casefold().split())


def _numbers(text: str) -> set[Decimal]:
    """What the digits may mean: "1,250.00" is one number, "1.250" may be two."""
    dots, commas = text.replace(",", ""), text.replace(".", "").replace(",", ".")
    readings = [dots, commas] if "," in text or _GROUPS.fullmatch(text) else [dots]
    plain = [t for t in readings if t.count(".") <= 1] or [dots.replace(".", "")]
    return set(map(Decimal, plain))


def _leaves(p: Field) -> Iterator[Field]:
    """The values inside a parameter that the caller is free in."""
    if p.item is not None:
        yield from _leaves(p.item)
    elif isinstance(p.type, type) and issubclass(p.type, Struct):
        for inner in fields_of(p.type):
            yield from _leaves(inner)
    elif not p.ref and not p.choices and p.name not in SEARCHED:
        yield p


def _takes(p: Field, mark: Mark) -> bool:
    """Whether the parameter may take the value of the mark."""
    name = p.format.name if p.format else ""
    if mark.kind == "number":
        return any(_takes_number(p, name, n) for n in _numbers(mark.text)) or (
            name not in ("text", "") and _fits(p, mark.text)
        )
    if mark.kind in ("date", "time"):
        return (
            name in {"date": ("date", "instant", "month"), "time": ("clock", "instant")}[mark.kind]
        )
    return _fits(p, mark.text) and (mark.kind == "quoted" or name not in ("text", ""))


def _fits(p: Field, text: str) -> bool:
    return bool(p.format.accepts(text)) if p.format else p.type is str


def _takes_number(p: Field, name: str, number: Decimal) -> bool:
    if name == "money":
        exact = not number % Decimal("0.01")
        return exact and bool(p.format and p.format.accepts(f"{number:.2f}"))
    if p.type not in (int, float) or (p.type is int and number % 1):
        return False
    low, high = bounds(p)
    return (low is None or number >= low) and (high is None or number <= high)


def internal_ids(world: World, words: str) -> list[str]:
    """Ids of rows in the words that no person would know: those of tables whose rows have names."""
    tokens = {_bare(token) for token in words.split()}
    tables = [t for t in world.templates.values() if t.row.label]
    return sorted(token for token in tokens if any(token in t.rows for t in tables))
