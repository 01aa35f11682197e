"""What a call over HTTP costs the server, beside the SDK's bare low-level server and fastmcp.

Run `python -m benchmarks.gateway`, or `provegym bench gateway`.

Each peer is a process of its own around the same call of the engine, which gives half a kilobyte:
the payees of a bank's customer. 64 connections keep a call each in flight. The figure is the CPU
time of the server's process a call (user and system), which holds on a machine that other work
shares; peers are measured in turns, and the least of several rounds counts.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

Row = tuple[str, float, float | None, str]

CLIENTS = 64
ROUNDS, CALLS = 4, 2048
SHARE = 1.15
"""Of the bare server's cost: the most that a call may cost."""
OPEN_TARGET, BATCH_TARGET = 200.0, 10.0
"""Micro-seconds to open and close a session, and of a call in a batch."""
BATCH = 256
"""Calls of a batch, over `CLIENTS` sessions."""
MODERN, LEGACY = "2026-07-28", "2025-11-25"
TOOL = "list_payees"
SEED = 7

ids = count(1)
_encode = msgspec.json.Encoder().encode


# -- the peers, each in a process of its own ---------------------------------------------------


def serve(peer: str) -> None:
    """Be a peer: print the port, then serve until killed."""
    from provegym.gateway.listening import listen, runner, settle
    from provegym.gateway.settings import Settings

    settings = Settings(port=0)
    app = PEERS[peer](settings)
    with listen(settings.host, settings.port) as listening:
        sys.stdout.write(f"{listening.getsockname()[1]}\n")
        sys.stdout.flush()
        settle()
        runner(app).run(sockets=[listening])


def gateway(settings: Any) -> Any:
    """Our own app."""
    from provegym.gateway import http

    return http.app(http.new_rooms(settings), settings)


def bare(settings: Any) -> Any:
    """The SDK's low-level server with one tool, as its own documentation sets it up."""
    from mcp import types
    from mcp.server import Server

    tool = types.Tool(name=TOOL, description="List payees.", input_schema={"type": "object"})
    session = bank()

    async def tools(_: object, __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool])

    async def call(_: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        result = session.call(params.name, params.arguments or {})
        text = types.TextContent(type="text", text=result.json().decode())
        return types.CallToolResult(content=[text], structured_content=result.builtins())

    server = Server[Any](
        "bare",
        on_list_tools=tools,
        on_call_tool=call,
        get_tool_input_schema=lambda _: tool.input_schema,
    )
    return server.streamable_http_app(json_response=True)


def fastmcp(settings: Any) -> Any:
    """A server of fastmcp with one tool."""
    from fastmcp import FastMCP

    session = bank()
    server = FastMCP("bare")

    async def list_payees() -> dict[str, Any]:
        value: dict[str, Any] = session.call(TOOL, {}).builtins()
        return value

    server.tool(list_payees)
    return server.http_app(json_response=True)


def has_fastmcp() -> bool:
    """Whether it is installed with its server, which it does not have to be."""
    try:
        from fastmcp import FastMCP
    except ImportError:
        return False
    return FastMCP is not None


PEERS: dict[str, Callable[[Any], Any]] = {"gateway": gateway, "bare": bare, "fastmcp": fastmcp}


def bank() -> Any:
    """The session that a peer without sessions calls."""
    from provegym.gateway.rooms import open_world

    return open_world(SEED, ("banking",))


class Peer(Struct):
    """A running peer."""

    port: int
    pid: int

    def seconds(self) -> float:
        """CPU time of the process's one busy thread so far, user and system."""
        with open(f"/proc/{self.pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e9


@contextmanager
def running(peer: str) -> Iterator[Peer]:
    """A peer for as long as it is measured."""
    command = [sys.executable, "-m", "benchmarks.gateway", "serve", peer]
    root = Path(__file__).parents[1]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root)
    assert process.stdout is not None
    try:
        yield Peer(int(process.stdout.readline()), process.pid)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


# -- the client --------------------------------------------------------------------------------


class Connection:
    """A connection of HTTP/1.1 that is kept, with no more to it than is needed."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def open(self) -> Connection:
        """Connect."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    def close(self) -> None:
        """Hang up."""
        self._writer.close()

    async def ask(self, request: bytes) -> tuple[bytes, bytes]:
        """Head and body of the answer."""
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"content-length:")[2].partition(b"\r")[0]
        return head, await self._reader.readexactly(int(length or 0))


def request(path: str, body: bytes, method: str = "POST", headers: str = "") -> bytes:
    """A request as bytes."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost:1\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n{headers}"
    )
    return f"{head}\r\n".encode() + body


def modern(path: str) -> bytes:
    """A call as MCP 2026-07-28 has it."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": TOOL, "arguments": {}, "_meta": meta}
    told = f"MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: {TOOL}\r\n"
    return request(path, rpc("tools/call", params), headers=told)


def rpc(method: str, params: dict[str, Any]) -> bytes:
    """A request of JSON-RPC."""
    return _encode({"jsonrpc": "2.0", "id": next(ids), "method": method, "params": params})


async def connect_legacy(connection: Connection, path: str) -> str:
    """Headers of a connection of MCP 2025-11-25 that was just made."""
    client = {"name": "benchmark", "version": "1"}
    hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client}
    head, _ = await connection.ask(request(path, rpc("initialize", hello)))
    session = head.partition(b"mcp-session-id:")[2].partition(b"\r")[0].strip().decode()
    told = f"Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {LEGACY}\r\n"
    note = _encode({"jsonrpc": "2.0", "method": "notifications/initialized"})
    await connection.ask(request(path, note, headers=told))
    return told


async def open_session(connection: Connection, servers: tuple[str, ...]) -> str:
    """The id of a new session."""
    body = _encode({"seed": SEED, "servers": servers})
    _, answer = await connection.ask(request("/v1/sessions", body))
    session: str = msgspec.json.decode(answer)["id"]
    return session


# -- what is measured --------------------------------------------------------------------------


class Case(Struct):
    """Something that is asked of a peer over many connections."""

    name: str
    peer: Peer
    make: Callable[[int], bytes]
    """The next request of a connection."""
    calls: int = 1
    """Calls in a request."""
    ask: Callable[[Connection, int], Any] | None = None
    """In place of sending what `make` gives."""


async def cost(case: Case, requests: int) -> float:
    """Micro-seconds of the server a call."""
    connections = [await Connection(case.peer.port).open() for _ in range(CLIENTS)]

    async def work(number: int) -> None:
        for _ in range(requests // CLIENTS):
            if case.ask:
                await case.ask(connections[number], number)
                continue
            head, body = await connections[number].ask(case.make(number))
            if b" 200 " not in head[:15] or b"payees" not in body:
                raise ValueError(f"{case.name}: {head!r} {body[:500]!r}")

    await asyncio.gather(*map(work, range(CLIENTS)))
    begin = case.peer.seconds()
    await asyncio.gather(*map(work, range(CLIENTS)))
    taken = case.peer.seconds() - begin
    for connection in connections:
        connection.close()
    return 1e6 * taken / (requests // CLIENTS * CLIENTS * case.calls)


async def legacy_case(name: str, peer: Peer, paths: list[str]) -> Case:
    """Calls of 2025-11-25, each connection with a session of the protocol's own."""
    connection = await Connection(peer.port).open()
    told = [await connect_legacy(connection, path) for path in paths]
    connection.close()

    def make(number: int) -> bytes:
        body = rpc("tools/call", {"name": TOOL, "arguments": {}})
        return request(paths[number], body, headers=told[number])

    return Case(name, peer, make)


async def cases(peers: dict[str, Peer]) -> list[Case]:
    """Everything that is measured of the peers that run."""
    from provegym.servers import SERVERS

    ours = peers["gateway"]
    connection = await Connection(ours.port).open()
    few = [await open_session(connection, ("banking",)) for _ in range(CLIENTS)]
    every = [await open_session(connection, tuple(SERVERS)) for _ in range(CLIENTS)]
    connection.close()
    paths = [f"/s/{session}/mcp" for session in few]
    whole = [f"/s/{session}/mcp" for session in every]
    others = [
        Case(f"{name}, a call", peer, lambda _: modern("/mcp"))
        for name, peer in peers.items()
        if peer is not ours
    ]
    batch = _encode({"calls": [{"session": few[i % CLIENTS], "name": TOOL} for i in range(BATCH)]})
    return [
        *others,
        Case("gateway, a call", ours, lambda number: modern(paths[number])),
        Case("gateway, a call of a session of all tools", ours, lambda n: modern(whole[n])),
        await legacy_case("bare, a call of 2025-11-25", peers["bare"], ["/mcp"] * CLIENTS),
        await legacy_case("gateway, a call of 2025-11-25", ours, paths),
        Case("gateway, open and close a session", ours, lambda _: b"", ask=open_and_close),
        Case("gateway, a call in a batch", ours, lambda _: request("/v1/calls", batch), BATCH),
    ]


async def open_and_close(connection: Connection, _: int) -> None:
    """Open a session and close it."""
    session = await open_session(connection, ("banking",))
    head, _body = await connection.ask(request(f"/v1/sessions/{session}", b"", "DELETE"))
    assert b" 20" in head[:15], head


async def rounds(peers: dict[str, Peer], calls: int, repeats: int) -> dict[str, float]:
    """The least cost of each case, measured in turns."""
    found = await cases(peers)
    least: dict[str, float] = {}
    for _ in range(repeats):
        for case in found:
            value = await cost(case, max(CLIENTS, calls // case.calls))
            least[case.name] = min(value, least.get(case.name, value))
    return least


def measure(calls: int = CALLS, repeats: int = ROUNDS) -> list[Row]:
    """(what, value, target or None, unit) of everything in this file."""
    names = [name for name in PEERS if name != "fastmcp" or has_fastmcp()]
    with ExitStack() as stack:
        peers = {name: stack.enter_context(running(name)) for name in names}
        found = asyncio.run(rounds(peers, calls, repeats))
    targets = {
        "gateway, a call": SHARE * found["bare, a call"],
        "gateway, a call of a session of all tools": SHARE * found["bare, a call"],
        "gateway, a call of 2025-11-25": SHARE * found["bare, a call of 2025-11-25"],
        "gateway, open and close a session": OPEN_TARGET,
        "gateway, a call in a batch": BATCH_TARGET,
    }
    return [(name, value, targets.get(name), "us") for name, value in found.items()]


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2])
    else:
        for what, value, target, unit in measure():
            aim = f"at most {target:,.0f} {unit}" if target else ""
            print(f"{what:45} {value:10,.1f} {unit}  {aim}")
