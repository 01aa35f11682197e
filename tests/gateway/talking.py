"""Short talks with a gateway, of the SDK's client and raw ones, and servers of other people."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch
from urllib.parse import urlsplit

from mcp import Client, types
from msgspec.structs import replace

from provegym.gateway.external import settings
from provegym.gateway.external.places import register
from provegym.gateway.external.settings import External
from provegym.gateway.rooms import Room, open_world
from provegym.servers import SERVERS, world
from provegym.world.session import Session
from tests.gateway.house import MODERN, House

T = TypeVar("T")
LIBRARY = tuple(SERVERS)
"""Those of the library, whatever is registered later."""
DESK = Path(__file__).with_name("external") / "desk.py"
TOLD = External(
    command=f"{sys.executable} {DESK} --plain",
    reset="start_over",
    snapshot="whole_desk",
    volatile=("id",),
    probe=False,
)
MANY = replace(TOLD, command=f"{TOLD.command} --many 150")


@contextmanager
def registered(folder: Path, **told: External) -> Iterator[None]:
    """Servers of other people, by name, are known for a while."""
    text = "".join(settings.table(name, each) for name, each in told.items())
    (folder / settings.FILE).write_text(text)
    with patch.dict(SERVERS):
        register(folder)
        yield


@contextmanager
def two_desks(folder: Path) -> Iterator[Session]:
    """A session of two servers whose tools have the same names."""
    with registered(folder, one=TOLD, two=TOLD):
        session = world(0, ("one", "two")).open()
        yield session
        session.close()


def raw_call(
    gateway: House, path: str, connection: str, name: str, id: int, arguments: dict[str, Any]
) -> Any:
    """The whole answer to a call, over a connection of 2025-11-25 if there is one."""
    if connection:
        return gateway.call(path, connection, name, id, arguments).json()
    return gateway.ask(path, "tools/call", {"name": name, "arguments": arguments}, id).json()


def ask_and_leave(gateway: House, path: str, body: bytes) -> None:
    """Make a request, and go once it is answered, without a look at what the answer is."""
    told = f"mcp-session-id: {gateway.connect(path)}\r\ncontent-type: application/json\r\n"
    told += "accept: application/json, text/event-stream\r\n"
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\n{told}content-length: {len(body)}\r\n\r\n"
    place = urlsplit(gateway.url)
    with socket.create_connection((place.hostname, place.port), timeout=30) as lost:
        lost.sendall(head.encode() + body)
        assert lost.recv(1, socket.MSG_PEEK)


def talk(gateway: House, path: str, era: str, say: Callable[[Client], Awaitable[T]]) -> T:
    """What one client of the SDK is told."""

    async def converse() -> T:
        async with Client(f"{gateway.url}{path}", mode=era) as client:
            return await say(client)

    return asyncio.run(converse())


def called(
    gateway: House, path: str, era: str, name: str, /, **arguments: Any
) -> types.CallToolResult:
    return talk(gateway, path, era, lambda client: client.call_tool(name, arguments))


def listed(gateway: House, path: str, era: str = MODERN) -> list[types.Tool]:
    return talk(gateway, path, era, lambda client: client.list_tools()).tools


def everything(gateway: House) -> str:
    """The path of a session of all servers."""
    return gateway.move_in(Room(open_world(7, LIBRARY)))


def walk(value: Any) -> Iterator[Any]:
    """A JSON value and all in it."""
    yield value
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        yield from chain.from_iterable(map(walk, inner))


def leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        yield from chain.from_iterable(map(leaves, error.exceptions))
    else:
        yield error
