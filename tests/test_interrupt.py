"""Ctrl-C, as a terminal sends it: to the whole process group of a command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from provegym import cli
from provegym.llm.scripted import Json, Response, ScriptedServer
from provegym.records import read
from provegym.types import Task

LISTEN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
"""A shell's background jobs, which tests may run in, do not hear of Ctrl-C."""
START = [sys.executable, "-c", f"{LISTEN}; from provegym.cli import main; main()"]
GOES_ON = ["interrupted; the same command goes on"]
SYNTH = ["synth", "--servers", "banking"]


def started(folder: Path, arguments: list[str]) -> subprocess.Popen[str]:
    """The command in a process group of its own."""
    return subprocess.Popen(
        [*START, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def interrupted(process: subprocess.Popen[str]) -> tuple[int, list[str]]:
    """Its exit code after a Ctrl-C, and what it said from then on besides its progress."""
    assert process.stderr
    os.killpg(process.pid, signal.SIGINT)
    rest = process.stderr.read().splitlines()
    return process.wait(), [line for line in rest if not line.startswith("synth: ")]


def test_an_interrupted_synthesis_says_one_line_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [*SYNTH, "--limit", "100", "--out", "tasks.jsonl"]
    with started(tmp_path, command) as process:
        assert process.stderr
        next(line for line in process.stderr if line.startswith("synth: "))
        assert interrupted(process) == (130, GOES_ON)
    monkeypatch.chdir(tmp_path)
    assert 0 < len(list(read("tasks.jsonl", Task))) < 100
    assert cli.call(command) == 0
    assert len(list(read("tasks.jsonl", Task))) == 100


@pytest.mark.parametrize("verb", ["synth", "rollout"])
def test_a_command_that_waits_for_a_model_is_interrupted_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.call([*SYNTH, "--limit", "2", "--out", "tasks.jsonl"]) == 0
    asked = threading.Event()

    def hold(_: Json) -> Response:
        asked.set()
        return Response(hold=True)

    with ScriptedServer(hold) as server:
        model = ["openai:m", "--base-url", server.url]
        command = {
            "synth": [*SYNTH, "--limit", "1", "--out", "m.jsonl", "--teacher", *model],
            "rollout": ["rollout", "tasks.jsonl", "--out", "traces.jsonl", "--policy", *model],
        }[verb]
        with started(tmp_path, command) as process:
            assert asked.wait(120)
            code, told = interrupted(process)
    assert (code, told[-1:]) == (130, GOES_ON)
    assert not [line for line in told if "Traceback" in line or "Error" in line]


STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open("{told}", "w").close()
while True:
    time.sleep(60)
"""
"""A server that answers nothing, and ends neither with its input nor when it is told to."""
PATIENCE_OF_THE_SDK = 4.0
"""Seconds that the SDK waits before it kills such a server."""


def test_an_interrupted_add_ends_at_once_whatever_the_server_does(tmp_path: Path) -> None:
    told, server = tmp_path / "told", tmp_path / "stubborn.py"
    os.mkfifo(told)
    server.write_text(STUBBORN.format(told=told))
    command = ["add", "mine", "--command", f"{sys.executable} {server}"]
    with started(tmp_path, command) as process:
        told.read_bytes()  # the server is there
        begun = time.monotonic()
        assert interrupted(process) == (130, ["interrupted"])
        assert time.monotonic() - begun < PATIENCE_OF_THE_SDK
    assert not (tmp_path / "provegym.toml").exists()
