"""Each trace of a file beside the task that it was made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from provegym.errors import InputError, seen
from provegym.records import content_hash, read_distinct, read_manifest
from provegym.types import Task, Trace


def pairs(known: Mapping[str, Task], tasks: Path, traces: Path) -> Iterator[tuple[Task, Trace]]:
    """The traces in order, each with its task of `known`, which are those of the file `tasks`.

    Where the manifest of the traces names another file of tasks, it may be the same one before it
    was split or mended, or a stranger with the same ids: the words that the user said tell which.
    Traces without a manifest are taken as they are.

    Raises `InputError` for a trace of none of the tasks, or of another task with the same id.
    """
    doubted = _made_from_another_file(tasks, traces)
    for trace in read_distinct(traces, Trace):
        task = known.get(trace.task_id)
        if task is None:
            raise InputError(
                f"{traces}: trace {trace.id!r} is of task {trace.task_id!r}, which is not among "
                f"the {len(known)} tasks of {tasks}; pass the tasks the traces were made from"
            )
        if doubted:
            _see_that_it_is_the_same(task, trace, tasks, traces)
        yield task, trace


def _made_from_another_file(tasks: Path, traces: Path) -> bool:
    """Whether the manifest of the traces says so."""
    manifest = read_manifest(traces)
    return manifest is not None and manifest.parent not in ("", content_hash(tasks))


def _see_that_it_is_the_same(task: Task, trace: Trace, tasks: Path, traces: Path) -> None:
    heard = [message.get("content") for message in trace.messages if message.get("role") == "user"]
    said = [turn.user for turn in task.turns]
    if heard == said[: len(heard)]:
        return
    place = next(i for i, words in enumerate(heard) if [words] != said[i : i + 1])
    words = f"not {seen(said[place])}" if place < len(said) else "when the task was over"
    raise InputError(
        f"{traces}: trace {trace.id!r} was made from another task {task.id!r} than that of "
        f"{tasks}: its user said {seen(heard[place])}, {words}; pass the tasks the traces were "
        "made from"
    )
