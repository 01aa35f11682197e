"""The verbs of `provegym dataset`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from provegym import terminal
from provegym.options import Json, example

Tasks = Annotated[Path, typer.Argument(help="Tasks (JSON Lines).")]

app = typer.Typer(help="Files of tasks: counted, described, exported.", rich_markup_mode=None)

Report = Annotated[
    Path | None,
    typer.Option("--decontamination", help="Report on overlap with benchmarks (JSON)."),
]
Licence = Annotated[str, typer.Option(help="The data set's, as Hugging Face's hub names it.")]


@app.command(
    "stats",
    epilog=example(
        "provegym dataset stats runs/demo/train/tasks.jsonl",
        "provegym dataset stats runs/demo/train/tasks.jsonl --out stats.html",
    ),
)
def show_stats(
    tasks: Tasks,
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
    epilog=example(
        "provegym dataset export tasks.jsonl --format openai --out sft.jsonl",
        "provegym dataset export tasks.jsonl --format hf --split train=0.9,validation=0.1 \\",
        "    --heldout-server maps --out my-set",
    )
)
def export(
    tasks: Tasks,
    format: Annotated[str, typer.Option(help="jsonl, parquet, hf, trl, verl, openai or sharegpt.")],
    out: Annotated[Path, typer.Option(help="The file; a folder with splits and for hf.")],
    split: Annotated[
        str | None, typer.Option(help="Shares, by whole worlds: train=0.9,validation=0.1.")
    ] = None,
    heldout_server: Annotated[
        str | None, typer.Option(help="Servers whose tasks go into the split `heldout`.")
    ] = None,
    decontamination: Report = None,
    licence: Licence = "apache-2.0",
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Take what there is of an unfinished file.")
    ] = False,
    json: Json = False,
) -> None:
    """Write tasks as other tools read them: whole or as prompts, conversations, a data set."""
    from provegym.dataset.export import Plan
    from provegym.dataset.export import export as write
    from provegym.dataset.split import shares

    servers = tuple(name.strip() for name in heldout_server.split(",")) if heldout_server else ()
    plan = Plan(format, shares(split) if split else {}, servers, licence)
    with terminal.progress("export") as advance:
        made = write(
            tasks,
            out,
            plan,
            library()[0] if servers or format == "hf" else {},
            report=decontamination,
            unfinished=unfinished,
            progress=advance,
        )
    if json:
        terminal.as_json(made)
        return
    if plan.is_folder:
        terminal.table(("split", "rows"), made.rows.items())
    terminal.line(f"{made.tasks} tasks in {sum(made.rows.values())} rows: {out}")


@app.command(epilog=example("provegym dataset card tasks.jsonl > card.md"))
def card(
    tasks: Tasks,
    decontamination: Report = None,
    licence: Licence = "apache-2.0",
) -> None:
    """Print the card of a data set: composition, yield, making, decontamination, licences."""
    from provegym.dataset.card import read_report, render

    report = read_report(decontamination) if decontamination else None
    terminal.line(render(tasks, library()[0], licence=licence, report=report).rstrip())


def library() -> tuple[dict[str, Collection[str]], dict[str, Collection[str]]]:
    """By server, the names of its tools, and the refusal codes that they declare."""
    from provegym import servers

    loaded = {name: servers.load(name).tools for name in servers.SERVERS}
    codes = {name: {c for t in tools.values() for c in t.refuses} for name, tools in loaded.items()}
    return {name: tuple(tools) for name, tools in loaded.items()}, dict(codes)
