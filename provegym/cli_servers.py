"""The verbs of `provegym servers`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provegym import tables, terminal
from provegym.options import Json, Seed, example

app = typer.Typer(help="The library of tool servers.", rich_markup_mode=None)


@app.command("list", epilog=example("provegym servers list"))
def list_all(json: Json = False) -> None:
    """List the servers: their tools, entities, rows in a world, and about how many tokens it takes
    to show a model all tools.
    """
    from provegym.servers import usable
    from provegym.servers.catalog import COLUMNS, overview

    rows = overview(usable(terminal.note))
    if json:
        terminal.as_json([dict(zip(COLUMNS, row, strict=True)) for row in rows])
        return
    terminal.table(COLUMNS, rows)
    terminal.line(f"{len(rows)} servers, {sum(row[2] for row in rows)} tools")


@app.command(
    "show",
    epilog=example("provegym servers show banking", "provegym servers show banking pay_payee"),
)
def show(
    name: Annotated[str, typer.Argument(help="A server of `provegym servers list`.")],
    tool: Annotated[str | None, typer.Argument(help="One of its tools.")] = None,
    json: Json = False,
) -> None:
    """Show a server's tools: what a model is told (whole with --json), and the tables behind.

    With TOOL, show all about one: its schema, how people ask for it, a call that is accepted and
    one that is refused, and what may come before and after it.
    """
    from provegym import servers

    server = servers.load(name)
    if tool is not None:
        from provegym.showing import shown

        found = shown(server, tool)
        if json:
            terminal.as_json(found)
        else:
            tables.show_tool(found)
        return
    if json:
        terminal.as_json([tool.schema for tool in server.tools.values()])
        return
    tables.show_server(server, servers.world(0, (name,)))


@app.command("check", epilog=example("provegym servers check banking shopping"))
def check_contract(
    names: Annotated[list[str] | None, typer.Argument(help="All servers if not given.")] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Hold servers to the contract that every server must satisfy; exits with 1 if one fails."""
    from provegym import servers as library
    from provegym.errors import InputError
    from provegym.world.contract import check

    chosen = [library.load(name) for name in names or library.library()]
    outside = [server.name for server in chosen if server.outside]
    if outside:
        raise InputError(
            f"{outside[0]} runs outside: the contract is for servers of the library; the "
            "certificates of its tasks say how far it keeps its word"
        )
    reports = []
    with terminal.progress("check") as advance:
        for server in chosen:
            reports.append(check(server, seed))
            advance(len(reports), len(chosen))
    if json:
        terminal.as_json(reports)
    else:
        tables.show_contract(reports)
    if not all(report.passed for report in reports):
        raise typer.Exit(1)


@app.command("play", epilog=example("provegym servers play banking --seed 7"))
def play(
    names: Annotated[list[str], typer.Argument(help="One server, or several over one cast.")],
    seed: Seed = 0,
) -> None:
    """Call tools by hand on a live session: see what changes, undo, fork. Reads standard input."""
    from provegym import servers
    from provegym.play import Prompt

    Prompt(servers.world(seed, tuple(names))).cmdloop()


@app.command("document", epilog=example("provegym servers document --out docs/servers.md"))
def document(
    out: Annotated[Path, typer.Option(help="The page to write (Markdown).")],
) -> None:
    """Write the page that lists every server with its tables, tools and refusals."""
    from provegym.records import write_atomic
    from provegym.servers.catalog import markdown

    write_atomic(out, [line.encode() for line in markdown().splitlines()])
    terminal.line(str(out))
