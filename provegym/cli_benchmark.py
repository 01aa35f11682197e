"""The verbs of `provegym benchmark`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from provegym import terminal
from provegym.options import Json, Seed, example

if TYPE_CHECKING:
    from provegym.contestants import Effort
    from provegym.evals.benchmark import Contestant, Entry
    from provegym.evals.heldout import Report

app = typer.Typer(
    help="Provegym as a benchmark: a sealed split, models and agents measured on it, their board.",
    rich_markup_mode=None,
)

Tasks = Annotated[Path, typer.Argument(help="Tasks to play (JSON Lines).")]
Out = Annotated[Path, typer.Option(help="Folder of the traces and of leaderboard.jsonl.")]
Trials = Annotated[int, typer.Option(min=1, help="Episodes of each task.")]
Concurrency = Annotated[int, typer.Option(min=1, help="Episodes at once.")]
RetryMasked = Annotated[
    bool, typer.Option("--retry-masked", help="Play again what faults cut short in an earlier run.")
]


@app.command(
    "model",
    epilog=example(
        "provegym benchmark model tasks.jsonl --policy openai:MODEL \\",
        "    --base-url http://127.0.0.1:8000/v1 --trials 4 --out runs/benchmark",
    ),
)
def measure_model(
    tasks: Tasks,
    policy: Annotated[
        str, typer.Option(help="openai:MODEL, hf:PATH, oracle, noop or random.", metavar="POLICY")
    ],
    out: Out,
    name: Annotated[str, typer.Option(help="On the board; else the policy's.")] = "",
    base_url: Annotated[
        str | None, typer.Option(help="Endpoint of openai:MODEL; its key is OPENAI_API_KEY.")
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(min=0, help="Of a model; the endpoint's own if not given.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Most tokens of one message of a model.")
    ] = None,
    trials: Trials = 1,
    concurrency: Concurrency = 4,
    seed: Seed = 0,
    retry_masked: RetryMasked = False,
    json: Json = False,
) -> None:
    """Measure a model on tasks and enter it on a leaderboard; goes on where it stopped.

    Silence and the ground truth are measured beside it. Nothing lost to faults is scored.
    """
    from provegym.contestants import Effort, model

    effort = Effort(trials, concurrency, seed, retry_masked)
    with terminal.progress("benchmark") as advance:
        who = model(
            policy,
            effort,
            name=name,
            base_url=base_url,
            temperature=temperature,
            max_tokens=max_tokens,
            progress=advance,
        )
        found = _run(tasks, out, who, effort)
    _show(found, out, json)


@app.command(
    "agent",
    epilog=example(
        'provegym benchmark agent tasks.jsonl --command "python examples/mcp_agent.py" \\',
        "    --name reader --out runs/benchmark",
    ),
)
def measure_agent(
    tasks: Tasks,
    command: Annotated[str, typer.Option(help="What starts the agent; it speaks MCP.")],
    name: Annotated[str, typer.Option(help="What it is called on the board.")],
    out: Out,
    seconds: Annotated[
        float, typer.Option(min=1, help="How long it may take for a user turn.")
    ] = 300.0,
    trials: Trials = 1,
    concurrency: Concurrency = 4,
    seed: Seed = 0,
    retry_masked: RetryMasked = False,
    json: Json = False,
) -> None:
    """Measure an agent of somebody else, which calls tools over MCP, as a model is measured.

    It is started for each episode, and reads a URL and what the user says from its input; see
    docs/benchmark.md.
    """
    from provegym.contestants import Effort, agent

    effort = Effort(trials, concurrency, seed, retry_masked)
    with (
        terminal.progress("benchmark") as advance,
        agent(command, effort, name=name, seconds=seconds, progress=advance) as who,
    ):
        found = _run(tasks, out, who, effort)
    _show(found, out, json)


def _run(tasks: Path, out: Path, who: Contestant, effort: Effort) -> tuple[Entry, Report]:
    from datetime import UTC, datetime

    from provegym.evals.benchmark import run

    date = datetime.now(UTC).date().isoformat()
    return run(tasks, out, who, trials=effort.trials, seed=effort.seed, date=date)


def _show(found: tuple[Entry, Report], out: Path, json: bool) -> None:
    from provegym import tables

    entry, measured = found
    if json:
        terminal.as_json(entry)
        return
    tables.show_measures([measured], {}, [entry.name])
    tables.show_parts([measured], [entry.name])
    terminal.line(f"success of silence {entry.floor}, of the ground truth {entry.ceiling}")
    terminal.line(f"entered for the split {entry.split}: {out / 'leaderboard.jsonl'}")


@app.command("plan", epilog=example("provegym benchmark plan tasks.jsonl --trials 4"))
def show_plan(tasks: Tasks, trials: Trials = 1, json: Json = False) -> None:
    """Say how many episodes a run takes, and what gains comparing two such runs can see."""
    from provegym.evals.benchmark import outlook

    plan = outlook(tasks, trials)
    if json:
        terminal.as_json({"plan": plan})
    else:
        terminal.line(plan)


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
    limit: Annotated[int | None, typer.Option(min=1, help="Tasks; else the recipe's.")] = None,
    json: Json = False,
) -> None:
    """Make a split's tasks from its seal, each line with the canary, and what is to be published.

    Goes on where it was stopped. Holds a published split's seal to its commitment.
    """
    from provegym import servers
    from provegym.config import load
    from provegym.evals import benchmark
    from provegym.graph.store import cached
    from provegym.records import beside, encode, write_atomic
    from provegym.synth.make import Plan
    from provegym.synth.pipeline import synthesize

    secret = benchmark.read_seal(seal)
    told = load(config)
    settings = told.synth if limit is None else told.synth.model_copy(update={"limit": limit})
    made, names = beside(out, "made"), told.run.servers
    with terminal.progress("graph"):
        graph = cached([servers.load(name) for name in names], beside(out, "graph", ".json"))
    with terminal.progress("synth") as advance:
        synthesize(Plan(secret.seed, names, names), settings, graph, made, advance)
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

    terminal.line(render(read_board(board), published()).rstrip())


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
