"""The library as one page of Markdown, written from the code (`docs/servers.md`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from provegym.servers import SERVERS, library, load, world
from provegym.world.server import Server

HEAD = """# The library of servers

{servers} servers with {tools} tools. Entities are kinds of rows (tables); rows are counted in the
world of seed 0. Tokens are an estimate of what it takes to show a model all tools of the server:
four characters of their schemas each. Parameters in brackets are optional; refusals are the codes
that depend on the state of the world. `provegym servers show NAME` tells what a model is told,
`provegym servers show NAME TOOL` all about one tool, and `provegym servers play NAME` lets you try.

Written from the code by `provegym servers document --out docs/servers.md`; do not edit.
"""


COLUMNS = ("server", "title", "tools", "reads", "writes", "entities", "rows", "estimated_tokens")

CHARACTERS = 4
"""Of a schema's JSON to a token. A rule of thumb that reads low: SmolLM2's byte-pair encoding
makes a token of 3.5 to 3.9 characters of these schemas."""


def schema_tokens(server: Server) -> int:
    """About how many tokens the schemas of all the server's tools take, from their length."""
    text = msgspec.json.encode([tool.schema for tool in server.tools.values()]).decode()
    return round(len(text) / CHARACTERS)


def overview(names: Iterable[str] = ()) -> list[tuple[str, str, int, int, int, int, int, int]]:
    """A row for each server (by default all, also those outside), as `COLUMNS` say; rows are
    counted in the world of seed 0.
    """
    rows = []
    for name in names or SERVERS:
        server = load(name)
        effects = [tool.effect for tool in server.tools.values()]
        counts = (len(effects), effects.count("read"), effects.count("write"))
        sizes = _sizes(server)
        held = (len(sizes), sum(sizes.values()), schema_tokens(server))
        rows.append((name, server.title, *counts, *held))
    return rows


def markdown() -> str:
    """All servers: an overview, then the tables and tools of each."""
    chosen = [load(name) for name in library()]
    tools = sum(len(server.tools) for server in chosen)
    head = HEAD.format(servers=len(chosen), tools=tools)
    sections = [_overview(), *(_section(server) for server in chosen)]
    return "\n".join([head, *sections])


def _overview() -> str:
    rows = [(f"[{name}](#{name})", *others) for name, *others in overview(library())]
    heads = (column.replace("_", " ") for column in COLUMNS[2:])
    return _table(("server", "what it is", *heads), rows)


def _section(server: Server) -> str:
    sizes = ", ".join(f"{name} {size}" for name, size in _sizes(server).items())
    tools = [
        (f"`{tool.name}`", tool.effect, tool.usage, tool.description, ", ".join(tool.refuses))
        for tool in server.tools.values()
    ]
    listed = _table(("tool", "effect", "parameters", "description", "refusals"), tools)
    return f"## {server.name}\n\n{server.title}. Rows: {sizes}.\n\n{listed}"


def _sizes(server: Server) -> dict[str, int]:
    tables = world(0, (server.name,)).templates
    return {name.partition(".")[2] or name: len(table.rows) for name, table in tables.items()}


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    def lines() -> Iterator[str]:
        yield from (_line(heads), _line(["---"] * len(heads)))
        yield from map(_line, rows)

    return "\n".join(lines()) + "\n"


def _line(cells: Sequence[object]) -> str:
    texts = (" ".join(str(cell).split()).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(texts)} |".replace("|  |", "| |")
