"""Contamination planted in tasks is found where it is, and only there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from provegym import cli, records
from provegym.dataset.benchmarks import Benchmark, load
from provegym.dataset.decontaminate import Hit, Report, decontaminate, decontaminate_file
from provegym.dataset.overlap import ASPECTS
from provegym.errors import InputError
from provegym.types import Function, GroundCall, Task, Tool, Turn

EXCERPTS = Path(__file__).parents[2] / "examples" / "benchmarks"
NAMES = ("bfcl", "tau2", "teval")
AGAINST = tuple(f"--against={name}={EXCERPTS / name}" for name in NAMES)


@pytest.fixture(scope="module")
def benchmarks() -> list[Benchmark]:
    return [load(name, EXCERPTS / name) for name in NAMES]


def task(name: str, user: str, *calls: tuple[str, dict[str, Any]], **given: Any) -> Task:
    truth = tuple(GroundCall(f"g{i}", tool, a) for i, (tool, a) in enumerate(calls))
    return Task(name, "workflow", (Turn(user, truth),), **given)


CLEAN = task("clean", "Pay $5 to Emma Kim in New York on 2024-05-20.", ("pay", {"to": "Emma Kim"}))


def counts(report: Report) -> list[dict[str, int]]:
    return [
        {aspect: n for aspect in ASPECTS if (n := getattr(found, aspect))}
        for found in report.benchmarks
    ]


def test_common_words_names_places_and_dates_are_no_contamination(
    benchmarks: list[Benchmark],
) -> None:
    report = decontaminate([CLEAN], benchmarks)
    assert counts(report) == [{}, {}, {}]
    assert (report.tasks, report.contaminated) == (1, ())
    assert [b.name for b in report.benchmarks] == ["BFCL", "tau2-bench", "T-Eval"]
    assert [b.items for b in report.benchmarks] == [6, 4, 3]


def test_words_of_a_question_are_found_from_eight_on(benchmarks: list[Benchmark]) -> None:
    copied = "Then perform a detailed search using grep to identify the colour."
    seven = "Then perform a detailed search using grep to name the colour."
    tasks = [task("c", copied), task("s", seven), CLEAN]
    report = decontaminate(tasks, benchmarks)
    assert counts(report) == [{"strict_ngrams": 1}, {}, {}]
    hits = report.benchmarks[0].examples["strict_ngrams"]
    assert hits == (
        Hit(
            "perform a detailed search using grep to identify",
            1,
            ("c",),
            ("multi_turn_base_0", "multi_turn_miss_func_0"),
        ),
    )
    assert report.contaminated == ("c",)


def test_a_whole_question_shares_thirteen_words_in_a_row(benchmarks: list[Benchmark]) -> None:
    question = (
        "Perform a detailed search using grep to identify sections in the file pertaining to "
        "'budget analysis'."
    )
    report = decontaminate([task("q", question.upper())], benchmarks)
    words = 16
    assert counts(report)[0] == {"ngrams": words - 12, "strict_ngrams": words - 7}


def test_an_id_in_arguments_results_changes_or_turns_is_found(benchmarks: list[Benchmark]) -> None:
    held = {"user": {"id": "emma_kim_9957"}}
    result = Task("result", "workflow", (Turn("Go", (GroundCall("g", "x", result=held),)),))
    tasks = [
        task("argument", "Cancel it.", ("cancel", {"ids": ["EMMA_KIM_9957"]})),
        task("turn", "My user id is emma_kim_9957."),
        result,
        msgspec.structs.replace(
            CLEAN, id="change", final_changes={"users": {"emma_kim_9957": None}}
        ),
        CLEAN,
    ]
    report = decontaminate(tasks, benchmarks)
    assert counts(report) == [{}, {"entities": 1}, {}]
    hit = report.benchmarks[1].examples["entities"][0]
    assert (hit.what, hit.tasks) == ("emma_kim_9957", 4)
    assert hit.items == ("airline/0", "airline/db.json")
    assert report.contaminated == ("argument", "turn", "result", "change")
    assert report.benchmarks[1].tasks == {**dict.fromkeys(ASPECTS, 0), "entities": 4}


def test_tools_and_sequences_are_reported_but_drop_no_task(benchmarks: list[Benchmark]) -> None:
    schema = {"type": "object", "properties": {"title": {}, "user_id": {}, "description": {}}}
    shown = (Tool(Function("create_task", parameters=schema)), Tool(Function("searchBooks")))
    steps: list[tuple[str, dict[str, Any]]] = [(n, {}) for n in ("mkdir", "mv", "ls", "cd", "grep")]
    report = decontaminate([task("t", "Go", *steps, tools=shown)], benchmarks)
    assert counts(report) == [
        {"sequences": 2},  # mkdir > mv and cd > grep
        {"tool_names": 1, "schemas": 1},
        {"tool_names": 1},
    ]
    assert report.benchmarks[1].examples["schemas"][0].what == "(description, title, user_id)"
    assert report.contaminated == ()


def test_the_report_says_it_in_words_with_every_number(benchmarks: list[Benchmark]) -> None:
    tasks = [task("t", "I am emma_kim_9957.", ("mkdir", {}), ("mv", {})), CLEAN]
    lines = decontaminate(tasks, benchmarks).text.splitlines()
    versions = [benchmark.version for benchmark in benchmarks]
    assert lines[2] == f"| BFCL | {versions[0]} | 6 | 0 | 0 | 0 | 1 | 0 | 0 |"
    assert lines[3] == f"| tau2-bench | {versions[1]} | 4 | 0 | 0 | 1 | 0 | 0 | 0 |"
    assert "- BFCL, sequences: `mkdir > mv` (1 task)" in lines
    assert "- tau2-bench, entities: `emma_kim_9957` (1 task)" in lines
    assert "1 of 2 tasks share an entity or 8 words in a row with a benchmark." in lines


def test_a_long_hit_is_cut_in_the_text_but_whole_in_the_examples() -> None:
    words = " ".join(f"word{chr(97 + i)}" for i in range(26))
    item = load("bfcl", EXCERPTS / "bfcl").items[0]
    benchmark = Benchmark("B", "v1", (msgspec.structs.replace(item, values=(words,)),))
    report = decontaminate([task("t", "Go", ("x", {"text": words}))], [benchmark])
    assert report.benchmarks[0].examples["entities"][0].what == words
    assert f"`{words[:80]}...` (1 task)" in report.text


def test_the_cleaned_file_lacks_the_contaminated_tasks_alone(
    tmp_path: Path, benchmarks: list[Benchmark]
) -> None:
    tasks, out, drop = (tmp_path / f"{name}.jsonl" for name in ("tasks", "report", "clean"))
    rows = [CLEAN, task("t", "I am emma_kim_9957.")]
    records.write_atomic(tasks, map(records.encode, rows))
    report = decontaminate_file(tasks, benchmarks, out, drop)
    assert list(records.read(drop, Task)) == [CLEAN]
    assert msgspec.json.decode(out.read_bytes(), type=Report) == report
    manifests = [records.read_manifest(path) for path in (out, drop)]
    assert [(m.kind, m.rows) for m in manifests if m] == [("decontamination", 1), ("tasks", 1)]
    with pytest.raises(InputError, match="is what this command reads"):
        decontaminate_file(tasks, benchmarks, out, tasks)
    with pytest.raises(InputError, match="cannot hold both"):
        decontaminate_file(tasks, benchmarks, tmp_path / "one", tmp_path / "one")
    assert not (tmp_path / "one").exists()
    assert len(tasks.read_bytes().splitlines()) == 2


def test_the_command_writes_the_report_that_a_card_includes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks, out, drop = (str(tmp_path / name) for name in ("tasks.jsonl", "r.json", "clean.jsonl"))
    rows = [CLEAN, task("t", "I am emma_kim_9957.")]
    records.write_atomic(tasks, map(records.encode, rows))
    command = ["dataset", "decontaminate", tasks, *AGAINST, "--out", out]
    assert cli.call([*command, "--drop", drop]) == 0
    told = capsys.readouterr().out
    assert told.endswith(f"\nreport: {out}\n1 clean tasks: {drop}\n")
    written = json.loads(Path(out).read_bytes())
    assert written["text"] in told
    keys = {"name", "version", "tool_names", "schemas", "entities", "sequences", "ngrams"}
    assert all(keys <= found.keys() for found in written["benchmarks"])
    assert cli.call([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == written


@pytest.mark.parametrize("against", ["bfcl", "acebench=x", "bfcl=nowhere"])
def test_a_wrong_benchmark_is_one_line_and_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], against: str
) -> None:
    tasks, out = tmp_path / "tasks.jsonl", tmp_path / "report.json"
    records.write_atomic(tasks, [records.encode(CLEAN)])
    command = ["dataset", "decontaminate", str(tasks), "--against", against, "--out", str(out)]
    assert cli.call(command) == 2
    ran = capsys.readouterr()
    assert (ran.out, ran.err.count("\n")) == ("", 1)
    assert not out.exists()
