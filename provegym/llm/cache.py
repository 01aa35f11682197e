"""Answers on disk, so that no finished request is paid for twice.

One SQLite file in write-ahead mode: an answer is on disk before it is used, a killed process loses
none, and a half-written one is rolled back when the file is next opened. (A power cut may cost
the last few, never the file.) One process has the file at a time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from provegym.errors import InputError
from provegym.llm.ledger import Spent

_VERSION = 1
_TABLES = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    body BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS sent (
    id INTEGER PRIMARY KEY,
    model TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL
);
PRAGMA user_version = {_VERSION};
COMMIT;
"""
"""`sent` has a row for each request from before it is sent until its answer is stored. What stays
there was lost, and counts at its worst."""


class Cache:
    """The file. `sqlite3 FILE 'SELECT body FROM answers'` reads it, too, when nobody writes."""

    def __init__(self, path: Path) -> None:
        """Open or make it. Raises `InputError` where it is in use, foreign or cannot be written."""
        self.path = path
        with self._refused():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=0, isolation_level=None)
        try:
            with self._refused():
                self._prepare()
        except BaseException:
            self._db.close()
            raise

    def get(self, key: str) -> bytes | None:
        """The body of the response to the request of that key."""
        with self._refused():
            row = self._db.execute("SELECT body FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def send(self, model: str, worst: Spent) -> int:
        """Note that a request is about to be sent, with the most it may take."""
        with self._refused():
            row = self._db.execute(
                "INSERT INTO sent (model, prompt_tokens, completion_tokens) VALUES (?, ?, ?)",
                (model, worst.prompt_tokens, worst.completion_tokens),
            )
        assert row.lastrowid is not None
        return row.lastrowid

    def turned_away(self, sent: int) -> None:
        """The endpoint did not take it."""
        with self._refused():
            self._db.execute("DELETE FROM sent WHERE id = ?", (sent,))

    def answered(self, sent: int, key: str, model: str, took: Spent, body: bytes) -> None:
        """Keep the answer to what was sent, and what it took."""
        tokens = took.prompt_tokens, took.completion_tokens, took.cached_tokens
        with self._refused(), self._transaction():
            self._db.execute("DELETE FROM sent WHERE id = ?", (sent,))
            self._db.execute(
                "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?)", (key, model, *tokens, body)
            )

    def spent(self, model: str) -> tuple[Spent, Spent]:
        """What the answered requests to a model took, and what the lost ones may have taken."""
        counted = "SELECT COUNT(*), TOTAL(prompt_tokens), TOTAL(completion_tokens)"
        with self._refused():
            answered = self._db.execute(
                f"{counted}, TOTAL(cached_tokens) FROM answers WHERE model = ?", (model,)
            ).fetchone()
            lost = self._db.execute(f"{counted} FROM sent WHERE model = ?", (model,)).fetchone()
        return Spent(*map(int, answered)), Spent(*map(int, lost))

    def close(self) -> None:
        """Let the file go."""
        self._db.close()

    def _prepare(self) -> None:
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        (tables,) = self._db.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()
        if version > _VERSION or (version == 0 and tables):
            raise InputError(
                f"{self.path} is no file of answers that this version reads; choose another path"
            )
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")  # a power cut may cost the last rows
        self._db.executescript(_TABLES)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            self._db.rollback()
            raise

    @contextmanager
    def _refused(self) -> Iterator[None]:
        """Tell SQLite's errors and the system's in one line."""
        try:
            yield
        except OSError as error:
            raise InputError(f"cannot write {self.path}: {error.strerror}") from error
        except sqlite3.ProgrammingError:
            raise  # a mistake of ours, say a use after closing
        except sqlite3.Error as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:  # the rest tells how
                raise InputError(
                    f"{self.path} is in use by another process; wait for it or choose another path"
                ) from error
            raise InputError(
                f"cannot keep answers in {self.path}: {error}; make room or choose another path"
            ) from error
