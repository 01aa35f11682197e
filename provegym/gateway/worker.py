"""One worker of a fleet: a whole gateway on a port of its own, whose session ids carry its name."""

from __future__ import annotations

import os
import secrets
import sys
import threading
import time

import msgspec

from provegym.gateway import http
from provegym.gateway.fleet import Plan
from provegym.gateway.listening import GRACE_SECONDS, listen, runner, settle
from provegym.gateway.rooms import Rooms
from provegym.world.sessions import Sessions

ID_BYTES = 24
"""Of randomness in an id, which nobody can guess."""
KEEP_ALIVE_SECONDS = 24 * 3600
"""A worker closes no connection before the front does, for a request could be under way."""


class Serving:
    """A worker of this process: its port is known, and requests wait until `run`."""

    def __init__(self, plan: Plan) -> None:
        settings = plan.settings
        rooms: Rooms = Sessions(
            time.monotonic, lambda: f"{plan.name}.{secrets.token_urlsafe(ID_BYTES)}", settings.idle
        )
        self._listening = listen(settings.host, settings.port)
        self.port: int = self._listening.getsockname()[1]
        self._server = runner(http.app(rooms, settings))
        self._server.config.timeout_keep_alive = KEEP_ALIVE_SECONDS
        self._server.config.date_header = False  # the front adds one

    def run(self) -> None:
        """Serve until `stop`."""
        self._server.run(sockets=[self._listening])

    def stop(self) -> None:
        """End soon; safe to call from any thread."""
        self._server.should_exit = True


def main() -> None:
    """A worker as a process; see `provegym.gateway.local` for how it is spoken to."""
    line = sys.stdin.buffer.readline()
    if not line:
        return  # the front is gone
    serving = Serving(msgspec.json.decode(line, type=Plan))

    def watch() -> None:
        while sys.stdin.buffer.read(1):
            pass
        serving.stop()
        time.sleep(2 * GRACE_SECONDS)
        os._exit(1)  # whatever hangs, no worker outlives its front

    threading.Thread(target=watch, daemon=True).start()
    try:
        print(serving.port, flush=True)  # noqa: T201 - the front reads it
    except BrokenPipeError:
        os._exit(1)  # the front is gone
    settle()
    serving.run()
