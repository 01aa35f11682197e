"""The verbs of `provegym dataset`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from provegym import terminal
from provegym.options import Json, Seed, example

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


@app.command(
    "import",
    epilog=example(
        "provegym dataset import when2call when2call_train_sft.jsonl --limit 806 --out w2c.jsonl",
        "provegym dataset import xlam-irrelevance xlam-7.5k-irrelevancek.json --limit 316 \\",
        "    --out xlam.jsonl",
    ),
)
def import_set(
    name: Annotated[str, typer.Argument(help="when2call or xlam-irrelevance.", metavar="NAME")],
    file: Annotated[Path, typer.Argument(help="One of its files, as it is published.")],
    out: Annotated[Path, typer.Option(help="Where the tasks go (JSON Lines).")],
    limit: Annotated[int, typer.Option(min=0, help="Tasks to draw; 0 takes all.")] = 0,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Make abstention tasks of a published set: questions on which no call is right."""
    from provegym.synth.external import import_file

    made = import_file(name, file, out, limit, seed)
    if json:
        terminal.as_json(made)
        return
    terminal.table(("rows left out for", "rows"), made.skipped.items())
    odd = "" if made.published else "; no published file of the set has so many rows"
    terminal.line(f"{made.rows} rows, {made.examples} of them examples{odd}")
    terminal.line(f"{made.tasks} certified tasks of {name} ({made.licence}): {out}")


def library() -> tuple[dict[str, Collection[str]], dict[str, Collection[str]]]:
    """By server, the names of its tools, and the refusal codes that they declare."""
    from provegym import servers

    loaded = {name: servers.load(name).tools for name in servers.SERVERS}
    codes = {name: {c for t in tools.values() for c in t.refuses} for name, tools in loaded.items()}
    return {name: tuple(tools) for name, tools in loaded.items()}, dict(codes)
