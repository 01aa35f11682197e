"""Success: whether an episode did the whole of its task, and next to nothing besides."""

from __future__ import annotations

from typing import Final

from provegym.types import Score, Task, Trace

SPARE_CALLS: Final = 1
"""Calls beyond the ground truth that a successful episode may make."""


def success(task: Task, trace: Trace, judged: Score) -> bool:
    """Whether the episode, of that score under `strict`, is a success; a masked one is none.

    On a task that needs no call it is the silence about tools.
    """
    truth, made = len(task.ground_truth), len(trace.calls)
    if not truth:
        return made == 0 and not judged.masked
    return solved(judged) and made <= truth + SPARE_CALLS


def solved(judged: Score) -> bool:
    """Whether all calls of the truth were made, with its arguments, to its end."""
    return judged.coverage == 1 and judged.argument == 1 and judged.state == 1
