"""Two runs on one page: paired differences that are known, and why some cannot be compared."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from provegym import cli, records
from provegym.errors import InputError
from provegym.report import page, pairing
from provegym.types import Task
from tests.report.small import REWARDS, edited, reader, rows


def another(
    folder: Path, place: Path, change: Callable[[dict[str, Any]], object] | None = None
) -> Path:
    """The same run, its policy untrained: `after` plays as `before` did, at half the reward."""
    edited(folder, place, lambda trace: trace)
    before = place / "eval" / "before.traces.jsonl"
    (place / "eval" / "after.traces.jsonl").write_bytes(before.read_bytes())
    curves = place / "grpo" / "curves.jsonl"
    steps = [row | {"reward": row["reward"] / 2} for row in records.read_rows(curves)[:8]]
    records.write_atomic(curves, [json.dumps(row).encode() for row in steps])
    settings = json.loads((place / "run.json").read_text("utf-8"))
    settings["run"]["name"] = "untrained"
    if change:
        change(settings)
    (place / "run.json").write_text(json.dumps(settings), "utf-8")
    return place


@pytest.fixture(scope="module")
def other(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return another(folder, tmp_path_factory.mktemp("beside") / "other")


@pytest.fixture(scope="module")
def html(folder: Path, other: Path) -> str:
    found = pairing.load(folder, other)
    return page.render(found.run, found)


def test_differences_are_paired_by_task_and_corrected(html: str, folder: Path) -> None:
    tasks = list(records.read(folder / "heldout" / "tasks.jsonl", Task))
    calls = sum(len(task.ground_truth) for task in tasks) / len(tasks)
    working = sum(bool(task.ground_truth) for task in tasks)
    after = rows(html, "after", "tasks")
    count, mine, theirs, gain, corrected = after["success"]
    assert count == "14"
    assert mine.startswith("1.000 ")
    assert theirs.startswith(f"{1 - working / 14:.3f} ")
    assert gain.startswith(f"{working / 14:+.3f} ")
    assert float(corrected) < 0.05
    assert after["calls *"][3].startswith(f"{calls:+.3f} ")
    assert after["coverage"][0] == str(working)
    before = rows(html, "before", "tasks")
    assert before["success"][3:] == ["+0.000 +0.000 to +0.000", "1.000"]


def test_each_figure_of_both_runs_has_its_numbers_behind_it(html: str) -> None:
    section = html[html.index("beside untrained") : html.index("Held-out tasks, before and after")]
    figures = section.count("<figure>")
    tables = reader(section).tables
    curves = [t for t in tables if t[0] == ["step", "small", "untrained"]]
    assert [t[0][0] for t in tables[:3]] == ["after", "sft", "before"]  # two figures each
    assert len(curves) == 8  # reward, six components, calls
    assert [row[1:] for row in curves[0][1:]] == [
        [f"{value:.3f}", f"{value / 2:.3f}" if i < 8 else ""] for i, value in enumerate(REWARDS)
    ]
    yields = [t for t in tables if t[0][1:] == ["small", "untrained", "difference"]]
    assert len(yields) == 6  # of training and held-out tasks: by outcome, kind and server
    assert all(row[3] == "+0" for table in yields for row in table[1:])
    assert figures == 2 * 3 + len(curves) + 4


def test_the_page_of_both_needs_no_other_file_and_closes_every_tag(html: str) -> None:
    found = reader(html)
    assert (found.references, found.unbalanced, found._open) == ([], [], [])
    assert "@media print" in html


def test_cards_give_both_runs_and_their_difference(html: str) -> None:
    assert "<b>0.950 · 0.400</b>" in html  # last fifths: 0.9 and 1.0; half of 0.8 and 0.8
    assert re.search(
        r"<span>Held-out success</span><b>100\.0% · [\d.]+%</b><small>\+[\d.]+ point", html
    )


def test_the_verb_writes_the_page_of_both(
    folder: Path, other: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = edited(folder, tmp_path / "run", lambda trace: trace)
    assert cli.call(["report", str(mine), "--compare", str(other)]) == 0
    assert "small beside untrained" in (mine / "report.html").read_text("utf-8")
    assert cli.call(["report", str(mine)]) == 0
    assert "beside untrained" not in (mine / "report.html").read_text("utf-8")


def retasked(place: Path, change: Callable[[Task], Task]) -> Path:
    """The run with other held-out tasks, whose traces still belong to them."""
    path = place / "heldout" / "tasks.jsonl"
    tasks = [change(task) for task in records.read(path, Task)]
    records.write_atomic(path, map(records.encode, tasks))
    for extra in place.rglob("*.manifest.json"):
        extra.unlink()
    return place


def test_runs_on_other_tasks_are_not_compared_and_say_why(folder: Path, tmp_path: Path) -> None:
    place = another(folder, tmp_path / "a", lambda s: s["run"].update(seed=6))
    for path in (place / "eval").glob("*.traces.jsonl"):
        path.write_bytes(path.read_bytes().replace(b'"task_id":"task-', b'"task_id":"other-'))
    retasked(place, lambda task: replace(task, id=task.id.replace("task-", "other-")))
    found = pairing.load(folder, place)
    assert found.contests == {}
    assert found.reasons == (
        "They played other held-out tasks: none of 14 and 14 has the same id (seeds 5 and 6).",
    )
    html = page.render(found.run, found)
    assert "Held-out results are not compared. They played other held-out tasks" in html
    assert "<b>0.950 · 0.400</b>" in html  # the curves are there all the same


def test_tasks_of_one_id_that_ask_other_things_are_not_compared(
    folder: Path, tmp_path: Path
) -> None:
    place = another(folder, tmp_path / "a")
    retasked(place, lambda task: replace(task, seed=task.seed + 1))
    found = pairing.load(folder, place)
    assert found.reasons[0].startswith("Their held-out tasks have the same ids and are others")


def test_runs_on_other_content_of_the_worlds_are_not_compared(folder: Path, tmp_path: Path) -> None:
    place = another(folder, tmp_path / "a")
    found = pairing.load(folder, place)
    assert found.reasons == ()
    moved = replace(found.other, world="f" * 64)
    assert found.run.world
    assert pairing.pair(found.run, moved).reasons[0].startswith("Their worlds are not the same")


def test_only_tasks_that_both_have_are_compared(folder: Path, tmp_path: Path) -> None:
    place = another(folder, tmp_path / "a")
    lost = next(iter(records.read(place / "heldout" / "tasks.jsonl", Task))).id
    retasked(
        place,
        lambda t: replace(t, reference_time="2030-01-01T00:00:00+00:00") if t.id == lost else t,
    )
    found = pairing.load(folder, place)
    assert (len(found.shared), found.reasons) == (13, ())
    assert lost not in found.shared
    assert found.contests["after"].differences["success"].gain.n == 13
    assert "over the 13 tasks that both have, of 14 and 14" in found.cautions[0]


def test_other_rewards_and_other_tasks_in_training_are_told(folder: Path, tmp_path: Path) -> None:
    def change(settings: dict[str, Any]) -> None:
        settings["grpo"]["preset"] = "strict"
        settings["synth"]["limit"] = 400

    found = pairing.load(folder, another(folder, tmp_path / "a", change))
    assert found.settings == {"grpo.preset": ("paper", "strict"), "synth.limit": (4, 400)}
    assert [told.split(":")[0] for told in found.cautions] == [
        "They were trained by other rewards (paper, and strict)",
        "They were trained on other tasks; these settings differ",
    ]
    html = page.render(found.run, found)
    assert rows(html, "setting", "small")["grpo.preset"] == ["paper", "strict"]


def test_what_is_no_other_run_is_one_clear_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match="is compared with itself; name another run's folder"):
        pairing.load(folder, folder)
    assert cli.call(["report", str(folder), "--compare", str(tmp_path)]) == 2
    assert "is not the folder of a run (no run.json)" in capsys.readouterr().err
    (tmp_path / "run.json").write_text('{"ablations": {"tiny": {}}}', "utf-8")
    assert cli.call(["report", str(folder), "--compare", str(tmp_path)]) == 2
    assert "is a run of ablations; its table compares its own cells" in capsys.readouterr().err


def test_names_of_runs_are_text_not_markup(folder: Path, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    found = pairing.load(
        folder, another(folder, tmp_path / "a", lambda s: s["run"].update(name=evil))
    )
    assert "<script" not in page.render(found.run, found)


def test_runs_of_one_name_are_told_apart_by_their_folders(folder: Path, tmp_path: Path) -> None:
    place = another(folder, tmp_path / "a", lambda s: s["run"].update(name="small"))
    assert pairing.load(folder, place).names == (str(folder), str(place))
