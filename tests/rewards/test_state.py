from typing import Any

import pytest

from provegym.rewards.state import same, state
from provegym.types import Changes

ROW = {"rows": {"r1": {"a": 1, "b": "x"}}}


@pytest.mark.parametrize(
    ("made", "wanted", "share"),
    [
        (ROW, ROW, 1),
        ({}, ROW, 0),
        (ROW, {}, 0),
        ({"rows": {"r1": {"a": 1}}}, ROW, 1 / 2),
        ({"rows": {"r1": {"a": 1, "b": "y"}}}, ROW, 1 / 3),
        ({"rows": {"r2": {"a": 1, "b": "x"}}}, ROW, 0),
        ({"others": {"r1": {"a": 1, "b": "x"}}}, ROW, 0),
        ({"rows": {"r1": None}}, ROW, 0),
        ({"rows": {"r1": None}}, {"rows": {"r1": None}}, 1),
        ({"rows": {"r1": None, "r2": {"a": 1}}}, {"rows": {"r1": None}}, 1 / 2),
        ({"rows": {"r1": {"a": None}}}, {"rows": {"r1": None}}, 0),
        ({"rows": {"r1": None}}, {"rows": {"r1": {}}}, 0),
    ],
)
def test_state_is_shared_atoms_over_all_atoms(made: Changes, wanted: Changes, share: float) -> None:
    assert state(made, wanted, coverage=0.3) == pytest.approx(share)
    assert state(wanted, made, coverage=0.3) == pytest.approx(share)


@pytest.mark.parametrize("nothing", [{}, {"rows": {}}, {"rows": {"r1": {}}}])
def test_state_is_coverage_where_neither_changed_anything(nothing: Changes) -> None:
    assert state(nothing, {}, coverage=0.3) == 0.3


EXACT: list[Any] = [
    1, 1.0, True, 0, 0.0, -0.0, False, None, "", "1", "é", "e\u0301", " é", [], {}, [1], [1.0],
    [True], [[1]], [1, 1], ["x"], {"x": 1}, {"x": 1.0}, {"x": [1]}, {"x": None}, {"x": {}},
    ["x", 1], {"x": {"y": 1}}, {"x": 1, "y": 1}, 10**400, 10**400 + 1, 1e308,
]  # fmt: skip


@pytest.mark.parametrize("index", range(len(EXACT)))
def test_values_are_compared_as_exact_json(index: int) -> None:
    assert [same(EXACT[index], other) for other in EXACT] == [i == index for i in range(len(EXACT))]


def test_the_order_of_keys_rows_and_tables_does_not_matter() -> None:
    a: Changes = {"t": {"r": {"x": {"p": 1, "q": 2}, "y": 2}, "s": None}, "u": {"r": {"x": 1}}}
    b: Changes = {"u": {"r": {"x": 1}}, "t": {"s": None, "r": {"y": 2, "x": {"q": 2, "p": 1}}}}
    assert state(a, b, coverage=0) == 1


def test_nesting_deeper_than_the_interpreter_recurses_is_compared() -> None:
    def nested(value: object) -> object:
        for _ in range(50_000):
            value = {"k": value}
        return value

    assert same(nested(1), nested(1))
    assert not same(nested(1), nested(1.0))
