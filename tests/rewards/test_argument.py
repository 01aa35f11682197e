"""Arguments whose value came from an earlier call's result."""

from typing import Any

import pytest

from provegym.rewards import score
from provegym.types import Call, GroundCall, Outcome, Ref, Task, Trace, Turn

OPEN = GroundCall("g0", "open_account", {"owner": "Ada"})


def pay(arguments: dict[str, Any], refs: dict[str, Ref]) -> GroundCall:
    return GroundCall("g1", "pay", arguments, ("g0",), refs)


def share(second: GroundCall, *calls: Call) -> float | None:
    """The argument component of two ground-truth calls, the first one always fully right."""
    task = Task("t", "workflow", (Turn(calls=(OPEN, second)),))
    return score(task, Trace("r", "t", calls), "paper").argument


def opened(result: object, outcome: Outcome = "ok") -> Call:
    return Call("open_account", {"owner": "Ada"}, 0, 0, outcome, result)


def paid(**arguments: object) -> Call:
    return Call("pay", arguments, 0, 1, "ok", {})


BY_ID = pay({"id": "acc_1"}, {"/id": Ref("g0", "/items/0/id")})
MINE = {"items": [{"id": "acc_7"}]}


def test_a_value_made_in_the_episode_is_compared_with_the_policys_own() -> None:
    assert share(BY_ID, opened(MINE), paid(id="acc_7")) == 1
    assert share(BY_ID, opened(MINE), paid(id="acc_1")) == 0.5


@pytest.mark.parametrize("result", [{}, {"items": []}, None, "text", {"items": {"1": {"id": 1}}}])
def test_the_recorded_value_counts_where_the_own_result_lacks_the_path(result: object) -> None:
    assert share(BY_ID, opened(result), paid(id="acc_1")) == 1


def test_null_in_the_own_result_is_a_value() -> None:
    null = {"items": [{"id": None}]}
    assert share(BY_ID, opened(null), paid(id=None)) == 1
    assert share(BY_ID, opened(null), paid(id="acc_1")) == 0.5


def test_the_recorded_value_counts_where_the_source_was_called_later() -> None:
    assert share(BY_ID, paid(id="acc_1"), opened(MINE)) == 1
    assert share(BY_ID, paid(id="acc_7"), opened(MINE)) == 0.5


def test_the_recorded_value_counts_where_the_source_failed() -> None:
    assert share(BY_ID, opened(MINE, "tool_error"), paid(id="acc_1")) == 1


def test_a_call_is_not_its_own_source() -> None:
    own = Call("pay", {"id": "acc_1"}, 0, 1, "ok", {"id": "acc_7"})
    assert share(pay({"id": "acc_1"}, {"/id": Ref("g1", "/id")}), opened(MINE), own) == 1


def test_the_recorded_value_counts_where_the_source_was_never_called() -> None:
    assert share(BY_ID, paid(id="acc_1")) == 1


def test_the_recorded_value_counts_where_the_source_or_the_pointer_does_not_exist() -> None:
    for ref in ({"/id": Ref("g9", "/id")}, {"id": Ref("g0", "")}, {"": Ref("g0", "")}):
        assert share(pay({"id": "acc_1"}, ref), opened(MINE), paid(id="acc_1")) == 1


def test_a_nested_reference_replaces_its_place_and_the_whole_argument_is_compared() -> None:
    nested = pay(
        {"to": [{"id": "acc_1", "sum": 5}, {"id": "acc_2", "sum": 6}], "note": "rent"},
        {"/to/0/id": Ref("g0", "/items/0/id")},
    )
    right = [{"id": "acc_7", "sum": 5.0}, {"id": "acc_2", "sum": 6}]
    assert share(nested, opened(MINE), paid(to=right, note="rent")) == 1
    wrong = [{"id": "acc_7", "sum": 5.0}, {"id": "acc_2", "sum": 7}]
    assert share(nested, opened(MINE), paid(to=wrong, note="rent")) == 0.75


def test_two_references_may_stand_in_one_argument() -> None:
    both = pay({"pair": ["x", "y"]}, {"/pair/0": Ref("g0", "/a"), "/pair/1": Ref("g0", "/b")})
    assert share(both, opened({"a": 1, "b": 2}), paid(pair=[1, 2])) == 1
    assert share(both, opened({"a": 1}), paid(pair=[1, "y"])) == 1


def test_scoring_leaves_the_ground_truth_as_it_was() -> None:
    share(BY_ID, opened(MINE), paid(id="acc_7"))
    assert BY_ID.arguments == {"id": "acc_1"}


def test_a_call_without_arguments_is_right_once_matched() -> None:
    assert share(GroundCall("g1", "pay"), opened(MINE), paid(extra=1)) == 1


def test_the_match_itself_looks_at_recorded_values() -> None:
    calls = opened(MINE), paid(id="acc_7"), paid(id="acc_1")
    assert share(BY_ID, *calls) == 0.5
