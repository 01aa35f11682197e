"""CPU of the gateway's server a call of the batch route, and a session opened and closed.

Run `python -m benchmarks.batch`. The server is a process of its own (uvicorn, uvloop, httptools);
its CPU time is what counts, so clients on the same cores do not matter.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

CALLS_TARGET, OPEN_TARGET = 100_000.0, 200.0
"""Calls a second and core; micro-seconds to open and close a session."""
SIZES = (1, 64, 512)
SESSIONS = 64
CALLS, OPENS, ROUNDS = 32_768, 1000, 3


class Batch(Struct, frozen=True):
    """What the server's CPU gave: calls a second by calls a request; micro-seconds a session."""

    calls: dict[int, float]
    opened: float


def measure() -> Batch:
    """Start a server and measure, the best of some rounds."""
    with server() as (pid, port):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        names = [_open(connection) for _ in range(SESSIONS)]
        rates = {
            size: max(_rate(pid, connection, names, size) for _ in range(ROUNDS)) for size in SIZES
        }
        cost = min(_opened(pid, connection) for _ in range(ROUNDS))
        connection.close()
    return Batch(rates, cost)


@contextmanager
def server() -> Iterator[tuple[int, int]]:
    """The gateway's control API in a process: its id and port."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        number = listener.fileno()
        command = [sys.executable, "-m", "benchmarks.batch", "--serve", str(number)]
        process = subprocess.Popen(command, pass_fds=[number])
        try:
            yield process.pid, listener.getsockname()[1]
        finally:
            process.terminate()
            process.wait()


def serve(descriptor: int) -> None:
    """Serve the control API alone on a socket that is open."""
    import time
    from secrets import token_urlsafe

    import uvicorn
    from starlette.applications import Starlette

    from provegym.gateway.control import routes
    from provegym.gateway.rooms import Room
    from provegym.world.sessions import Sessions

    class Settings(Struct, frozen=True):
        sessions: int = 10_000
        deadline: float = 30.0

    rooms: Sessions[Room] = Sessions(time.monotonic, lambda: token_urlsafe(16))
    app = Starlette(routes=list(routes(rooms, Settings())))
    uvicorn.run(
        app, fd=descriptor, loop="uvloop", http="httptools", log_level="warning", access_log=False
    )


def _ask(connection: http.client.HTTPConnection, method: str, path: str, body: bytes) -> Any:
    connection.request(method, path, body)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status >= 300:
        raise RuntimeError(f"{method} {path}: {answer.status} {text[:200]!r}")
    return text


def _open(connection: http.client.HTTPConnection) -> str:
    body = b'{"seed": 7, "servers": ["banking", "calendar", "email", "shopping"]}'
    return str(json.loads(_ask(connection, "POST", "/v1/sessions", body))["id"])


def _rate(pid: int, connection: http.client.HTTPConnection, names: list[str], size: int) -> float:
    """Calls a second of the server's CPU, reads of a short list, `size` a request."""
    call = {"name": "list_payees", "arguments": {"limit": 1}}
    calls = [{"session": names[i % len(names)], **call} for i in range(size)]
    body = json.dumps({"calls": calls}).encode()
    times = max(CALLS // size // (8 if size == 1 else 1), 1)
    text = _ask(connection, "POST", "/v1/calls", body)
    if text.count(b'"outcome":"ok"') != size:
        raise RuntimeError(f"not every call was answered: {text[:200]!r}")
    spent = _spent(pid, lambda: [_ask(connection, "POST", "/v1/calls", body) for _ in range(times)])
    return size * times / spent


def _opened(pid: int, connection: http.client.HTTPConnection) -> float:
    def work() -> None:
        for _ in range(OPENS):
            _ask(connection, "DELETE", f"/v1/sessions/{_open(connection)}", b"")

    return _spent(pid, work) / OPENS * 1e6


def _spent(pid: int, work: Callable[[], object]) -> float:
    """Seconds of CPU that the process takes while the work is done."""
    before = _cpu(pid)
    work()
    return _cpu(pid) - before


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def lines(found: Batch) -> list[str]:
    """The figures in words, each beside its target."""
    told = [
        f"batch route, {size} calls a request: {rate:,.0f} calls/s a core"
        + (f" (target {CALLS_TARGET:,.0f})" if size > 1 else "")
        for size, rate in found.calls.items()
    ]
    return [*told, f"open and close: {found.opened:.0f} us of CPU (target {OPEN_TARGET:.0f})"]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(int(sys.argv[2]))
    else:
        print("\n".join(lines(measure())))
