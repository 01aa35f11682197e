"""The page of a real, small run: certified tasks, live episodes, numbers that can be checked."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from msgspec.structs import replace

from provegym import records
from provegym.errors import InputError
from provegym.report import page
from provegym.report.data import load
from provegym.report.episodes import examples
from provegym.types import Task, Trace
from tests.report.small import REWARDS, edited, reader, rows


@pytest.fixture(scope="module")
def html(folder: Path) -> str:
    path = page.write(folder)
    assert path == folder / "report.html"
    return path.read_text("utf-8")


def test_the_page_needs_no_other_file_and_no_network(html: str) -> None:
    assert reader(html).references == []
    assert not re.search(r"https?://|url\(|@import|//cdn", html)


def test_every_tag_is_closed(html: str) -> None:
    found = reader(html)
    assert (found.unbalanced, found._open) == ([], [])


def test_the_oracle_succeeds_always_and_silence_only_where_no_call_is_needed(
    html: str, folder: Path
) -> None:
    tasks = list(records.read(folder / "heldout" / "tasks.jsonl", Task))
    silent_share = sum(not task.ground_truth for task in tasks) / len(tasks)
    table = rows(html, "", "tasks")
    count, before, after, _, gain = table["success"]
    assert count == "14"
    assert before.startswith(f"{silent_share:.3f} ")
    assert after == "1.000 0.785 to 1.000"  # Wilson, by hand: 14 / (14 + 1.96^2)
    assert gain.startswith(f"{1 - silent_share:+.3f} ")
    assert table["coverage"][1:3] == ["0.000 0.000 to 0.000", "1.000 1.000 to 1.000"]
    assert table["over-calling *"][2].startswith("0.000 0.000 to ")
    assert table["premature calls *"][2].startswith("0.000 0.000 to ")
    calls = sum(len(task.ground_truth) for task in tasks) / len(tasks)
    assert table["calls *"][1].startswith("0.000 ")
    assert table["calls *"][2].startswith(f"{calls:.3f} ")


def test_silence_never_succeeds_on_tasks_with_calls(html: str) -> None:
    by_group = rows(html, "", "before")
    assert by_group["kind workflow"][:2] == [
        "0.000 0.000 to 0.259",  # Wilson, by hand: 1.96^2 / (11 + 1.96^2)
        "1.000 0.741 to 1.000",
    ]


def test_the_headline_gives_the_ends_of_the_training_reward(html: str) -> None:
    assert "0.150 → 0.950" in html  # the means of 0.1 and 0.2, and of 0.9 and 1.0


def test_every_step_stands_in_the_table_behind_the_curves(html: str) -> None:
    steps = rows(html, "step", "reward")
    assert [float(row[0]) for row in steps.values()] == list(REWARDS)
    assert steps["10"][7] == "2.000"  # calls
    assert steps["10"][-1] == ""  # seconds, which no row has


def test_the_yield_counts_every_candidate(html: str, folder: Path) -> None:
    for part, title in (("train", "Training tasks"), ("heldout", "Held-out tasks")):
        tasks = len(list(records.read(folder / part / "tasks.jsonl", Task)))
        lost = len((folder / part / "rejections.jsonl").read_bytes().splitlines())
        assert f"{title}: {tasks} of {tasks + lost} candidates" in html
    kinds = rows(html, "kind", "tasks")
    assert sum(int(row[0]) for row in kinds.values()) == 4


def test_figures_have_their_tables_behind_them(html: str) -> None:
    assert html.count("<svg") == 4
    # The rows above say nothing of abstention, entropy, KL and tokens.
    assert html.count("No values.") == 4
    assert html.count('class="bars"') == 2
    assert len(reader(html).tables) >= 7


def test_three_episodes_are_shown_on_both_sides(html: str, folder: Path) -> None:
    shown = re.findall(r'<div class="episode"><h3>(\S+)', html)
    assert len(shown) == len(set(shown)) == 3
    assert html.count('<div class="side"') == 6
    tasks = {task.id: task for task in records.read(folder / "heldout" / "tasks.jsonl", Task)}
    text = unescape(html)
    for task_id in shown:
        for turn in tasks[task_id].turns:
            assert text.count(turn.user) >= 2
        for _, call in tasks[task_id].ground_truth:
            assert f"{call.name}(" in text
    assert "I cannot help with that." in text


def test_examples_are_the_largest_gain_the_largest_loss_and_the_middle(folder: Path) -> None:
    run = load(folder)
    gains = {m.task_id: m.reward for m in run.policies["after"].measures}
    for m in run.policies["before"].measures:
        gains[m.task_id] -= m.reward
    best, worst, _ = (gains[task] for task in examples(run))
    assert best == max(gains.values())
    assert worst == min(gains.values())


def test_masked_episodes_are_counted_and_never_shown(folder: Path, tmp_path: Path) -> None:
    lost = load(folder).policies["after"].measures[0].trace_id

    def lose(trace: Trace) -> Trace:
        return replace(trace, stop_reason="infrastructure") if trace.id == lost else trace

    run = load(edited(folder, tmp_path / "run", lose))
    assert (run.policies["after"].masked, run.gain["success"].n) == (1, 13)
    assert lost.split("/")[0] not in examples(run)
    assert "before 0, after 1, sft 0" in page.render(run)


def test_what_a_policy_wrote_is_text_not_markup(folder: Path, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"

    def write(trace: Trace) -> Trace:
        said = ({"role": "user", "content": "?"}, {"role": "assistant", "content": evil})
        calls = tuple(replace(call, name=evil, result=evil) for call in trace.calls)
        return replace(trace, messages=said, calls=calls)

    text = page.render(load(edited(folder, tmp_path / "run", write)))
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_a_run_without_training_steps_has_a_page(folder: Path, tmp_path: Path) -> None:
    place = edited(folder, tmp_path / "run", lambda trace: trace)
    (place / "grpo" / "curves.jsonl").unlink()
    assert "No training steps." in page.render(load(place))


def test_an_unfinished_or_missing_run_is_one_clear_line(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not the folder of a run \(no run\.json\)"):
        load(tmp_path)
    for note, told in (("{", "is no JSON"), ("[1]", r"holds \[1\], not the settings of a run")):
        (tmp_path / "run.json").write_text(note)
        with pytest.raises(InputError, match=told):
            load(tmp_path)
    place = edited(folder, tmp_path / "run", lambda trace: trace)
    (place / "eval" / "after.traces.jsonl").unlink()
    with pytest.raises(InputError, match="has no held-out episodes yet"):
        load(place)
    (place / "heldout" / "tasks.jsonl").unlink()
    with pytest.raises(InputError, match="has no held-out episodes yet"):
        load(place)


def test_masked_episodes_and_alarms_of_training_are_told(folder: Path, tmp_path: Path) -> None:
    place = edited(folder, tmp_path / "run", lambda trace: trace)
    curves = place / "grpo" / "curves.jsonl"
    rows = records.read_rows(curves)
    assert "Alarm" not in page.render(load(place))
    rows[3] |= {"masked": 2, "collapse": "the reward fell to 0.1 from 0.5"}
    rows[4] |= {"masked": 1, "collapse": "the reward fell to 0.1 from 0.5", "entropy": 0.25}
    records.write_atomic(curves, [json.dumps(row).encode() for row in rows])
    html = page.render(load(place))
    assert (
        "never learnt from): 3. Alarm at step 4: the reward fell to 0.1 from 0.5; 2 steps" in html
    )
    assert "entropy 0.25" in html
