"""The `provegym` command from its first moment to its last, so that Ctrl-C ends it in one line.

Until the command line is imported nothing has begun, and the process just ends. While a verb runs,
the word comes at once and not only when what it waits for has ended. After it, what is written is
written: another Ctrl-C ends the process at once, with the exit code that it would have had.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from types import FrameType

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it (128 and the number of the signal)."""
RESUMABLE = frozenset(
    {"benchmark", "eval", "graph", "rollout", "run", "synth", "train", "warmstart"}
)
"""Verbs that go on where they were interrupted."""
ENDLESS = frozenset({"serve", "serve-model", "view"})
"""Verbs that an interrupt alone ends, so that it is no failure and needs no word."""
FOLDERS = "provegym.gateway.external.folders"

told = threading.Event()
"""Set once an interrupt was told of."""


def main() -> None:
    """Entry point of the `provegym` command."""
    if _hears():
        signal.signal(signal.SIGINT, _at_the_start)
    from provegym import cli

    cli.main()


def word(verb: str) -> str:
    """What is told of an interrupt; empty where there is nothing to tell."""
    if verb in ENDLESS:
        return ""
    return "interrupted; the same command goes on" if verb in RESUMABLE else "interrupted"


def code(verb: str) -> int:
    """The exit code of an interrupted verb."""
    return 0 if verb in ENDLESS else INTERRUPTED


def running(verb: str) -> None:
    """From now on an interrupt is told of, and raised as `KeyboardInterrupt`."""

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.default_int_handler)
        told.set()
        _say(word(verb))
        raise KeyboardInterrupt

    if _hears():  # a server's loop has its own way, and takes only Python's handler for none
        signal.signal(signal.SIGINT, signal.default_int_handler if verb in ENDLESS else stop)
        # The first that is registered is the last: Python takes handlers away before it is gone.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def ending(code: int) -> None:
    """From now on an interrupt ends the process at once; the kernel ends its servers."""

    def leave(number: int, frame: FrameType | None) -> None:
        if FOLDERS in sys.modules:
            sys.modules[FOLDERS].clear()
        os._exit(code)

    if _hears():
        signal.signal(signal.SIGINT, leave)


def _hears() -> bool:
    """Whether the process hears of Ctrl-C: a shell's background jobs do not."""
    return callable(signal.getsignal(signal.SIGINT))


def _at_the_start(number: int, frame: FrameType | None) -> None:
    verb = "".join(sys.argv[1:2])
    if verb not in ENDLESS:
        _say("interrupted")
    os._exit(code(verb))


def _say(text: str) -> None:
    """Write a line past Python's streams, which may be at work as the signal comes."""
    os.write(2, f"{text}\n".encode())
