"""A file of tasks, read by whoever counts, checks or exports them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from provegym.errors import InputError
from provegym.records import read_distinct
from provegym.types import Task


def read_tasks(path: Path) -> Iterator[Task]:
    """The tasks of a file, each id once.

    Raises `InputError` for a file without any, and as `read_distinct` does.
    """
    empty = True
    for task in read_distinct(path, Task):
        empty = False
        yield task
    if empty:
        raise InputError(f"{path} holds no task; make some with `provegym synth`")
