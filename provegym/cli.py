"""The command line: one function a verb, each importing its stage only when it runs.

Bad input ends in one line on standard error and exit code 2, whatever the verb. Our own failures
end in one line and exit code 1, an interrupt in 130.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from provegym import __version__, terminal
from provegym.errors import InputError, ProvegymError

if TYPE_CHECKING:
    from provegym.scoring import ScoreSummary
    from provegym.world.tool import Tool

app = typer.Typer(
    name="provegym",
    help="Reinforcement learning for multi-step tool use on live, stateful tool servers.",
    add_completion=False,
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
    "openai": "llm",
    "mcp": "gateway",
    "numpy": "eval",
    "matplotlib": "report",
}
"""Which optional part of the installation brings a library."""

Tasks = Annotated[Path, typer.Option(help="Tasks with their ground truth (JSON Lines).")]
Traces = Annotated[Path, typer.Option(help="Traces of any policy on them (JSON Lines).")]
ScoresOut = Annotated[Path, typer.Option("--out", help="Where the scores go (JSON Lines).")]
Preset = Annotated[
    str, typer.Option(help="paper, strict, an ablation like -coverage, or paper,alpha=0.3.")
]
Seed = Annotated[int, typer.Option(min=0, help="Root of all randomness.")]
Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON for a program.")]


def main() -> None:
    """Entry point of the `provegym` command."""
    sys.exit(call(sys.argv[1:]))


def call(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; the one place where errors end."""
    try:
        command = typer.main.get_command(app)
        arguments = arguments or ["--help"]
        return command.main(arguments, prog_name="provegym", standalone_mode=False) or 0
    except typer.TyperException as error:
        terminal.complain(f"{error.format_message()} (see provegym --help)")
        return 2
    except ProvegymError as error:
        terminal.complain(str(error))
        return 2 if isinstance(error, InputError) else 1
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        terminal.complain(f"{error.name} is needed: pip install 'provegym[{EXTRAS[error.name]}]'")
        return 2
    except typer.Abort:
        return 130


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        terminal.line(__version__)
        raise typer.Exit


def _example(*lines: str) -> str:
    """The end of a verb's help, kept as it is by the formatter."""
    return "\b\n" + "\n".join(["Example:", *(f"  {line}" for line in lines)])


servers_app = typer.Typer(help="The library of tool servers.", rich_markup_mode=None)
app.add_typer(servers_app, name="servers")


@servers_app.command("list", epilog=_example("provegym servers list"))
def servers_list(json: Json = False) -> None:
    """List the servers with their numbers of tools and of rows in a world."""
    from provegym import servers, worlds

    rows = []
    for name in servers.SERVERS:
        server = servers.load(name)
        effects = [tool.effect for tool in server.tools.values()]
        seeded = sum(len(table.rows) for table in worlds.world((name,), 0).templates.values())
        rows.append(
            (
                name,
                server.title,
                len(effects),
                effects.count("read"),
                effects.count("write"),
                seeded,
            )
        )
    columns = ("server", "title", "tools", "reads", "writes", "rows")
    if json:
        terminal.as_json([dict(zip(columns, row, strict=True)) for row in rows])
        return
    terminal.table(columns, rows)
    terminal.line(f"{len(rows)} servers, {sum(row[2] for row in rows)} tools")


@servers_app.command("show", epilog=_example("provegym servers show banking"))
def servers_show(
    name: Annotated[str, typer.Argument(help="A server of `provegym servers list`.")],
    json: Json = False,
) -> None:
    """Show a server's tools: what a model is told (whole with --json), and the tables behind."""
    from provegym import servers, worlds

    server = servers.load(name)
    if json:
        terminal.as_json([tool.schema for tool in server.tools.values()])
        return
    tools = [
        (tool.name, tool.effect, ", ".join(_parameters(tool)), tool.description)
        for tool in server.tools.values()
    ]
    terminal.table(("tool", "effect", "parameters", "description"), tools, server.title)
    tables = worlds.world((name,), 0).templates.values()
    terminal.table(("table", "rows"), [(table.name, len(table.rows)) for table in tables])


def _parameters(tool: Tool) -> Iterator[str]:
    """Names of a tool's parameters, optional ones in brackets."""
    for parameter in tool.parameters:
        yield parameter.name if parameter.name in tool.required else f"[{parameter.name}]"


@app.command(
    epilog=_example(
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
    temperature: Annotated[
        float | None, typer.Option(min=0, help="Of a model; the endpoint's own if not given.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Most tokens of one message of a model.")
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="Episodes of each task.")] = 1,
    concurrency: Annotated[int, typer.Option(min=1, help="Episodes at once.")] = 16,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Let a policy play tasks on live sessions; a killed rollout goes on where it stopped."""
    from provegym import worlds
    from provegym.llm.factory import policy_factory
    from provegym.rollout.run import load_tasks, rollout_file

    sampling = {"base_url": base_url, "temperature": temperature, "max_tokens": max_tokens}
    content = worlds.content(load_tasks(tasks))
    make_policy = policy_factory(
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
            settings=sampling,
            world=content,
            progress=advance,
        )
    if json:
        terminal.as_json(summary)
        return
    terminal.table(("outcome", "calls"), summary.outcomes.items(), f"{policy}: {out}")
    terminal.table(("stop reason", "episodes"), summary.stop_reasons.items())
    terminal.line(f"{summary.traces} traces, {summary.masked} masked, {summary.calls} calls")


@app.command(
    epilog=_example(
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

    _show_scores(score_files(tasks, traces, preset, out, explain), out, json)


@app.command(
    epilog=_example(
        "provegym rescore --tasks tasks.jsonl --traces traces.jsonl --preset strict --out s.jsonl"
    )
)
def rescore(
    tasks: Tasks, traces: Traces, out: ScoresOut, preset: Preset = "paper", json: Json = False
) -> None:
    """Replay stored calls on live sessions, without a model, and score what comes of them.

    The replayed traces are written beside the scores.
    """
    from provegym import worlds
    from provegym.rollout.rescore import rescore_file
    from provegym.rollout.run import load_tasks
    from provegym.scoring import score_files

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
    _show_scores(score_files(tasks, replayed, preset, out), out, json)
    if not json:
        same, total = _agreement(traces, replayed)
        terminal.line(f"{same} of {total} traces gave the same results again: {replayed}")


def _agreement(traces: Path, replayed: Path) -> tuple[int, int]:
    """How many traces have the same calls, outcomes, results and changes in both files, of all."""
    from provegym.records import read
    from provegym.types import Trace

    pairs = zip(read(traces, Trace), read(replayed, Trace), strict=True)
    same = [a.calls == b.calls and a.final_changes == b.final_changes for a, b in pairs]
    return sum(same), len(same)


def _show_scores(summary: ScoreSummary, out: Path, json: bool) -> None:
    if json:
        terminal.as_json(summary)
        return
    rows = [(name, "-" if mean is None else mean) for name, mean in summary.means.items()]
    terminal.table(("component", "mean"), rows, f"{summary.preset}: {out}")
    terminal.line(f"{summary.count} traces, {summary.masked} masked")
    if summary.explained:
        terminal.line(f"reasons: {summary.explained}")
