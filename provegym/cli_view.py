"""The verb `provegym view`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provegym import terminal
from provegym.options import example

EXAMPLES = example("provegym view runs/demo", "provegym view . --port 9000")


def view(
    folder: Annotated[
        Path, typer.Argument(help="Folder of a run, or any with tasks and traces in or below it.")
    ] = Path(),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any.")] = 8766,
) -> None:
    """Look at worlds, tasks, traces and runs in a browser; a server for this machine alone."""
    from provegym.gateway.listening import listen, runner, url_of
    from provegym.gateway.settings import Settings
    from provegym.viewer.app import app

    settings = Settings(port=port)
    served = app(folder, settings)
    with listen(settings.host, settings.port) as listening:
        terminal.note(f"look at {url_of(settings, listening)}")
        runner(served).run(sockets=[listening])
