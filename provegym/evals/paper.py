"""The paper's own results, to be printed beside ours with their standard errors.

The figures lie in `paper.toml` as the authors print them (arXiv 2606.03892 v2): percent, one run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import sqrt
from pathlib import Path

import msgspec
from msgspec import Struct

from provegym.errors import InputError, UnknownName
from provegym.evals.stats import Estimate
from provegym.records import read

OVERALL = "overall"
MARK = "the paper's"
"""What a row of the paper is marked with."""


class Row(Struct, frozen=True, forbid_unknown_fields=True):
    """One model in one of the paper's tables; `scores` are percent, by part of the suite."""

    table: int
    suite: str
    model: str
    method: str
    scores: dict[str, float]


class Published(Struct, frozen=True, forbid_unknown_fields=True):
    """What `paper.toml` holds. `items` are the tasks behind each part; 0 where that is unknown."""

    source: str
    rows: tuple[Row, ...]
    items: dict[str, dict[str, int]]


class Result(Struct, frozen=True):
    """A result of ours on a suite: shares from 0 to 1 by part, `overall` among them."""

    name: str
    suite: str
    scores: dict[str, Estimate]


@lru_cache
def published() -> Published:
    """The paper's tables 3 to 7."""
    text = Path(__file__).with_name("paper.toml").read_bytes()
    return msgspec.toml.decode(text, type=Published)


def source() -> str:
    """Where the figures are from."""
    return published().source


def rows(suite: str, table: int | None = None) -> tuple[Row, ...]:
    """The paper's rows on a suite, of one table or with the parts. Raises `UnknownName`."""
    known = published()
    if suite not in known.items:
        raise UnknownName("suite", suite, list(known.items))
    found = [row for row in known.rows if row.suite == suite]
    if table is None:
        return tuple([row for row in found if len(row.scores) > 1])
    return tuple([row for row in found if row.table == table])


def errors(row: Row) -> dict[str, float]:
    """The standard error of each score in points, where the number of tasks is known.

    A part's is that of a share of independent tasks; the mean of parts has that of their mean. A
    row without parts is taken to have the same share in each, which errs on the large side.
    """
    items = published().items[row.suite]
    shares = {part: row.scores.get(part, row.scores[OVERALL]) / 100 for part in items}
    squares = {part: p * (1 - p) / items[part] for part, p in shares.items() if items[part]}
    told = {part: 100 * sqrt(square) for part, square in squares.items() if part in row.scores}
    if len(squares) == len(items):
        told[OVERALL] = 100 * sqrt(sum(squares.values())) / len(items)
    return told


def beside(
    suite: str, ours: Sequence[Result] = (), table: int | None = None
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and rows of a table: the paper's rows, marked, then ours; percent +- standard error.

    Raises `UnknownName` for the suite or a table without it.
    """
    theirs = rows(suite, table)
    if not theirs:
        known = sorted({str(row.table) for row in published().rows if row.suite == suite})
        raise UnknownName("table", str(table), known)
    parts = tuple(theirs[0].scores)
    mine = [result for result in ours if result.suite == suite]
    shown = [
        *((f"{row.model} {row.method}", MARK, *_cells(row.scores, errors(row), parts))
          for row in theirs),
        *((result.name, "ours", *_cells(*_percent(result), parts)) for result in mine),
    ]  # fmt: skip
    return ("model", "measured by", *parts), shown


def _percent(result: Result) -> tuple[dict[str, float], dict[str, float]]:
    means = {part: 100 * found.mean for part, found in result.scores.items()}
    noise = {part: 100 * e.se for part, e in result.scores.items() if e.se is not None}
    return means, noise


def _cells(
    means: Mapping[str, float], noise: Mapping[str, float], parts: Sequence[str]
) -> list[str]:
    return [
        "-" if part not in means else f"{means[part]:.1f}"
        + (f" +- {noise[part]:.1f}" if part in noise else "")
        for part in parts
    ]  # fmt: skip


def read_results(path: Path) -> list[Result]:
    """Results of ours (JSON Lines). Raises `InputError` where there is none."""
    found = list(read(path, Result))
    if not found:
        raise InputError(f"{path} holds no result; write lines with name, suite and scores")
    return found
