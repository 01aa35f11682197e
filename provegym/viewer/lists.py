"""A page of an index: what fits some filters, in some order, with counts for every filter."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from provegym.errors import UnknownName
from provegym.viewer.index import Index

PAGE = 100
"""Rows of a page."""
Cube = list[tuple[tuple[Any, ...], int]]
"""Every combination of the filters' columns that there is, and how many rows have it."""


class Shape(Struct, frozen=True):
    """How a kind of file is listed.

    `facets` are the columns to filter by; those of `several` hold names with commas between, of
    which one is enough. `shown` are the columns of a row, `orders` the SQL of each order, and
    `searched` what a text is looked for in.
    """

    facets: tuple[str, ...]
    shown: tuple[str, ...]
    orders: Mapping[str, str]
    searched: tuple[str, ...]
    several: frozenset[str] = frozenset()


class Wanted(Struct, frozen=True):
    """A question. `filters` are facets with the value wanted, `against` another index whose mean
    reward on the same task stands beside each row.
    """

    filters: Mapping[str, str] = {}
    text: str = ""
    order: str = "file"
    offset: int = 0
    against: Path | None = None


class Page(Struct, frozen=True):
    """The answer. The counts of a facet are those with all the other filters in force."""

    total: int
    rows: list[dict[str, Any]]
    facets: dict[str, dict[str, int]]


def page(index: Index, shape: Shape, wanted: Wanted) -> Page:
    """Ask an index. Raises `UnknownName` for an order or a filter that does not exist."""
    _check(shape, wanted)
    with index.reading() as base:
        cube = _cube(base, shape, wanted)
        rows = _rows(base, shape, wanted)
    facets = {name: _counts(cube, shape, wanted, name) for name in shape.facets}
    total = sum(count for key, count in cube if _fits(key, shape, wanted))
    return Page(total, rows, facets)


def _check(shape: Shape, wanted: Wanted) -> None:
    if wanted.order not in shape.orders:
        raise UnknownName("order", wanted.order, list(shape.orders))
    for name in wanted.filters:
        if name not in shape.facets:
            raise UnknownName("filter", name, list(shape.facets))


def _cube(base: sqlite3.Connection, shape: Shape, wanted: Wanted) -> Cube:
    """One pass over the rows that hold the text, however many filters there are."""
    names = ", ".join(f"r.{name}" for name in shape.facets)
    where, given = _text(shape, wanted)
    asked = f"SELECT {names}, count(*) FROM rows r WHERE {where} GROUP BY {names}"
    return [(tuple(row)[:-1], row[-1]) for row in base.execute(asked, given)]


def _counts(cube: Cube, shape: Shape, wanted: Wanted, facet: str) -> dict[str, int]:
    """How many rows each value of a facet would leave; the most frequent first."""
    place = shape.facets.index(facet)
    found: Counter[str] = Counter()
    for key, count in cube:
        if _fits(key, shape, wanted, but=facet):
            for value in _values(key[place], facet in shape.several):
                found[value] += count
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _fits(key: Sequence[Any], shape: Shape, wanted: Wanted, but: str = "") -> bool:
    return all(
        name == but or name not in wanted.filters or wanted.filters[name] in _values(value, many)
        for name, value in zip(shape.facets, key, strict=True)
        for many in [name in shape.several]
    )


def _values(value: Any, many: bool) -> list[str]:
    text = "" if value is None else str(value)
    return text.split(",") if many and text else [text]


def _rows(base: sqlite3.Connection, shape: Shape, wanted: Wanted) -> list[dict[str, Any]]:
    where, given = _text(shape, wanted)
    for name, value in wanted.filters.items():
        if name in shape.several:
            where += f" AND instr(',' || r.{name} || ',', ?)"
            given.append(f",{value},")
        else:
            where += f" AND coalesce(CAST(r.{name} AS TEXT), '') = ?"
            given.append(value)
    other, joined = "NULL", ""
    if wanted.against:
        base.execute("ATTACH ? AS other", (str(wanted.against),))
        other, joined = "o.mean", f"LEFT JOIN ({_MEANS}) o ON o.task = r.task"
    names = ", ".join(f"r.{name}" for name in shape.shown)
    order = shape.orders[wanted.order]
    asked = (
        f"SELECT r.n, {names}, {other} AS other FROM rows r {joined} WHERE {where} "
        f"ORDER BY {order} LIMIT {PAGE} OFFSET ?"
    )
    return [dict(row) for row in base.execute(asked, [*given, wanted.offset])]


_MEANS = "SELECT task, avg(reward) AS mean FROM other.rows GROUP BY task"


def _text(shape: Shape, wanted: Wanted) -> tuple[str, list[str]]:
    """The condition that a row holds the text, in small letters or large."""
    if not wanted.text:
        return "1", []
    parts = (f"instr(lower(r.{name}), ?)" for name in shape.searched)
    return f"({' OR '.join(parts)})", [wanted.text.lower()] * len(shape.searched)
