import json
from pathlib import Path
from typing import Any

import pytest

from provegym import records
from provegym.errors import BrokenRecord, InputError, UnknownName
from provegym.scoring import MEANS, ScoreSummary, score_files, summarize
from provegym.types import Score

GOLDEN = Path(__file__).parent / "golden" / "reward_cases.jsonl"
CASES: list[dict[str, Any]] = [json.loads(line) for line in GOLDEN.read_text("utf-8").splitlines()]
TASK = {
    "id": "t",
    "kind": "workflow",
    "turns": [{"calls": [{"id": "g0", "name": "a", "arguments": {"n": 1}}]}],
}
CALL = {"name": "a", "arguments": {"n": 1}, "turn": 0, "step": 0, "outcome": "ok"}
TRACE = {"id": "r", "task_id": "t", "calls": [CALL]}


def lines_in(path: Path, rows: list[Any]) -> Path:
    path.write_text(
        "".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows)
    )
    return path


def run(
    folder: Path, tasks: list[Any], traces: list[Any], preset: str = "paper", explain: bool = False
) -> ScoreSummary:
    return score_files(
        lines_in(folder / "tasks.jsonl", tasks),
        lines_in(folder / "traces.jsonl", traces),
        preset,
        folder / "scores.jsonl",
        explain,
    )


def scores(folder: Path) -> list[Score]:
    return list(records.read(folder / "scores.jsonl", Score))


@pytest.mark.parametrize("preset", ["paper", "strict"])
def test_the_golden_cases_score_alike_through_files(tmp_path: Path, preset: str) -> None:
    summary = run(tmp_path, [c["task"] for c in CASES], [c["trace"] for c in CASES], preset)
    wanted = [case["expected"][preset] for case in CASES]
    rows = scores(tmp_path)
    assert [row.trace_id for row in rows] == [case["trace"]["id"] for case in CASES]
    for row, expected in zip(rows, wanted, strict=True):
        found = {field: getattr(row, field) for field in expected or ["total"]}
        assert found == (pytest.approx(expected, abs=1e-9) if expected else {"total": None})
    counted = [expected for expected in wanted if expected]
    assert (summary.count, summary.masked) == (67, 1)
    for field in ("coverage", "total"):
        mean = sum(expected[field] for expected in counted) / 66
        assert summary.means[field] == pytest.approx(mean, abs=1e-9)


def test_only_the_fields_of_the_definition_are_needed_and_no_manifest(tmp_path: Path) -> None:
    summary = run(tmp_path, [TASK], [TRACE])
    assert summary.means["total"] == pytest.approx(1.3)
    assert scores(tmp_path)[0].normalized == 1


def test_a_line_of_scores_has_exactly_the_published_fields(tmp_path: Path) -> None:
    run(tmp_path, [TASK], [TRACE])
    (line,) = (tmp_path / "scores.jsonl").read_text().splitlines()
    assert list(json.loads(line)) == [
        "trace_id", "task_id", "preset", "validity", "coverage", "efficiency", "name", "argument",
        "state", "total", "max_total", "normalized", "masked",
    ]  # fmt: skip


def test_a_masked_trace_is_counted_and_left_out_of_the_means(tmp_path: Path) -> None:
    lost = {**TRACE, "id": "lost", "stop_reason": "infrastructure"}
    summary = run(tmp_path, [TASK], [TRACE, lost])
    assert (summary.count, summary.masked) == (2, 1)
    assert summary.means["normalized"] == 1
    assert json.loads((tmp_path / "scores.jsonl").read_text().splitlines()[1])["total"] is None


def test_means_of_nothing_are_null_not_zero(tmp_path: Path) -> None:
    summary = run(tmp_path, [TASK], [{**TRACE, "stop_reason": "infrastructure"}])
    assert (summary.count, summary.masked) == (1, 1)
    assert summary.means == dict.fromkeys(MEANS)
    assert summarize([], "paper").means == summary.means


def test_the_manifest_beside_the_scores_names_preset_and_traces(tmp_path: Path) -> None:
    run(tmp_path, [TASK], [TRACE])
    first = records.read_manifest(tmp_path / "scores.jsonl")
    run(tmp_path, [TASK], [TRACE], "strict")
    second = records.read_manifest(tmp_path / "scores.jsonl")
    assert first is not None
    assert second is not None
    assert (first.kind, first.rows, first.complete) == ("scores", 1, True)
    assert first.parent == second.parent == records.content_hash(tmp_path / "traces.jsonl")
    assert first.config != second.config


def test_a_trace_of_a_task_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    stray = {**TRACE, "id": "stray", "task_id": "gone"}
    with pytest.raises(InputError, match=r"traces.jsonl: trace 'stray' is of task 'gone'"):
        run(tmp_path, [TASK], [TRACE, stray])
    assert not (tmp_path / "scores.jsonl").exists()


def test_two_tasks_of_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tasks.jsonl:2: id 't' is that of line 1"):
        run(tmp_path, [TASK, TASK], [TRACE])


def test_a_broken_line_is_refused_by_number_and_earlier_scores_stay(tmp_path: Path) -> None:
    run(tmp_path, [TASK], [TRACE])
    before = (tmp_path / "scores.jsonl").read_bytes()
    with pytest.raises(BrokenRecord, match=r"traces\.jsonl:2: "):
        run(tmp_path, [TASK], [TRACE, '{"id": "half\n'])
    assert (tmp_path / "scores.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    "number", ["Infinity", "NaN", "1e999", "9" * 5000, "[" * 5000 + "]" * 5000]
)
def test_a_value_that_no_json_reader_holds_is_a_broken_line(tmp_path: Path, number: str) -> None:
    odd = json.dumps(TRACE).replace('"n": 1', f'"n": {number}') + "\n"
    with pytest.raises(BrokenRecord, match=r"traces\.jsonl:1: "):
        run(tmp_path, [TASK], [odd])


@pytest.mark.parametrize(
    ("value", "share"),
    [
        ("1.0", 1),
        ("1e0", 1),
        ("true", 0),
        ("9" * 60, 0),
        ("1e308", 0),
        ('"\\u0000"', 0),
        ("[" * 400 + "]" * 400, 0),
    ],
)
def test_odd_values_are_scored_by_value(tmp_path: Path, value: str, share: int) -> None:
    odd = json.dumps(TRACE).replace('"n": 1', f'"n": {value}') + "\n"
    run(tmp_path, [TASK], [odd], explain=True)
    assert scores(tmp_path)[0].argument == share


def test_a_huge_integer_is_equal_to_itself_and_to_nothing_near_it(tmp_path: Path) -> None:
    huge = json.dumps(TASK).replace('"n": 1', '"n": ' + "9" * 60) + "\n"
    traces = [
        json.dumps({**TRACE, "id": v}).replace('"n": 1', f'"n": {v}') + "\n"
        for v in ("9" * 60, "9" * 59 + "8", "1e60")
    ]
    run(tmp_path, [huge], traces)
    assert [row.argument for row in scores(tmp_path)] == [1, 0, 0]


@pytest.mark.parametrize("arguments", [None, "{", [1], 7])
def test_arguments_that_are_no_object_match_nothing_whatever_the_outcome_says(
    tmp_path: Path, arguments: object
) -> None:
    odd = {**TRACE, "calls": [{**CALL, "arguments": arguments}]}
    run(tmp_path, [TASK], [odd], explain=True)
    assert (scores(tmp_path)[0].coverage, scores(tmp_path)[0].argument) == (0, 0)
    text = (tmp_path / "scores.explain.txt").read_text("utf-8")
    assert "stands for nothing (the arguments are not a JSON object)" in text


def test_an_unknown_preset_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="papre"):
        run(tmp_path, [TASK], [TRACE], "papre")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["tasks.jsonl", "traces.jsonl"]


def test_the_preset_may_carry_settings_and_they_stand_in_every_row(tmp_path: Path) -> None:
    summary = run(tmp_path, [TASK], [TRACE], "paper,w_state=1")
    assert summary.preset == scores(tmp_path)[0].preset == "paper,w_state=1.0"
    assert scores(tmp_path)[0].max_total == pytest.approx(2.3)


def test_the_reasons_are_written_beside_the_scores_if_asked_for(tmp_path: Path) -> None:
    assert run(tmp_path, [TASK], [TRACE]).explained is None
    summary = run(tmp_path, [TASK], [TRACE, {**TRACE, "id": "second"}], explain=True)
    assert summary.explained == tmp_path / "scores.explain.txt"
    text = summary.explained.read_text("utf-8")
    assert text.count("stands for g0") == 2
    assert text.startswith("trace r on task t, preset paper: total 1.3000 of 1.3 (100.0%)\n")
    assert "\n\ntrace second on task t" in text
