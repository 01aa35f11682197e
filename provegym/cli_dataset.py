"""The verbs of `provegym dataset`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated

import typer

from provegym import terminal
from provegym.errors import InputError
from provegym.options import Json, Seed, example

Tasks = Annotated[Path, typer.Argument(help="Tasks (JSON Lines).")]

app = typer.Typer(
    help="Files of tasks: counted, checked, cleaned, described, exported.", rich_markup_mode=None
)

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
    format: Annotated[
        str,
        typer.Option(help="jsonl, parquet, hf, trl, verl, nemo-gym, openai or sharegpt."),
    ],
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
    from provegym.evals.canary import see_no_canary

    see_no_canary(tasks)
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


@app.command("dedupe", epilog=example("provegym dataset dedupe tasks.jsonl --out unique.jsonl"))
def drop_duplicates(
    tasks: Tasks,
    out: Annotated[
        Path, typer.Option(help="The tasks that stay; a list of the others goes beside.")
    ],
    json: Json = False,
) -> None:
    """Drop tasks that repeat an earlier one: all of it, its calls, or what its user says."""
    from provegym.dataset.dedupe import dedupe_file

    summary = dedupe_file(tasks, out)
    if json:
        terminal.as_json(summary)
        return
    terminal.table(("dropped for the same", "tasks"), summary.dropped.items())
    terminal.line(f"{summary.kept} of {summary.tasks} tasks stay: {out}")
    terminal.line(f"dropped: {summary.listed}")


@app.command(
    "check",
    epilog=example(
        "provegym dataset check tasks.jsonl", "provegym dataset check tasks.jsonl --languages en,de"
    ),
)
def check_turns(
    tasks: Tasks,
    languages: Annotated[str, typer.Option(help="ISO 639-1 codes with commas between.")] = "en",
    json: Json = False,
) -> None:
    """Hold user turns to what a person would say: no ids, no tool names, a known language, neither
    empty nor endless, nothing twice; exits with 1 if one fails.
    """
    from provegym import servers
    from provegym.dataset.languages import known_languages
    from provegym.dataset.leaks import CHECKS, Rules, leaks
    from provegym.records import read_tasks

    rules = Rules(servers.prefixes(), known_languages(languages))
    found = {task.id: leaks(task, rules) for task in read_tasks(tasks)}
    failed = {name: some for name, some in found.items() if some}
    turns = {
        check: sum(leak.check == check for some in failed.values() for leak in some)
        for check in CHECKS
    }
    if json:
        terminal.as_json({"tasks": len(found), "turns": turns, "failed": failed})
    else:
        terminal.table(("check", "turns that fail"), turns.items())
        rows = [(name, x.turn, x.check, x.seen) for name, some in failed.items() for x in some]
        terminal.table(("task", "turn", "failed check", "seen"), rows)
        terminal.line(f"{len(found) - len(failed)} of {len(found)} tasks pass")
    if failed:
        raise typer.Exit(1)


@app.command(
    "difficulty",
    epilog=example(
        "provegym dataset difficulty tasks.jsonl",
        "provegym dataset difficulty tasks.jsonl --traces traces.jsonl",
    ),
)
def estimate_difficulty(
    tasks: Tasks,
    traces: Annotated[
        Path | None, typer.Option(help="Traces of a policy, to set its successes beside.")
    ] = None,
    json: Json = False,
) -> None:
    """Estimate how hard tasks are, from their calls, dependencies, tools and turns."""
    from provegym.dataset.difficulty import bands, difficulty
    from provegym.records import read_tasks

    rows = list(read_tasks(tasks))
    successes = played(tasks, traces) if traces else {}
    found = bands(rows, successes)
    if json:
        parts = {task.id: difficulty(task) for task in rows}
        points = {name: part.points for name, part in parts.items()}
        shown = {"bands": found, "points": points, "parts": parts, "successes": successes}
        terminal.as_json(shown)
        return
    heads = ("points from", "tasks", "calls", "played", "success")
    terminal.table(
        heads,
        [
            (b.points, b.tasks, b.calls, b.played, "-" if b.success is None else b.success)
            for b in found
        ],
    )
    terminal.line(f"{len(rows)} tasks")


def played(tasks: Path, traces: Path) -> Mapping[str, list[float]]:
    """By task, 1 for each successful episode and 0 for each other."""
    from provegym.evals.heldout import by_task, measure_file

    return by_task(measure_file(tasks, traces)[0], "success")


@app.command(
    "decontaminate",
    epilog=example(
        "provegym dataset decontaminate tasks.jsonl --against bfcl=bfcl_eval/data \\",
        "    --against tau2=tau2-bench --against teval=T-Eval/data --out report.json \\",
        "    --drop clean.jsonl",
    ),
)
def compare_with_benchmarks(
    tasks: Tasks,
    against: Annotated[
        list[str],
        typer.Option(help="bfcl, tau2 or teval, and where its files are.", metavar="NAME=PATH"),
    ],
    out: Annotated[Path, typer.Option(help="Where the report goes (JSON).")],
    drop: Annotated[
        Path | None, typer.Option(help="Where the tasks go that share nothing telling.")
    ] = None,
    json: Json = False,
) -> None:
    """Report what tasks share with benchmarks: tools, entities, call sequences, words in a row."""
    from provegym.dataset.benchmarks import load
    from provegym.dataset.decontaminate import decontaminate_file

    for text in against:
        if "=" not in text:
            raise InputError(f"--against {text!r} is not NAME=PATH, such as bfcl=bfcl_eval/data")
    pairs = [text.split("=", 1) for text in against]
    report = decontaminate_file(tasks, [load(name, Path(path)) for name, path in pairs], out, drop)
    if json:
        terminal.as_json(report)
        return
    terminal.line(report.text)
    terminal.line(f"report: {out}")
    if drop:
        terminal.line(f"{report.tasks - len(report.contaminated)} clean tasks: {drop}")


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
    """By server, the names of its tools, and the refusal codes that they declare; a server outside
    that cannot be used is left out.
    """
    from provegym.servers import usable

    loaded = {name: server.tools for name, server in usable(terminal.note).items()}
    codes = {name: {c for t in tools.values() for c in t.refuses} for name, tools in loaded.items()}
    return {name: tuple(tools) for name, tools in loaded.items()}, dict(codes)
