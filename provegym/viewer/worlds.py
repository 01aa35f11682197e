"""Worlds as the page shows them: servers, tools, tables, rows and the dependency graph."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from provegym import servers
from provegym.errors import UnknownName
from provegym.graph.build import build
from provegym.graph.edges import Graph
from provegym.graph.store import load
from provegym.world.server import Server
from provegym.world.session import Session
from provegym.world.tool import Tool

PAGE = 100
"""Rows of a page of a table."""


def listed() -> list[dict[str, Any]]:
    """Every server in a line."""
    return [_line(servers.load(name)) for name in servers.SERVERS]


def _line(server: Server) -> dict[str, Any]:
    tools = server.tools.values()
    return {
        "name": server.name,
        "title": server.title,
        "tools": len(tools),
        "writes": sum(tool.effect == "write" for tool in tools),
        "tables": len(server.state.tables()),
        "outside": server.outside,
    }


def server(name: str, seed: int) -> dict[str, Any]:
    """One server whole, with the sizes of its tables in a world. Raises `UnknownName`."""
    found = servers.load(name)
    session = servers.world(seed, (name,)).open()
    return {
        **_line(found),
        "tool_list": [tool(each) for each in found.tools.values()],
        "table_list": list(tables(session)),
        "start": session.now.isoformat(),
        "user": msgspec.to_builtins(session.world.cast.user),
    }


def tool(found: Tool) -> dict[str, Any]:
    """A tool with its schema."""
    return {
        "name": found.name,
        "effect": found.effect,
        "description": found.description,
        "parameters": found.schema.function.parameters,
        "refuses": list(found.refuses),
        "phrases": list(found.phrases),
    }


def tables(session: Session) -> Iterator[dict[str, Any]]:
    """The tables of a session's servers: name, columns and how many rows there are now."""
    for name, template in session.world.templates.items():
        fields = list(template.row.__struct_fields__)
        yield {"name": name, "fields": fields, "rows": len(session.open_table(name))}


def rows(session: Session, table: str, text: str, offset: int) -> dict[str, Any]:
    """A page of a table's rows that hold a text. Raises `UnknownName` for the table."""
    template = session.world.templates.get(table)
    if template is None:
        raise UnknownName("table", table, list(session.world.templates))
    found = [msgspec.to_builtins(row) for row in session.open_table(table)]
    if text:
        found = [row for row in found if text.lower() in msgspec.json.encode(row).decode().lower()]
    fields = list(template.row.__struct_fields__)
    return {"fields": fields, "total": len(found), "rows": found[offset : offset + PAGE]}


@lru_cache(maxsize=64)
def graph_of(name: str) -> dict[str, Any]:
    """The dependency graph of one server; making it takes about a second. Raises `UnknownName`."""
    return _graph(build([servers.load(name)]))


def graph_at(path: Path) -> dict[str, Any]:
    """The graph of a file. Raises `InputError` where it is none."""
    return _graph(load(path))


def _graph(found: Graph) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(found)
    effects: dict[str, str] = {}
    for name in found.servers:
        if name in servers.SERVERS:
            effects |= {t.name: t.effect for t in servers.load(name).tools.values()}
    return {**told, "effects": effects}
