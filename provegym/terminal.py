"""What the command line shows: tables, progress and JSON.

On a terminal: coloured tables and a moving bar. Elsewhere: plain lines that are never cut, so that
logs and pipes keep every character. Results go to standard output, progress to standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

Advance = Callable[[int, int], None]
"""Tells a progress display how much is done, and of how much in all."""

OUTPUT = "standard output"
"""What an error of printing has for the name of its file."""
NEWS_EVERY = 0.1
"""Without a terminal, the share of the work between two progress lines."""


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> None:
    """Print a table, unless it is empty; numbers are set right, floats with four digits."""
    cells = [[_text(cell) for cell in row] for row in rows]
    if not cells:
        return
    if sys.stdout.isatty():
        _rich_table(columns, cells, title)
    else:
        _plain_table(columns, cells, title)


def line(text: str) -> None:
    """Print one line of a result."""
    with printing():
        sys.stdout.write(f"{text}\n")


@contextmanager
def printing() -> Iterator[None]:
    """Let an error of the block say that standard output is what takes no more."""
    try:
        yield
    except OSError as error:
        error.filename = OUTPUT
        raise


def as_json(value: object) -> None:
    """Print `value` as one line of JSON for a program to read."""
    line(msgspec.json.encode(value, enc_hook=str).decode())  # a path as its text


def note(text: str) -> None:
    """Print one line of news while something goes on."""
    sys.stderr.write(f"{text}\n")


def complain(text: str) -> None:
    """Print an error as one line."""
    sys.stderr.write(f"error: {' '.join(text.split())}\n")


def abandon_output() -> None:
    """Print no more results: what the stream still holds goes nowhere (a full disk took none)."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def progress(label: str) -> Iterator[Advance]:
    """Show how much is done while the block runs; yields the function to tell it."""
    if sys.stderr.isatty():
        with _bar(label) as advance:
            yield advance
    else:
        yield _news(label)


def _text(cell: object) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _is_number(text: str) -> bool:
    return text.lstrip("+-")[:1].isdigit()


def _numeric(cells: Sequence[Sequence[str]]) -> list[bool]:
    """Which columns hold numbers only."""
    return [all(map(_is_number, column)) for column in zip(*cells, strict=True)]


def _plain_table(columns: Sequence[str], cells: Sequence[Sequence[str]], title: str) -> None:
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    right = _numeric(cells)
    if title:
        line(title)
    for row in [columns, *cells]:
        padded = (
            text.rjust(width) if numeric else text.ljust(width)
            for text, width, numeric in zip(row, widths, right, strict=True)
        )
        line("  ".join(padded).rstrip())


def _rich_table(columns: Sequence[str], cells: Sequence[Sequence[str]], title: str) -> None:
    from rich.console import Console
    from rich.table import Table

    shown = Table(title=title or None, title_justify="left")
    for name, numeric in zip(columns, _numeric(cells), strict=True):
        shown.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        shown.add_row(*row)
    with printing():
        Console(markup=False).print(shown)


@contextmanager
def _bar(label: str) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _news(label: str) -> Advance:
    told = 0

    def advance(done: int, total: int) -> None:
        nonlocal told
        told = min(told, done)  # the next part begins anew
        if done >= told + max(1, round(total * NEWS_EVERY)) or done >= total > told:
            told = done
            sys.stderr.write(f"{label}: {done}/{total}\n")

    return advance
