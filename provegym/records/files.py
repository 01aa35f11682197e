"""Files that are replaced at once or not at all, locked, and read with one line for a fault."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from io import BufferedReader
from pathlib import Path

from provegym.errors import InputError

WRITTEN_BY_ANOTHER = (
    "{} is being written by another process; wait for it or choose another output path"
)


def write_atomic(path: str | Path, lines: Iterable[bytes]) -> None:
    """Replace `path` by `lines` (given without newlines) at once; missing folders are made.

    Raises `InputError` if the disk is full or the place cannot be written; the old file, if any,
    is then untouched. Also when `lines` itself raises.
    """
    path = Path(path)
    try:
        refuse_special(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        _replace(path, handle, temporary, lines)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def content_hash(path: str | Path) -> str:
    """SHA-256 of a file's bytes, in hex. Raises `InputError` if it cannot be read."""
    with opened(Path(path)) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def beside(path: Path, name: str, suffix: str = ".jsonl") -> Path:
    """The file `name` that belongs to a stage's main file: its stem is part of the name, but for
    `tasks`, so that two task files in one folder keep theirs apart.

    Raises `InputError` for a path that names no file.
    """
    refuse_special(path)
    return path.with_name(f"{'' if path.stem == 'tasks' else path.stem + '.'}{name}{suffix}")


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BufferedReader]:
    """An open file of bytes. Raises `InputError` where it cannot be read."""
    if path.is_char_device() or path.is_block_device():
        raise InputError(f"cannot read {path}: it is a device, which need not end; give a file")
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    with file:
        yield file


def read_whole(path: Path) -> bytes:
    """All of a file. Raises `InputError` where it cannot be read, or need not end."""
    with opened(path) as file:
        return file.read()


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


def refuse_special(path: Path) -> None:
    """Devices and pipes cannot be replaced, locked or read back; a folder is no file at all."""
    if not path.name or path.is_dir():
        raise InputError(f"{str(path)!r} names no file; choose another path")
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a plain file; choose another path")


def hold(handle: int, told: str) -> None:
    """Lock an open file or folder until it is closed.

    Raises `InputError`, with what is `told`, where another process has it.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise InputError(told) from error


@contextlib.contextmanager
def alone(path: Path, told: str) -> Iterator[None]:
    """Hold the lock of the file `path` (made, and never removed) for the block.

    Raises `InputError`, with what is `told`, where another process has it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        hold(file.fileno(), told)
        yield


def cannot_write(path: Path, error: OSError) -> InputError:
    """What to tell of a file that cannot be written, and what to do."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = "make room or choose another path" if full else "choose another path"
    return InputError(f"cannot write {path}: {error.strerror}; {remedy}")
