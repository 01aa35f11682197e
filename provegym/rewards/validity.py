"""Validity: how far each call made got (paper section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from provegym.types import Call

THIRDS: Final = {
    "unknown_tool": 0,
    "malformed": 1,
    "invalid_arguments": 1,
    "tool_error": 2,
    "ok": 3,
}
"""Three levels of a third each: the name is known, the arguments fit, the execution succeeds."""


def validity(calls: Sequence[Call], over: int) -> float:
    """Sum of the calls' levels divided by `over`, the number averaged over; 0 without calls."""
    thirds = 0
    for call in calls:
        thirds += THIRDS[call.outcome]
    return thirds / (3 * over) if calls else 0.0
