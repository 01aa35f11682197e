"""What a reply says of a result: what stands in it, and no id."""

from __future__ import annotations

from typing import Any

import pytest

from provegym.dataset.told import FOUND, reply
from provegym.types import GroundCall, Turn

HOTELS = [
    {"id": "htl_1", "name": "Cedar Inn", "stars": 2, "open": True},
    {"id": "htl_2", "name": "Amber House", "stars": 3, "open": False},
]
CART = {"restaurant_id": "rest_1", "total": "12.50", "status": "open", "fee": 2, "city": "Ulm"}


def told(result: Any, said: str = FOUND) -> str:
    return reply(Turn("?", (GroundCall("g0", "look", {}, result=result),), said))


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (
            {"hotels": HOTELS, "total": 2, "next_cursor": ""},
            "I found 2 hotels: Cedar Inn, stars 2, open yes; Amber House, stars 3, open no.",
        ),
        (
            {"hotels": HOTELS[:1], "total": 1, "next_cursor": ""},
            "I found one: Cedar Inn, stars 2, open yes.",
        ),
        (
            {"saved_places": HOTELS, "total": 9, "next_cursor": "x"},
            "I found 9 saved places, among them "
            "Cedar Inn, stars 2, open yes; Amber House, stars 3, open no.",
        ),
        ({"saved_places": [], "total": 0, "next_cursor": ""}, "I found no saved places."),
        ({"names": ["a", "b"]}, "I found 2 names: a; b."),
        (
            {"path": "/a", "lines": 2, "next": None},
            "Here is what I found: /a, lines 2.",
        ),
        (
            {**CART, "dishes": [{"dish": "Soup"}]},
            "Here is what I found: total 12.50, status open, fee 2, city Ulm.",
        ),
        (
            {"month": "2026-04", "spent": "1.00", "saved": "2.00", "over": [{"by": "3.00"}]},
            "Here is what I found: month 2026-04, spent 1.00, saved 2.00.",
        ),
        ({"text": "x" * 99}, f"Here is what I found: text {'x' * 80}...."),
        ({}, FOUND),
    ],
)
def test_a_reply_tells_what_the_last_result_holds(result: Any, sentence: str) -> None:
    assert told(result) == sentence


def test_other_replies_stay_as_they_are() -> None:
    assert told(HOTELS, "Done.") == "Done."
    assert told(HOTELS, "") == "Done."
    assert told({"path": "/a"}, f"Done. {FOUND}") == "Done. Here is what I found: /a."
    assert reply(Turn("?", (), FOUND)) == FOUND
