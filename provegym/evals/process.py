"""A harness's process: started, watched, and ended with us."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from provegym.errors import InfrastructureError

TIED = Path(__file__).parent / "inside" / "tied.py"
LOOK_EVERY = 0.5
"""Seconds between two looks at what the process has written."""
TOLD = 5
"""Last lines of a failed process that the user is shown."""


def tied(command: Sequence[str | Path]) -> list[str]:
    """The command of a process that ends with the one that starts it, also where that is killed (on
    Linux). Its program is named by its path.
    """
    return [sys.executable, "-P", "-S", str(TIED), *map(str, command)]


def run(
    command: Sequence[str | Path],
    *,
    environment: Mapping[str, str],
    folder: Path,
    log: Path,
    look: Callable[[], None] = lambda: None,
    answer: str = "",
    may_fail: bool = False,
) -> str:
    """Run to the end, `look` being called again and again and once more after it; what it printed.

    `answer` is what it reads, `log` the file of all it prints. Raises `InfrastructureError` for an
    exit code other than 0, unless it `may_fail`. The process does not outlive us, not even a kill
    (on Linux).
    """
    folder.mkdir(parents=True, exist_ok=True)
    with log.open("w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen(
            tied(command),
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            _say(process, answer)
            while not ended(process, LOOK_EVERY):
                look()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        look()
    printed = log.read_text("utf-8", "replace")
    if process.returncode and not may_fail:
        last = " | ".join(line.strip() for line in printed.strip().splitlines()[-TOLD:])
        name, how = Path(command[0]).name, _how(process.returncode)
        raise InfrastructureError(f"{name} {how}: {last} (all of it: {log})")
    return printed


def _how(code: int) -> str:
    """What an exit code other than 0 says. A signal is nothing that the program printed."""
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else "failed"


def _say(process: subprocess.Popen[str], answer: str) -> None:
    assert process.stdin
    try:
        process.stdin.write(answer)
        process.stdin.close()
    except BrokenPipeError:
        pass  # it ended before it asked, which its exit code tells


def ended(process: subprocess.Popen[Any], seconds: float) -> bool:
    """Whether a process ended, waited for so long at most."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
