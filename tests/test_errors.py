"""How messages repeat what they complain of."""

from __future__ import annotations

import pytest

from provegym.errors import UnknownName, seen


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (7, "7"),
        ("a" * 8, "'aaaaaaaa'"),
        ("a" * 9, "'aaaaa...'"),
        ("it's a long one", '"it\'s ..."'),
        ([10, 20, 30], "[10, 2..."),
    ],
)
def test_a_message_repeats_a_long_value_by_its_beginning(value: object, told: str) -> None:
    assert seen(value, 10) == told


def test_of_many_valid_names_the_likest_are_listed() -> None:
    known = [f"tiny/full/{seed}" for seed in range(40)] + ["smollm2/sft/1"]
    told = str(UnknownName("cell", "smollm2/sft/3", known))
    assert told.startswith("unknown cell 'smollm2/sft/3'; known: smollm2/sft/1, ")
    assert told.count("tiny/full/") == 23
    assert told.endswith(" and 17 more")
    assert str(UnknownName("cell", "x", known[:2])) == (
        "unknown cell 'x'; known: tiny/full/0, tiny/full/1"
    )
