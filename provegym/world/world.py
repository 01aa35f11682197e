"""A world: several servers over one cast, built once a seed and shared by all its sessions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import msgspec

from provegym.seeding import rng
from provegym.world.cast import Cast, cast
from provegym.world.server import Server
from provegym.world.session import Session
from provegym.world.table import Template
from provegym.world.tool import Tool

_encoder = msgspec.json.Encoder(order="sorted")


class Bound(NamedTuple):
    """A tool and the server it belongs to, with what each call needs taken out of both."""

    server: Server
    tool: Tool
    place: str
    """The server's name."""
    decode: Callable[[str | bytes], Any]
    checks: tuple[tuple[int, Callable[[Any], object], Any], ...]
    run: Callable[..., Any]

    @classmethod
    def of(cls, server: Server, tool: Tool) -> Bound:
        """A tool ready to be called."""
        return cls(server, tool, server.name, tool.decoder.decode, tool.checks, tool.run)


class World:
    """The immutable start of an episode: `world.open()` gives a private session of it."""

    def __init__(self, seed: int, servers: Iterable[Server]) -> None:
        self.seed = seed
        self.servers: dict[str, Server] = {s.name: s for s in servers}
        self.cast: Cast = cast(seed)
        self.templates: dict[str, Template[Any]] = {}
        self.tools: dict[str, Bound] = {}
        for server in self.servers.values():
            self.templates.update(templates(server, seed))
            self.tools.update(bound(server))

    def open(self) -> Session:
        """A fresh session at the world's start."""
        return Session(self)

    @cached_property
    def digest(self) -> str:
        """Hash of every row of every server: the identity of the world's content."""
        parts = [content_hash(self.servers[name], self.seed) for name in sorted(self.servers)]
        return hashlib.sha256("".join(parts).encode()).hexdigest()


@lru_cache(maxsize=256)
def bound(server: Server) -> dict[str, Bound]:
    """The server's tools, ready to be called, by name."""
    return {name: Bound.of(server, tool) for name, tool in server.tools.items()}


@lru_cache(maxsize=4096)
def content_hash(server: Server, seed: int) -> str:
    """Hash of every row that one server's seed makes."""
    digest = hashlib.sha256()
    for name, template in sorted(templates(server, seed).items()):
        digest.update(name.encode())
        digest.update(_encoder.encode(list(template.rows.values())))
    return digest.hexdigest()


@lru_cache(maxsize=2560)
def templates(server: Server, seed: int) -> dict[str, Template[Any]]:
    """The seeded tables of one server, named `server.table`.

    So many are kept that a synthesis over a hundred worlds of twenty servers, which comes back to
    each of them many times, makes none of them twice; one takes about 0.4 MB.
    """
    rows = server.seed(cast(seed), rng(seed, "seed", server.name))
    declared = server.state.tables()
    if set(rows) != set(declared):
        raise TypeError(f"{server.name}: seed makes {sorted(rows)}, state has {sorted(declared)}")
    return {
        (full := f"{server.name}.{name}"): Template(full, t.prefix, t.row, rows[name], seed)
        for name, t in declared.items()
    }
