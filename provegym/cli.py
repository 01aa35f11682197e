"""The command line: one function a verb, each importing its stage only when it runs.

Bad input ends in one line on standard error and exit code 2, whatever the verb. Our own failures
end in one line and exit code 1, an interrupt in 130; of a server, which ends in no other way, in 0.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from provegym import (
    __version__,
    cli_add,
    cli_benchmark,
    cli_dataset,
    cli_eval,
    cli_graph,
    cli_rollout,
    cli_serve,
    cli_servers,
    cli_synth,
    cli_train,
    cli_view,
    entry,
    tables,
    terminal,
)
from provegym.errors import InputError, ProvegymError, UnknownName, seen
from provegym.options import (
    Json,
    Settings,
    example,
)

if TYPE_CHECKING:
    pass

app = typer.Typer(
    name="provegym",
    help="Reinforcement learning for multi-step tool use on live, stateful tool servers.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

EXTRAS = {
    "accelerate": "train",
    "datasets": "train",
    "gguf": "train",
    "peft": "train",
    "torch": "train",
    "transformers": "train",
    "trl": "train",
    "pyarrow": "data",
    "openai": "llm",
    "mcp": "gateway",
    "mcp_types": "gateway",
    "httpx2": "gateway",
    "uvicorn": "gateway",
    "uvloop": "gateway",
    "httptools": "gateway",
    "starlette": "gateway",
    "datasketch": "data",
    "py3langid": "data",
    "numpy": "eval",
    "scipy": "eval",
    "verl": "verl",
}
"""Which optional part of the installation brings a library."""


def main() -> None:
    """Run the command line of this process, and end with its exit code."""
    entry.running("".join(sys.argv[1:2]))
    code = call(sys.argv[1:])
    entry.ending(code)
    with suppress(OSError):  # a reader who left; `call` tells of a full disk
        sys.stdout.flush()
    sys.exit(code)


def call(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; the one place where errors end."""
    arguments = arguments or ["--help"]
    broken = ""
    try:
        broken = take_in(Path.cwd())
        command = typer.main.get_command(app)
        code = command.main(arguments, prog_name="provegym", standalone_mode=False) or 0
        with terminal.printing():
            sys.stdout.flush()
        return _interrupted(arguments[0]) if code == entry.INTERRUPTED else code
    except OSError as error:
        terminal.abandon_output()
        left = isinstance(error, BrokenPipeError) and error.filename == terminal.OUTPUT
        if not left:  # a reader like `head` has seen enough, as typer holds it, too
            place, why = error.filename or f"{terminal.OUTPUT} or a file", error.strerror or error
            terminal.complain(
                f"cannot go on: {place}: {why}; make room or choose another place, "
                "what was written stays"
            )
        return 1
    except typer.TyperException as error:
        terminal.complain(f"{error.format_message()}{_given(error)} (see provegym --help)")
        return 2
    except ProvegymError as error:
        if not (broken and _told_by(error, broken)):
            terminal.complain(str(error))
        return 2 if isinstance(error, InputError) else 1
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        terminal.complain(f"{error.name} is needed: pip install 'provegym[{EXTRAS[error.name]}]'")
        return 2
    except (typer.Abort, KeyboardInterrupt):
        return _interrupted(arguments[0])


def _given(error: typer.TyperException) -> str:
    """The value that a wrong option was given, which typer's message leaves out."""
    found = getattr(error.__cause__, "errors", None)  # of pydantic, which typer asks
    return f", not {seen(found()[0]['input'])}" if found else ""


def _interrupted(verb: str) -> int:
    word = entry.word(verb)
    if word and not entry.told.is_set():
        terminal.note(word)
    return entry.code(verb)


def _told_by(error: ProvegymError, broken: str) -> bool:
    """Whether what is wrong with provegym.toml says it all: no server of it is known."""
    return str(error) == broken or (isinstance(error, UnknownName) and error.what == "server")


def take_in(folder: Path) -> str:
    """Make the external servers of the folder's provegym.toml known, if there is one. What is
    wrong with it is told, and stops nobody who needs none of them; why none could be read is
    given back.
    """
    if (folder / "provegym.toml").exists():
        from provegym.gateway.external.places import LIBRARY, register
        from provegym.servers import SERVERS

        try:
            register(folder)
        except InputError as error:
            terminal.complain(str(error))
            return "" if any(LIBRARY in place for place in SERVERS.values()) else str(error)
    return ""


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        terminal.line(__version__)
        raise typer.Exit


@app.command(
    epilog=example(
        "provegym run configs/demo.toml",
        "provegym run configs/demo.toml --set grpo.steps=10 --set run.out=/tmp/short",
        "provegym run configs/ablations.toml --cell tiny/full/1",
    )
)
def run(
    config: Annotated[Path, typer.Argument(help="A run's settings (TOML).")],
    settings: Settings = None,
    cell: Annotated[
        list[str] | None,
        typer.Option(help="Of a config with [ablations], only these, like tiny/full or tiny."),
    ] = None,
    json: Json = False,
) -> None:
    """Do a whole run: tasks, training, held-out evaluation. Goes on where it was stopped."""
    from provegym import runs
    from provegym.ablation.run import run as run_cells
    from provegym.config import load

    told = load(config, settings or ())
    if told.ablations or cell:
        cells = run_cells(told, terminal.progress, cell or ())
        terminal.as_json(cells) if json else tables.show_ablations(cells)
        return
    summary = runs.run(told, terminal.progress)
    if json:
        terminal.as_json(summary)
    else:
        tables.show_run(summary)


app.add_typer(cli_servers.app, name="servers")
app.add_typer(cli_dataset.app, name="dataset")
app.add_typer(cli_benchmark.app, name="benchmark")
app.command(epilog=cli_graph.EXAMPLE)(cli_graph.graph)
app.command(epilog=cli_serve.EXAMPLES)(cli_serve.serve)
app.command(epilog=cli_synth.EXAMPLES)(cli_synth.synth)
app.command(epilog=cli_add.EXAMPLES)(cli_add.add)
app.command(epilog=cli_view.EXAMPLES)(cli_view.view)
app.command("serve-model", epilog=cli_serve.MODEL_EXAMPLES)(cli_serve.serve_model)
app.command("eval", epilog=cli_eval.EXAMPLES)(cli_eval.evaluate)


@app.command(epilog=example("provegym certify tasks.jsonl"))
def certify(
    tasks: Annotated[Path, typer.Argument(help="Tasks to examine (JSON Lines).")],
    json: Json = False,
) -> None:
    """Prove anew, on live sessions, that each task is sound; exits with 1 if one is not."""
    from provegym.rollout.run import load_tasks
    from provegym.synth.certify import certify as examine
    from provegym.synth.certify import failed as failed_of
    from provegym.worlds import world_of

    tables.note_unfinished(tasks)
    loaded = load_tasks(tasks)
    failed: dict[str, list[str]] = {}
    with terminal.progress("certify") as advance:
        for number, task in enumerate(loaded, start=1):
            world = world_of(task)
            found = examine(task, world)
            same_digest = found.digest == task.certificate.digest
            same_time = task.reference_time == world.cast.start.isoformat()
            checks = {**found.checks, "same_digest": same_digest, "same_time": same_time}
            if missed := failed_of(checks):
                failed[task.id] = missed
            advance(number, len(loaded))
    if json:
        terminal.as_json({"tasks": len(loaded), "failed": failed})
    else:
        if failed:
            rows = [(name, ", ".join(checks)) for name, checks in failed.items()]
            terminal.table(("task", "failed checks"), rows)
        terminal.line(f"{len(loaded) - len(failed)} of {len(loaded)} tasks certified")
    if failed:
        raise typer.Exit(1)


app.command(epilog=cli_rollout.EXAMPLES)(cli_rollout.rollout)
app.command(epilog=cli_rollout.SCORE_EXAMPLES)(cli_rollout.score)
app.command(epilog=cli_rollout.RESCORE_EXAMPLES)(cli_rollout.rescore)
app.add_typer(cli_train.app, name="train")
app.command(epilog=cli_train.WARMSTART_EXAMPLES)(cli_train.warmstart)


@app.command(
    epilog=example("provegym report runs/demo", "provegym report runs/demo --compare runs/other")
)
def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a run or of an evaluation.")],
    compare: Annotated[
        Path | None, typer.Option(help="Another run's folder, to be shown side by side.")
    ] = None,
) -> None:
    """Write a run's report.html anew: curves, comparison, yield of synthesis, examples; of a run of
    ablations, the table ablations.md. What `provegym eval` wrote is shown.
    """
    from provegym.ablation import page as ablations
    from provegym.cli_eval import reported
    from provegym.report import page

    if reported(folder, compare):
        return
    several = [each for each in (folder, compare) if each and ablations.is_ablations(each)]
    if compare and several:
        raise InputError(f"{several[0]} is a run of ablations; its table compares its own cells")
    if several:
        terminal.line(f"report: {ablations.write(folder)}")
    else:
        terminal.line(f"report: {page.write(folder, compare)}")


@app.command(epilog=example("provegym bench", "provegym bench soak --seconds 60"))
def bench(
    name: Annotated[
        str | None,
        typer.Argument(
            help="engine, reward, synth, gateway, fleet, viewer, soak; all but soak if none."
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=1, help="How long the soak takes; 600 if not given.")
    ] = None,
    json: Json = False,
) -> None:
    """Measure speed and memory beside the naive ways; a few minutes on a quiet core."""
    from provegym import bench as benchmarks

    rows = benchmarks.run(name, seconds)
    if json:
        terminal.as_json([row._asdict() for row in rows])
    else:
        terminal.table(benchmarks.Row._fields, rows)
