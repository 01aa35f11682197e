"""One port for many workers: each request goes to the worker that its session's id names.

The front reads of a request only where it goes. What concerns all workers (the list, a batch over
many sessions, health, metrics) it asks of each and joins; see `provegym.gateway.joined`.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from provegym.errors import InfrastructureError, WorkerLost
from provegym.gateway import joined
from provegym.gateway.fleet import Fleet, Launch, Worker
from provegym.gateway.guard import Guard
from provegym.gateway.listening import runner, settle
from provegym.gateway.settings import Settings
from provegym.gateway.upstream import Answer, Asked, Connection
from provegym.gateway.wire import NO_JSON, Opened

Join = Callable[[Fleet, Asked], Awaitable[Answer]]

WATCHED_AFTER_SECONDS = 1.0
"""From then on a client that leaves takes its request along."""
SESSION_HEADER = b"mcp-session-id"
"""Where a client without a session in its path keeps the one of its connection (2025-11-25)."""
INTERNAL_ERROR = -32603
"""JSON-RPC 2.0, 5.1."""
JOINED: dict[tuple[str, str], Join] = {
    ("GET", "/v1/sessions"): joined.sessions,
    ("GET", "/metrics"): joined.metrics,
}


def front(fleet: Fleet, settings: Settings) -> ASGIApp:
    """The ASGI app of the public port."""
    joins: dict[tuple[str, str], Join] = {
        **JOINED,
        ("GET", "/healthz"): partial(joined.health, settings=settings),
        ("POST", "/v1/calls"): partial(joined.calls, seconds=settings.deadline),
    }

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        asked = await _read(scope, receive)
        if asked is None:
            return
        try:
            join = joins.get((asked.method, asked.path))
            if join is not None:
                await _respond(await join(fleet, asked), send)
            else:
                await _route(fleet, asked, receive, send)
        except InfrastructureError as fault:
            await _tell(fault, asked, send)

    return app


async def _read(scope: Scope, receive: Receive) -> Asked | None:
    """The whole request; None if its client left before it was told."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        more = message.get("more_body", False)
    target = scope["raw_path"]
    if scope["query_string"]:
        target += b"?" + scope["query_string"]
    return Asked(scope["method"], scope["path"], target, scope["headers"], body)


async def _route(fleet: Fleet, asked: Asked, receive: Receive, send: Send) -> None:
    match asked.path.split("/", 4):
        case ["", "s", session, *_] | ["", "v1", "sessions", session, *_]:
            await _forward(await fleet.of(session), asked, receive, send)
        case ["", "mcp", *_]:
            await _connection_session(fleet, asked, receive, send)
        case ["", "v1", "sessions"] if asked.method == "POST":
            await _respond(await _opened(fleet, asked), send)
        case _:
            await _forward(await fleet.next(), asked, receive, send)


async def _opened(fleet: Fleet, asked: Asked) -> Answer:
    """An opening; the answer also tells where the worker itself is reached."""
    key = _decoded(asked.body).key
    worker = await (fleet.by_key(key) if key else fleet.next())
    answer = await worker.pool.whole(asked)
    if answer.status != 201:
        return answer
    opened = replace(msgspec.json.decode(answer.body, type=Opened), direct=worker.url)
    return answer._replace(body=msgspec.json.encode(opened))


async def _connection_session(fleet: Fleet, asked: Asked, receive: Receive, send: Send) -> None:
    """A client's own session: its id gets the worker's name in front on its way out."""
    told = dict(asked.headers).get(SESSION_HEADER, b"").decode("latin-1")
    worker = await (fleet.of(told) if told else fleet.next())
    prefix = f"{worker.name}.".encode()
    fields = [
        (name, value.removeprefix(prefix) if name == SESSION_HEADER else value)
        for name, value in asked.headers
    ]

    async def named(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                (name, prefix + value if name == SESSION_HEADER else value)
                for name, value in message["headers"]
            ]
        await send(message)

    await _forward(worker, asked._replace(headers=fields), receive, named)


async def _forward(worker: Worker, asked: Asked, receive: Receive, send: Send) -> None:
    """Hand a request on and its answer back, as it comes. Raises InfrastructureError.

    An answer that breaks off after its head breaks off for the client too: uvicorn closes the
    connection of an answer that was left unfinished.
    """
    connection = await worker.pool.take()
    watch = _Watch(connection, receive)
    begun = False
    try:
        connection.ask(worker.pool.request(asked))
        while True:
            message = await connection.answer()
            await send(message)
            begun = True
            if message.get("more_body") is False:
                break
    except BaseException as error:
        connection.abort()
        if begun and isinstance(error, InfrastructureError):
            return
        raise
    finally:
        watch.end()
    worker.pool.give_back(connection)


class _Watch:
    """Aborts a request whose client leaves, once it has taken long enough to be worth a task."""

    def __init__(self, connection: Connection, receive: Receive) -> None:
        self._connection, self._receive = connection, receive
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(WATCHED_AFTER_SECONDS, self._start)

    def _start(self) -> None:
        self._task = asyncio.ensure_future(self._leave())

    async def _leave(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._connection.abort()

    def end(self) -> None:
        """Watch no longer."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()


async def _respond(answer: Answer, send: Send) -> None:
    fields = [field for field in answer.headers if field[0] != b"content-length"]
    fields.append((b"content-length", b"%d" % len(answer.body)))
    await send({"type": "http.response.start", "status": answer.status, "headers": fields})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})


async def _tell(fault: InfrastructureError, asked: Asked, send: Send) -> None:
    """Our fault, in the form of the protocol that was spoken."""
    code = joined.code(fault)
    error: dict[str, Any] = {"code": code, "message": str(fault), "details": {}}
    body: dict[str, Any] = {"error": error}
    if asked.path.startswith(("/s/", "/mcp")):
        error = {"code": INTERNAL_ERROR, "message": str(fault), "data": {"code": code}}
        body = {"jsonrpc": "2.0", "id": _decoded(asked.body).id, "error": error}
    status = 502 if isinstance(fault, WorkerLost) else 503
    await _respond(Answer(status, joined.JSON, msgspec.json.encode(body)), send)


class _Known(Struct):
    """What the front understands of bodies."""

    id: int | str | None = None
    key: str | None = None


def _decoded(body: bytes) -> _Known:
    try:
        return msgspec.json.decode(body, type=_Known)
    except NO_JSON:
        return _Known()  # the worker says what is wrong


# -- serving ---------------------------------------------------------------------------------


def serve(
    settings: Settings,
    listening: socket.socket,
    launch: Launch,
    size: int,
    ready: Callable[[], None],
) -> None:
    """Serve on a socket with so many workers until interrupted.

    The socket listens before the workers start: who connects early waits until all of them are
    there, which is when `ready` is called.
    Raises InfrastructureError where a worker does not start.
    """
    import uvloop

    settle()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        loop.run(_serve(settings, listening, Fleet(launch, size), ready))


async def _serve(
    settings: Settings, listening: socket.socket, fleet: Fleet, ready: Callable[[], None]
) -> None:
    async with fleet:
        server = runner(Guard(front(fleet, settings), settings))
        server.config.lifespan = "off"
        ready()
        await server.serve(sockets=[listening])
