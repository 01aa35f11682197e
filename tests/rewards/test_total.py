"""Scores worked out by hand."""

from typing import Any

import pytest

from provegym.errors import InputError, UnknownName
from provegym.rewards import preset, score
from provegym.types import Call, GroundCall, Kind, Outcome, Score, Task, Trace, Turn

APPROX = pytest.approx


def chain(length: int = 4) -> Task:
    """Step i of a chain of distinct tools depends on step i - 1; the last one writes one row."""
    calls = tuple(
        GroundCall(f"g{i}", f"step_{i}", {"n": i}, after=(f"g{i - 1}",) if i else ())
        for i in range(length)
    )
    changes: dict[str, Any] = {"bank.rows": {"r1": {"a": 1, "b": 2}}}
    return Task("t", "workflow", (Turn(calls=calls),), final_changes=changes)


def steps(*numbers: int) -> list[Call]:
    return [Call(f"step_{n}", {"n": n}, 0, at, "ok", {}) for at, n in enumerate(numbers)]


def lists(count: int) -> list[Call]:
    return [Call("list_rows", {}, 0, at, "ok", []) for at in range(count)]


def trace(calls: list[Call], changes: dict[str, Any] | None = None) -> Trace:
    return Trace("r", "t", tuple(calls), final_changes=changes or {})


def test_the_worked_example_of_three_needless_calls_after_a_perfect_chain() -> None:
    result = score(chain(), trace(steps(0, 1, 2, 3) + lists(3)), "paper")
    assert (result.validity, result.coverage, result.argument) == (1, 1, 1)
    assert result.efficiency == APPROX(-0.5 / 6)
    assert result.name == APPROX(4 / 7)
    assert result.total == APPROX(0.5 + 0.5 - 0.0125 + 0.2 * 4 / 7 + 0.1)
    assert result.total == APPROX(1.2017857, abs=1e-7)
    assert result.max_total == APPROX(1.3)


def test_one_perfect_call_of_four_and_then_silence_keeps_most_of_the_papers_reward() -> None:
    result = score(chain(), trace(steps(0)), "paper")
    assert result.total == APPROX(0.925)
    assert result.normalized == APPROX(0.925 / 1.3)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, 0.0),
        ({"bank.rows": {"r1": {"a": 1}}}, 1 / 2),
        ({"bank.rows": {"r1": {"a": 1, "b": 3}}}, 1 / 3),
    ],
)
def test_strict_averages_under_calling_over_what_was_needed(
    changes: dict[str, Any], state: float
) -> None:
    result = score(chain(), trace(steps(0), changes), "strict")
    assert (result.validity, result.coverage, result.name, result.argument) == (0.25,) * 4
    assert result.state == APPROX(state)
    assert result.total == APPROX(0.425 + 0.5 * state)
    assert result.max_total == APPROX(2.2)


def test_no_call_on_a_task_that_needs_some_scores_zero_everywhere() -> None:
    for name in ("paper", "strict"):
        result = score(chain(), trace([]), name)
        assert (result.validity, result.coverage, result.efficiency, result.name) == (0, 0, 0, 0)
        assert (result.argument, result.state, result.total) == (0, 0, 0)


def test_the_right_calls_in_the_wrong_order_lose_coverage_only() -> None:
    result = score(chain(2), trace(steps(1, 0)), "paper")
    assert (result.validity, result.name, result.argument) == (1, 1, 1)
    assert result.coverage == 0.5


def test_a_call_after_one_that_was_never_made_is_not_covered() -> None:
    assert score(chain(3), trace(steps(0, 2)), "paper").coverage == APPROX(1 / 3)


@pytest.mark.parametrize(
    ("outcome", "level"),
    [
        ("unknown_tool", 0),
        ("malformed", 1 / 3),
        ("invalid_arguments", 1 / 3),
        ("tool_error", 2 / 3),
    ],
)
def test_a_call_that_got_part_of_the_way_has_that_part_of_validity(
    outcome: Outcome, level: float
) -> None:
    wrong = Call("step_0", "{" if outcome == "malformed" else {"n": 0}, 0, 0, outcome)
    result = score(chain(1), trace([wrong, *steps(0)]), "paper")
    assert result.validity == APPROX((level + 1) / 2)
    assert result.name == (0.5 if outcome == "unknown_tool" else 1.0)


@pytest.mark.parametrize(
    ("switch", "padded"),
    [("pad_calls", {"validity", "name"}), ("pad_pairs", {"argument"})],
)
def test_each_padding_switch_touches_its_own_components(switch: str, padded: set[str]) -> None:
    result = score(chain(), trace(steps(0)), preset("paper", **{switch: True}))
    for field in ("validity", "name", "argument"):
        assert getattr(result, field) == (0.25 if field in padded else 1), field


def test_strict_matches_only_calls_that_executed() -> None:
    failed = Call("step_0", {"n": 0}, 0, 0, "tool_error")
    assert score(chain(1), trace([failed]), "paper").coverage == 1
    assert score(chain(1), trace([failed]), "strict").coverage == 0


def test_strict_matches_only_calls_made_in_the_turn_they_belong_to_or_later() -> None:
    task = Task("t", "clarification", (Turn(), Turn(calls=(GroundCall("g0", "step_0", {"n": 0}),))))
    early, late = steps(0)[0], Call("step_0", {"n": 0}, 1, 0, "ok")
    assert score(task, trace([early]), "paper").coverage == 1
    assert score(task, trace([early]), "strict").coverage == 0
    assert score(task, trace([early, late]), "strict").coverage == 1


@pytest.mark.parametrize("kind", ["abstention", "workflow"])
@pytest.mark.parametrize("name", ["paper", "strict", "-coverage"])
def test_a_task_that_needs_no_call_rewards_exactly_the_trace_without_any(
    kind: Kind, name: str
) -> None:
    task = Task("t", kind, (Turn("Sing me a song"), Turn("Please")))
    silent, busy = score(task, trace([]), name), score(task, trace(lists(1)), name)
    nothing = (0.0,) * 6
    assert silent == Score("r", "t", name, *nothing, total=1.0, max_total=1.0, normalized=1.0)
    assert busy == Score("r", "t", name, *nothing, total=0.0, max_total=1.0, normalized=0.0)


def test_our_own_failure_masks_the_episode_even_where_no_call_was_wanted() -> None:
    lost = Call("step_0", {"n": 0}, 0, 4, "infrastructure")
    for task in (chain(), Task("t", "abstention", (Turn(),))):
        result = score(task, trace([*steps(0, 1), lost]), "strict")
        assert result == Score("r", "t", "strict", *[None] * 9, masked=True)  # type: ignore[arg-type, misc]


def test_an_episode_that_stopped_through_our_failure_is_masked() -> None:
    result = score(chain(), Trace("r", "t", tuple(steps(0)), stop_reason="infrastructure"))
    assert result.masked
    assert result.total is None


def test_a_task_that_uses_one_id_twice_is_refused() -> None:
    twice = (GroundCall("g0", "a"), GroundCall("g0", "b"))
    with pytest.raises(InputError, match=r"task t uses one .* twice"):
        score(Task("t", "workflow", (Turn(calls=twice),)), trace([]))


def test_an_unknown_preset_is_refused_by_name() -> None:
    with pytest.raises(UnknownName, match="'papre'; known: paper, strict"):
        score(chain(), trace([]), "papre")


def test_alpha_and_beta_shape_the_penalty() -> None:
    calls = trace(steps(0, 1, 2, 3) + lists(3))
    assert score(chain(), calls, "beta0").efficiency == APPROX(-0.5 * 3 / 4)
    assert score(chain(), calls, preset("paper", alpha=0.3)).efficiency == APPROX(-0.3 / 6)
    assert score(chain(), calls, "paper,alpha=0.3").preset == "paper,alpha=0.3"


def test_the_penalty_has_no_lower_cap() -> None:
    assert score(chain(1), trace(lists(200)), "paper").efficiency == APPROX(-0.5 * 198 / 2)


def test_a_share_of_spare_calls_is_not_rounded_up_by_floating_point() -> None:
    # 0.07 * 100 is 7.000000000000001, and the budget is 107, not 108.
    calls = trace(steps(*range(100)) + lists(8))
    result = score(chain(100), calls, preset("paper", beta=0.07))
    assert result.efficiency == APPROX(-0.5 * 1 / 107)
