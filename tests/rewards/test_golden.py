"""Every golden case, under both presets, in every field."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from provegym.rewards import score
from provegym.types import Task, Trace

LINES = (
    (Path(__file__).parents[1] / "golden" / "reward_cases.jsonl").read_text("utf-8").splitlines()
)
CASES: list[dict[str, Any]] = [json.loads(line) for line in LINES]
FIELDS = (
    "validity",
    "coverage",
    "efficiency",
    "name",
    "argument",
    "state",
    "total",
    "max_total",
)


def test_the_golden_file_holds_67_cases_one_of_them_masked() -> None:
    assert len(CASES) == 67
    assert [case["expected"]["paper"] for case in CASES].count(None) == 1


@pytest.mark.parametrize("preset", ["paper", "strict"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["task"]["id"]))
def test_a_golden_case_scores_as_expected(case: dict[str, Any], preset: str) -> None:
    task = msgspec.convert(case["task"], Task)
    trace = msgspec.convert(case["trace"], Trace)
    result, wanted = score(task, trace, preset), case["expected"][preset]
    assert (result.trace_id, result.task_id, result.preset) == (trace.id, task.id, preset)
    assert result.masked == (wanted is None)
    if wanted is None:
        assert {getattr(result, field) for field in (*FIELDS, "normalized")} == {None}
        return
    assert wanted.keys() == set(FIELDS)
    for field in FIELDS:
        assert getattr(result, field) == pytest.approx(wanted[field], rel=0, abs=1e-9), field
    ratio = wanted["total"] / wanted["max_total"]
    assert result.normalized == pytest.approx(ratio, rel=0, abs=1e-9)
