"""The verbs of `provegym dataset`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from provegym import terminal
from provegym.options import Json, example

app = typer.Typer(help="Files of tasks, counted.", rich_markup_mode=None)


@app.callback()
def dataset() -> None:
    """Keep `stats` a verb of its own while the group has only one."""


@app.command(
    "stats",
    epilog=example(
        "provegym dataset stats runs/demo/train/tasks.jsonl",
        "provegym dataset stats runs/demo/train/tasks.jsonl --out stats.html",
    ),
)
def show_stats(
    tasks: Annotated[Path, typer.Argument(help="Tasks (JSON Lines).")],
    out: Annotated[
        Path | None, typer.Option(help="Page for the same with plots (HTML, one file).")
    ] = None,
    json: Json = False,
) -> None:
    """Count tasks by server, tool, kind, length and perturbation, and how recoveries went."""
    from provegym.dataset.stats import stats
    from provegym.report.counts import check, write

    if out:
        check(out)
    found = stats(tasks, *library())
    if out:
        write(found, str(tasks), out)
    if json:
        terminal.as_json(found)
        return
    for heads, rows in found.tables():
        terminal.table(heads, rows)
    terminal.line(f"{found.tasks} tasks: {found.coverage()}")
    if out:
        terminal.line(f"page: {out}")


def library() -> tuple[dict[str, Collection[str]], dict[str, Collection[str]]]:
    """By server, the names of its tools, and the refusal codes that they declare."""
    from provegym import servers

    loaded = {name: servers.load(name).tools for name in servers.SERVERS}
    codes = {name: {c for t in tools.values() for c in t.refuses} for name, tools in loaded.items()}
    return {name: tuple(tools) for name, tools in loaded.items()}, dict(codes)
