"""Runs as the page gets them, where their files are long, half written or broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from provegym.viewer import runs
from provegym.viewer.place import Place


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def test_a_line_of_curves_that_is_no_record_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", '{"step": 1}', '{"step": 2, "rew', "", "[3]", '{"step": 4}')
    assert runs.rows(path, 0) == ([{"step": 1}, {"step": 4}], path.stat().st_size)


def test_every_rejection_of_a_long_file_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "CHUNK", 100)
    line = json.dumps({"id": "c", "reason": "duplicate"})
    write(tmp_path / "rejections.jsonl", *[line] * 50, '{"id": "c", "reason": "budget"}')
    found = runs.synthesis(Place(tmp_path), "rejections.jsonl")
    assert found["lost"] == {"duplicate": 50, "budget": 1}


@pytest.mark.parametrize(
    "settings",
    ["[1]", "{", '{"run": "x", "ablations": 5}', '{"ablations": {"tiny": {"seeds": "many"}}}'],
)
def test_a_run_whose_settings_are_not_ours_is_listed_by_its_folder(
    tmp_path: Path, settings: str
) -> None:
    write(tmp_path / "odd" / "run.json", settings)
    write(tmp_path / "odd" / "curves.jsonl", '{"step": 1, "reward": 0.5}')
    place = Place(tmp_path)
    (found,) = runs.listed(place)
    assert (found["name"], found["curves"]) == ("odd", ["odd/curves.jsonl"])
    if found["ablations"]:
        assert runs.ablated(place, "odd") == {"trainings": [], "blocks": []}
