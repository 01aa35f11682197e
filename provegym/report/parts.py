"""Small pieces of a page: tables, numbers and names as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from msgspec import Struct

from provegym.evals.stats import Estimate

STYLE = Path(__file__).with_name("style.css").read_text("utf-8")
"""The style sheet of every page."""
SHARES = ("success", "coverage", "over_calling", "abstention", "premature_calls")
"""Measures between 0 and 1 that figures of held-out tasks show."""
LESS_IS_BETTER = ("over_calling", "premature_calls", "calls")
WINDOW = 5
"""Steps that the training curves are smoothed over."""


class Cell(Struct, frozen=True):
    """A cell of a table with a smaller line under its text."""

    text: str
    note: str = ""
    strong: bool = False


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
    text = f"<b>{escape(cell.text)}</b>" if cell.strong else escape(cell.text)
    return f"<td>{text}{note}</td>"


def number(value: object) -> str:
    """Floats with three places, nothing for None, all else as it is."""
    return f"{value:z.3f}" if isinstance(value, float) else "" if value is None else str(value)


def signed(value: float) -> str:
    """A change: three places and always a sign."""
    return f"{value:+z.3f}"


def human(name: str) -> str:
    """A measure's or a reason's name in words: "over_calling" is "over-calling"."""
    return name.replace("over_calling", "over-calling").replace("_", " ").replace(":", ": ")


def marked(metric: str) -> str:
    """A measure's name, with a star where less is better."""
    return human(metric) + (" *" if metric in LESS_IS_BETTER else "")


def triple(e: Estimate) -> tuple[float, float, float]:
    """Mean, low and high end, as figures take it."""
    return e.mean, e.low, e.high


def estimated(e: Estimate | None, *, change: bool = False) -> Cell:
    """A mean with its interval under it; a `change` has a sign."""
    if e is None:
        return Cell("-")
    write = signed if change else number
    return Cell(write(e.mean), f"{write(e.low)} to {write(e.high)}")


def card(name: str, value: str, note: str) -> str:
    """One number that stands out; all three are HTML."""
    return f'<div class="card"><span>{name}</span><b>{value}</b><small>{note}</small></div>'


def section(title: str, *parts: str) -> str:
    """Parts of a page under a heading."""
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>"
