"""The group `provegym train`: on this machine's processor, or through verl on GPUs."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from provegym import terminal
from provegym.errors import UnknownName
from provegym.options import Json, Settings, Tasks, example

if TYPE_CHECKING:
    from provegym.train.verl.settings import Settings as VerlSettings

LAPTOP = "laptop"
"""What is meant where no trainer is named: `provegym train CONFIG` trains here."""
WARMSTART_EXAMPLES = example("provegym warmstart configs/warmstart.toml --out adapters/mine")


class Group(TyperGroup):
    """A group whose first command may go without its name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name in where the first word is no command."""
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = [LAPTOP, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=Group,
    help="Train a policy: `provegym train CONFIG --tasks FILE` here, `train verl CONFIG` on GPUs.",
    rich_markup_mode=None,
)


@app.command(
    epilog=example(
        "provegym train verl configs/paper/qwen3-4b.toml --dry-run",
        "provegym train verl configs/paper/qwen3-4b.toml --set run.tasks=tasks.jsonl",
    )
)
def verl(
    config: Annotated[Path, typer.Argument(help="A run's settings (TOML), see docs/gpu.md.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print verl's command, start nothing.")
    ] = False,
    settings: Settings = None,
    json: Json = False,
) -> None:
    """Train by GRPO through verl, with live sessions; goes on at the last checkpoint.

    Ends with the trained policy in Hugging Face's format.
    """
    from provegym.train.verl import launch
    from provegym.train.verl.settings import load

    told = load(config, settings or ())
    if dry_run:
        _show(told)
        return
    trained = launch.launch(told, terminal.progress, terminal.note)
    if json:
        terminal.as_json(trained)
    else:
        lost = f"{trained.lost} of {trained.episodes} episodes were lost to faults of ours"
        terminal.line(f"{lost}, and not learnt from")
        terminal.line(f"policy after {trained.steps} steps: {trained.policy}")


def _show(settings: VerlSettings) -> None:
    """The command, a setting a line, and what would keep it from starting here."""
    from provegym.train.verl import checks, command
    from provegym.train.verl.device import environment

    before = [f"{key}={shlex.quote(value)}" for key, value in environment(settings).items()]
    program, *words = command.command(settings)
    start = " ".join([*before, shlex.quote(program), *words[:2]])
    terminal.line(" \\\n  ".join([start, *map(shlex.quote, words[2:])]))
    for problem in checks.problems(settings):
        terminal.note(f"cannot start here: {problem}")


@app.command(
    LAPTOP,
    epilog=example(
        "provegym train configs/demo.toml --tasks tasks.jsonl --set run.out=runs/mine",
        "provegym train laptop configs/demo.toml --tasks tasks.jsonl --method sft",
    ),
)
def laptop(
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
    learning.see_start(told)
    start = learning.starting_policy(told, loaded, terminal.progress)
    if method == "grpo":
        trained = learning.optimize(told, loaded, start, terminal.progress)
    else:
        out = told.run.folder / "sft"
        trained = learning.baseline(told, loaded, start, out, terminal.progress)
    terminal.line(f"policy: {trained}")


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
