from typing import Any

import pytest

from provegym.rewards.equality import MISSING, equal

SAME: list[tuple[Any, Any]] = [
    (1, 1.0),
    (0, -0.0),
    (2**53, float(2**53)),
    (10**400, 10**400),
    ("é", "e\u0301"),
    (" Ada\t", "\nAda"),
    ("e\u0301 ", "é"),
    ("", "  "),
    (None, None),
    (True, True),
    ([1, "a "], [1.0, "a"]),
    ({"x": 1, "y": [None]}, {"y": [None], "x": 1.0}),
    ([], []),
    ({}, {}),
]
DIFFERENT: list[tuple[Any, Any]] = [
    (1, True),
    (0, False),
    (1.0, True),
    (1, "1"),
    (2**53 + 1, float(2**53)),
    (10**400, 1e308),
    (None, False),
    (None, 0),
    (None, ""),
    (None, MISSING),
    ("a", "A"),
    ("a b", "a  b"),
    ([1, 2], [2, 1]),
    ([1], [1, 1]),
    ([1], 1),
    ([], {}),
    ([], None),
    ([], ""),
    ({"x": 1}, {"x": True}),
    ({"x": 1}, {"x": 1, "y": None}),
    ({"x ": 1}, {"x": 1}),
    ({}, None),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_values_that_json_does_not_tell_apart_are_equal(a: object, b: object) -> None:
    assert equal(a, b)
    assert equal(b, a)
    assert equal([{"k": a}], [{"k": b}])


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_values_that_json_tells_apart_are_not_equal(a: object, b: object) -> None:
    assert not equal(a, b)
    assert not equal(b, a)
    assert not equal([{"k": a}], [{"k": b}])


def test_nesting_deeper_than_the_interpreter_recurses_is_compared() -> None:
    def nested(value: object) -> object:
        for _ in range(50_000):
            value = [value]
        return value

    assert equal(nested(1), nested(1.0))
    assert not equal(nested(1), nested(2))
