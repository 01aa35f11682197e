"""Counts of a file of tasks, worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from provegym import cli
from provegym.dataset.stats import stats
from provegym.errors import InputError, ManifestMismatch
from provegym.report.counts import render
from provegym.report.counts import write as write_page
from provegym.types import (
    Call,
    Function,
    GroundCall,
    Outcome,
    Perturbations,
    Task,
    Tool,
    Trace,
    Turn,
)


def tool(name: str) -> Tool:
    return Tool(Function(name))


def made(name: str, turn: int, outcome: Outcome = "ok", result: Any = None, **given: Any) -> Call:
    return Call(name, given, turn, 0, outcome, result)


LOOK, PAY = GroundCall("g0", "look", {}), GroundCall("g1", "pay", {"amount": 2})
TASKS = [
    Task(
        "a",
        "workflow",
        (Turn("Look, then pay", (LOOK, PAY)), Turn("Thanks")),
        servers=("bank",),
        tools=(tool("look"), tool("pay"), tool("burn")),
    ),
    Task(
        "b",
        "clarification",
        (Turn("Pay"), Turn("Now", (PAY,), tools=(tool("pay"),)), Turn("Really", (LOOK,))),
        servers=("bank", "shop"),
        tools=(tool("look"), tool("buy")),
        perturbations=Perturbations(1, True, "pay"),
        information="minimal",
    ),
    Task(
        "c",
        "abstention",
        (Turn("Fly"), Turn("Now")),
        servers=("shop",),
        tools=(tool("buy"),),
        teacher="offline",
    ),
]
REFUSED = {"error": {"code": "not_found", "message": "no such account"}}
TALKS = [
    Trace(
        "a",
        "a",
        (
            made("look", 0),
            made("pay", 0, "tool_error", REFUSED, amount="2"),
            made("pay", 0, amount=2),
            made("burn", 1, "tool_error", {"error": {"code": "too_hot"}}),
        ),
    ),
    Trace(
        "b",
        "b",
        (
            made("pay", 1, amount=2),
            made("peek", 2),
            made("open", 2, "unknown_tool"),
            made("look", 2),
        ),
    ),
]


def write(folder: Path, name: str, rows: list[Any]) -> Path:
    path = folder / name
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return path


def test_tasks_are_counted_by_server_tool_kind_length_and_perturbation(tmp_path: Path) -> None:
    found = stats(write(tmp_path, "tasks.jsonl", TASKS))
    assert found.tasks == 3
    assert found.servers == {"bank": 2, "shop": 1}
    assert found.tools == {"look": 2, "pay": 2}
    assert found.kinds == {"abstention": 1, "clarification": 1, "workflow": 1}
    assert found.teachers == {"": 2, "offline": 1}
    assert found.information == {"complete": 1, "minimal": 1}
    assert found.calls == {0: 1, 2: 2}
    assert found.turns == {2: 2, 3: 1}
    assert found.perturbations == {"distractors": 1, "enum_stripped": 1, "missing_function": 1}
    assert found.recoveries == found.refusals == {}


def test_tools_that_are_never_called_are_listed_by_server(tmp_path: Path) -> None:
    path = write(tmp_path, "tasks.jsonl", TASKS)
    assert stats(path).never_called == {"bank": ("burn",), "shop": ("buy",)}
    library = {"bank": ["look", "pay"], "shop": ["buy", "sell"], "zoo": ["feed"]}
    assert stats(path, library).never_called == {"shop": ("buy", "sell")}


def test_refusal_codes_that_were_met_and_those_that_were_not_are_told_by_server(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, "tasks.jsonl", TASKS)
    write(tmp_path, "conversations.jsonl", TALKS)
    library = {"bank": ["look", "pay", "burn"], "shop": ["buy"]}
    codes = {"bank": {"too_hot", "not_found", "no_money"}, "shop": {"not_found"}, "zoo": {"shut"}}
    found = stats(path, library, codes)
    assert found.refused == {"bank": ("not_found", "too_hot"), "shop": ()}
    assert found.never_refused == {"bank": ("no_money",), "shop": ("not_found",)}
    assert found.coverage() == (
        "2 of 4 tools called, 2 of 4 refusal codes met, 0.0% of the workflows across servers, "
        "at most 66.7% of the tasks about one server"
    )


CROSSING = [
    Task("d", "workflow", (Turn("", (LOOK, GroundCall("g1", "buy", {}))),), servers=("bank",)),
    Task("e", "clarification", (Turn("", (PAY, GroundCall("g2", "buy", {}))),), servers=("shop",)),
    Task("f", "workflow", (Turn("", (PAY, GroundCall("g2", "fly", {}))),), servers=("bank",)),
]


def test_tasks_that_call_tools_of_two_servers_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path, "tasks.jsonl", TASKS + CROSSING)
    library = {"bank": ["look", "pay"], "shop": ["buy", "sell"]}
    found = stats(path, library)
    assert found.cross_server == 2  # d and e; no server is known to have "fly"
    assert found.cross_server_share == pytest.approx(1 / 3)  # d of the workflows a, d and f
    assert found.called == {"bank": 2, "shop": 1}
    alone = stats(write(tmp_path, "alone.jsonl", TASKS[2:]), library)
    assert (alone.cross_server, alone.cross_server_share) == (0, 0.0)


def test_the_page_stands_alone_and_has_every_table_and_plot(tmp_path: Path) -> None:
    path = write(tmp_path, "tasks.jsonl", TASKS)
    write(tmp_path, "conversations.jsonl", TALKS)
    library = {"bank": ["look", "pay", "burn"], "shop": ["buy"]}
    found = stats(path, library, {"bank": ["no_money"]})
    page = render(found, "a & b")
    assert "<h1>Tasks: a &amp; b</h1>" in page
    assert not any(word in page for word in ("http", "<script", "<link", "src=", "url("))
    assert page.count("<svg ") == 8
    for _, rows in found.tables():
        assert rows
        for row in rows:
            assert f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" in page
    assert "<title>bank: 2</title>" in page
    assert "<title>bank: called 2, never called 1</title>" in page
    assert page.count('class="limit"') == 1
    assert "Broken line: 12% of the tasks" in page


def test_only_the_first_forty_codes_are_plotted(tmp_path: Path) -> None:
    found = stats(write(tmp_path, "tasks.jsonl", TASKS))
    codes = {f"code_{i:02d}": 60 - i for i in range(45)}
    page = render(msgspec.structs.replace(found, refusals=codes), "tasks")
    assert page.count("<title>code_") == 40
    assert page.count("<td>code_") == 45


def test_a_page_replaces_its_like_and_nothing_else(tmp_path: Path) -> None:
    found = stats(write(tmp_path, "tasks.jsonl", TASKS))
    out = tmp_path / "new" / "page.html"
    write_page(found, "one", out)
    write_page(found, "two", out)
    assert "<h1>Tasks: two</h1>" in out.read_text("utf-8")
    mine = tmp_path / "mine.html"
    mine.write_text("<!doctype html><title>mine</title>")
    with pytest.raises(ManifestMismatch, match=r"mine\.html holds something else"):
        write_page(found, "one", mine)
    assert mine.read_text() == "<!doctype html><title>mine</title>"


def test_the_command_writes_the_page_and_never_over_its_tasks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, "tasks.jsonl", TASKS)
    before, out = path.read_bytes(), tmp_path / "page.html"
    assert cli.call(["dataset", "stats", str(path), "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "cross_server  of the workflows\n" in told
    assert "\n3 tasks: " in told
    assert told.endswith(f"\npage: {out}\n")
    assert out.read_text("utf-8").startswith("<!doctype html>")
    assert cli.call(["dataset", "stats", str(path), "--out", str(path)]) == 2
    refused = capsys.readouterr()
    assert (refused.out, refused.err.count("\n")) == ("", 1)
    assert path.read_bytes() == before


def test_failures_are_told_apart_by_what_came_next(tmp_path: Path) -> None:
    path = write(tmp_path, "tasks.jsonl", TASKS)
    write(tmp_path, "conversations.jsonl", TALKS)
    found = stats(path)
    assert found.recoveries == {"alternative": 2, "corrected": 1, "given_up": 1}
    assert found.refusals == {"not_found": 1, "too_hot": 1, "unknown_tool": 1}


def test_a_missing_or_broken_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        stats(tmp_path / "nowhere.jsonl")
    (tmp_path / "broken.jsonl").write_text("{\n")
    with pytest.raises(InputError, match=r"broken\.jsonl.*1"):
        stats(tmp_path / "broken.jsonl")


@pytest.mark.parametrize("verb", ["stats", "check", "difficulty", "card"])
def test_a_file_without_tasks_is_refused_in_one_line(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none.jsonl"
    path.write_bytes(b"")
    assert cli.call(["dataset", verb, str(path)]) == 2
    told = capsys.readouterr().err
    assert told == f"error: {path} holds no task; make some with `provegym synth`\n"


def test_tables_that_leave_abstentions_out_say_so(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(task) + b"\n" for task in TASKS))
    heads = {heads[0]: heads[1] for heads, _ in stats(path).tables()}
    assert heads["kinds"] == "tasks"
    assert heads["information"] == heads["perturbations"] == "tasks but abstentions"


def test_without_conversations_nothing_is_said_of_refusal_codes(tmp_path: Path) -> None:
    path = write(tmp_path, "tasks.jsonl", TASKS)
    found = stats(path, {"bank": ["look", "pay"]}, {"bank": {"too_hot"}})
    assert (found.refused, found.never_refused) == ({}, {})
    assert "refusal codes unknown (no conversations beside the tasks)" in found.coverage()
