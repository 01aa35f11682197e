"""The verbs of `provegym dataset`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provegym import terminal
from provegym.options import Json, example

app = typer.Typer(help="Files of tasks, counted.", rich_markup_mode=None)


@app.callback()
def dataset() -> None:
    """Keep `stats` a verb of its own while the group has only one."""


@app.command("stats", epilog=example("provegym dataset stats runs/demo/train/tasks.jsonl"))
def show_stats(
    tasks: Annotated[Path, typer.Argument(help="Tasks (JSON Lines).")], json: Json = False
) -> None:
    """Count tasks by server, tool, kind, length and perturbation, and how recoveries went."""
    from provegym import servers
    from provegym.dataset.stats import stats

    found = stats(tasks, {name: servers.load(name).tools for name in servers.SERVERS})
    if json:
        terminal.as_json(found)
        return
    for group in ("servers", "kinds", "information", "calls", "turns", "perturbations"):
        terminal.table((group, "tasks"), getattr(found, group).items())
    for group in ("tools", "recoveries", "refusals"):
        terminal.table((group, "calls"), getattr(found, group).items())
    unused = [(name, ", ".join(tools)) for name, tools in found.never_called.items() if tools]
    if unused:
        terminal.table(("server", "tools never called"), unused)
    terminal.line(f"{found.tasks} tasks")
