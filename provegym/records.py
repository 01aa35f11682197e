"""Record files: JSON Lines with a manifest beside them, safe against kill -9 and a full disk.

Three ways in and out:

- `read` yields the records of a file and refuses the first broken line by its number;
- `write_atomic` replaces a whole file or leaves the old one intact;
- `Store` appends row by row and resumes where an interrupted run stopped. It refuses to mix rows
  that another config, seed or world made.

A record file `tasks.jsonl` has its manifest in `tasks.jsonl.manifest.json`.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct
from pydantic import BaseModel

from provegym.differences import named
from provegym.errors import BrokenRecord, InputError, ManifestMismatch, seen
from provegym.ground import check_ground
from provegym.types import SCHEMA, Task

T = TypeVar("T")

SYNC_EVERY = 64
"""Rows between two fsyncs of a `Store`. A killed process loses none of them; a power cut may."""


class _Head(Struct):
    schema: int = 1


class Manifest(Struct, frozen=True):
    """What made a file. Two manifests of one file may differ in `cost`, `complete` and `rows` only.

    `settings` are those that `config` is the hash of, where a stage can be taken up again: to name
    what differs.

    `config`, `world` and `parent` are hex SHA-256 hashes: of the stage's settings (`config_hash`),
    of the worlds' content, and of the file the stage read (`content_hash`); "" where there is none.
    `cost` is what making the file took, summed over all resumed runs (units are in the keys).
    """

    kind: str
    config: str = ""
    seed: int = 0
    world: str = ""
    parent: str = ""
    cost: dict[str, float] = {}
    complete: bool = False
    rows: int = 0
    schema: int = SCHEMA
    settings: dict[str, Any] = {}


def beside(path: Path, name: str, suffix: str = ".jsonl") -> Path:
    """The file `name` that belongs to a stage's main file: its stem is part of the name, but for
    `tasks`, so that two task files in one folder keep theirs apart.

    Raises `InputError` for a path that names no file.
    """
    _refuse_special(path)
    return path.with_name(f"{'' if path.stem == 'tasks' else path.stem + '.'}{name}{suffix}")


_IDENTITY = {
    "schema": "schema",
    "kind": "kind",
    "config": "other settings (or another version of them), hash",
    "seed": "seed",
    "world": "other content of the worlds, hash",
    "parent": "another input file, hash",
}
"""What two manifests of one file must agree in, and what a difference means."""


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


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file of JSON objects; none where there is no file.

    The half line of a process that was killed while writing is left out.
    """
    if not path.is_file():
        return []
    lines = path.read_text("utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def encode(record: object) -> bytes:
    """One record as one line of JSON, without the newline.

    Raises `InputError` for what JSON cannot hold: lone surrogates and nesting beyond the limit.
    """
    try:
        return msgspec.json.encode(record)
    except (UnicodeEncodeError, RecursionError, TypeError) as error:
        raise InputError(f"a {type(record).__name__} cannot be written as JSON: {error}") from error


def check_output(out: Path, kind: str, inputs: Iterable[Path]) -> None:
    """See that `out` may be replaced by a file of that kind.

    Raises `InputError` where it is one of `inputs` (or another name of it), and `ManifestMismatch`
    where something else was written there before.
    """
    _refuse_special(out)
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise InputError(f"{out} is what this command reads; choose another path to write to")
    found = read_manifest(out)
    made = found.kind if found else "something without a manifest"
    if out.is_file() and out.stat().st_size and made != kind:
        raise ManifestMismatch(
            f"{out} holds {made}, not {kind} to be replaced; delete it or choose another path"
        )


def write_atomic(path: str | Path, lines: Iterable[bytes]) -> None:
    """Replace `path` by `lines` (given without newlines) at once; missing folders are made.

    Raises `InputError` if the disk is full or the place cannot be written; the old file, if any,
    is then untouched. Also when `lines` itself raises.
    """
    path = Path(path)
    try:
        _refuse_special(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        _replace(path, handle, temporary, lines)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def manifest_path(path: str | Path) -> Path:
    """Where the manifest of `path` lies."""
    return Path(f"{path}.manifest.json")


def read_manifest(path: str | Path) -> Manifest | None:
    """The manifest of the file `path`, or None if it has none. Raises `BrokenRecord`."""
    where = manifest_path(path)
    if not where.exists():
        return None
    with _open(where) as file:
        return _decode(msgspec.json.Decoder(Manifest), file.read(), str(where), 1)


def write_manifest(path: str | Path, manifest: Manifest) -> None:
    """Write the manifest of the file `path` atomically. Raises `InputError` on a full disk."""
    write_atomic(manifest_path(path), [msgspec.json.format(encode(manifest), indent=2)])


def content_hash(path: str | Path) -> str:
    """SHA-256 of a file's bytes, in hex. Raises `InputError` if it cannot be read."""
    with _open(Path(path)) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def config_hash(settings: object) -> str:
    """SHA-256, in hex, of settings in canonical JSON (keys sorted, no white space).

    Takes pydantic models, structs and plain JSON-like values. Raises ValueError on NaN.
    """
    return hashlib.sha256(_canonical(settings).encode()).hexdigest()


def plain(settings: object) -> Any:
    """The same settings as a file of JSON gives them back."""
    return json.loads(_canonical(settings))


def _canonical(settings: object) -> str:
    if isinstance(settings, BaseModel):
        settings = settings.model_dump(mode="json")
    built = msgspec.to_builtins(settings)
    return json.dumps(built, sort_keys=True, separators=(",", ":"), allow_nan=False)


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
            raise _cannot_write(self.path, error) from error
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
            _refuse_special(self.path)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise _cannot_write(self.path, error) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(file)
            raise InputError(
                f"{self.path} is being written by another process; wait for it or choose "
                "another output path"
            ) from error
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
        if self.manifest.complete and len(keys) != self.manifest.rows:
            raise ManifestMismatch(
                f"{self.path} was finished with {self.manifest.rows} rows but has {len(keys)}; "
                f"{_remedy(self.path)}"
            )
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
            raise _cannot_write(self.path, error) from error
        self._size += len(line)

    def _update(self, **changes: object) -> None:
        self.manifest = msgspec.structs.replace(self.manifest, **changes)
        write_manifest(self.path, self.manifest)


def accepted(path: Path, wanted: Manifest) -> Manifest | None:
    """The manifest of a file that may be gone on with; None where it is to be made (anew, if its
    rows were deleted). Raises `ManifestMismatch` for one that something else made.
    """
    found = read_manifest(path)
    if not (path.exists() and path.stat().st_size) and (found is None or found.rows):
        return None
    if found is None:
        raise ManifestMismatch(
            f"{path} has no manifest beside it, so what made it is unknown; move it away or choose "
            "another output path"
        )
    check_manifest(path, found, wanted)
    return found


def check_manifest(path: str | Path, found: Manifest, wanted: Manifest) -> None:
    """Raise `ManifestMismatch`, naming the field and both values, unless both made one file."""
    for field, meaning in _IDENTITY.items():
        old, new = getattr(found, field), getattr(wanted, field)
        if old == new:
            continue
        both = field == "config" and found.settings and wanted.settings
        if both and (told := named(found.settings, wanted.settings)):
            raise ManifestMismatch(f"{path} was made with other settings ({told}); {_remedy(path)}")
        raise ManifestMismatch(
            f"{path} was made with {meaning} {seen(old, 24)}, but {seen(new, 24)} is asked for "
            f"now; {_remedy(path)}"
        )


def _remedy(path: str | Path) -> str:
    return f"delete it with {manifest_path(path).name} or choose another output path"


def _numbered(path: Path, type_: type[T]) -> Iterator[tuple[int, T]]:
    """The records with the numbers of their lines."""
    decoder = msgspec.json.Decoder(type_)
    with _open(path) as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield number, _decode(decoder, line, str(path), number)


@contextlib.contextmanager
def _open(path: Path) -> Iterator[BufferedReader]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    with file:
        yield file


def _decode(decoder: msgspec.json.Decoder[T], line: bytes, path: str, number: int) -> T:
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


def _replace(path: Path, handle: int, temporary: str, lines: Iterable[bytes]) -> None:
    with open(handle, "wb") as file:
        for line in lines:
            file.write(line + b"\n")
        file.flush()
        os.fsync(file.fileno())
        os.fchmod(file.fileno(), 0o644)
    os.replace(temporary, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _end_of_last_line(file: int, size: int) -> int:
    """The offset after the last newline, found by reading backwards in blocks."""
    while size > 0:
        start = max(0, size - 65_536)
        newline = os.pread(file, size - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        size = start
    return 0


def _refuse_special(path: Path) -> None:
    """Devices and pipes cannot be replaced, locked or read back; a folder is no file at all."""
    if not path.name or path.is_dir():
        raise InputError(f"{str(path)!r} names no file; choose another path")
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a plain file; choose another path")


def _cannot_write(path: Path, error: OSError) -> InputError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = "make room or choose another path" if full else "choose another path"
    return InputError(f"cannot write {path}: {error.strerror}; {remedy}")
