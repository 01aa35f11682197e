"""A run of ablations as the page shows it: its cells, done or not, and the table that it wrote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

TABLE = "ablations.md"
"""What the run, or `provegym report`, writes."""
DONE = "done.json"
"""Of the folder of a training; written last."""
BASE = "base"
"""The cell that every policy has, whatever the settings name."""

Block = dict[str, Any]
"""`{kind: heading, text}`, `{kind: text, text}` or `{kind: table, head, rows}`; cells hold
Markdown of one line."""


class Arm(Struct):
    """What the settings ask of one policy."""

    cells: tuple[str, ...] = ()
    seeds: int = 0


def is_ablations(settings: dict[str, Any]) -> bool:
    """Whether these are the settings of a run of ablations."""
    told = settings.get("ablations")
    return isinstance(told, dict) and bool(told)


def shown(folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """The trainings of the run in `folder`, and its table as blocks, none where none is written."""
    path = folder / TABLE
    text = path.read_text("utf-8") if path.is_file() else ""
    return {"trainings": list(trainings(folder, settings)), "blocks": list(blocks(text))}


def trainings(folder: Path, settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each training that the settings ask for, with the note that it left when it was done."""
    for policy, told in settings["ablations"].items():
        try:
            arm = msgspec.convert(told, Arm)
        except msgspec.ValidationError:
            continue  # a setting of all policies
        for cell in (BASE, *arm.cells):
            for seed in range(1, arm.seeds + 1):
                place = f"{policy}/{cell}/{seed}"
                yield {
                    "place": place,
                    "policy": policy,
                    "cell": cell,
                    "seed": seed,
                    "begun": (folder / place).is_dir(),
                    "note": _note(folder / place / DONE),
                }


def _note(path: Path) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None  # not done


def blocks(text: str) -> Iterator[Block]:
    """The headings, paragraphs and tables of Markdown, the title left out."""
    for part in text.split("\n\n"):
        lines = part.strip().splitlines()
        if not lines or lines[0].startswith("# "):
            continue
        if lines[0].startswith("#"):
            yield {"kind": "heading", "text": lines[0].lstrip("# ")}
        elif lines[0].startswith("|"):
            head, _, *rows = map(_cells, lines)
            yield {"kind": "table", "head": head, "rows": rows}
        else:
            yield {"kind": "text", "text": " ".join(lines)}


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
