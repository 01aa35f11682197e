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
    cli_serve,
    cli_servers,
    cli_synth,
    cli_train,
    cli_view,
    entry,
    tables,
    terminal,
)
from provegym.errors import InfrastructureError, InputError, ProvegymError, UnknownName
from provegym.options import (
    Concurrency,
    Json,
    MostTokens,
    Preset,
    ScoresOut,
    Seed,
    Settings,
    Tasks,
    Temperature,
    Traces,
    Trials,
    example,
)

if TYPE_CHECKING:
    from provegym.rollout.summary import TraceSummary

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
        terminal.complain(f"{error.format_message()} (see provegym --help)")
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


@app.command(
    epilog=example(
        "provegym rollout tasks.jsonl --policy oracle --out traces.jsonl",
        "provegym rollout tasks.jsonl --policy openai:MODEL --base-url http://127.0.0.1:8000/v1 \\",
        "    --out traces.jsonl",
    )
)
def rollout(
    tasks: Annotated[Path, typer.Argument(help="Tasks to play (JSON Lines).")],
    policy: Annotated[
        str, typer.Option(help="oracle, noop, random, openai:MODEL or hf:PATH.", metavar="POLICY")
    ],
    out: Annotated[Path, typer.Option(help="Where the traces go (JSON Lines).")],
    base_url: Annotated[
        str | None, typer.Option(help="Endpoint of openai:MODEL; its key is OPENAI_API_KEY.")
    ] = None,
    temperature: Temperature = None,
    max_tokens: MostTokens = None,
    trials: Trials = 1,
    concurrency: Concurrency = 16,
    seed: Seed = 0,
    retry_masked: Annotated[
        bool,
        typer.Option("--retry-masked", help="Play again what faults cut short in an earlier run."),
    ] = False,
    json: Json = False,
) -> None:
    """Let a policy play tasks on live sessions; a killed rollout goes on where it stopped."""
    from provegym import worlds
    from provegym.learning import own_policy
    from provegym.llm.factory import policy_factory
    from provegym.rollout.run import load_tasks, rollout_file

    tables.note_unfinished(tasks)
    content = worlds.content(load_tasks(tasks))
    make_policy = own_policy(policy, temperature, max_tokens) or policy_factory(
        policy,
        base_url=base_url,
        temperature=temperature,
        max_tokens=max_tokens,
        concurrency=concurrency,
        seed=seed,
    )
    with terminal.progress("rollout") as advance:
        summary = rollout_file(
            tasks,
            policy,
            out,
            open_session=worlds.open_session,
            make_policy=make_policy,
            concurrency=concurrency,
            trials=trials,
            seed=seed,
            settings={"temperature": temperature, "max_tokens": max_tokens},
            world=content,
            retry_masked=retry_masked,
            progress=advance,
        )
    if json:
        terminal.as_json(summary)
    else:
        tables.show_traces(summary, f"{policy}: {out}")
    _see_that_some_were_played(summary)


def _see_that_some_were_played(summary: TraceSummary) -> None:
    if summary.traces == summary.masked:
        raise InfrastructureError(
            f"all {summary.masked} episodes were lost to faults that are not the policy's "
            f"({', '.join(summary.faults)}); mend the cause and play again with --retry-masked"
        )


@app.command(
    epilog=example(
        "provegym score --tasks tasks.jsonl --traces traces.jsonl --preset strict --out s.jsonl"
    )
)
def score(
    tasks: Tasks,
    traces: Traces,
    out: ScoresOut,
    preset: Preset = "paper",
    explain: Annotated[
        bool, typer.Option("--explain", help="Write each call's level, match and equal values too.")
    ] = False,
    json: Json = False,
) -> None:
    """Score traces against their tasks; a pure function that opens no server."""
    from provegym.scoring import score_files

    tables.note_unfinished(tasks, traces)
    summary = score_files(tasks, traces, preset, out, explain)
    if json:
        terminal.as_json(summary)
    else:
        tables.show_scores(summary, out)


@app.command(
    epilog=example(
        "provegym rescore --tasks tasks.jsonl --traces traces.jsonl --preset strict --out s.jsonl"
    )
)
def rescore(
    tasks: Tasks, traces: Traces, out: ScoresOut, preset: Preset = "paper", json: Json = False
) -> None:
    """Replay stored calls on live sessions, without a model, and score what comes of them.

    The replayed traces are written beside the scores.
    """
    from provegym import records, worlds
    from provegym.rollout.rescore import rescore_file
    from provegym.rollout.run import load_tasks
    from provegym.scoring import score_files

    records.check_output(out, "scores", (tasks, traces))
    tables.note_unfinished(tasks, traces)
    replayed = out.with_suffix(".traces.jsonl")
    content = worlds.content(load_tasks(tasks))
    with terminal.progress("replay") as advance:
        rescore_file(
            tasks,
            traces,
            replayed,
            open_session=worlds.open_session,
            world=content,
            progress=advance,
        )
    summary = score_files(tasks, replayed, preset, out)
    if json:
        terminal.as_json(summary)
    else:
        tables.show_scores(summary, out)
        same, total = _agreement(traces, replayed)
        terminal.line(f"{same} of {total} traces gave the same results again: {replayed}")


def _agreement(traces: Path, replayed: Path) -> tuple[int, int]:
    """How many traces have the same calls, outcomes, results and changes in both files, of all."""
    from provegym.records import read
    from provegym.types import Trace

    pairs = zip(read(traces, Trace), read(replayed, Trace), strict=True)
    same = [a.calls == b.calls and a.final_changes == b.final_changes for a, b in pairs]
    return sum(same), len(same)


app.add_typer(cli_train.app, name="train")


@cli_train.app.command(
    cli_train.LAPTOP,
    epilog=example(
        "provegym train configs/demo.toml --tasks tasks.jsonl --set run.out=runs/mine",
        "provegym train laptop configs/demo.toml --tasks tasks.jsonl --method sft",
    ),
)
def train(
    config: Annotated[Path, typer.Argument(help="A run's settings (TOML).")],
    tasks: Tasks,
    method: Annotated[str, typer.Option(help="grpo, or sft on the ground truth.")] = "grpo",
    settings: Settings = None,
) -> None:
    """Train the config's policy on a file of tasks; goes on where it was stopped."""
    from provegym import learning
    from provegym.config import load
    from provegym.evals.canary import see_no_canary
    from provegym.names import check_names
    from provegym.rollout.run import load_tasks

    if method not in ("grpo", "sft"):
        raise UnknownName("method", method, ["grpo", "sft"])
    see_no_canary(tasks)
    told, loaded = load(config, settings or ()), load_tasks(tasks)
    check_names(told)
    start = learning.starting_policy(told, loaded, terminal.progress)
    if method == "grpo":
        trained = learning.optimize(told, loaded, start, terminal.progress)
    else:
        out = told.run.folder / "sft"
        trained = learning.baseline(told, loaded, start, out, terminal.progress)
    terminal.line(f"policy: {trained}")


@app.command(epilog=example("provegym warmstart configs/warmstart.toml --out adapters/mine"))
def warmstart(
    config: Annotated[Path, typer.Argument(help="The recipe (TOML).")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the adapter; default: the shipped one.")
    ] = None,
    settings: Settings = None,
) -> None:
    """Make the adapter that runs with `start = "shipped"` begin from, by fine-tuning."""
    from provegym.config import load
    from provegym.runs import warm_start

    made = warm_start(load(config, settings or ()), terminal.progress, out)
    terminal.line(f"adapter: {made}")


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
