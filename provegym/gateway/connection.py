"""A connection of HTTP whose requests must arrive: what uvicorn leaves without a limit.

httptools takes a head of any size, and uvicorn waits for the rest of a request for as long as its
client likes. Both would let one client fill the memory or the table of open files.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 65_536
"""Most bytes of a request's line and fields together."""
REQUEST_SECONDS = 60.0
"""How long a request may take to arrive, and a new connection to say anything."""


class Connection(HttpToolsProtocol):
    """Closes a connection whose request has too large a head, or does not become whole in time."""

    seconds = REQUEST_SECONDS

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._in_head = self._in_message = False
        self._head = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """It is there, and has said nothing so far."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._wait_no_longer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some bytes came; the timer runs while a request is there in part."""
        super().data_received(data)
        if self._in_head:
            self._head += len(data)
            if self._head > HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response(f"a head of over {HEAD_BYTES} bytes")
        if self._in_message and not self.transport.is_closing():
            self._wait()
        else:
            self._wait_no_longer()

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._in_head = self._in_message = True
        self._head = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._in_head = False
        if not self.url.startswith(b"/"):
            self._name_host()
        super().on_headers_complete()

    def _name_host(self) -> None:
        """A target with an authority says which host is meant, whatever the field Host says (RFC
        9112, 3.2.2); uvicorn tells its app only of the field.
        """
        authority = self.url.partition(b"://")[2]
        for end in (b"/", b"?", b"#"):
            authority = authority.partition(end)[0]
        self.headers[:] = [field for field in self.headers if field[0] != b"host"]
        self.headers.append((b"host", authority))

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._in_message = False
        super().on_message_complete()

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self.transport.close)

    def _wait_no_longer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
