"""How messages repeat what they complain of."""

from __future__ import annotations

import pytest

from provegym.errors import seen


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
