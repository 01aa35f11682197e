"""Tasks to export."""

from __future__ import annotations

from pathlib import Path

import pytest

from provegym import cli


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty-four certified tasks of all kinds, of twelve worlds with two servers."""
    out = tmp_path_factory.mktemp("made") / "tasks.jsonl"
    arguments = ["--limit", "24", "--seed", "5", "--servers", "banking,calendar", "--out", str(out)]
    assert cli.call(["synth", *arguments]) == 0
    return out
