"""The verb `add`: an external MCP server becomes a world."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from provegym import terminal
from provegym.options import Json, example

EXAMPLES = example(
    'provegym add memory --command "npx -y @modelcontextprotocol/server-memory" \\',
    "    --env MEMORY_FILE_PATH={folder}/memory.jsonl --files world --reset files \\",
    "    --snapshot read_graph",
    "provegym add shop --url http://127.0.0.1:8000/mcp --token SHOP_TOKEN --reset start_over",
)


def add(
    name: Annotated[str, typer.Argument(help="What to call it: a-z, 0-9 and _.")],
    command: Annotated[str, typer.Option(help="What starts it over stdio.")] = "",
    url: Annotated[str, typer.Option(help="Where it listens over Streamable HTTP.")] = "",
    files: Annotated[str, typer.Option(help="A folder that each session starts with.")] = "",
    env: Annotated[
        list[str] | None, typer.Option(help="A variable of the process: NAME=VALUE.")
    ] = None,
    forward: Annotated[
        list[str] | None, typer.Option(help="Name of a variable of yours to pass on.")
    ] = None,
    token: Annotated[str, typer.Option(help="Name of the variable with the URL's token.")] = "",
    reset: Annotated[str, typer.Option(help="restart, files, or a tool of its own.")] = "restart",
    snapshot: Annotated[str, typer.Option(help="A tool that shows the whole state.")] = "",
    volatile: Annotated[
        list[str] | None, typer.Option(help="A field that differs from run to run.")
    ] = None,
    seconds: Annotated[
        float, typer.Option(help="Longest that a call, or a start, may take.")
    ] = 30.0,
    hide: Annotated[list[str] | None, typer.Option(help="A tool to show to nobody.")] = None,
    probe: Annotated[
        bool, typer.Option("--probe/--no-probe", help="Call tools to learn of them, or only list.")
    ] = True,
    json: Json = False,
) -> None:
    """Take in an MCP server: start it, list its tools, find out which of them write.

    Its settings go into provegym.toml in this folder, and what was found out into .provegym/;
    from then on every verb that takes --servers takes it. In the command and its variables,
    `{folder}` stands for a private folder of each session and `{home}` for this one.
    """
    from provegym.gateway.external.adding import add as take_in
    from provegym.gateway.external.settings import External

    told = External(
        command=command,
        url=url,
        files=files,
        env=_pairs(env or ()),
        forward=tuple(forward or ()),
        token=token,
        reset=reset,
        snapshot=snapshot,
        volatile=tuple(volatile or ()),
        seconds=seconds,
        probe=probe,
        hide=tuple(hide or ()),
    )
    learned = take_in(
        Path.cwd(), name, told, terminal.note if sys.stderr.isatty() else lambda text: None
    )
    if json:
        terminal.as_json(learned)
        return
    rows = [(t.name, t.effect, t.why, ", ".join(t.schema["properties"])) for t in learned.tools]
    terminal.table(("tool", "effect", "by", "parameters"), rows, learned.title)
    for note in learned.notes:
        terminal.line(note)
    terminal.line(f"{name}: {len(rows)} tools; provegym.toml has its settings")


def _pairs(told: list[str] | tuple[str, ...]) -> dict[str, str]:
    from provegym.errors import InputError

    for pair in told:
        if "=" not in pair:
            raise InputError(f"--env {pair!r} is not NAME=VALUE")
    return dict(pair.split("=", 1) for pair in told)
