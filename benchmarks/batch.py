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
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

CALLS_TARGET, OPEN_TARGET = 100_000.0, 200.0
"""Calls a second and core; micro-seconds to open and close a session."""
TRIVIAL: dict[str, object] = {"name": "list_calendars", "arguments": {"access": "owner"}}
LONGER: dict[str, object] = {"name": "list_payees", "arguments": {"limit": 1}}
"""A read of a row or two, and one that sorts and cuts a longer list."""
SIZES = (1, 64, 512)
SESSIONS = 64
CALLS, OPENS, CLIENTS, ROUNDS = 32_768, 2048, 16, 3


class Batch(Struct, frozen=True):
    """What the server's CPU gave: calls a second by calls a request; micro-seconds a session."""

    calls: dict[int, float]
    longer: float
    """Calls a second of `LONGER`, 64 a request."""
    opened: float


def measure() -> Batch:
    """Start a server and measure, the best of some rounds."""
    with server() as (pid, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        names = [_open(connection) for _ in range(SESSIONS)]
        rates = {
            size: max(_rate(pid, connection, names, size, TRIVIAL) for _ in range(ROUNDS))
            for size in SIZES
        }
        longer = max(_rate(pid, connection, names, 64, LONGER) for _ in range(ROUNDS))
        cost = min(_opened(pid, port) for _ in range(ROUNDS))
        connection.close()
    return Batch(rates, longer, cost)


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

    rooms: Sessions[Room] = Sessions(time.monotonic, lambda: token_urlsafe(16))
    app = Starlette(routes=list(routes(rooms)))
    how: dict[str, Any] = {"loop": "uvloop", "http": "httptools", "access_log": False}
    config = uvicorn.Config(app, log_level="warning", **how)
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=descriptor)])


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


def _rate(
    pid: int,
    connection: http.client.HTTPConnection,
    names: list[str],
    size: int,
    call: dict[str, object],
) -> float:
    """Calls a second of the server's CPU, `size` a request, spread over the sessions."""
    calls = [{"session": names[i % len(names)], **call} for i in range(size)]
    body = json.dumps({"calls": calls}).encode()
    times = max(CALLS // size // (8 if size == 1 else 1), 1)
    text = _ask(connection, "POST", "/v1/calls", body)
    if text.count(b'"outcome":"ok"') != size:
        raise RuntimeError(f"not every call was answered: {text[:200]!r}")
    spent = _spent(pid, lambda: [_ask(connection, "POST", "/v1/calls", body) for _ in range(times)])
    return size * times / spent


def _opened(pid: int, port: int) -> float:
    """Micro-seconds to open and close a session, for clients beside each other."""

    def work(_: int) -> None:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            for _ in range(OPENS // CLIENTS):
                _ask(connection, "DELETE", f"/v1/sessions/{_open(connection)}", b"")

    with ThreadPoolExecutor(CLIENTS) as clients:
        spent = _spent(pid, lambda: list(clients.map(work, range(CLIENTS))))
    return spent / (OPENS // CLIENTS * CLIENTS) * 1e6


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
    told.append(f"the same of a longer list, 64 a request: {found.longer:,.0f} calls/s a core")
    return [*told, f"open and close: {found.opened:.0f} us of CPU (target {OPEN_TARGET:.0f})"]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(int(sys.argv[2]))
    else:
        print("\n".join(lines(measure())))
