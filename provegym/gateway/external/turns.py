"""Taking turns on one server that several of our processes reach by its URL.

The state of such a server is everybody's, so one process at a time uses it, and learns whether
another one did since.
"""

from __future__ import annotations

import fcntl
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Turns:
    """Turns by a lock on a file, which holds the mark of whoever had the last one."""

    def __init__(self, path: Path) -> None:
        self._path, self._mark = path, secrets.token_hex(8)

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Wait for a turn; whether nobody else had one since ours."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            undisturbed = file.read() == self._mark
            if not undisturbed:
                file.truncate(0)
                file.write(self._mark)
                file.flush()
            yield undisturbed
