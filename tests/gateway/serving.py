"""A real HTTP server on loopback for the length of a test, as `provegym serve` runs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import uvicorn
from starlette.types import ASGIApp


class Announced(uvicorn.Server):
    """A server that tells when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = Event()

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        """Listen, and say so."""
        await super().startup()
        self.listens.set()


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """Serve an app on a free port from a thread; gives its URL, without a slash at the end."""
    config = uvicorn.Config(
        app, port=0, loop="uvloop", http="httptools", log_level="warning", access_log=False
    )
    server = Announced(config)
    thread = Thread(target=server.run)
    thread.start()
    try:
        if not server.listens.wait(30):
            raise TimeoutError("the server did not start")
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(30)
