"""The verbs of `provegym benchmark`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provegym import terminal
from provegym.errors import InputError
from provegym.options import Json, example
from provegym.types import MOST_TASKS

app = typer.Typer(
    help="Provegym as a benchmark: sealed splits and boards; `eval --suite provegym` measures.",
    rich_markup_mode=None,
)


@app.command("seal", epilog=example("provegym benchmark seal my-split-1 --out seal.json"))
def make_seal(
    split: Annotated[str, typer.Argument(help="Name of the split.", metavar="NAME")],
    out: Annotated[Path, typer.Option(help="The secret's file, which nobody else may see.")],
) -> None:
    """Make the secret that a split's seed comes from, and print the commitment to be published."""
    from provegym.evals.benchmark import new_seal

    seal = new_seal(split, out)
    terminal.line(f"secret: {out}; keep it, for it cannot be made again")
    terminal.line(f"commitment: {seal.commitment}")


@app.command(
    "make",
    epilog=example("provegym benchmark make configs/benchmark.toml --seal seal.json --out b.jsonl"),
)
def make_split(
    config: Annotated[Path, typer.Argument(help="The recipe: a run's settings (TOML).")],
    seal: Annotated[Path, typer.Option(help="The secret's file.")],
    out: Annotated[Path, typer.Option(help="Where the tasks go; as secret as the seal.")],
    limit: Annotated[
        int | None, typer.Option(min=1, max=MOST_TASKS, help="Tasks; else the recipe's.")
    ] = None,
    json: Json = False,
) -> None:
    """Make a split's tasks from its seal, each line with the canary, and what is to be published.

    Goes on where it was stopped. Holds a published split's seal to its commitment.
    """
    from provegym import servers
    from provegym.config import load
    from provegym.evals import benchmark
    from provegym.graph.store import cached
    from provegym.records import beside, check_output, encode, write_atomic
    from provegym.synth.make import Plan
    from provegym.synth.pipeline import check, synthesize

    secret = benchmark.read_seal(seal)
    check_output(out, "tasks", (seal, config))  # before minutes of work
    told = load(config)
    settings = told.synth if limit is None else told.synth.model_copy(update={"limit": limit})
    made, names = beside(out, "made"), told.run.servers
    plan = Plan(secret.seed, names, names)
    with benchmark.seeds_untold():
        check(plan, settings, made)
    with terminal.progress("graph"):
        graph = cached([servers.load(name) for name in names], beside(out, "graph", ".json"))
    with terminal.progress("synth") as advance, benchmark.seeds_untold():
        synthesize(plan, settings, graph, made, advance)
    split = benchmark.mark(made, out, secret)
    where = beside(out, "split", ".json")
    write_atomic(where, [encode(split)])
    if json:
        terminal.as_json(split)
        return
    terminal.line(f"{split.tasks} certified tasks: {out}")
    terminal.line(f"commitment: {split.commitment}")
    known = benchmark.published()
    if split.name == known.name:
        same = split.tasks_hash == known.tasks_hash
        terminal.line("as published" if same else "other tasks than the published ones")
    terminal.line(f"to be published: {where}")


Board = Annotated[Path, typer.Argument(help="A leaderboard (JSON Lines).", metavar="BOARD")]


@app.command("page", epilog=example("provegym benchmark page leaderboard.jsonl > leaderboard.md"))
def print_page(board: Board) -> None:
    """Print a leaderboard as a page in Markdown."""
    from provegym.evals.benchmark import published, read_board
    from provegym.evals.leaderboard import render

    entries = read_board(board)
    if not entries:
        raise InputError(
            f"{board} holds no entry; `provegym eval MODEL --suite provegym` enters its own"
        )
    terminal.line(render(entries, published()).rstrip())


@app.command(
    "paper",
    epilog=example(
        "provegym benchmark paper tau2", "provegym benchmark paper bfcl --ours ours.jsonl"
    ),
)
def print_paper(
    suite: Annotated[str, typer.Argument(help="bfcl, tau2 or teval.", metavar="SUITE")],
    ours: Annotated[
        Path | None, typer.Option(help="Results to stand below (JSON Lines: name, suite, scores).")
    ] = None,
    table: Annotated[
        int | None, typer.Option(help="One of the paper's tables; else the one with all parts.")
    ] = None,
    json: Json = False,
) -> None:
    """Print what the paper's authors measured, with standard errors, and results of yours below."""
    from provegym.evals import paper

    mine = paper.read_results(ours) if ours else []
    heads, rows = paper.beside(suite, mine, table)
    if json:
        terminal.as_json([dict(zip(heads, row, strict=True)) for row in rows])
        return
    terminal.table(heads, rows, f"Percent +- standard error; {paper.MARK}: {paper.source()}")
