"""What is made of a failed request."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from provegym.llm.failures import asked_pause

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "Mon, 02 Mar 2026 12:00:40 GMT"}, 40.0),
        ({"retry-after": "Mon, 02 Mar 2026 13:01:00 +0100"}, 60.0),
        ({"retry-after": "Mon, 02 Mar 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": ""}, None),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
    ],
)
def test_a_pause_is_read_in_milliseconds_seconds_or_from_a_date(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert asked_pause(headers, NOON) == seconds
