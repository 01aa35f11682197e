"""The command line: one function a verb, each importing its stage only when it runs.

Bad input ends in one line on standard error and exit code 2, whatever the verb. Our own failures
end in one line and exit code 1, an interrupt in 130.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from provegym import __version__, terminal
from provegym.errors import InputError, ProvegymError

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

Preset = Annotated[
    str, typer.Option(help="paper, strict, an ablation like -coverage, or paper,alpha=0.3.")
]
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


@app.command(
    epilog=_example(
        "provegym score --tasks tasks.jsonl --traces traces.jsonl --preset strict --out s.jsonl"
    )
)
def score(
    tasks: Annotated[Path, typer.Option(help="Tasks with their ground truth (JSON Lines).")],
    traces: Annotated[Path, typer.Option(help="Traces of any policy on them (JSON Lines).")],
    out: Annotated[Path, typer.Option(help="Where the scores go (JSON Lines).")],
    preset: Preset = "paper",
    explain: Annotated[
        bool, typer.Option("--explain", help="Write each call's level, match and equal values too.")
    ] = False,
    json: Json = False,
) -> None:
    """Score traces against their tasks; a pure function that opens no server."""
    from provegym.scoring import score_files

    summary = score_files(tasks, traces, preset, out, explain)
    if json:
        terminal.as_json(summary)
        return
    rows = [(name, "-" if mean is None else mean) for name, mean in summary.means.items()]
    terminal.table(("component", "mean"), rows, f"{summary.preset}: {out}")
    terminal.line(f"{summary.count} traces, {summary.masked} masked")
    if summary.explained:
        terminal.line(f"reasons: {summary.explained}")
