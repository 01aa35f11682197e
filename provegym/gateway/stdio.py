"""The gateway over stdin and stdout: one process, one client, one private room.

A message is a line of UTF-8, whatever the locale (MCP 2026-07-28, "stdio"). The protocol has the
two pipes to itself: what else is printed in the process goes to stderr.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, BinaryIO

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp import types
from mcp.server import Server
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter

from provegym.gateway import door, face
from provegym.gateway.door import Refusal
from provegym.gateway.http import own_room
from provegym.gateway.rooms import Open, open_world
from provegym.gateway.settings import Settings

CHUNK = 1 << 16


def serve(settings: Settings, open: Open = open_world) -> None:
    """Serve a room of the settings' task or servers until stdin ends.

    Raises `UnknownName` for a server.
    """
    room = own_room(settings, open)
    view = face.View(room)
    try:
        server = face.server(lambda _: view, settings.deadline, settings.max_result)
        anyio.run(run, server, *claim(), settings)
    finally:
        room.close()


def claim() -> tuple[int, BinaryIO]:
    """Take stdin and stdout away from all other code of the process."""
    wire = os.dup(0), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return wire


async def run(server: Server[Any], stdin: int, stdout: BinaryIO, settings: Settings) -> None:
    """Serve one client on two pipes until the first one ends."""
    incoming, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outbox, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    pipe = Pipe(stdin, stdout, settings)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pipe.read, incoming)
        tasks.start_soon(pipe.write, outgoing)
        await server.run(inbox, outbox, server.create_initialization_options())


class Pipe:
    """The two ends of a client, and which of its requests are being answered."""

    def __init__(self, stdin: int, stdout: BinaryIO, settings: Settings) -> None:
        self._stdin, self._stdout = stdin, stdout
        self._settings = settings
        self._in_flight: set[str] = set()
        self._answered = anyio.Event()

    async def read(self, inbox: ObjectSendStream[SessionMessage | Exception]) -> None:
        """Hand on every sound message, and answer the others here, until stdin ends."""
        async with inbox:
            async for line in lines(self._stdin, self._settings.max_body):
                if line.strip():
                    await self._hand_on(line, inbox)
            with anyio.move_on_after(self._settings.deadline):
                while self._in_flight:
                    await self._answered.wait()

    async def _hand_on(
        self, line: bytes, inbox: ObjectSendStream[SessionMessage | Exception]
    ) -> None:
        value = self._refused(line)
        found = door.request_id(value)
        if found is not None and str(found) in self._in_flight:
            value = door.in_flight(found)
        if isinstance(value, Refusal):
            self._put(value.json(found))
            return
        try:
            message = jsonrpc_message_adapter.validate_python(value, by_name=False)
        except ValueError:
            self._put(door.NOT_A_MESSAGE.json(found))
            return
        if found is not None:
            self._in_flight.add(str(found))
        self._forget_cancelled(value)
        await inbox.send(SessionMessage(message))

    def _refused(self, line: bytes) -> Any:
        limit = self._settings.max_body
        if len(line) > limit:
            return Refusal(types.INVALID_REQUEST, f"a message has at most {limit} bytes")
        return door.read(line, self._settings.max_depth)

    def _forget_cancelled(self, value: dict[str, Any]) -> None:
        """A request that the client cancels is not answered any more."""
        if value.get("method") == "notifications/cancelled":
            self._in_flight.discard(str((value.get("params") or {}).get("requestId")))

    async def write(self, outbox: ObjectReceiveStream[SessionMessage]) -> None:
        """Write what the server says."""
        async with outbox:
            async for item in outbox:
                message = item.message
                self._put(message.model_dump_json(by_alias=True, exclude_unset=True).encode())
                if isinstance(message, JSONRPCResponse | JSONRPCError):
                    self._in_flight.discard(str(message.id))
                    self._answered.set()
                    self._answered = anyio.Event()

    def _put(self, line: bytes) -> None:
        self._stdout.write(line + b"\n")
        self._stdout.flush()


async def lines(stdin: int, limit: int) -> AsyncIterator[bytes]:
    """The lines of a file; of one that is longer than `limit` bytes, somewhat more than those."""
    held = b""
    async for chunk in chunks(stdin):
        *whole, held = (held + chunk).split(b"\n")
        for line in whole:
            yield line
        held = held[: limit + 1]
    yield held


async def chunks(stdin: int) -> AsyncIterator[bytes]:
    """What can be read of a file, piece by piece.

    The thread that waits for it is a daemon: one that reads must not keep a process that was
    told to end.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes] = asyncio.Queue(1)

    def feed() -> None:
        with suppress(RuntimeError, CancelledError):  # the loop has ended
            while chunk := os.read(stdin, CHUNK):
                asyncio.run_coroutine_threadsafe(queue.put(chunk), loop).result()
            asyncio.run_coroutine_threadsafe(queue.put(b""), loop).result()

    threading.Thread(target=feed, daemon=True).start()
    while chunk := await queue.get():
        yield chunk
