"""Records, one a line, and what is told of the first broken line."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from provegym.errors import BrokenRecord, InputError
from provegym.ground import check_ground
from provegym.records.files import opened
from provegym.types import SCHEMA, Task

T = TypeVar("T")


def read(path: str | Path, type_: type[T]) -> Iterator[T]:
    """Yield the records of a JSONL file as `type_`, one line at a time; blank lines are skipped.

    Raises `InputError` if the file cannot be opened and `BrokenRecord` (file, line number, reason)
    at the first line that is not UTF-8, not JSON, too deep, not a `type_`, or of a newer schema.
    """
    for _, record in _numbered(Path(path), type_):
        yield record


def read_distinct(path: str | Path, type_: type[T], key: str = "id") -> Iterator[T]:
    """The same for records that their attribute `key` names: a name used twice is a
    `BrokenRecord`, too, and so is an empty one.
    """
    numbers: dict[str, int] = {}
    for number, record in _numbered(Path(path), type_):
        name = getattr(record, key)
        if not name:
            raise BrokenRecord(str(path), number, f"{key} is empty; name the record")
        if name in numbers:
            raise BrokenRecord(
                str(path), number, f"{key} {name!r} is that of line {numbers[name]}; rename one"
            )
        numbers[name] = number
        yield record


def read_tasks(path: str | Path) -> Iterator[Task]:
    """The tasks of a file as `read_distinct` yields them. Raises `InputError` if there is none, and
    for a ground truth that cannot be (see `provegym.ground`).
    """
    empty = True
    for task in read_distinct(path, Task):
        empty = False
        check_ground(task)
        yield task
    if empty:
        raise InputError(f"{path} holds no task; make some with `provegym synth`")


def encode(record: object) -> bytes:
    """One record as one line of JSON, without the newline.

    Raises `InputError` for what JSON cannot hold: lone surrogates and nesting beyond the limit.
    """
    try:
        return msgspec.json.encode(record)
    except (UnicodeEncodeError, RecursionError, TypeError) as error:
        raise InputError(f"a {type(record).__name__} cannot be written as JSON: {error}") from error


class _Head(Struct):
    schema: int = 1


def decode(decoder: msgspec.json.Decoder[T], line: bytes, path: str, number: int) -> T:
    """One line of a file as a record. Raises `BrokenRecord`."""
    try:
        line.decode("utf-8")  # msgspec does not look into the fields it skips
        newest = msgspec.json.decode(line, type=_Head).schema
        if newest > SCHEMA:
            raise BrokenRecord(
                path, number, f"schema {newest} is newer than {SCHEMA}; upgrade provegym"
            )
        return decoder.decode(line)
    except RecursionError as error:
        raise BrokenRecord(path, number, "it is nested too deeply to be read") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BrokenRecord(path, number, _reason(line, error, decoder.type)) from error


def _numbered(path: Path, type_: type[T]) -> Iterator[tuple[int, T]]:
    """The records with the numbers of their lines."""
    decoder = msgspec.json.Decoder(type_)
    with opened(path) as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield number, decode(decoder, line, str(path), number)


def _reason(line: bytes, error: Exception, kind: Any) -> str:
    """What is wrong with a line; some causes are named better than the decoder does."""
    if line.startswith(codecs.BOM_UTF8):
        return "it begins with a byte-order mark; save the file as plain UTF-8"
    if not line.endswith(b"\n") and "truncated" in str(error):
        return "the file ends in the middle of this record; remove the line, or make the file anew"
    if re.search(rb"\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])", line):
        return f"{error} (a surrogate such as \\ud800 stands alone; write whole characters)"
    known = hasattr(kind, "__struct_fields__")
    return f"{error}; a record of the kind {kind.__name__} is wanted" if known else str(error)
