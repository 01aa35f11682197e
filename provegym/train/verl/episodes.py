"""A record of every episode of a run through verl, one line each, in a folder of its own.

Each process appends to a file of its own, so any number on any number of machines may write. A
line says what an episode scored, or which fault of ours it was lost to.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from provegym import records


class Row(Struct, frozen=True, omit_defaults=True):
    """One episode. `reward` is the preset's total; `fault` says why there is none."""

    id: str
    task: str
    step: int
    reward: float | None = None
    parts: dict[str, float] = {}
    stop: str = ""
    fault: str = ""


class Episode:
    """One that is being played."""

    def __init__(self, row: Row) -> None:
        self.row = row

    def played(self, reward: float, parts: dict[str, float], stop: str) -> None:
        """It came to its end."""
        old = self.row
        self.row = Row(old.id, old.task, old.step, reward, parts, stop)


class Journal:
    """Appends to a folder; "" writes nothing."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @contextmanager
    def episode(self, name: str, task: str, step: int) -> Iterator[Episode]:
        """Records the episode that is played inside, also one that raises."""
        episode = Episode(Row(name, task, step))
        try:
            yield episode
        except BaseException as fault:
            self._write(Row(name, task, step, fault=f"{type(fault).__name__}: {fault}"))
            raise
        self._write(episode.row)

    def _write(self, row: Row) -> None:
        if not self._folder:
            return
        path = Path(self._folder) / f"{socket.gethostname()}-{os.getpid()}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(records.encode(row) + b"\n")


def read(folder: Path) -> list[Row]:
    """All episodes of a run, in the order of their steps."""
    found = [row for path in sorted(folder.glob("*.jsonl")) for row in records.read_rows(path)]
    return sorted(msgspec.convert(found, list[Row]), key=lambda row: row.step)
