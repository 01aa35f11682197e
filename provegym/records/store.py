"""A record file that a stage can be killed in and take up again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Generic, TypeVar

import msgspec

from provegym.errors import InputError
from provegym.records.files import WRITTEN_BY_ANOTHER, cannot_write, hold, refuse_special
from provegym.records.manifest import Manifest, accepted, see_finished, write_manifest
from provegym.records.reading import encode, read

T = TypeVar("T")

SYNC_EVERY = 64
"""Rows between two fsyncs of a `Store`. A killed process loses none of them; a power cut may."""


class Store(Generic[T]):
    """An append-only record file that a stage can be killed in and take up again.

    Use as a context manager. Opening cuts a torn last line off, reads the `keys` already present
    and refuses with `ManifestMismatch` a file that something else made. Each row is one write; a
    second process that opens the same file is refused.

        with Store("tasks.jsonl", Task, Manifest("tasks", config=config_hash(settings))) as store:
            for task in candidates:
                if task.id not in store.keys:
                    store.append(task)
            store.finish({"seconds": 12.5})
    """

    def __init__(
        self, path: str | Path, type_: type[T], manifest: Manifest, *, key: str = "id"
    ) -> None:
        """Open or create `path` for rows of `type_`, whose attribute `key` names each row."""
        self.path = Path(path)
        self._key = key
        self._unsynced = 0
        self._file = self._open_locked()
        try:
            found = accepted(self.path, manifest)
            if found is None:
                write_manifest(self.path, manifest)
            self.manifest = found or manifest
            self._size = self._cut_torn_line()
            self.keys = self._load_keys(type_)
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Store[T]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def complete(self) -> bool:
        """Whether an earlier run finished this file, so that there is nothing left to do."""
        return self.manifest.complete

    def append(self, row: T) -> None:
        """Write one row. Raises `InputError` if its key is present already or the disk is full."""
        key = self._key_of(row)
        if key in self.keys:
            raise InputError(f"{self.path} already has a row with {self._key} {key!r}")
        self._write(encode(row) + b"\n")
        self.keys.add(key)
        self._unsynced += 1
        if self._unsynced >= SYNC_EVERY:
            self.sync()

    def sync(self, cost: Mapping[str, float] = {}) -> None:
        """Force the rows to disk; `cost` since the last sync is added to the manifest's."""
        try:
            os.fsync(self._file)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        self._unsynced = 0
        if cost:
            old = self.manifest.cost
            self._update(cost={n: old.get(n, 0) + cost.get(n, 0) for n in {**old, **cost}})

    def finish(self, cost: Mapping[str, float] = {}) -> None:
        """Mark the file complete: a later run finds nothing to do."""
        self.sync(cost)
        self._update(complete=True, rows=len(self.keys))

    def close(self) -> None:
        """Force the rows to disk and let the file go; it stays incomplete without `finish`."""
        if self._file >= 0:
            try:
                self.sync()
            finally:
                os.close(self._file)
                self._file = -1

    def _open_locked(self) -> int:
        try:
            refuse_special(self.path)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        try:
            hold(file, WRITTEN_BY_ANOTHER.format(self.path))
        except InputError:
            os.close(file)
            raise
        return file

    def _cut_torn_line(self) -> int:
        size = os.fstat(self._file).st_size
        end = _end_of_last_line(self._file, size)
        if end < size:
            os.ftruncate(self._file, end)
        return end

    def _load_keys(self, type_: type[T]) -> set[str]:
        keys: set[str] = set()
        for row in read(self.path, type_):
            key = self._key_of(row)
            if key in keys:
                raise InputError(f"{self.path} has two rows with {self._key} {key!r}")
            keys.add(key)
        see_finished(self.path, len(keys))
        return keys

    def _key_of(self, row: T) -> str:
        return str(getattr(row, self._key))

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            os.ftruncate(self._file, self._size)
            raise cannot_write(self.path, error) from error
        self._size += len(line)

    def _update(self, **changes: object) -> None:
        self.manifest = msgspec.structs.replace(self.manifest, **changes)
        write_manifest(self.path, self.manifest)


def _end_of_last_line(file: int, size: int) -> int:
    """The offset after the last newline, found by reading backwards in blocks."""
    while size > 0:
        start = max(0, size - 65_536)
        newline = os.pread(file, size - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        size = start
    return 0
