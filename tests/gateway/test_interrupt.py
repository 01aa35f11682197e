"""Ctrl-C is how a server is ended: in silence and with one exit code, whenever it comes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from provegym.gateway import local
from provegym.gateway.fleet import Plan
from provegym.gateway.settings import Settings

HTTP = ("serve", "--http", "--port", "0", "--token", "secret")
FLEET = (*HTTP, "--workers", "2")

INTERRUPTED_AT = """
import signal
from importlib import import_module
signal.signal(signal.SIGINT, signal.default_int_handler)
from provegym.cli import main

module, _, name = {place!r}.rpartition(".")
try:
    holder = import_module(module)
except ModuleNotFoundError:  # a method
    module, _, kind = module.rpartition(".")
    holder = getattr(import_module(module), kind)
real = getattr(holder, name)

def struck(*args, **named):
    for _ in range({times}):
        signal.raise_signal(signal.SIGINT)
    return real(*args, **named)

setattr(holder, name, struck)
main()
"""
"""The command, to which Ctrl-C comes at the moment when it first calls that function."""


def interrupted(place: str, arguments: tuple[str, ...], times: int = 1) -> tuple[int, list[str]]:
    """Exit code and words of a server to which Ctrl-C comes at that place."""
    run = INTERRUPTED_AT.format(place=place, times=times)
    done = subprocess.run(
        [sys.executable, "-c", run, *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=subprocess.PIPE,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == ""
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize(
    ("place", "arguments"),
    [
        ("provegym.names.servers_named", HTTP),
        ("provegym.gateway.http.new_rooms", HTTP),
        ("provegym.gateway.stdio.own_room", ("serve", "banking")),
        ("provegym.gateway.stdio.run", ("serve", "banking")),
        ("provegym.gateway.listening.listen", FLEET),
        ("provegym.gateway.front._serve", FLEET),
        ("provegym.gateway.local.launch", FLEET),
        ("provegym.gateway.local._greet", FLEET),
    ],
)
def test_an_interrupt_while_it_starts_ends_it_without_a_word(
    place: str, arguments: tuple[str, ...]
) -> None:
    code, said = interrupted(place, arguments)
    assert (code, [line for line in said if not line.startswith("serving ")]) == (0, [])


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("arguments", [HTTP, FLEET], ids=["one", "fleet"])
def test_an_interrupt_while_it_serves_ends_it_after_the_line_that_says_where(
    arguments: tuple[str, ...], times: int
) -> None:
    code, [said] = interrupted("uvicorn.server.Server.main_loop", arguments, times)
    assert (code, said.partition("://")[0]) == (0, "serving http")


def worker(written: bytes) -> tuple[int, bytes]:
    """Exit code and words of a worker whose front wrote this and left."""
    reads, writes = os.pipe()
    os.close(reads)
    with subprocess.Popen(
        [sys.executable, "-c", local.RUN],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=subprocess.PIPE,
        stdout=writes,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(writes)
        said = process.communicate(written, timeout=120)[1]
    return process.returncode, said


def test_a_worker_whose_front_left_while_it_was_loaded_says_nothing() -> None:
    plan = Plan("w0", Settings(port=0, servers=("banking",)))
    assert worker(b"") == (0, b"")
    assert worker(msgspec.json.encode(plan) + b"\n") == (1, b"")


def test_a_worker_that_is_being_loaded_hears_of_no_interrupt() -> None:
    first, _, _ = local.RUN.partition("import provegym")
    run = f"{first} s.raise_signal(s.SIGINT)"
    assert subprocess.run([sys.executable, "-c", run], capture_output=True).stderr == b""
