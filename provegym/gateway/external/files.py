"""The folder that each session of an external server starts with: `files` of its settings."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from provegym.errors import InputError

MOST_FILES, MOST_BYTES = 20_000, 1 << 27
"""Of a folder that is copied for each session."""


def check(files: str, home: Path, at: str) -> None:
    """Raise `InputError` unless it is a folder below `home` that may be copied for each session;
    `at` says where it is named.
    """
    folder, root = (home / files).resolve(), home.resolve()
    if root not in folder.parents:
        raise InputError(f"{at}: files = {files!r} is no folder below {home}; copy it there")
    if not folder.is_dir():
        raise InputError(f"{at}: there is no folder {files!r} in {home}")
    count = size = 0
    for path, length in _held(folder):
        if path.is_symlink() and path.exists() and root not in (found := path.resolve()).parents:
            raise InputError(f"{at}: {path} is a link to {found}, outside {home}; copy it there")
        count, size = count + 1, size + length
        if count > MOST_FILES or size > MOST_BYTES:
            raise InputError(
                f"{at}: files = {files!r} holds more than {MOST_FILES:,} files or "
                f"{MOST_BYTES >> 20} MiB, and is copied for each session; give a smaller folder"
            )


def _held(folder: Path) -> Iterator[tuple[Path, int]]:
    """What lies in the folder and below, each with its bytes; a link is told before it is gone
    through.
    """
    for parent, folders, names in os.walk(folder, followlinks=True):
        for path in (Path(parent, name) for name in (*folders, *names)):
            yield path, path.stat().st_size if path.is_file() else 0


def copy(source: Path, folder: Path) -> None:
    """Fill an empty folder with the content of another one. What links lead to is copied, a link
    that leads nowhere is kept, and what is no plain file is left out.

    Raises `OSError`.
    """
    for path in sorted(source.iterdir()):
        target = folder / path.name
        if path.is_dir():
            target.mkdir()
            copy(path, target)
            shutil.copystat(path, target)
        elif path.is_file():
            shutil.copy2(path, target)
        elif path.is_symlink():
            target.symlink_to(path.readlink())
