"""Thousands of live sessions with random calls for minutes: errors, memory over time, latencies.

Run `python -m benchmarks.soak --seconds 600`, or `provegym bench soak`. A fleet serves; clients in
this process keep every session busy, half of them by the batch route and half over MCP. Each
session has one client, which now and then compares its digest with a replay in this process, and
then resets or replaces it, so that what the sessions hold does not grow by itself.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from threading import Event
from time import monotonic, perf_counter, sleep
from typing import Any

import msgspec
from msgspec import Struct

from provegym.seeding import rng
from provegym.servers import load, world
from provegym.world.sample import arguments

SECONDS, SESSIONS, WORKERS = 600.0, 5000, 2
WARM_UP = 0.3
"""Share of the time before memory counts. Until then worlds are built, and caches fill, which
a short run shows as growth.
"""
BLOCKS = 20
"""The regression sees means over so many spans, for samples that lie close are not independent."""
WORLDS = tuple((seed, name) for seed in (1, 2) for name in ("banking", "calendar", "email", "crm"))
BATCH, BATCHERS, CALLERS = 64, 2, 6
LIFE = 16
"""Calls, in the mean, until a session is reset."""
REPLACED = 1 / 64
"""Share of ends at which it is closed and another opened instead."""
ENDED = 12_000
"""Sessions of each worker that end before memory counts. It remembers the ids of ended ones, up to
10,000 (`provegym.world.sessions.REMEMBERED`), and then forgets one for each new one.
"""
CHECKED = 0.1
"""Share of ends at which a digest is compared."""
ERA = "2026-07-28"

Call = tuple[str, dict[str, Any]]


class Line(Struct, frozen=True):
    """Memory over time: megabytes a minute with the 95 % interval, and the mean in megabytes."""

    slope: float
    low: float
    high: float
    mean: float


class Soak(Struct, frozen=True):
    """What came of it. `latency` has the median and the 99th percentile in milliseconds."""

    seconds: float
    sessions: int
    workers: int
    calls: int
    requests: int
    checked: int
    errors: dict[str, int]
    latency: dict[str, tuple[float, float]]
    memory: Line


class Seen(Struct):
    """What one client saw."""

    calls: int = 0
    checked: int = 0
    errors: Counter[str] = msgspec.field(default_factory=Counter)
    took: dict[str, list[float]] = {}


class Kept(Struct):
    """A session as its client has it: where it began and what was done since."""

    id: str
    seed: int
    server: str
    calls: list[Call] = []


def measure(
    seconds: float = SECONDS,
    sessions: int = SESSIONS,
    workers: int = WORKERS,
    ended: int = ENDED,
) -> Soak:
    """Serve, call and watch for so many seconds."""
    stop = Event()
    with fleet(workers) as (place, pids), ThreadPoolExecutor(BATCHERS + CALLERS) as threads:
        share = -(-sessions // (BATCHERS + CALLERS))
        past = workers * ended // (BATCHERS + CALLERS)
        clients = [Client(place, number, share, past) for number in range(BATCHERS + CALLERS)]
        opened = list(threads.map(Client.open_all, clients))
        runs = [threads.submit(client.run, stop) for client in clients]
        memory = watched(pids, seconds)
        stop.set()
        seen = [run.result() for run in runs]
    took: dict[str, list[float]] = {}
    for one in seen:
        for way, times in one.took.items():
            took.setdefault(way, []).extend(times)
    return Soak(
        seconds=seconds,
        sessions=sum(opened),
        workers=workers,
        calls=sum(one.calls for one in seen),
        requests=sum(map(len, took.values())),
        checked=sum(one.checked for one in seen),
        errors=dict(sum((one.errors for one in seen), Counter())),
        latency={way: quantiles(times) for way, times in took.items()},
        memory=line(memory),
    )


# -- the server -------------------------------------------------------------------------------


@contextmanager
def fleet(workers: int) -> Iterator[tuple[str, list[int]]]:
    """A fleet, by its address and processes."""
    run = "from provegym.cli import main; main()"
    options = ("serve", "--http", "--port", "0", "--workers", str(workers), "--sessions", "20000")
    command = (sys.executable, "-c", run, *options)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        place = process.stderr.readline().split("//")[-1].strip()
        connection = HTTPConnection(place)
        connection.request("GET", "/healthz")
        health = json.loads(connection.getresponse().read())
        connection.close()
        try:
            yield place, [process.pid, *(worker["pid"] for worker in health["workers"].values())]
        finally:
            process.send_signal(2)


def resident(pids: Sequence[int]) -> float:
    """Megabytes that the processes hold for themselves. Pages of files, such as a library's, are
    left out: they come in as its code is first used, and the system takes them back at will.
    """
    return sum(map(_anonymous, pids)) / 1024


def _anonymous(pid: int) -> int:
    """Kilobytes of a process's memory that stand for no file (proc(5), `RssAnon`)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = dict(line.split(":", 1) for line in lines)
    return int(found["RssAnon"].split()[0])


def watched(pids: Sequence[int], seconds: float) -> list[tuple[float, float]]:
    """Minutes since the start and megabytes, twenty times in each of the regression's spans."""
    start = monotonic()
    samples = []
    while (now := monotonic() - start) < seconds:
        samples.append((now / 60, resident(pids)))
        sleep(seconds / BLOCKS / 20)
    return samples


def line(samples: Sequence[tuple[float, float]]) -> Line:
    """The least-squares line through the means of spans after the warm-up."""
    from scipy.stats import linregress, t

    kept = samples[int(WARM_UP * len(samples)) :]
    size = max(1, len(kept) // BLOCKS)
    blocks = [kept[i : i + size] for i in range(0, len(kept) - size + 1, size)]
    times = [sum(x for x, _ in block) / size for block in blocks]
    sizes = [sum(y for _, y in block) / size for block in blocks]
    fit = linregress(times, sizes)
    reach = float(t.ppf(0.975, len(blocks) - 2)) * float(fit.stderr)
    slope = float(fit.slope)
    return Line(slope, slope - reach, slope + reach, sum(sizes) / len(sizes))


def quantiles(times: list[float]) -> tuple[float, float]:
    """Median and 99th percentile, in milliseconds."""
    ordered = sorted(times)
    return 1e3 * ordered[len(ordered) // 2], 1e3 * ordered[int(0.99 * (len(ordered) - 1))]


# -- the clients ------------------------------------------------------------------------------


class Client:
    """One connection and the sessions that nobody else uses."""

    def __init__(self, place: str, number: int, sessions: int, ended: int) -> None:
        self._rnd = rng(0, "soak", number)
        self._connection = HTTPConnection(place, timeout=120)
        self._batches = number < BATCHERS
        self._sessions: list[Kept] = []
        self._wanted, self._ended = sessions, ended
        self._calls = {(s, n): some_calls(s, n, self._rnd) for s, n in WORLDS}
        self._seen = Seen(took={})

    def open_all(self) -> int:
        """Open all sessions, fill them and reset them; how many those are.

        Sessions open their view of a table when a call first needs it, and what all of them hold
        together comes to its height after hundreds of calls of each. Both would come in over
        minutes and look like a leak, so memory is at its height before it counts.
        """
        for _ in range(self._ended):
            self._ask("DELETE", f"/v1/sessions/{self._open().id}")
        self._sessions = [self._open() for _ in range(self._wanted)]
        for session in self._sessions:
            calls = self._calls[session.seed, session.server]
            told = [{"name": name, "arguments": given} for name, given in calls]
            self._ask("POST", f"/v1/sessions/{session.id}/calls", {"calls": told})
        for session in self._sessions:
            self._ask("POST", f"/v1/sessions/{session.id}/reset", {})
        return len(self._sessions)

    def run(self, stop: Event) -> Seen:
        """Call until told to stop."""
        while not stop.is_set():
            if self._batches:
                self._batch()
            else:
                self._mcp(self._rnd.choice(self._sessions))
        self._connection.close()
        return self._seen

    def _open(self) -> Kept:
        seed, server = self._rnd.choice(WORLDS)
        answer = self._ask("POST", "/v1/sessions", {"seed": seed, "servers": [server]})
        return Kept(answer["id"], seed, server, [])

    def _batch(self) -> None:
        """Calls of as many sessions in one request."""
        kept = self._rnd.sample(self._sessions, min(BATCH, len(self._sessions)))
        calls = [self._drawn(session) for session in kept]
        body = {
            "calls": [
                {"session": s.id, "name": name, "arguments": given}
                for s, (name, given) in zip(kept, calls, strict=True)
            ]
        }
        results = self._timed("batch of 64", "/v1/calls", body)["results"]
        for session, result in zip(kept, results, strict=True):
            self._count(session, result["outcome"])

    def _mcp(self, session: Kept) -> None:
        """One call over MCP."""
        name, given = self._drawn(session)
        told = {"protocolVersion": ERA, "clientCapabilities": {}}
        meta = {f"io.modelcontextprotocol/{key}": value for key, value in told.items()}
        params = {"name": name, "arguments": given, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"Mcp-Protocol-Version": ERA, "Mcp-Method": "tools/call", "Mcp-Name": name}
        answer = self._timed("MCP", f"/s/{session.id}/mcp", body, headers)
        outcome = answer.get("result", {}).get("_meta", {}).get("provegym/outcome")
        self._count(session, outcome or f"error {answer.get('error')}")

    def _drawn(self, session: Kept) -> Call:
        call = self._rnd.choice(self._calls[session.seed, session.server])
        session.calls.append(call)
        return call

    def _count(self, session: Kept, outcome: str) -> None:
        self._seen.calls += 1
        if outcome not in ("ok", "tool_error", "invalid_arguments"):
            self._seen.errors[outcome] += 1
        if self._rnd.random() < 1 / LIFE:
            self._end(session)

    def _end(self, session: Kept) -> None:
        """Compare a digest now and then, and begin anew."""
        path = f"/v1/sessions/{session.id}"
        if self._rnd.random() < CHECKED:
            self._check(session, self._ask("GET", f"{path}/digest")["digest"])
        if self._rnd.random() < REPLACED:
            self._ask("DELETE", path)
            self._sessions[self._sessions.index(session)] = self._open()
        else:
            self._ask("POST", f"{path}/reset", {})
            session.calls.clear()

    def _check(self, session: Kept, digest: str) -> None:
        twin = world(session.seed, (session.server,)).open()
        for call in session.calls:
            twin.call(*call)
        self._seen.checked += 1
        if twin.digest() != digest:
            self._seen.errors["crossed"] += 1

    def _timed(
        self, way: str, path: str, body: dict[str, Any], headers: dict[str, str] | None = None
    ) -> Any:
        start = perf_counter()
        answer = self._ask("POST", path, body, headers)
        self._seen.took.setdefault(way, []).append(perf_counter() - start)
        return answer

    def _ask(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        told = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        content = None if body is None else msgspec.json.encode(body)
        self._connection.request(method, path, content, {**told, **(headers or {})})
        answer = self._connection.getresponse()
        found = answer.read()
        if answer.status not in (200, 201):
            self._seen.errors[f"HTTP {answer.status}"] += 1
        return msgspec.json.decode(found)


def some_calls(seed: int, server: str, rnd: Random, count: int = 200) -> list[Call]:
    """Calls of any tools with arguments that fit the world's start."""
    session, tools = world(seed, (server,)).open(), list(load(server).tools.values())
    state = session.state(server)
    drawn = [rnd.choice(tools) for _ in range(count)]
    return [(tool.name, arguments(tool, state, rnd)) for tool in drawn]


def main() -> None:
    """Measure, and print or write the result as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--workers", type=int, default=WORKERS)
    given = parser.parse_args()
    result = measure(given.seconds, given.sessions, given.workers)
    print(re.sub(r"(\.\d{3})\d+", r"\1", json.dumps(msgspec.to_builtins(result), indent=1)))


if __name__ == "__main__":
    main()
