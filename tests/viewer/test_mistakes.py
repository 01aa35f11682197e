"""What counts as the first mistake of an episode; each case is worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from provegym.rewards.explain import explain
from provegym.types import Call, Changes, GroundCall, Outcome, Task, Trace, Turn
from provegym.viewer.mistakes import FAILURES, Mistake, first

LOOK = GroundCall("g0", "find_account", {"owner": "Ada"})
PAY = GroundCall("g1", "pay", {"amount": 3}, after=("g0",))
CHANGES: Changes = {"bank.payments": {"+1": {"amount": 3}}}
TASK = Task("t", "workflow", (Turn("pay Ada 3", (LOOK, PAY)),), final_changes=CHANGES)


def call(name: str, arguments: Any, outcome: Outcome = "ok") -> Call:
    return Call(name, arguments, 0, 0, outcome)


FOUND, PAID = call("find_account", {"owner": "Ada"}), call("pay", {"amount": 3})


def judged(*calls: Call, changes: Changes = CHANGES, task: Task = TASK) -> Mistake:
    return first(explain(task, Trace("r", "t", calls, final_changes=changes), "strict"))


def test_the_ground_truth_has_none() -> None:
    assert judged(FOUND, PAID) == Mistake("")


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ((FOUND, call("pay", "{3", "malformed"), PAID), Mistake("malformed", 1)),
        ((FOUND, call("pay", {}, "invalid_arguments"), PAID), Mistake("invalid_arguments", 1)),
        ((call("fly", {}, "unknown_tool"), FOUND, PAID), Mistake("unknown_tool", 0)),
        ((FOUND, call("pay", {"amount": 9}, "tool_error"), PAID), Mistake("tool_error", 1)),
        ((FOUND, FOUND, PAID), Mistake("unneeded", 1)),
        ((PAID, FOUND), Mistake("order", 0)),
        ((FOUND, call("pay", {"amount": 4})), Mistake("values", 1)),
        ((FOUND,), Mistake("missing")),
        ((), Mistake("missing")),
        ((FOUND, call("pay", {"amount": 3}, "infrastructure")), Mistake("masked", 1)),
    ],
)
def test_the_first_of_several_is_told(calls: tuple[Call, ...], found: Mistake) -> None:
    assert judged(*calls) == found
    assert found.kind in FAILURES


def test_another_end_state_is_one_where_all_calls_are_right() -> None:
    assert judged(FOUND, PAID, changes={}) == Mistake("state")


def test_a_call_on_a_task_that_needs_none_is_one_and_silence_is_not() -> None:
    silent = Task("t", "abstention", (Turn("fly me to the moon"),))
    assert judged(FOUND, changes={}, task=silent) == Mistake("unneeded", 0)
    assert judged(changes={}, task=silent) == Mistake("")
