"""Rows of a log or a training: JSON objects of any shape, one a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from provegym.errors import BrokenRecord, seen
from provegym.records.manifest import see_finished


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file of JSON objects; none where there is no file.

    The half line of a process that was killed while writing is left out. Raises `BrokenRecord` for
    another broken one, and `ManifestMismatch` where rows are gone since the file was finished.
    """
    if not path.is_file():
        return []
    lines = path.read_bytes().splitlines(keepends=True)
    whole = enumerate((line for line in lines if line.endswith(b"\n")), 1)
    rows = [_row(path, number, line) for number, line in whole]
    see_finished(path, len(rows))
    return rows


def _row(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BrokenRecord(str(path), number, f"no JSON: {error}") from error
    if not isinstance(row, dict):
        raise BrokenRecord(str(path), number, f"{seen(row)} is no object")
    return row
