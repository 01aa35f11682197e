"""Short talks of the SDK's client with a gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from itertools import chain
from typing import Any, TypeVar

from mcp import Client, types

from provegym.gateway.rooms import Room, open_world
from provegym.servers import SERVERS
from tests.gateway.house import MODERN, House

T = TypeVar("T")
LIBRARY = tuple(SERVERS)


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
