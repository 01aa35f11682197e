"""What is found below a folder, and which tasks a file of traces is of."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from provegym.errors import InputError, UnknownName
from provegym.records import Manifest, content_hash, encode, write_atomic, write_manifest
from provegym.types import Task, Trace, Turn
from provegym.viewer.files import look
from provegym.viewer.place import Place


def write(path: Path, *records: Any) -> Path:
    write_atomic(path, map(encode, records))
    return path


def task(name: str, said: str = "") -> Task:
    return Task(name, "abstention", (Turn(said),))


def test_files_are_known_by_their_first_line_where_they_have_no_manifest(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", task("t"))
    write(tmp_path / "b" / "c.jsonl", Trace("r", "t", ()))
    write(tmp_path / "d.jsonl", {"step": 1, "reward": 0.5})
    write(tmp_path / "e.jsonl", {"id": "x", "reason": "duplicate"})
    write(tmp_path / "strange.jsonl", {"hello": "world"})
    write(tmp_path / "list.jsonl", [1, 2])
    write(tmp_path / "checkpoints" / "f.jsonl", task("t"))
    write(tmp_path / ".hidden" / "g.jsonl", task("t"))
    (tmp_path / "empty.jsonl").touch()
    os.mkfifo(tmp_path / "pipe.jsonl")  # to read it would wait for ever
    (tmp_path / "torn.jsonl").write_bytes(b'{"id": "t", "kind\xff')
    assert [(file.name, file.kind) for file in look(tmp_path)] == [
        ("a.jsonl", "tasks"),
        ("b/c.jsonl", "traces"),
        ("d.jsonl", "curves"),
        ("e.jsonl", "rejections"),
    ]


def test_a_manifest_tells_conversations_from_traces(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", Trace("r", "t", ()))
    write_manifest(path, Manifest("conversations"))
    assert [file.kind for file in look(tmp_path)] == ["conversations"]


def test_the_manifest_of_traces_names_their_tasks_before_any_nearer_file(tmp_path: Path) -> None:
    write(tmp_path / "eval" / "near.jsonl", task("t"))
    far = write(tmp_path / "old" / "far.jsonl", task("t", "another"))
    traces = write(tmp_path / "eval" / "traces.jsonl", Trace("r", "t", ()))
    assert Place(tmp_path).tasks_of("eval/traces.jsonl") == "eval/near.jsonl"
    write_manifest(traces, Manifest("traces", parent=content_hash(far)))
    assert Place(tmp_path).tasks_of("eval/traces.jsonl") == "old/far.jsonl"


def test_a_file_without_the_task_of_the_traces_is_not_theirs(tmp_path: Path) -> None:
    write(tmp_path / "tasks.jsonl", task("another"))
    write(tmp_path / "traces.jsonl", Trace("r", "t", ()))
    place = Place(tmp_path)
    assert place.tasks_of("traces.jsonl") == ""
    assert place.task_of("traces.jsonl", place.trace("traces.jsonl", "r")) is None


def test_records_are_found_by_file_and_id_and_nothing_else_is(tmp_path: Path) -> None:
    write(tmp_path / "tasks.jsonl", task("t", "hello"))
    place = Place(tmp_path)
    assert place.task("tasks.jsonl", "t").turns[0].user == "hello"
    with pytest.raises(UnknownName, match="unknown task 'u'"):
        place.task("tasks.jsonl", "u")
    with pytest.raises(UnknownName, match="unknown file"):
        place.trace("tasks.jsonl", "t")  # it holds no traces


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no folder"):
        Place(write(tmp_path / "a.jsonl", task("t")))
