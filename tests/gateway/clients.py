"""The episode through three clients of other people: two in Python, one in TypeScript."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import mcp
from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp import types
from mcp.shared.exceptions import MCPError
from msgspec import Struct

from tests.gateway import nodejs
from tests.gateway.episode import BEFORE, CALLS, Played, Told


class Place(Struct, frozen=True):
    """Where a server is: at a URL, or at the other end of a command's pipes."""

    url: str = ""
    command: tuple[str, ...] = ()
    env: dict[str, str] = {}


def mode_of(protocol: str) -> str:
    """How the clients name an era: by its one version, or as the handshake of old."""
    return "legacy" if protocol == BEFORE else protocol


def sdk(place: Place, protocol: str) -> Played:
    """The official Python SDK's client."""
    command, *args = place.command or ("",)
    stdio = mcp.StdioServerParameters(command=command, args=args, env=place.env)
    made = mcp.Client(place.url or stdio, mode=mode_of(protocol))

    async def play() -> Played:
        async with made as client:
            tools = (await client.list_tools()).tools
            told = await ask(client.call_tool)
            return Played(client.protocol_version, [tool.name for tool in tools], told)

    return anyio.run(play)


def fastmcp(place: Place, protocol: str) -> Played:
    """The client of fastmcp."""
    command, *args = place.command or ("",)
    transport = (
        StreamableHttpTransport(place.url)
        if place.url
        else StdioTransport(command, args, env=place.env, keep_alive=False)
    )
    made: Any = FastClient(transport, mode=mode_of(protocol))

    async def play() -> Played:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(made)
            tools = await client.list_tools()
            told = await ask(client.call_tool_mcp)
            return Played(client.protocol_version, [tool.name for tool in tools], told)

    return anyio.run(play)


def typescript(place: Place, protocol: str) -> Played:
    """The official TypeScript SDK's client, in a process of its own."""
    command, *args = place.command or ("",)
    order = {
        **({"url": place.url} if place.url else {"command": command, "args": args}),
        **{"env": place.env, "mode": mode_of(protocol), "calls": CALLS},
    }
    script = Path(__file__).parent / "node" / "episode.mjs"
    done = nodejs.run("node", str(script), stdin=json.dumps(order))
    assert done.returncode == 0, done.stderr
    return understood(done.stdout)


def old_sdk(place: Place, site: Path) -> Played:
    """The official Python SDK's client of before 2.0, which lies in the folder `site`."""
    order = {"url": place.url, "command": place.command, "env": place.env, "calls": CALLS}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("old_client.py"))],
        env={**os.environ, "PYTHONPATH": str(site)},
        input=json.dumps(order),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return understood(done.stdout)


def understood(text: str) -> Played:
    """What a client in a process of its own wrote."""
    said = json.loads(text)
    told = [
        Told(code=answer["code"])
        if "code" in answer
        else Told(answer["text"], answer["structured"], answer["isError"])
        for answer in said["answers"]
    ]
    return Played(said["protocol"], said["tools"], told)


CLIENTS: dict[str, Callable[[Place, str], Played]] = {
    "sdk": sdk,
    "fastmcp": fastmcp,
    "typescript": typescript,
}


async def ask(call: Callable[[str, dict[str, Any]], Awaitable[Any]]) -> list[Told]:
    """Make every call of the episode."""
    told = []
    for name, arguments in CALLS:
        try:
            told.append(heard(await call(name, arguments)))
        except MCPError as error:
            told.append(Told(code=error.error.code))
    return told


def heard(result: types.CallToolResult) -> Told:
    """A result as it came in."""
    assert [block.type for block in result.content] == ["text"]
    text = getattr(result.content[0], "text", "")
    return Told(text, result.structured_content, bool(result.is_error))
