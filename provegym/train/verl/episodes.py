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
from msgspec.structs import replace

from provegym import records


class Row(Struct, frozen=True, omit_defaults=True):
    """One episode. `reward` is the preset's total; `fault` says why there is none.

    `learnt` is false for those of a validation.
    """

    id: str
    task: str
    step: int
    learnt: bool = True
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
        self.row = replace(self.row, reward=reward, parts=parts, stop=stop)


class Journal:
    """Appends to a folder; "" writes nothing."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @contextmanager
    def episode(self, row: Row) -> Iterator[Episode]:
        """Records the episode that is played inside, also one that raises."""
        episode = Episode(row)
        try:
            yield episode
        except BaseException as fault:
            self._write(replace(row, fault=f"{type(fault).__name__}: {fault}"))
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
