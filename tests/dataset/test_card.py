"""Cards of data sets: what they say, worked out by hand, and what Hugging Face reads of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from huggingface_hub import DatasetCard

from provegym import cli, records
from provegym.dataset.card import read_report, render
from provegym.errors import InputError
from provegym.records import Manifest, write_manifest
from provegym.types import Certificate, Function, GroundCall, Perturbations, Task, Tool, Turn

LOOK, PAY = GroundCall("g0", "look", {}), GroundCall("g1", "pay", {"amount": 2})
LIBRARY = {"bank": ["look", "pay", "burn"], "shop": ["buy"]}
TASKS = [
    Task(
        "a",
        "workflow",
        (Turn("Look, then pay", (LOOK, PAY)), Turn("Thanks")),
        ("bank",),
        seed=7,
        teacher="offline",
        certificate=Certificate(True),
    ),
    Task(
        "b",
        "clarification",
        (Turn("Pay"), Turn("Now", (PAY,), tools=(Tool(Function("pay")),))),
        ("bank", "shop"),
        seed=9,
        perturbations=Perturbations(1, True, "pay"),
        information="minimal",
        teacher="openai:Qwen|3",
    ),
    Task("c", "abstention", (Turn("Fly"),), seed=3, teacher="offline"),  # of no world
    Task("d", "workflow", (Turn("Look", (LOOK,)),), ("bank",), seed=9, teacher="offline"),
]
REPORT = {
    "benchmarks": [
        {"name": "BFCL", "tool_names": 3, "schemas": 0, "entities": ["x", "y"], "ngrams": 12},
        {"name": "tau2-bench", "sequences": {"a": 1}, "other": True},
    ]
}


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.jsonl"
    records.write_atomic(path, map(records.encode, TASKS))
    cost = {"usd": 1.25, "prompt_tokens": 31_000.0}
    made = Manifest("tasks", "c" * 64, 11, "w" * 64, cost=cost, complete=True, rows=4)
    write_manifest(path, made)
    lost = ["duplicate", "unsolved", "duplicate", "certificate:x"]
    rows = [records.encode({"id": f"r{i}", "reason": why}) for i, why in enumerate(lost)]
    records.write_atomic(tmp_path / "rejections.jsonl", rows)
    return path


def report(folder: Path, content: object = REPORT) -> Path:
    path = folder / "report.json"
    path.write_bytes(msgspec.json.encode(content))
    return path


def front(text: str) -> dict[str, Any]:
    """The front matter as the hub reads it."""
    return dict(DatasetCard(text).data.to_dict())  # type: ignore[no-untyped-call]


def test_a_card_counts_what_the_tasks_are(tasks: Path) -> None:
    text = render(tasks, LIBRARY)
    told = "4 tasks. The ground truths call 2 of the 3 tools of the servers they are about"
    assert told in text
    for row in (
        "workflow | 2 | 50.0%",
        "bank | 3 | 75.0%",
        "complete | 2 | 66.7%",
        "minimal | 1 | 33.3%",  # of the three that are no abstention
        "0 | 1 | 25.0%",  # calls
        "1 | 2 | 50.0%",
        "2 | 2 | 50.0%",  # turns
        "enum_stripped | 1 | 33.3%",
        "missing_function | 1 | 33.3%",
    ):
        assert f"\n| {row} |" in text, row


def test_a_card_tells_the_yield_by_reason(tasks: Path) -> None:
    text = render(tasks, LIBRARY)
    assert "4 of 8 candidates became tasks (50.0%)." in text
    assert "\n| duplicate | 2 | 25.0% |\n" in text
    assert "\n| certificate:x | 1 | 12.5% |" in text


def test_a_card_tells_who_made_the_tasks_from_what_and_for_how_much(tasks: Path) -> None:
    text = render(tasks, LIBRARY)
    for row in (
        r"teacher | offline (3 tasks), openai:Qwen\|3 (1 tasks)",
        "certified by replay | 1 of 4 tasks",
        "worlds | 2, of the seeds 7 to 9",
        "root seed | 11",
        "cost | usd 1.25, prompt_tokens 31,000",
        f"content of the worlds, SHA-256 | {'w' * 64}",
        f"settings, SHA-256 | {'c' * 64}",
    ):
        assert f"\n| {row} |" in text, row
    assert "What openai:Qwen|3 wrote is also under the terms of that model." in text


def test_a_file_that_a_later_step_made_has_no_seed_of_its_own(tasks: Path) -> None:
    write_manifest(tasks, Manifest("tasks", parent="p" * 64, complete=True, rows=4))
    text = render(tasks, LIBRARY)
    assert f"\n| taken from the file with SHA-256 | {'p' * 64} |" in text
    assert "root seed" not in text


def test_a_card_says_what_is_not_known(tasks: Path) -> None:
    (tasks.parent / "rejections.jsonl").unlink()
    records.manifest_path(tasks).unlink()
    text = render(tasks, LIBRARY)
    assert "No file of rejected candidates lies beside the tasks." in text
    assert "no manifest, so their root seed, settings and cost are not known" in text
    assert "No decontamination report was made" in text


def test_a_decontamination_report_is_shown_and_what_it_lacks_is_said(tasks: Path) -> None:
    text = render(tasks, LIBRARY, report=read_report(report(tasks.parent)))
    assert "| benchmark | tool names | schemas | entities | sequences | ngrams |" in text
    assert "\n| BFCL | 3 | 0 | 2 | not counted | 12 |" in text
    assert "\n| tau2-bench | not counted | not counted | not counted | 1 | not counted |" in text
    assert "No decontamination report was made" not in text


def test_a_report_that_has_words_of_its_own_is_shown_in_them(tasks: Path) -> None:
    told = {**REPORT, "text": "Nothing was left out.\n", "tasks": 4}
    text = render(tasks, LIBRARY, report=read_report(report(tasks.parent, told)))
    assert "\n## Decontamination\n\nNothing was left out.\n\n## Licences" in text


def test_a_report_over_other_tasks_is_told_from_one_over_these(tasks: Path) -> None:
    path = report(tasks.parent)
    write_manifest(path, Manifest("decontamination", parent="f" * 64))
    told = "The report was made over another file of tasks"
    assert f"{told} (SHA-256 {'f' * 64})." in render(tasks, LIBRARY, report=read_report(path))
    write_manifest(path, Manifest("decontamination", parent=records.content_hash(tasks)))
    assert told not in render(tasks, LIBRARY, report=read_report(path))


def test_a_report_that_names_no_benchmark_is_no_clean_bill(tasks: Path) -> None:
    text = render(tasks, LIBRARY, report=read_report(report(tasks.parent, {})))
    assert "The report names no benchmark." in text


@pytest.mark.parametrize("content", [[1], {"benchmarks": 3}, {"benchmarks": [1]}, {"text": 1}])
def test_something_else_is_no_report(tmp_path: Path, content: object) -> None:
    with pytest.raises(InputError, match=r"report\.json is no decontamination report: "):
        read_report(report(tmp_path, content))


def test_hugging_face_reads_the_front_matter(tasks: Path, tmp_path: Path) -> None:
    splits = {"train": 3, "heldout": 1}
    text = render(tasks, LIBRARY, splits, "cc-by-4.0", heldout=["shop"])
    data = front(text)
    assert data["license"] == "cc-by-4.0"
    assert data["size_categories"] == ["n<1K"]
    assert "function-calling" in data["tags"]
    (config,) = data["configs"]
    assert config["data_files"] == [
        {"split": "train", "path": "data/train.parquet"},
        {"split": "heldout", "path": "data/heldout.parquet"},
    ]
    assert "\n| train | 3 | 75.0% |\n" in text
    assert "every task that touches shop; no other split shows any tool of these" in text
    assert "The tasks are under `cc-by-4.0`." in text
    assert "configs" not in front(render(tasks, LIBRARY))


@pytest.mark.parametrize(
    ("count", "size"), [(999, "n<1K"), (1_000, "1K<n<10K"), (13_517, "10K<n<100K")]
)
def test_the_size_is_the_hub_s_category(tmp_path: Path, count: int, size: str) -> None:
    path = tmp_path / "tasks.jsonl"
    rows = (Task(f"t{i}", "abstention", (Turn("Fly"),)) for i in range(count))
    records.write_atomic(path, map(records.encode, rows))
    assert front(render(path, {}))["size_categories"] == [size]


def test_the_command_prints_the_card(tasks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--decontamination", str(report(tasks.parent)), "--licence", "mit"]
    assert cli.call(["dataset", "card", str(tasks), *arguments]) == 0
    text = capsys.readouterr().out
    assert text.startswith("---\n")
    assert front(text)["license"] == "mit"
    assert "| BFCL | 3 |" in text
    assert cli.call(["dataset", "card", str(tasks.with_name("none.jsonl"))]) == 2
    assert "none.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize("licence", ["", " ", "foo\nbar", "a: b", "mit "])
def test_what_is_no_licences_name_is_refused(
    tasks: Path, capsys: pytest.CaptureFixture[str], licence: str
) -> None:
    out = tasks.with_name("out")
    for verb, *more in (["card"], ["export", "--format", "hf", "--out", str(out)]):
        assert cli.call(["dataset", verb, str(tasks), *more, "--licence", licence]) == 2
        assert capsys.readouterr().err.startswith(f"error: --licence {licence!r} is no licence")
    assert not out.exists()


def test_a_card_names_the_licence_of_each_published_set_that_tasks_come_from(
    tasks: Path, tmp_path: Path
) -> None:
    path = tmp_path / "mixed.jsonl"
    asked = [Task(f"w{i}", "abstention", (Turn(f"Fly {i}"),), teacher="when2call") for i in "ab"]
    asked.append(Task("x", "abstention", (Turn("Swim"),), teacher="xlam-irrelevance"))
    records.write_atomic(path, map(records.encode, [*TASKS, *asked]))
    text = render(path, LIBRARY)
    told = text.split("## Licences")[1]
    assert "What openai:Qwen|3 wrote is also under the terms of that model." in told
    where = "https://huggingface.co/datasets/nvidia/When2Call"
    assert f"| when2call | 2 | CC-BY-4.0 | {where} |" in told
    where = "https://huggingface.co/datasets/MadeAgents/xlam-irrelevance-7.5k"
    assert f"| xlam-irrelevance | 1 | CC-BY-4.0 | {where} |" in told
    assert "published sets" not in render(tasks, LIBRARY)
