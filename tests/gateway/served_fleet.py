"""`provegym serve --http --workers N` as a process of its own, and what a test asks of it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

import msgspec

from provegym.gateway.joined import FleetHealth

PATIENCE = 60.0


class Served(NamedTuple):
    """A running gateway."""

    url: str
    process: subprocess.Popen[str]
    token: str = ""

    def health(self) -> FleetHealth:
        told = {"authorization": f"Bearer {self.token}"} if self.token else {}
        return msgspec.json.decode(get(self.url, "/healthz", **told).body, type=FleetHealth)

    def pids(self) -> dict[str, int]:
        """The processes of the workers by name; who may not know them fails."""
        found = {name: worker.pid for name, worker in self.health().workers.items()}
        assert all(found.values())
        return {name: pid for name, pid in found.items() if pid}

    def until_whole(self, lost: int = 0) -> FleetHealth:
        """How the fleet is once so many workers died and each was replaced."""
        end = monotonic() + PATIENCE
        while (health := self.health()).lost < lost or health.status != "ok":
            assert monotonic() < end, health
            sleep(0.2)
        return health


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def start(workers: int, port: int, *options: str) -> subprocess.Popen[str]:
    run = "from provegym.cli import main; main()"
    fleet = ("serve", "--http", "--workers", str(workers), "--port", str(port))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = (sys.executable, "-c", run, *fleet, *options)
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)


@contextmanager
def serving(workers: int, *options: str) -> Iterator[Served]:
    """The gateway from its first word on, ended by Ctrl-C."""
    process = start(workers, 0, *options)
    try:
        yield Served(told(process), process)
    finally:
        end(process)


def told(process: subprocess.Popen[str]) -> str:
    """The URL that the gateway says it listens at."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if line.startswith("serving "):
            return line.split()[1]
    raise AssertionError("".join(said))


def end(process: subprocess.Popen[str]) -> str:
    """Interrupt it; what else it said."""
    if process.poll() is None:
        process.send_signal(2)
    return process.communicate(timeout=PATIENCE)[1]


def gone(pid: int) -> bool:
    """Whether a process has ended, or ends soon."""
    until = monotonic() + PATIENCE
    while monotonic() < until:
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True
        )
        if state.stdout.strip()[:1] in ("", "Z"):
            return True
        sleep(0.02)
    return False


class Answer(NamedTuple):
    """Status and body."""

    status: int
    body: bytes

    @property
    def code(self) -> str:
        """The error that it tells."""
        return str(msgspec.json.decode(self.body)["error"]["code"])


def get(url: str, path: str, **headers: str) -> Answer:
    return ask(url, "GET", path, None, headers)


def post(url: str, path: str, body: Any, **headers: str) -> Answer:
    """A POST of JSON, or of bytes as they are."""
    content = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return ask(url, "POST", path, content, headers)


def ask(url: str, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
    with closing(HTTPConnection(url.removeprefix("http://"), timeout=PATIENCE)) as connection:
        connection.request(method, path, body, {"content-type": "application/json", **headers})
        answer = connection.getresponse()
        return Answer(answer.status, answer.read())
