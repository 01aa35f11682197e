"""The assignment of calls made to ground-truth calls, against an exhaustive search."""

from fractions import Fraction
from itertools import product
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from provegym.rewards.assignment import heaviest
from provegym.rewards.equality import equal
from provegym.rewards.matching import match
from provegym.types import Call, GroundCall, Outcome

Truth = tuple[tuple[int, GroundCall], ...]
Rank = tuple[int, Fraction, list[float]]

VALUES = st.sampled_from([0, 1, 1.0, True, "a", " a", "b"])
ARGUMENTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)
OUTCOMES: st.SearchStrategy[Outcome] = st.sampled_from(
    ["ok", "ok", "ok", "tool_error", "invalid_arguments", "malformed", "unknown_tool"]
)


@st.composite
def truths(draw: st.DrawFn) -> Truth:
    rows = draw(
        st.lists(st.tuples(st.integers(0, 2), st.sampled_from("xxy"), ARGUMENTS), max_size=4)
    )
    return tuple(
        (turn, GroundCall(f"g{i}", name, arguments))
        for i, (turn, name, arguments) in enumerate(sorted(rows, key=lambda row: row[0]))
    )


@st.composite
def calls(draw: st.DrawFn) -> Call:
    outcome = draw(OUTCOMES)
    arguments: Any = "{" if outcome == "malformed" else draw(ARGUMENTS)
    return Call(draw(st.sampled_from("xxy")), arguments, draw(st.integers(0, 2)), 0, outcome)


def may_match(ground: GroundCall, turn: int, call: Call, ok_only: bool, from_turn: bool) -> bool:
    return (
        call.name == ground.name
        and call.outcome not in ("malformed", "unknown_tool")
        and all(key in call.arguments for key in ground.arguments)
        and (call.outcome == "ok" or not ok_only)
        and (call.turn >= turn or not from_turn)
    )


def share(ground: GroundCall, call: Call) -> Fraction:
    if not ground.arguments:
        return Fraction(1)
    good = sum(equal(value, call.arguments[key]) for key, value in ground.arguments.items())
    return Fraction(good, len(ground.arguments))


def rank(truth: Truth, made: list[Call], positions: tuple[int | None, ...]) -> Rank:
    """Most matches, then the largest total of shares, then the earliest positions."""
    pairs = [(g, p) for (_, g), p in zip(truth, positions, strict=True) if p is not None]
    total = sum((share(g, made[p]) for g, p in pairs), Fraction(0))
    return len(pairs), total, [float("-inf") if p is None else -p for p in positions]


def best_by_search(
    truth: Truth, made: list[Call], ok_only: bool, from_turn: bool
) -> dict[str, int]:
    """Every assignment of one tool's calls is tried; tools do not touch each other."""
    found: dict[str, int] = {}
    for name in {ground.name for _, ground in truth}:
        rows = tuple((turn, g) for turn, g in truth if g.name == name)
        choices: list[list[int | None]] = [
            [None]
            + [p for p, call in enumerate(made) if may_match(g, turn, call, ok_only, from_turn)]
            for turn, g in rows
        ]
        legal = [
            option
            for option in product(*choices)
            if len(used := [p for p in option if p is not None]) == len(set(used))
        ]
        best = max(legal, key=lambda option: rank(rows, made, option))
        found |= {g.id: p for (_, g), p in zip(rows, best, strict=True) if p is not None}
    return found


def ground(index: int, **arguments: object) -> tuple[int, GroundCall]:
    return 0, GroundCall(f"g{index}", "x", arguments)


def made(**arguments: object) -> Call:
    return Call("x", arguments, 0, 0, "ok")


@given(truths(), st.lists(calls(), max_size=5), st.booleans(), st.booleans())
@example((ground(0, a=0), ground(1)), [made(a=1), made(a=0)], False, False)
@example((ground(0), ground(1, a=0)), [made(a=0)], False, False)
@example((ground(0, a=0, b=0), ground(1, a=0)), [made(a=0), made(a=0, b=1)], False, False)
def test_the_match_is_the_best_of_all_assignments(
    truth: Truth, made: list[Call], ok_only: bool, from_turn: bool
) -> None:
    found = match(truth, made, ok_only=ok_only, from_turn=from_turn)
    assert found == best_by_search(truth, made, ok_only, from_turn)


def test_more_matches_win_over_more_equal_values() -> None:
    # Taking the better call for g0 would leave g1, which needs the key b, without any.
    truth = (ground(0, a=0), ground(1, b=0))
    assert match(truth, [made(a=0, b=9), made(a=9)]) == {"g0": 1, "g1": 0}


def test_a_larger_total_of_shares_wins_over_earlier_positions() -> None:
    truth = (ground(0, a=0), ground(1, a=1))
    assert match(truth, [made(a=1), made(a=0)]) == {"g0": 1, "g1": 0}


def test_earlier_positions_win_in_ground_truth_order() -> None:
    assert match((ground(0), ground(1)), [made(), made(), made()]) == {"g0": 0, "g1": 1}
    assert match((ground(0), ground(1)), [made()]) == {"g0": 0}


def test_the_first_of_equally_wrong_calls_is_taken() -> None:
    assert match((ground(0, a=0, b=0),), [made(a=9, b=9), made(a=0, b=9), made(a=9, b=0)]) == {
        "g0": 1
    }
    assert match((ground(0, a=0),), [made(a=8), made(a=9)]) == {"g0": 0}


def test_shares_are_added_exactly() -> None:
    # 3/10 + 0 is as much as 1/10 + 2/10, so the earliest positions decide; in floating point
    # 0.1 + 0.2 is more than 0.3.
    keys = "abcdefghij"
    truth = (ground(0, **dict.fromkeys(keys, 0)), ground(1, **dict.fromkeys(keys, 1)))
    first = made(**dict(zip(keys, [0, 0, 0, 1, 1, 9, 9, 9, 9, 9], strict=True)))
    second = made(**dict(zip(keys, [0, 9, 9, 9, 9, 9, 9, 9, 9, 9], strict=True)))
    assert match(truth, [first, second]) == {"g0": 0, "g1": 1}


def test_many_duplicates_are_matched_in_order_without_trying_every_assignment() -> None:
    # 25 equal rows have 25! assignments.
    truth = tuple(ground(i, a=0) for i in range(25))
    repeated = [made(a=0) for _ in range(400)]
    assert match(truth, repeated) == {f"g{i}": i for i in range(25)}


def test_a_policy_that_repeats_a_call_without_end_is_still_matched_by_value() -> None:
    truth = tuple(ground(i, a=i) for i in range(8))
    repeated = [made(a=99) for _ in range(1000)] + [made(a=i) for i in reversed(range(8))]
    assert match(truth, repeated) == {f"g{i}": 1007 - i for i in range(8)}


@st.composite
def weight_tables(draw: st.DrawFn) -> tuple[list[dict[int, int]], int]:
    columns = draw(st.integers(0, 4))
    row = st.dictionaries(
        st.integers(0, columns - 1) if columns else st.nothing(),
        st.integers(1, 10**30),
        max_size=columns,
    )
    return draw(st.lists(row, max_size=4)), columns


@given(weight_tables())
def test_the_heaviest_assignment_is_as_heavy_as_any(
    table: tuple[list[dict[int, int]], int],
) -> None:
    weights, columns = table
    found = heaviest(weights, columns)
    used = [column for column in found if column >= 0]
    assert len(used) == len(set(used))
    total = sum(row[column] for row, column in zip(weights, found, strict=True) if column >= 0)
    best = max(
        sum(row[c] for row, c in zip(weights, option, strict=True) if c >= 0)
        for option in product(*[[-1, *row] for row in weights])
        if len(set(chosen := [c for c in option if c >= 0])) == len(chosen)
    )
    assert total == best
