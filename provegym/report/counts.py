"""The counts of a file of tasks as one self-contained page: plots, and the tables behind them."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

from provegym.dataset.stats import Stats
from provegym.errors import InputError, ManifestMismatch
from provegym.records import write_atomic
from provegym.report import figures
from provegym.report.parts import STYLE, human, table

MARK = '<meta name="generator" content="provegym dataset stats">'
"""By which such a page is known again."""
SERVER_SHARE = 0.12
"""Of the tasks, where the plot of servers has its line: one server should not be most of a set."""
CODES = 40
"""Refusal codes that are plotted, the most frequent ones; the table has all."""


def check(out: Path) -> None:
    """See that `out` may be written: it is new, empty, or such a page.

    Raises `ManifestMismatch` where it is something else, `InputError` where it cannot be read.
    """
    if not out.is_file():
        return
    try:
        with out.open("rb") as file:
            head = file.read(1000)
    except OSError as error:
        raise InputError(f"cannot read {out}: {error.strerror}; choose another path") from error
    if head and MARK.encode() not in head:
        raise ManifestMismatch(
            f"{out} holds something else than a page of counts to be replaced; delete it or choose "
            "another path"
        )


def write(found: Stats, title: str, out: Path) -> None:
    """Write the page whole or not at all. Raises `InputError` as `check` does."""
    check(out)
    write_atomic(out, [render(found, title).encode(errors="replace")])


def render(found: Stats, title: str) -> str:
    """The whole page as HTML text; `title` says which file was counted."""
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f'<meta charset="utf-8">{MARK}{view}<title>Tasks: {escape(title)}</title>'
    sections = "".join(
        f"<section><h2>{name}</h2>{body}</section>"
        for name, body in (("Plots", _plots(found)), ("Tables", _tables(found)))
    )
    return (
        f'<!doctype html><html lang="en"><head>{head}<style>{STYLE}</style></head>'
        f"<body><h1>Tasks: {escape(title)}</h1>{_cards(found)}{sections}</body></html>\n"
    )


def _cards(found: Stats) -> str:
    called, idle = sum(found.called.values()), sum(map(len, found.never_called.values()))
    cards = (
        ("Tasks", found.tasks, f"about {len(found.servers)} servers"),
        ("Cross servers", found.cross_server, f"{found.cross_server_share:.1%} of the workflows"),
        ("Tools called", called, f"of {called + idle} on these servers"),
        ("Calls", sum(found.tools.values()), "in the ground truth"),
    )
    texts = (f"<span>{a}</span><b>{b}</b><small>{c}</small>" for a, b, c in cards)
    return f'<div class="cards">{"".join(f"""<div class="card">{t}</div>""" for t in texts)}</div>'


def _plots(found: Stats) -> str:
    share = SERVER_SHARE * found.tasks, f"{SERVER_SHARE:.0%} of the tasks"
    tools = {
        name: (called, len(found.never_called.get(name, ())))
        for name, called in found.called.items()
    }
    codes = dict(islice(found.refusals.items(), CODES))
    plots = (
        figures.plot("Tasks by server", _bars(found.servers), limit=share),
        figures.plot("Tools by server", tools, ("called", "never called")),
        figures.plot("Tasks by kind", _bars(found.kinds)),
        figures.plot("Tasks by number of calls", _bars(found.calls)),
        figures.plot("Tasks by number of turns", _bars(found.turns)),
        figures.plot("Tasks but abstentions, by perturbation", _bars(found.perturbations)),
        figures.plot("Recoveries after a refused or vain call", _bars(found.recoveries)),
        figures.plot(f"Refused calls by code, the first {CODES}", _bars(codes)),
    )
    return f'<div class="grid">{"".join(plots)}</div>'


def _bars(counts: Mapping[Any, int]) -> dict[str, tuple[int]]:
    return {str(name): (count,) for name, count in counts.items()}


def _tables(found: Stats) -> str:
    shown = (
        f'<div class="side">{table([human(head) for head in heads], rows)}</div>'
        for heads, rows in found.tables()
        if rows
    )
    return f'<div class="grid">{"".join(shown)}</div>'
