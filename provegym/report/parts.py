"""Small pieces of a page: tables, numbers and names as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from msgspec import Struct

STYLE = Path(__file__).with_name("style.css").read_text("utf-8")
"""The style sheet of every page."""


class Cell(Struct, frozen=True):
    """A cell of a table with a smaller line under its text."""

    text: str
    note: str = ""


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """An HTML table that scrolls sideways where it is too wide."""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return (
        f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def behind(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table that a click opens."""
    return f"<details><summary>{escape(title)}</summary>{table(head, rows)}</details>"


def _cell(value: object) -> str:
    cell = value if isinstance(value, Cell) else Cell(str(value))
    note = f"<small>{escape(cell.note)}</small>" if cell.note else ""
    return f"<td>{escape(cell.text)}{note}</td>"


def number(value: object) -> str:
    """Floats with three places, nothing for None, all else as it is."""
    return f"{value:.3f}" if isinstance(value, float) else "" if value is None else str(value)


def signed(value: float) -> str:
    """A change: three places and always a sign."""
    return f"{value:+.3f}"


def human(name: str) -> str:
    """A measure's or a reason's name in words: "over_calling" is "over-calling"."""
    return name.replace("over_calling", "over-calling").replace("_", " ").replace(":", ": ")
