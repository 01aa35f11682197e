"""An index on disk of a file of JSON Lines: where each record lies, and what lists filter by.

It lies beside the file as `.NAME.view.sqlite`, or in a folder that goes with the process where
that place cannot be written. A file that only grew is read on from where the index ends; any other
change makes the index anew. Rows and the place up to which the file was read are committed
together, so a kill at any moment leaves an index that is taken up again. A line that is no record
is counted and passed over: a person looks at files that went wrong, too.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from io import BufferedReader
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

from msgspec import Struct

from provegym.errors import InputError

VERSION = 2
"""Of the tables; another one in a file makes it anew."""
BATCH = 500
"""Records that are committed at once."""
_TAIL = 4096
"""Bytes before the place read up to that must be the same for the file to have only grown."""

Row = dict[str, Any]
"""The columns of one record."""
MakeRow = Callable[[bytes], Row]
"""From a line to its columns. Raises `InputError` for one that cannot be read."""


class Table(Struct, frozen=True):
    """The columns that a kind of file is listed by, as SQLite declares them, and those that get
    an index of their own; several with commas between get one together.
    """

    columns: dict[str, str]
    indexed: tuple[str, ...] = ()
    identity: str = ""
    """What else shapes the rows, as the file of tasks that traces are scored against."""


class Progress(Struct, frozen=True):
    """How much of a file is indexed, in bytes, and what stopped it, if anything did.

    `broken` counts the lines that are no records, and `first` says what the first of them is.
    """

    done: int
    total: int
    error: str = ""
    broken: int = 0
    first: str = ""


class Batch(NamedTuple):
    """The records up to a place in a file, and what is wrong with the lines that are none."""

    end: int
    rows: list[Row]
    broken: list[str]


class Index:
    """The index of one file; it is made in a thread, and can be asked meanwhile."""

    def __init__(self, path: Path, table: Table, make_row: MakeRow) -> None:
        self.path = path
        self._table = table
        self._make_row = make_row
        self._lock = Lock()
        self._thread: Thread | None = None
        self._stop = Event()
        self._error = ""
        self._seen: tuple[int, int, int] | None = None
        self.place = _writable_place(path)
        """Where the index lies."""

    # -- making it ---------------------------------------------------------------------------

    def refresh(self) -> None:
        """See whether the file changed, and begin to index what is new; returns at once."""
        with self._lock:
            if self._thread and self._thread.is_alive():
                return
            now = _state(self.path)
            if now is not None and now != self._seen:
                self._seen = now
                with self._opened() as (base, file):
                    self._taken_up(base, file.fileno())  # nobody is told what is no longer so
                self._thread = Thread(target=self._run, name=f"index {self.path}", daemon=True)
                self._thread.start()

    def wait(self, seconds: float | None = None) -> None:
        """Return once everything that `refresh` began is done, or so many seconds are over."""
        if self._thread:
            self._thread.join(seconds)

    def close(self) -> None:
        """Stop indexing; what is committed stays."""
        self._stop.set()
        self.wait()

    def _run(self) -> None:
        try:
            self._error = ""
            self.update()
        except (OSError, sqlite3.Error) as error:
            self._error = str(error)

    def update(self) -> None:
        """Index what is new, here and now."""
        while not self._advanced():
            pass

    def _advanced(self) -> bool:
        """Whether it went on to the end; not, where another process indexed the file meanwhile."""
        with self._opened() as (base, file):
            start = self._taken_up(base, file.fileno())
            file.seek(start)
            for batch in self._batches(file, start):
                if not self._commit(base, batch, start, file.fileno()):
                    return False
                if self._stop.is_set():
                    return True
                start = batch.end
        return True

    @contextlib.contextmanager
    def _opened(self) -> Iterator[tuple[sqlite3.Connection, BufferedReader]]:
        with contextlib.closing(self._open()) as base, self.path.open("rb") as file:
            yield base, file

    def _batches(self, file: BufferedReader, start: int) -> Iterator[Batch]:
        batch = Batch(start, [], [])
        for line in file:
            if not line.endswith(b"\n"):
                break  # half a line: whoever writes it has not finished
            if line.strip():
                self._take(line, batch)
            batch = batch._replace(end=batch.end + len(line))
            if len(batch.rows) + len(batch.broken) >= BATCH:
                yield batch
                batch = Batch(batch.end, [], [])
        yield batch

    def _take(self, line: bytes, batch: Batch) -> None:
        """Add a line to a batch, at whose end it begins."""
        try:
            row = self._make_row(line)
        except InputError as error:
            batch.broken.append(f"at byte {batch.end}: {error}")
        else:
            batch.rows.append({"at": batch.end, "size": len(line), **row})

    def _commit(self, base: sqlite3.Connection, batch: Batch, start: int, file: int) -> bool:
        """Write a batch, unless the index does not end where the batch starts."""
        names = ["at", "size", *self._table.columns]
        marks = ", ".join("?" for _ in names)
        with _transaction(base):
            known = dict(base.execute("SELECT name, value FROM told"))
            if int(known.get("read", 0)) != start:
                return False
            base.executemany(
                f"INSERT INTO rows ({', '.join(names)}) VALUES ({marks})",
                ([row.get(name) for name in names] for row in batch.rows),
            )
            told = {"read": batch.end, "tail": _tail(file, batch.end)}
            told |= {"inode": os.fstat(file).st_ino, "state": repr(_state(self.path))}
            told["broken"] = int(known.get("broken", 0)) + len(batch.broken)
            told["first"] = known.get("first") or next(iter(batch.broken), "")
            base.executemany("INSERT OR REPLACE INTO told VALUES (?, ?)", list(told.items()))
        return True

    def _taken_up(self, base: sqlite3.Connection, file: int) -> int:
        """Where to read on; 0 after everything was thrown away."""
        told = dict(base.execute("SELECT name, value FROM told"))
        read, state = int(told.get("read", 0)), os.fstat(file)
        same = str(told.get("inode")) == str(state.st_ino) and read <= state.st_size
        if same and told.get("identity") == self._identity():
            unchanged = told.get("state") == repr(_state(self.path))
            grown = read < state.st_size and told.get("tail") == _tail(file, read)
            if unchanged or grown:
                return read
        self._empty(base)
        return 0

    def _identity(self) -> str:
        table = self._table
        told = repr((VERSION, sorted(table.columns.items()), table.indexed, table.identity))
        return hashlib.sha256(told.encode()).hexdigest()

    def _empty(self, base: sqlite3.Connection) -> None:
        columns = ", ".join(f"{name} {kind}" for name, kind in self._table.columns.items())
        with _transaction(base):
            base.execute("DROP TABLE IF EXISTS rows")
            base.execute(
                f"CREATE TABLE rows (n INTEGER PRIMARY KEY, at INTEGER, size INTEGER, {columns})"
            )
            for i, names in enumerate(self._table.indexed):
                base.execute(f"CREATE INDEX by_{i} ON rows ({names})")
            base.execute("DELETE FROM told")
            base.execute("INSERT INTO told VALUES ('identity', ?)", (self._identity(),))

    def _open(self) -> sqlite3.Connection:
        try:
            return _connected(self.place)
        except sqlite3.OperationalError:
            raise  # busy, or a full disk: not the file's fault
        except sqlite3.DatabaseError:  # somebody wrote over it; it holds nothing that is lost
            self.place.unlink(missing_ok=True)
            return _connected(self.place)

    # -- asking it ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection to ask with, whose rows are read by name; None of them may be there yet."""
        with contextlib.closing(self._open()) as base:
            if not base.execute("SELECT 1 FROM sqlite_master WHERE name = 'rows'").fetchone():
                self._empty(base)
            base.row_factory = sqlite3.Row
            yield base

    def progress(self) -> Progress:
        """How far it is."""
        with self.reading() as base:
            told = dict(base.execute("SELECT name, value FROM told").fetchall())
        size = self.path.stat().st_size if self.path.exists() else 0
        done = min(int(told.get("read", 0)), size)
        return Progress(
            done, size, self._error, int(told.get("broken", 0)), str(told.get("first", ""))
        )

    def line(self, name: str) -> bytes | None:
        """The line of the record with that id, None where none is indexed."""
        with self.reading() as base:
            found = base.execute("SELECT at, size FROM rows WHERE id = ?", (name,)).fetchone()
        if found is None:
            return None
        with self.path.open("rb") as file:
            file.seek(found["at"])
            return file.read(found["size"])

    def first(self, count: int) -> list[str]:
        """The ids of the first records."""
        with self.reading() as base:
            asked = "SELECT id FROM rows ORDER BY n LIMIT ?"
            return [str(row["id"]) for row in base.execute(asked, (count,))]


@contextlib.contextmanager
def _transaction(base: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, and nobody else writes meanwhile."""
    base.execute("BEGIN IMMEDIATE")
    with base:
        yield


def _connected(place: Path) -> sqlite3.Connection:
    base = sqlite3.connect(place, timeout=30)
    base.execute("PRAGMA journal_mode=WAL")
    base.execute("PRAGMA synchronous=NORMAL")
    base.execute("CREATE TABLE IF NOT EXISTS told (name TEXT PRIMARY KEY, value)")
    return base


def _state(path: Path) -> tuple[int, int, int] | None:
    """What tells one version of a file from another without reading it; None where it is gone."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _tail(file: int, end: int) -> str:
    """Hash of the last bytes before a place."""
    start = max(0, end - _TAIL)
    return hashlib.sha256(os.pread(file, end - start, start)).hexdigest()


def _writable_place(path: Path) -> Path:
    name = f".{path.name}.view.sqlite"
    if os.access(path.parent, os.W_OK):
        return path.parent / name
    mark = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    return Path(_temporary().name) / f"{mark}{name}"


@lru_cache(maxsize=1)
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="provegym-view-")
