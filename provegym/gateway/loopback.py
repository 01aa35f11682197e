"""A server in a thread of this process, on loopback: for notebooks, examples and tests."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import uvicorn
from starlette.types import ASGIApp

from provegym.errors import InfrastructureError

_POLL_SECONDS = 0.005
_START_SECONDS = 30.0


@contextmanager
def serving(app: ASGIApp, port: int = 0) -> Iterator[str]:
    """Serve the app while the block runs, and give its URL; port 0 is any that is free.

    Raises `InfrastructureError` where the app does not start, `OSError` for a port in use.
    """
    with closing(socket.create_server(("127.0.0.1", port), backlog=1024)) as listener:
        config = uvicorn.Config(app, loop="uvloop", http="httptools", log_level="warning")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            _wait(server, thread)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def _wait(server: uvicorn.Server, thread: threading.Thread) -> None:
    until = time.monotonic() + _START_SECONDS
    while not server.started:
        if not thread.is_alive() or time.monotonic() > until:
            raise InfrastructureError("the server did not start; see its log")
        time.sleep(_POLL_SECONDS)
