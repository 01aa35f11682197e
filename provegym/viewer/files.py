"""What there is to look at below a folder: its record files by kind, and its runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from provegym.errors import InputError, UnknownName
from provegym.records import read_manifest

Kind = Literal["tasks", "traces", "conversations", "scores", "rejections", "curves", "graph"]

MOST_FILES = 20_000
"""Files looked at, so that the page also comes up over a whole disk."""
SKIPPED = frozenset({"checkpoints", "policy", "node_modules", "__pycache__"})
"""Folders that hold weights or code, never records."""
_FIELDS: tuple[tuple[Kind, frozenset[str]], ...] = (
    ("tasks", frozenset({"id", "kind", "turns"})),
    ("traces", frozenset({"id", "task_id", "calls"})),
    ("scores", frozenset({"trace_id", "preset"})),
    ("curves", frozenset({"step", "reward"})),
    ("rejections", frozenset({"id", "reason"})),
)
"""What the records of a kind have, for files without a manifest."""


class Found(Struct, frozen=True):
    """One file: its path below the folder with "/" between, its kind, its bytes."""

    name: str
    kind: Kind
    size: int


def look(folder: Path) -> list[Found]:
    """The record files below a folder, in the order of their names.

    Raises `InputError` where there is no such folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; name one that holds tasks, traces or a run")
    found = [_found(folder, path) for path in _paths(folder)]
    return sorted((file for file in found if file), key=lambda file: file.name)


def named(found: list[Found], name: str, *kinds: Kind) -> Found:
    """The file of that name and one of the kinds. Raises `UnknownName`."""
    fitting = [file for file in found if file.kind in kinds]
    for file in fitting:
        if file.name == name:
            return file
    raise UnknownName("file", name, [file.name for file in fitting][:20])


def _paths(folder: Path) -> Iterator[Path]:
    seen = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(n for n in folders if n[0] != "." and n not in SKIPPED)
        for name in files:
            seen += 1
            path = Path(place, name)
            if (name.endswith(".jsonl") or name == "graph.json") and path.is_file():
                yield path  # of what is no plain file, as a pipe, nothing may ever come
        if seen > MOST_FILES:
            return


def _found(folder: Path, path: Path) -> Found | None:
    try:
        kind = "graph" if path.name == "graph.json" else kind_of(path)
        size = path.stat().st_size
    except OSError:  # it went while we looked, or is not ours to read
        return None
    return Found(path.relative_to(folder).as_posix(), kind, size) if kind else None


def kind_of(path: Path) -> Kind | None:
    """What a file of JSON Lines holds: what its manifest says, else what its first line tells."""
    try:
        manifest = read_manifest(path)
    except InputError:
        manifest = None
    told = manifest.kind if manifest else ""
    for known in ("tasks", "traces", "conversations", "scores", "rejections"):
        if told == known:
            return known
    return _told_by_first_line(path)


def _told_by_first_line(path: Path) -> Kind | None:
    with path.open("rb") as file:
        line = file.readline(64 << 20)
    try:
        first = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return next((kind for kind, fields in _FIELDS if fields <= first.keys()), None)
