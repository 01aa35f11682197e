"""A port and the server of HTTP on it, for any ASGI app."""

from __future__ import annotations

import errno
import gc
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from provegym.errors import InputError
from provegym.gateway.connection import Connection
from provegym.gateway.settings import Settings

FILES = 65_536
"""Most open files, and so connections, that are asked of the system; many start with 1,024."""

OF_THE_PORT = (errno.EADDRINUSE, errno.EACCES)
"""Errors that another port may not have."""

GRACE_SECONDS = 2
"""For requests under way, when the server ends."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections. Raises `InputError` where the address cannot be had."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES if hard == resource.RLIM_INFINITY else min(hard, FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        told = f"cannot listen on {host} port {port}: {_reason(error)}"
        option = "--port" if error.errno in OF_THE_PORT else "--host"
        raise InputError(f"{told}; choose another with {option}") from error


def _reason(error: OSError) -> str:
    """Why, without the address, which Python's own words repeat."""
    return str(error.strerror).partition(" (while ")[0]


def url_of(settings: Settings, listening: socket.socket) -> str:
    """Where clients find a socket; the port is the real one where the settings leave it open."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{listening.getsockname()[1]}"


class Server(uvicorn.Server):
    """Ends at a signal as it does at any other wish, and is done with it. uvicorn would send the
    signal once more, into whatever the caller does then.
    """

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Mind signals while the block runs."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End within the grace, also at a second signal: it would cut the app off in its end."""
        self._captured_signals.append(sig)
        self.should_exit = True


def settle() -> None:
    """For a process that does nothing but serve: spare the garbage collector all that is loaded.

    Each full collection walks through it, a quarter of a million objects, which takes longer than
    hundreds of calls and holds up all of them at once.
    """
    gc.collect()
    gc.freeze()


def runner(app: ASGIApp) -> Server:
    """The server of HTTP around an app. Nothing is logged of a request: its URL may hold the id
    of a session, which is the right to use it.
    """
    return Server(
        uvicorn.Config(
            app,
            loop="uvloop",
            http=Connection,
            ws="none",
            log_level="error",  # a line for each broken request would let anybody fill a disk
            access_log=False,
            proxy_headers=False,  # else who asks is whoever a client of this machine says it is
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )
