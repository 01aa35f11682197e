from typing import Any

import pytest

from provegym.rewards import score
from provegym.rewards.explain import Comparison, explain
from provegym.rewards.render import render, shown
from provegym.types import Call, GroundCall, Ref, Task, Trace, Turn

OPEN = GroundCall("g0", "open_account", {"owner": "Ada"})
PAY = GroundCall(
    "g1", "pay", {"id": "acc_1", "sum": 5}, ("g0", "g2"), {"/id": Ref("g0", "/items/0/id")}
)
CHECK = GroundCall("g2", "check", {"id": "acc_1"})
TASK = Task("t", "clarification", (Turn(), Turn(calls=(OPEN, PAY, CHECK))))
CALLS = (
    Call("open_account", {"owner": " Ada "}, 1, 0, "ok", {"items": [{"id": "acc_7"}]}),
    Call("pay", {"id": "acc_7", "sum": 6}, 1, 1, "ok", {}),
    Call("pay", {"id": "acc_7"}, 1, 2, "invalid_arguments"),
    Call("open_account", {"owner": "Bo"}, 0, 3, "ok"),
    Call("check", {"id": "acc_1"}, 0, 4, "tool_error"),
    Call("fly", {}, 1, 5, "unknown_tool"),
    Call("pay", "{", 1, 6, "malformed"),
    Call("list", {}, 1, 7, "ok"),
)
TRACE = Trace("r", "t", CALLS)


def test_an_explanation_holds_the_score_itself() -> None:
    assert explain(TASK, TRACE, "strict").score == score(TASK, TRACE, "strict")


def test_each_call_has_its_level_of_validity() -> None:
    levels = [note.validity for note in explain(TASK, TRACE, "paper").calls]
    assert levels == pytest.approx([1, 1, 1 / 3, 1, 2 / 3, 0, 1 / 3, 1])


def test_a_matched_call_names_its_ground_truth_and_the_dependencies_it_satisfies() -> None:
    notes = explain(TASK, TRACE, "paper").calls
    assert [note.matched for note in notes] == ["g0", "g1", None, None, "g2", None, None, None]
    assert (notes[1].satisfied, notes[1].unsatisfied) == (("g0",), ("g2",))
    assert (notes[0].satisfied, notes[0].unsatisfied) == ((), ())


def test_values_are_shown_both_ways_with_where_the_wanted_one_came_from() -> None:
    notes = explain(TASK, TRACE, "paper").calls
    assert notes[0].arguments == (Comparison("owner", " Ada ", "Ada", True),)
    assert notes[1].arguments == (
        Comparison("id", "acc_7", "acc_7", True, ("g0/items/0/id",)),
        Comparison("sum", 6, 5, False),
    )


def test_a_reference_that_was_not_followed_is_not_shown_as_followed() -> None:
    failed = Call("open_account", {"owner": "Ada"}, 1, 0, "tool_error", {"items": []})
    notes = explain(TASK, Trace("r", "t", (failed, CALLS[1]))).calls
    assert notes[1].arguments[0] == Comparison("id", "acc_7", "acc_1", False)


@pytest.mark.parametrize(
    ("preset", "position", "reason"),
    [
        ("paper", 2, "g1: lacks sum"),
        ("paper", 3, "g0: call 0 stands for it"),
        ("strict", 3, "g0: made in turn 0, needed from turn 1 on"),
        ("strict", 4, "g2: a match must be ok, not tool_error"),
        ("paper", 5, "no tool of that name was offered"),
        ("paper", 6, "the arguments are not a JSON object"),
        ("paper", 7, "the task needs no call of this tool"),
    ],
)
def test_a_call_that_stands_for_nothing_says_why(preset: str, position: int, reason: str) -> None:
    note = explain(TASK, TRACE, preset).calls[position]
    assert (note.matched, note.reason) == (None, reason)


def test_a_ground_truth_call_that_is_not_matched_says_why() -> None:
    assert explain(TASK, TRACE, "paper").unmatched == ()
    (missing,) = explain(TASK, TRACE, "strict").unmatched
    assert (missing.ground.id, missing.turn) == ("g2", 1)
    assert missing.reason == "call 4: a match must be ok, not tool_error"
    reasons = {m.ground.id: m.reason for m in explain(TASK, Trace("r", "t", CALLS[:1])).unmatched}
    assert reasons == dict.fromkeys(["g1", "g2"], "no call of this tool was made")


def test_one_call_for_two_equal_needs_leaves_the_second_one_open() -> None:
    twice = Task("t", "workflow", (Turn(calls=(OPEN, GroundCall("g9", "open_account"))),))
    (missing,) = explain(twice, Trace("r", "t", CALLS[:1])).unmatched
    assert (missing.ground.id, missing.reason) == ("g9", "call 0: stands for g0")


def test_a_masked_trace_is_explained_without_a_match() -> None:
    lost = Call("pay", {"id": "acc_7", "sum": 5}, 1, 1, "infrastructure")
    result = explain(TASK, Trace("r", "t", (CALLS[0], lost)))
    assert result.score.masked
    assert [note.validity for note in result.calls] == [1, None]
    assert {note.reason for note in result.calls} == {"the episode is masked"}
    assert len(result.unmatched) == 3
    assert render(result).startswith("trace r on task t, preset paper: masked")


def test_the_text_tells_the_same_on_readable_lines() -> None:
    paper = render(explain(TASK, TRACE, "paper")).splitlines()
    assert paper[0].startswith("trace r on task t, preset paper: total ")
    assert "  validity 0.6667  coverage 0.6667  " in paper[1]
    assert paper[2:8] == [
        "call 0 open_account, turn 1 step 0: ok, validity 1.00, stands for g0",
        '    owner: " Ada " equals "Ada"',
        "call 1 pay, turn 1 step 1: ok, validity 1.00, stands for g1",
        "    comes after g0, as it must",
        "    does not come after g2, as it must",
        '    id: "acc_7" equals "acc_7" (own result g0/items/0/id)',
    ]
    assert paper[8] == "    sum: 6 differs from 5"
    strict = render(explain(TASK, TRACE, "strict")).splitlines()
    assert strict[-1] == "missing g2 check, turn 1: call 4: a match must be ok, not tool_error"


def test_a_name_with_control_characters_stays_on_one_line() -> None:
    odd = Call("fly\n\x1b[2J", {}, 1, 0, "unknown_tool")
    lines = render(explain(TASK, Trace("r", "t", (odd,)))).splitlines()
    assert lines[2].startswith('call 0 "fly\\n\\u001b[2J", turn 1')


def test_a_value_too_long_or_too_deep_to_show_is_cut() -> None:
    deep: Any = 1
    for _ in range(50_000):
        deep = [deep]
    assert len(shown("a" * 500)) == 120
    assert shown(deep) == shown(10**5000) == "(too deep or too long to show)"
