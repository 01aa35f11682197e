"""The library of tool servers: one folder each, found by name in `SERVERS`."""

from __future__ import annotations

from importlib import import_module

from provegym.errors import UnknownName
from provegym.world.server import Server

SERVERS: dict[str, str] = {
    "banking": "provegym.servers.banking",
    "calendar": "provegym.servers.calendar",
    "filesystem": "provegym.servers.filesystem",
    "shopping": "provegym.servers.shopping",
}
"""Where each server lives; a module there holds `SERVER`."""


def load(name: str) -> Server:
    """The server of that name; UnknownName lists the valid ones."""
    if name not in SERVERS:
        raise UnknownName("server", name, sorted(SERVERS))
    server: Server = import_module(SERVERS[name]).SERVER
    return server
