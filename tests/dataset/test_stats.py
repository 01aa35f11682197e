"""Counts of a file of tasks, worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from provegym.dataset.stats import stats
from provegym.errors import InputError
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
    Task("c", "abstention", (Turn("Fly"), Turn("Now")), servers=("shop",), tools=(tool("buy"),)),
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
