"""The mark of the benchmark's tasks, by which they are kept out of training."""

from __future__ import annotations

from pathlib import Path

from provegym.errors import InputError

CANARY = "provegym-benchmark-canary 6a8b4260-522c-4e1b-a4ff-09005c4dd9e7"
"""Stands in every line of the split's tasks and on the leaderboard: a model that can go on with it
has read them, and a corpus that holds it should leave the document out."""


def see_no_canary(tasks: Path) -> None:
    """Raise `InputError` for tasks of the benchmark, which nothing may be trained on."""
    if tasks.is_file() and CANARY.encode() in tasks.read_bytes():
        raise InputError(f"{tasks} holds tasks of the benchmark ({CANARY}); train on others")
