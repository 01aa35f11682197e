"""In which order tasks are learnt from."""

from __future__ import annotations

from collections.abc import Sequence

from provegym import seeding
from provegym.types import Task


def ordered(tasks: Sequence[Task], wanted: int, seed: int, *, curriculum: bool) -> list[Task]:
    """So many tasks, in order: one shuffled pass over the tasks after another.

    With a curriculum, each number of calls that tasks have begins an equal part of the order; a
    pass takes in the tasks of up to so many calls.
    """
    lengths = sorted({len(task.ground_truth) for task in tasks})
    order: list[Task] = []
    while len(order) < wanted:
        longest = lengths[len(order) * len(lengths) // wanted]
        kept = [t for t in tasks if not curriculum or len(t.ground_truth) <= longest]
        seeding.rng(seed, "epoch", len(order)).shuffle(kept)
        order.extend(kept)
    return order[:wanted]
