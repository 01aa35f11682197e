"""Name: the share of calls made whose tool is one the task needs (paper section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence

from provegym.types import Call, GroundCall


def name(truth: Sequence[GroundCall], calls: Sequence[Call], over: int) -> float:
    """Calls whose name occurs in `truth`, divided by `over`; 0 without calls.

    A call of an unknown tool never counts: the tool may exist, hidden from this task.
    """
    if not calls:
        return 0.0
    needed = {ground.name for ground in truth}
    named = 0
    for call in calls:
        if call.name in needed and call.outcome != "unknown_tool":
            named += 1
    return named / over
