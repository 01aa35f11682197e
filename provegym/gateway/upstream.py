"""HTTP/1.1 to a worker: kept-alive connections that carry one exchange at a time.

A request is written whole and its answer handed on as it comes, as ASGI messages. Nothing is ever
sent twice: what became of a request whose connection broke is not known.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from httptools import HttpResponseParser
from starlette.types import Message

from provegym.errors import InfrastructureError

Headers = Iterable[tuple[bytes, bytes]]

IDLE_SECONDS = 30.0
"""How long an unused connection is kept; a worker keeps it far longer, so it never closes first."""
_HOP_BY_HOP = {b"connection", b"keep-alive", b"transfer-encoding", b"te", b"trailer", b"upgrade"}
_NOT_PASSED_ON = _HOP_BY_HOP | {b"host", b"content-length", b"origin", b"expect"}
"""RFC 9110, 7.6.1; who may ask (`Host`, `Origin`) was settled at the front."""


class Asked(NamedTuple):
    """A whole request. `target` is path and query as sent; names of headers are in lower case."""

    method: str
    path: str
    target: bytes
    headers: Headers
    body: bytes


class Answer(NamedTuple):
    """A whole answer."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


def request_bytes(asked: Asked, host: bytes) -> bytes:
    """A request as it is sent: its head is made anew, so both ends see the same body."""
    lines = [b"%s %s HTTP/1.1\r\nhost: %s\r\n" % (asked.method.encode(), asked.target, host)]
    lines += [b"%s: %s\r\n" % field for field in asked.headers if field[0] not in _NOT_PASSED_ON]
    lines.append(b"content-length: %d\r\n\r\n" % len(asked.body))
    return b"".join((*lines, asked.body))


class Connection(asyncio.Protocol):
    """One connection. `answer` gives the messages of the answer to what `ask` wrote."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._messages: deque[Message] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._headers: list[tuple[bytes, bytes]] = []
        self._transport: Any = None
        self._spare = True
        self.lost = False
        self.used = 0.0

    @property
    def reusable(self) -> bool:
        """Whether the next request may go here."""
        return self._spare and not self.lost

    def ask(self, request: bytes) -> None:
        """Send a request."""
        self._transport.write(request)

    async def answer(self) -> Message:
        """The next ASGI message. Raises InfrastructureError where the connection breaks."""
        while not self._messages:
            if self.lost:
                raise InfrastructureError(
                    "the worker's connection broke before its answer was whole"
                )
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self._messages.popleft()

    def abort(self) -> None:
        """Drop the connection; the worker sees its client leave."""
        self._lose()
        self._transport.abort()

    # -- asyncio.Protocol --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is there."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Bytes came; whoever waits is woken once for all of them."""
        try:
            self._parser.feed_data(data)
        except Exception:  # noqa: BLE001 - httptools has a dozen errors; each ends the connection
            self.abort()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """The worker, or the machine between, is gone."""
        self._lose()

    def _lose(self) -> None:
        self.lost = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # -- httptools ---------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """An answer starts."""
        self._headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """A field of its head."""
        lower = name.lower()
        if lower not in _HOP_BY_HOP:
            self._headers.append((lower, value))

    def on_headers_complete(self) -> None:
        """Its head is whole."""
        status = self._parser.get_status_code()
        self._spare = self._parser.should_keep_alive()
        self._messages.append(
            {"type": "http.response.start", "status": status, "headers": self._headers}
        )

    def on_body(self, body: bytes) -> None:
        """A part of its body."""
        self._messages.append({"type": "http.response.body", "body": body, "more_body": True})

    def on_message_complete(self) -> None:
        """It is whole."""
        if self._messages and self._messages[-1]["type"] == "http.response.body":
            self._messages[-1]["more_body"] = False
        else:
            self._messages.append({"type": "http.response.body", "body": b"", "more_body": False})


class Pool:
    """The connections to one worker."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self._authority = f"{host}:{port}".encode()
        self._free: deque[Connection] = deque()

    async def whole(self, asked: Asked) -> Answer:
        """Ask, and wait for all of the answer. Raises InfrastructureError."""
        connection = await self.take()
        try:
            connection.ask(self.request(asked))
            head = await connection.answer()
            body = [message := await connection.answer()]
            while message["more_body"]:
                body.append(message := await connection.answer())
        except BaseException:
            connection.abort()
            raise
        self.give_back(connection)
        return Answer(head["status"], head["headers"], b"".join(m["body"] for m in body))

    def request(self, asked: Asked) -> bytes:
        """What is written for a request."""
        return request_bytes(asked, self._authority)

    async def take(self) -> Connection:
        """A connection that nobody uses. Raises InfrastructureError where none can be made."""
        now = asyncio.get_running_loop().time()
        while self._free:
            connection = self._free.pop()
            if connection.lost:
                continue
            if now - connection.used < IDLE_SECONDS:
                return connection
            connection.abort()
        return await self._connect()

    async def _connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(Connection, self.host, self.port)
        except OSError as error:
            raise InfrastructureError(f"no connection to the worker: {error}") from error
        return connection

    def give_back(self, connection: Connection) -> None:
        """Take a connection back after a whole answer."""
        if connection.reusable:
            connection.used = asyncio.get_running_loop().time()
            self._free.append(connection)
        else:
            connection.abort()

    def close(self) -> None:
        """Drop all of them."""
        while self._free:
            self._free.pop().abort()
