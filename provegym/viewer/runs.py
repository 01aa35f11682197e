"""Runs as the page shows them, also while they go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from provegym.errors import InputError, UnknownName
from provegym.records import read_manifest
from provegym.viewer import ablations
from provegym.viewer.files import Found
from provegym.viewer.place import Place

CHUNK = 4 << 20
"""Bytes of curves that are given at once."""


def listed(place: Place) -> list[dict[str, Any]]:
    """The folders that hold curves, tasks with rejections, or settings of a run."""
    files = place.files()
    folders = sorted(
        {_run_of(place.folder, f) for f in files if f.kind in ("curves", "rejections")}
    )
    return [_line(place, folder, files) for folder in folders]


def _run_of(root: Path, file: Found) -> str:
    """The run that a file belongs to: the nearest folder above with `run.json`, else its own."""
    parts = file.name.split("/")[:-1]
    for end in range(len(parts), -1, -1):
        if root.joinpath(*parts[:end], "run.json").is_file():
            return "/".join(parts[:end])
    return "/".join(parts)


def _line(place: Place, folder: str, files: list[Found]) -> dict[str, Any]:
    own = [f for f in files if _run_of(place.folder, f) == folder]
    settings = _settings(place.folder / folder / "run.json")
    run = settings.get("run")
    named = run.get("name") if isinstance(run, dict) else None
    return {
        "folder": folder,
        "name": named or folder or place.folder.resolve().name,
        "settings": settings,
        "ablations": ablations.is_ablations(settings),
        "curves": [f.name for f in own if f.kind == "curves"],
        "synthesis": [_synthesis(place, f, own) for f in own if f.kind == "rejections"],
        "played": [f.name for f in own if f.kind == "traces"],
    }


def ablated(place: Place, folder: str) -> dict[str, Any]:
    """The cells and the table of a run of ablations. Raises `UnknownName` for another folder."""
    runs = {run["folder"]: run for run in listed(place) if run["ablations"]}
    if folder not in runs:
        raise UnknownName("run of ablations", folder or ".", [name or "." for name in runs])
    return ablations.shown(place.folder / folder, runs[folder]["settings"])


def _settings(path: Path) -> dict[str, Any]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def _synthesis(place: Place, rejections: Found, own: list[Found]) -> dict[str, Any]:
    """The file of rejections with the tasks beside it."""
    folder = rejections.name.rpartition("/")[0]
    beside = (f.name for f in own if f.kind == "tasks" and f.name.rpartition("/")[0] == folder)
    return {"rejections": rejections.name, "tasks": next(beside, "")}


def synthesis(place: Place, rejections: str) -> dict[str, Any]:
    """The yield: candidates, what each reason took away, certified tasks by kind and server."""
    path = place.path(rejections, "rejections")
    lost = Counter(str(row.get("reason", "")) for row in _all_rows(path))
    file = next((s["tasks"] for run in listed(place) for s in run["synthesis"]
                 if s["rejections"] == rejections), "")  # fmt: skip
    kinds: Counter[str] = Counter()
    servers: Counter[str] = Counter()
    if file:
        index = place.tasks(file)
        index.wait()
        with index.reading() as base:
            for kind, names, count in base.execute(
                "SELECT kind, server, count(*) FROM rows GROUP BY kind, server"
            ):
                kinds[kind] += count
                servers.update(dict.fromkeys(names.split(","), count))
    return {
        "tasks": file,
        "certified": kinds.total(),
        "lost": dict(lost.most_common()),
        "kinds": dict(kinds.most_common()),
        "servers": dict(servers.most_common()),
        "cost": _cost(place.folder / file) if file else {},
    }


def _cost(path: Path) -> dict[str, float]:
    try:
        manifest = read_manifest(path)
    except InputError:
        return {}
    return dict(manifest.cost) if manifest else {}


def rows(path: Path, start: int) -> tuple[list[dict[str, Any]], int]:
    """The records of the whole lines of a file from a byte on, and the byte to ask from next.

    A file that is now shorter than `start` was begun anew, and is read from its beginning. A line
    that is no record, as a machine that went down may leave, is passed over.
    """
    size = path.stat().st_size
    start = start if 0 <= start <= size else 0
    with path.open("rb") as file:
        file.seek(start)
        text = file.read(CHUNK)
    whole = text[: text.rfind(b"\n") + 1]
    return list(_records(whole)), start + len(whole)


def _records(text: bytes) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            yield msgspec.json.decode(line, type=dict[str, Any])


def _all_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file that may be longer than what is given at once."""
    at, end = -1, 0
    while end > at:
        at = end
        found, end = rows(path, at)
        yield from found
