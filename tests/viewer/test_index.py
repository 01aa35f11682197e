"""The index on disk: what it holds after a file grew, changed, was cut off or was killed."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import pytest

from provegym.errors import InputError
from provegym.viewer import index as indexing
from provegym.viewer.index import Index, Row, Table

TABLE = Table({"id": "TEXT", "size_told": "INTEGER"}, indexed=("id",))


class Reader:
    """Makes rows, and counts the lines it was given."""

    def __init__(self) -> None:
        self.lines = 0

    def __call__(self, line: bytes) -> Row:
        self.lines += 1
        try:
            told = msgspec.json.decode(line, type=dict[str, Any])
        except msgspec.MsgspecError as error:
            raise InputError(str(error)) from error
        return {"id": told["id"], "size_told": told["size"]}


def write(path: Path, *names: str) -> None:
    path.write_text("".join(json.dumps({"id": n, "size": len(n)}) + "\n" for n in names), "utf-8")


def add(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def ids(index: Index) -> list[str]:
    with index.reading() as base:
        return [row["id"] for row in base.execute("SELECT id FROM rows ORDER BY n")]


def made(path: Path, reader: Reader, table: Table = TABLE) -> Index:
    index = Index(path, table, reader)
    index.update()
    return index


def test_it_lies_beside_the_file_and_finds_the_line_of_an_id(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, "one", "two", "three")
    index = made(path, Reader())
    assert index.place == tmp_path / ".a.jsonl.view.sqlite"
    assert index.line("two") == b'{"id": "two", "size": 3}\n'
    assert index.line("four") is None
    assert (index.progress().done, index.progress().total) == (path.stat().st_size,) * 2


def test_a_file_that_grew_is_read_on_from_where_the_index_ended(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, "one", "two")
    made(path, Reader())
    add(path, '{"id": "three", "size": 5}\n')
    reader = Reader()
    assert ids(made(path, reader)) == ["one", "two", "three"]
    assert reader.lines == 1


def test_a_file_as_it_was_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, "one", "two")
    made(path, Reader())
    reader = Reader()
    assert ids(made(path, reader)) == ["one", "two"]
    assert reader.lines == 0


@pytest.mark.parametrize("names", [("one", "2wo"), ("one",), ("0ne", "two", "three")])
def test_a_file_that_changed_otherwise_is_indexed_anew(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    path = tmp_path / "a.jsonl"
    write(path, "one", "two")
    made(path, Reader())
    then = path.stat()
    write(path, *names)
    os.utime(path, ns=(then.st_atime_ns, then.st_mtime_ns + 1))  # coarse clocks must not hide it
    reader = Reader()
    assert ids(made(path, reader)) == list(names)
    assert reader.lines == len(names)


def test_another_file_under_the_name_is_indexed_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, "one", "two")
    made(path, Reader())
    write(tmp_path / "new", "one", "two", "three")
    (tmp_path / "new").replace(path)
    reader = Reader()
    assert ids(made(path, reader)) == ["one", "two", "three"]
    assert reader.lines == 3


def test_other_tables_or_another_source_make_it_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, "one")
    made(path, Reader())
    reader = Reader()
    made(path, reader, Table(TABLE.columns, identity="other tasks"))
    assert reader.lines == 1


def test_half_a_line_waits_for_its_other_half(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, "one")
    add(path, '{"id": "tw')
    assert ids(made(path, Reader())) == ["one"]
    add(path, 'o", "size": 3}\n')
    assert ids(made(path, Reader())) == ["one", "two"]


def test_what_was_committed_before_a_kill_is_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "BATCH", 2)
    path = tmp_path / "a.jsonl"
    write(path, *"abcde")

    class Killed(BaseException):
        pass

    class Dies(Reader):
        def __call__(self, line: bytes) -> Row:
            if self.lines == 3:
                raise Killed
            return super().__call__(line)

    with pytest.raises(Killed):
        made(path, Dies())
    reader = Reader()
    assert ids(made(path, reader)) == list("abcde")
    assert reader.lines == 3  # a and b were committed


def test_two_that_index_one_file_write_each_record_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "BATCH", 2)
    path = tmp_path / "a.jsonl"
    write(path, *"abcdefg")

    class Overtaken(Reader):
        """While it reads its fourth line, another one indexes the whole file."""

        def __call__(self, line: bytes) -> Row:
            if self.lines == 3:
                made(path, Reader())
            return super().__call__(line)

    assert ids(made(path, Overtaken())) == list("abcdefg")


def test_what_an_index_held_of_another_file_is_not_told_once_it_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, "old", "older")
    made(path, Reader())
    (tmp_path / "new").write_text('{"id": "new", "size": 3}\n' * 2, "utf-8")
    (tmp_path / "new").replace(path)
    started = Event()

    class Waits(Reader):
        def __call__(self, line: bytes) -> Row:
            started.wait(30)
            return super().__call__(line)

    index = Index(path, TABLE, Waits())
    index.refresh()
    assert (ids(index), index.progress().done) == ([], 0)
    started.set()
    index.wait()
    assert ids(index) == ["new", "new"]


@pytest.mark.parametrize("batch", [1, 500])
def test_a_broken_line_is_told_and_the_records_around_it_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(indexing, "BATCH", batch)
    path = tmp_path / "a.jsonl"
    write(path, "one")
    add(path, '{broken}\n{"id": "two", "size": 3}\n')
    told = made(path, Reader())
    assert (ids(told), told.line("two")) == (["one", "two"], b'{"id": "two", "size": 3}\n')
    assert (told.progress().done, told.progress().error) == (path.stat().st_size, "")
    assert told.progress().broken == 1
    assert told.progress().first.startswith("at byte 25: ")
    add(path, "[]\n")
    again = made(path, Reader()).progress()
    assert (again.broken, again.first) == (2, told.progress().first)
    write(path, "mended")
    assert made(path, Reader()).progress().broken == 0


def test_a_file_that_is_no_database_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, "one")
    (tmp_path / ".a.jsonl.view.sqlite").write_bytes(b"not a database at all, but some text" * 99)
    assert ids(made(path, Reader())) == ["one"]


def test_a_folder_that_cannot_be_written_gets_no_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    write(path, "one")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    index = made(path, Reader())
    assert ids(index) == ["one"]
    assert list(tmp_path.iterdir()) == [path]


def test_refresh_indexes_in_the_background_and_again_after_growth(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, "one")
    index = Index(path, TABLE, Reader())
    index.refresh()
    index.wait()
    add(path, '{"id": "two", "size": 3}\n')
    index.refresh()
    index.wait()
    assert ids(index) == ["one", "two"]
    with sqlite3.connect(index.place) as base:
        assert base.execute("SELECT count(*) FROM rows WHERE size_told = 3").fetchone() == (2,)
    base.close()
