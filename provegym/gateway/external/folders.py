"""Private folders of sessions, under the system's folder for temporary files.

Each has its process's number in its name. Those that a killed process left are cleared away by the
next one that needs a folder.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
import threading
from functools import cache
from pathlib import Path
from types import FrameType

PREFIX = "provegym-external-"
_NAME = re.compile(rf"{PREFIX}(\d+)-\w+")


def private() -> Path:
    """A new, empty folder that only this user may enter."""
    _sweep()
    _clear_at_sigterm()
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")).resolve()


@cache
def _clear_at_sigterm() -> None:
    """See that SIGTERM, if nobody else looks after it, leaves no folder of this process."""
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _clear_and_end)


def _clear_and_end(number: int, frame: FrameType | None) -> None:
    """Remove the folders, then die of the signal; the kernel ends the servers."""
    clear()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def clear() -> None:
    """Remove the folders of this process, which is about to end."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}{os.getpid()}-*"):
        shutil.rmtree(path, ignore_errors=True)


@cache
def _sweep() -> None:
    """Remove the folders of this user's processes that are no more."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        found = _NAME.fullmatch(path.name)
        if found and not _alive(int(found[1])):
            shutil.rmtree(path, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
