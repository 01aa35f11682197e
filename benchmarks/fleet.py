"""CPU that a fleet's front adds to a call, beside what the worker behind it spends.

Run `python -m benchmarks.fleet`, or `provegym bench fleet`.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import urlopen

import msgspec

from benchmarks.gateway import (
    BATCH,
    CALLS,
    CLIENTS,
    ROUNDS,
    TOOL,
    Case,
    Connection,
    Peer,
    Row,
    cost,
    modern,
    open_session,
    request,
)

WORKERS = 2

_encode = msgspec.json.Encoder().encode


@contextmanager
def running() -> Iterator[tuple[Peer, dict[str, Peer]]]:
    """A fleet: its front, and its workers by name."""
    run = "from provegym.cli import main; main()"
    options = ("serve", "--http", "--port", "0", "--workers", str(WORKERS))
    command = (sys.executable, "-c", run, *options)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1]
        with urlopen(f"{url}/healthz") as answer:
            told = json.load(answer)["workers"]
        workers = {name: Peer(port_of(one["url"]), one["pid"]) for name, one in told.items()}
        try:
            yield Peer(port_of(url), process.pid), workers
        finally:
            process.send_signal(2)


def port_of(url: str) -> int:
    """The port that a URL ends with."""
    return int(url.rpartition(":")[2])


async def cases(front: Peer, workers: dict[str, Peer]) -> list[Case]:
    """Calls through the front, and to one worker without it."""
    connection = await Connection(front.port).open()
    sessions = [await open_session(connection, ("banking",)) for _ in range(CLIENTS)]
    connection.close()
    name, worker = next(iter(workers.items()))
    own = [session for session in sessions if session.startswith(f"{name}.")]
    one = _encode({"calls": [{"name": TOOL}]})
    many = [{"session": sessions[i % CLIENTS], "name": TOOL} for i in range(BATCH)]
    batch = request("/v1/calls", _encode({"calls": many}))
    return [
        Case("front, a call over MCP", front, lambda n: modern(f"/s/{sessions[n]}/mcp")),
        Case("its worker", worker, lambda n: modern(f"/s/{own[n % len(own)]}/mcp")),
        Case("front, a call alone", front, lambda n: request(single(sessions[n]), one)),
        Case("its worker, a call alone", worker, lambda n: request(single(own[n % len(own)]), one)),
        Case(f"front, a call in a batch of {BATCH}", front, lambda _: batch, BATCH),
    ]


def single(session: str) -> str:
    """Where calls of one session go."""
    return f"/v1/sessions/{session}/calls"


async def rounds(calls: int, repeats: int) -> dict[str, float]:
    """The least cost of each case, measured in turns."""
    least: dict[str, float] = {}
    with running() as (front, workers):
        found = await cases(front, workers)
        for _ in range(repeats):
            for case in found:
                value = await cost(case, max(CLIENTS, calls // case.calls))
                least[case.name] = min(value, least.get(case.name, value))
    return least


def measure(calls: int = CALLS, repeats: int = ROUNDS) -> list[Row]:
    """(what, value, no target, unit) of everything in this file."""
    return [
        (what, value, None, "us") for what, value in asyncio.run(rounds(calls, repeats)).items()
    ]


if __name__ == "__main__":
    for what, value, *_ in measure():
        print(f"{what}: {value:.1f} us")
