"""Arguments and options that several verbs of the command line share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provegym.types import MOST_AT_ONCE, MOST_SEED, MOST_TRIALS

MOST_TEMPERATURE, MOST_TOKENS, A_MONTH = 100, 2**31 - 1, 30 * 86_400
"""Beyond these a number is a slip, or infinite; tokens are those of one message, times seconds."""

Tasks = Annotated[Path, typer.Option(help="Tasks with their ground truth (JSON Lines).")]
Traces = Annotated[Path, typer.Option(help="Traces of any policy on them (JSON Lines).")]
ScoresOut = Annotated[Path, typer.Option("--out", help="Where the scores go (JSON Lines).")]
Preset = Annotated[
    str, typer.Option(help="paper, strict, an ablation like -coverage, or paper,alpha=0.3.")
]
Trials = Annotated[int, typer.Option(min=1, max=MOST_TRIALS, help="Episodes of each task.")]
Concurrency = Annotated[
    int, typer.Option(min=1, max=MOST_AT_ONCE, help="Episodes, or conversations, at once.")
]
Seed = Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Root of all randomness.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="Override one setting; may be repeated.")
]
Temperature = Annotated[
    float | None,
    typer.Option(min=0, max=MOST_TEMPERATURE, help="Of a model; the endpoint's own if not given."),
]
MostTokens = Annotated[
    int | None, typer.Option(min=1, max=MOST_TOKENS, help="Most tokens of one message of a model.")
]
Servers = Annotated[
    str | None, typer.Option(help="Names with commas between; the whole library if not given.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON for a program.")]


def example(*lines: str) -> str:
    """The end of a verb's help, kept as it is by the formatter."""
    return "\b\n" + "\n".join(["Example:", *(f"  {line}" for line in lines)])
