"""The folder that is looked at: its files, an index of each, and which tasks traces are of."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from threading import Lock

from msgspec.structs import replace

from provegym.errors import InputError, UnknownName
from provegym.records import content_hash, read_manifest
from provegym.types import Task, Trace
from provegym.viewer import tasks, traces
from provegym.viewer.files import Found, Kind, look, named
from provegym.viewer.index import Index
from provegym.viewer.traces import TaskOf

FRESH_SECONDS = 1.0
"""How long what a folder holds is remembered."""
NAMED = 20
"""So many ids an error lists."""
KEPT_TASKS = 4096
"""Tasks that are kept decoded while traces are scored."""
PLAYED: tuple[Kind, ...] = ("traces", "conversations")
"""Kinds of files that hold episodes."""
PATIENCE = 0.5
"""Seconds that a page waits for the indexes of files that it only tells of."""


class Place:
    """One folder. All of it may be asked from several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = Lock()
        self._found: tuple[float, list[Found]] = 0.0, look(folder)
        self._indexes: dict[str, Index] = {}
        self._hash = lru_cache(maxsize=256)(_hash)

    def files(self) -> list[Found]:
        """The record files, as they were at most a second ago."""
        at, found = self._found
        if time.monotonic() - at > FRESH_SECONDS:
            found = look(self.folder)
            self._found = time.monotonic(), found
        return found

    def path(self, name: str, *kinds: Kind) -> Path:
        """Where a file of one of the kinds lies. Raises `UnknownName`: no other file is opened."""
        return self.folder / named(self.files(), name, *kinds).name

    # -- indexes -----------------------------------------------------------------------------

    def tasks(self, name: str) -> Index:
        """The index of a file of tasks, up to date or on its way there. Raises `UnknownName`."""
        path = self.path(name, "tasks")
        return self._index(name, lambda: Index(path, tasks.TABLE, tasks.row))

    def traces(self, name: str) -> Index:
        """The index of a file of traces, which are scored meanwhile. Raises `UnknownName`."""
        path = self.path(name, *PLAYED)
        return self._index(name, lambda: self._scored(name, path))

    def played(self) -> Iterator[tuple[str, Index]]:
        """Every file of traces with its index, which is waited for, but not for long."""
        end = time.monotonic() + PATIENCE
        for file in self.files():
            if file.kind == "traces":
                index = self.traces(file.name)
                index.wait(max(0, end - time.monotonic()))
                yield file.name, index

    def _index(self, name: str, make: Callable[[], Index]) -> Index:
        index = self._indexes.get(name)
        if index is None:
            made = make()  # outside of the lock: it may look into other files
            with self._lock:
                index = self._indexes.setdefault(name, made)
        index.refresh()
        return index

    def _scored(self, name: str, path: Path) -> Index:
        source = self.tasks_of(name)
        version = self._version(self.folder / source) if source else ""
        table = replace(traces.TABLE, identity=f"{source} {version}")
        return Index(path, table, traces.row_maker(self._task_of(source)))

    def _task_of(self, source: str) -> TaskOf:
        """How tasks are found while traces are scored. The whole file is indexed first."""
        if not source:
            return lambda _: None

        @lru_cache(maxsize=KEPT_TASKS)
        def task_of(name: str) -> Task | None:
            index = self.tasks(source)
            index.wait()
            line = index.line(name)
            return tasks.slim(tasks.read(line)) if line else None

        return task_of

    def close(self) -> None:
        """Stop indexing."""
        for index in self._indexes.values():
            index.close()

    # -- single records ----------------------------------------------------------------------

    def task(self, file: str, name: str) -> Task:
        """A task of a file. Raises `UnknownName`."""
        return tasks.read(_line(self.tasks(file), "task", name))

    def trace(self, file: str, name: str) -> Trace:
        """A trace of a file. Raises `UnknownName`."""
        return traces.read(_line(self.traces(file), "trace", name))

    def task_of(self, file: str, trace: Trace) -> Task | None:
        """The task that a trace of a file was made from, None where it is not known."""
        source = self.tasks_of(file)
        try:
            return self.task(source, trace.task_id) if source else None
        except UnknownName:
            return None

    # -- which tasks -------------------------------------------------------------------------

    def tasks_of(self, name: str) -> str:
        """The file of tasks that a file of traces was made from, "" where there is none.

        It is the one that the manifest of the traces names by its hash; without one, the nearest
        that has the task of the first trace.
        """
        path = self.path(name, *PLAYED)
        files = [file.name for file in self.files() if file.kind == "tasks"]
        nearest = sorted(files, key=lambda other: _distance(name, other))
        manifest = read_manifest(path)
        if manifest is not None and manifest.parent:
            for other in nearest:
                if self._version(self.folder / other) == manifest.parent:
                    return other
        first = _first(path)
        return next((o for o in nearest if first and self._has(o, first.task_id)), "")

    def _has(self, file: str, task: str) -> bool:
        index = self.tasks(file)
        index.wait()
        return index.line(task) is not None

    def _version(self, path: Path) -> str:
        found = path.stat()
        return self._hash(path, found.st_size, found.st_mtime_ns)


def _line(index: Index, what: str, name: str) -> bytes:
    """The line of a record. One that is not indexed yet is waited for. Raises `UnknownName`."""
    line = index.line(name)
    if line is None:
        index.wait()
        line = index.line(name)
    if line is None:
        raise UnknownName(what, name, index.first(NAMED))
    return line


def _hash(path: Path, size: int, time: int) -> str:
    """SHA-256 of a file; size and time make it anew when the file changed."""
    return content_hash(path)


def _distance(one: str, other: str) -> tuple[int, int]:
    """How far apart two files lie, in folders; of equals the one with fewer above it."""
    a, b = one.split("/")[:-1], other.split("/")[:-1]
    shared = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
    shared = min(len(a), len(b)) if shared is None else shared
    return len(a) + len(b) - 2 * shared, len(b)


def _first(path: Path) -> Trace | None:
    with path.open("rb") as file:
        line = file.readline()
    try:
        return traces.read(line)
    except InputError:
        return None
