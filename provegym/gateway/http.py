"""The gateway over HTTP: MCP for every session, and the control API, on one port.

- `/s/{session}/mcp`, `/s/{session}/mcp/{server}`: a session, whole or as one of its servers, in
  both protocol eras. Who knows its id may use it.
- `/mcp`, `/mcp/{server}`: no session in the path. A client of 2025-11-25 gets a private one with
  its connection. MCP 2026-07-28 has no connections, so its clients are told how to make a session.

All of them share one app and one server of the SDK.
"""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

from anyio import ClosedResourceError
from mcp import types
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from provegym.errors import SessionError, SessionUnknown, seen
from provegym.gateway import control, door, face
from provegym.gateway.connections import Connections
from provegym.gateway.door import Refusal
from provegym.gateway.face import SESSION_ENDED, Context, Find, View
from provegym.gateway.guard import Guard, Replay
from provegym.gateway.listening import listen, runner, settle, url_of
from provegym.gateway.rooms import Open, Room, Rooms, open_world, room_of
from provegym.gateway.settings import Settings
from provegym.world.sessions import Sessions

FIND = "provegym.find"
"""In the scope of a request: how the face finds the room that the URL is about."""
ROOM = "provegym.room"
"""In the scope of a request: the room, where the URL names its session."""
PATHS = ("/s/{session}/mcp", "/s/{session}/mcp/{server}", "/mcp", "/mcp/{server}")
NO_SESSION = (
    "this URL names no session, and MCP {version} has none of its own. POST /v1/sessions makes one "
    'and tells its URL (as "/s/ID/mcp"); a client of {latest} gets a private one here'
)

ENDED = Refusal(types.INVALID_REQUEST, "the connection has ended; open another one", 404)

Resolve = Callable[[Scope, str], Refusal | None]
"""Puts `FIND` into the scope of a request, or refuses it; the text is the protocol version that
its header names."""


class Door:
    """A server of the SDK over HTTP, with what is checked before it is asked.

    `json` answers with JSON alone, which costs half of what a stream of events does, and leaves
    no way for the server to notify or ask the client during a call.
    """

    def __init__(
        self, server: Server[Any], settings: Settings, resolve: Resolve | None, json: bool
    ) -> None:
        self.manager = StreamableHTTPSessionManager(
            server,
            json_response=json,
            session_idle_timeout=settings.idle,
            max_sessions=settings.sessions,
            max_request_body_size=settings.max_body,
        )
        self._connections = Connections(self.manager)
        self._max_depth = settings.max_depth
        self._resolve = resolve
        self._in_flight: set[tuple[bytes, str]] = set()
        """Connection and id of each request that is being answered."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request of HTTP."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        version = headers.get(b"mcp-protocol-version", b"").decode("latin-1")
        refusal = self._resolve(scope, version) if self._resolve else None
        found = None
        if scope["method"] == "POST":
            message = await receive()
            receive = Replay(message, receive)
            value = door.read(message.get("body", b""), self._max_depth)
            found = door.request_id(value)
            if isinstance(value, Refusal):
                refusal = refusal or value
            elif not door.is_message(value):
                refusal = refusal or door.NOT_A_MESSAGE
        if refusal:
            await refuse(send, refusal, found)
        elif connection := headers.get(b"mcp-session-id"):
            await self._alone(connection, found, scope, receive, send)
        elif version in MODERN_PROTOCOL_VERSIONS or ROOM not in scope:
            await self.manager.handle_request(scope, receive, send)
        else:
            await self.manager.handle_request(scope, receive, self._noting(scope[ROOM], send))

    def _noting(self, room: Room, send: Send) -> Send:
        """Note the connection that an answer opens."""

        async def noted(message: Message) -> None:
            for name, value in message.get("headers", ()):
                if name == b"mcp-session-id":
                    await self._connections.opened(room, value.decode())
            await send(message)

        return noted

    async def _alone(
        self, connection: bytes, found: str | int | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Serve a request unless another one of its connection has its id."""
        if found is None:
            await self._of(connection, scope, receive, send)
            return
        key = connection, str(found)  # the SDK takes 1 and "1" for the same
        if key in self._in_flight:
            await refuse(send, door.in_flight(found), found)
            return
        self._in_flight.add(key)
        try:
            await self._of(connection, scope, receive, send)
        finally:
            self._in_flight.discard(key)

    async def _of(self, connection: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of a connection. Where that was ended in the middle, the answer is 404,
        as MCP has it for one that has ended; the SDK takes it for a failure of its own.
        """
        transport = self.manager._server_instances.get(connection.decode("latin-1"))
        begun = False

        async def told(message: Message) -> None:
            nonlocal begun
            begun = True
            if message.get("status") == 500 and transport is not None and transport.is_terminated:
                message = {**message, "status": 404}
            await send(message)

        try:
            await self.manager.handle_request(scope, receive, told)
        except ClosedResourceError:
            if transport is None or not transport.is_terminated:
                raise
            if not begun:
                await refuse(send, ENDED, None)


async def refuse(send: Send, refusal: Refusal, found: str | int | None) -> None:
    """Answer a request with an error of JSON-RPC."""
    body = refusal.json(found)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


# -- which room a request is about -------------------------------------------------------------


def resolver(rooms: Rooms, settings: Settings, open: Open) -> Resolve:
    """How the paths of `PATHS` name a room."""

    def resolve(scope: Scope, version: str) -> Refusal | None:
        named: dict[str, str] = scope["path_params"]
        server = named.get("server", "")
        if "session" not in named:
            return _private(scope, version, server)
        try:
            view = View(rooms.get(named["session"]), server)
        except SessionError as error:
            status = 404 if isinstance(error, SessionUnknown) else 410
            return Refusal(SESSION_ENDED, str(error), status)
        if server and not view.tools:
            return _no_server(server, view.room.servers())
        scope[FIND] = lambda _: view
        scope[ROOM] = view.room
        return None

    def _private(scope: Scope, version: str, server: str) -> Refusal | None:
        if version and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return _sessionless(version)
        if server and server not in settings.servers:
            return _no_server(server, settings.servers)
        scope[FIND] = private(settings, open, server)
        return None

    return resolve


def private(settings: Settings, open: Open, server: str) -> Find:
    """The room of a connection's own, opened when it is first asked for, closed with it."""

    def find(context: Context) -> View:
        connection = context.session._connection  # no public name leads to what ends with it
        name = f"provegym.room/{server}"
        if name not in connection.state:
            room = connection.state[name] = own_room(settings, open, server)
            connection.exit_stack.callback(room.close)
        return View(connection.state[name], server if settings.task else "")

    return find


def own_room(settings: Settings, open: Open, server: str = "") -> Room:
    """A new room of the settings' task, else of their servers or of one of them."""
    if settings.task:
        return room_of(settings.task)
    return Room(open(settings.seed, (server,) if server else settings.servers))


def _no_server(server: str, known: Sequence[str]) -> Refusal:
    told = f"no server {seen(server)} here; known: {', '.join(known)}"
    return Refusal(types.INVALID_REQUEST, told, 404)


def _sessionless(version: str) -> Refusal:
    latest = HANDSHAKE_PROTOCOL_VERSIONS[-1]
    told = NO_SESSION.format(version=version[:20], latest=latest)
    data = {"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": version[:80]}
    return Refusal(types.UNSUPPORTED_PROTOCOL_VERSION, told, data=data)


def _found(context: Context) -> View:
    request: Any = context.request
    find: Find = request.scope[FIND]
    return find(context)


# -- the app -----------------------------------------------------------------------------------


def app(rooms: Rooms, settings: Settings, open: Open = open_world) -> Starlette:
    """The whole gateway as an ASGI app."""
    mcp = Door(
        face.server(_found, settings.deadline, settings.max_result),
        settings,
        resolver(rooms, settings, open),
        json=True,
    )
    usual, *others = [Route(path, mcp) for path in PATHS]
    # They are tried in turn, so what is asked most comes first.
    return stack([mcp], [usual, *control.routes(rooms, settings, open), *others], settings)


def mount(server: Server[Any], path: str, settings: Settings) -> Starlette:
    """An app with any low-level server of the SDK at a path, guarded as the gateway is."""
    door = Door(server, settings, None, json=False)
    return stack([door], [Route(path, door)], settings)


def stack(doors: Sequence[Door], routes: Sequence[BaseRoute], settings: Settings) -> Starlette:
    """Routes behind the guard; the doors' connections end with the app."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as running:
            for one in doors:
                await running.enter_async_context(one.manager.run())
            yield

    made = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, settings=settings)],
        exception_handlers={**control.ERRORS},
        lifespan=lifespan,
    )
    made.router.redirect_slashes = False  # there is nothing at such a path
    return made


def new_rooms(settings: Settings) -> Rooms:
    """Where the sessions of a process are kept, by ids that nobody can guess."""
    return Sessions(time.monotonic, lambda: secrets.token_urlsafe(24), settings.idle)


def serve(
    rooms: Rooms, settings: Settings, listening: socket.socket, open: Open = open_world
) -> None:
    """Serve on a socket until interrupted."""
    settle()
    runner(app(rooms, settings, open)).run(sockets=[listening])


ANYWHERE = Settings(port=0)
"""Any free port of this machine alone."""


@contextmanager
def background(app: ASGIApp, settings: Settings = ANYWHERE) -> Iterator[str]:
    """Serve an app in a thread, and give its URL: a gateway inside of another program, such as a
    notebook. Raises `InputError` where the address cannot be had.
    """
    server = runner(app)
    with listen(settings.host, settings.port) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield url_of(settings, listening)
        finally:
            server.should_exit = True
            thread.join()
