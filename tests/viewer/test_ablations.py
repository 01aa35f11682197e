"""A run of ablations as the page gets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from provegym.errors import UnknownName
from provegym.viewer import ablations, runs
from provegym.viewer.place import Place

WRITTEN = """# Ablations: smoke

Two lines
of words.

## tiny

| cell | seeds |
| --- | --- |
| `full` | 2 |
| `-name` |  |
"""


def test_markdown_becomes_headings_words_and_tables() -> None:
    assert list(ablations.blocks(WRITTEN)) == [
        {"kind": "text", "text": "Two lines of words."},
        {"kind": "heading", "text": "tiny"},
        {"kind": "table", "head": ["cell", "seeds"], "rows": [["`full`", "2"], ["`-name`", ""]]},
    ]


def test_every_training_is_told_done_or_not(ablated: Path) -> None:
    told = runs.ablated(Place(ablated), "")
    seen = {t["place"]: (t["begun"], bool(t["note"])) for t in told["trainings"]}
    assert seen == {
        "tiny/base/1": (True, True),
        "tiny/base/2": (True, True),
        "tiny/full/1": (True, True),
        "tiny/full/2": (False, False),
        "tiny/-name/1": (True, True),
        "tiny/-name/2": (False, False),
    }


def test_the_table_is_the_one_that_the_run_wrote(ablated: Path) -> None:
    blocks = runs.ablated(Place(ablated), "")["blocks"]
    written = (ablated / "ablations.md").read_text("utf-8")
    tables = [block for block in blocks if block["kind"] == "table"]
    assert len(tables) == written.count("\n| --- |") > 3
    for table in tables:
        for row in (table["head"], *table["rows"]):
            assert f"| {' | '.join(row)} |" in written
            assert len(row) == len(table["head"])


def test_a_run_without_its_table_has_its_cells(ablated: Path, tmp_path: Path) -> None:
    settings = json.loads((ablated / "run.json").read_text("utf-8"))
    found = ablations.shown(tmp_path, settings)
    assert found["blocks"] == []
    assert [t["note"] for t in found["trainings"]] == [None] * 6


def test_another_run_has_no_ablations(made: Path) -> None:
    with pytest.raises(UnknownName, match="unknown run of ablations"):
        runs.ablated(Place(made), "")
