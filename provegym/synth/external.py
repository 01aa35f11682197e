"""Abstentions from published sets: a question, tools that no server here runs, no call.

A task of theirs has no servers. Its session runs no tool: a call of one that is shown is refused
with `no_server`, and any call at all scores 0, as on every abstention.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from provegym.dataset.external import SOURCES, Example, Source, examples
from provegym.errors import InputError, UnknownName
from provegym.records import (
    Manifest,
    check_output,
    config_hash,
    content_hash,
    encode,
    read,
    read_distinct,
    write_atomic,
    write_manifest,
)
from provegym.seeding import rng
from provegym.synth.certify import certify
from provegym.synth.offline import NO_TOOL
from provegym.types import Task, Trace, Turn
from provegym.worlds import content, world_of


class Imported(Struct, frozen=True):
    """What an import wrote, and from what."""

    source: str
    licence: str
    rows: int
    published: bool
    """Whether a file that the set has published has so many rows."""
    examples: int
    skipped: dict[str, int]
    """Rows that are no example, by why."""
    tasks: int


def import_file(name: str, path: Path, out: Path, limit: int = 0, seed: int = 0) -> Imported:
    """Write the examples of a published set's file as certified tasks, `limit` of them drawn with
    `seed` (0: all), in the order of the file.

    Raises `UnknownName` for the set, `InputError` for a file that is none of its, or that has
    fewer examples than `limit`.
    """
    if name not in SOURCES:
        raise UnknownName("data set", name, list(SOURCES))
    source = SOURCES[name]
    check_output(out, "tasks", (path,))
    found = examples(source, path)
    kept = _drawn(found.examples, limit, seed, path)
    tasks = [_certified(_task(source, example)) for example in kept]
    write_atomic(out, map(encode, tasks))
    made_by = Manifest(
        "tasks",
        config=config_hash({"import": name, "limit": limit}),
        seed=seed,
        world=content(tasks),
        parent=content_hash(path),
        complete=True,
        rows=len(tasks),
    )
    write_manifest(out, made_by)
    return Imported(
        name,
        source.licence,
        found.rows,
        found.rows in source.files.values(),
        len(found.examples),
        found.skipped,
        len(tasks),
    )


def file_hash(path: str) -> str:
    """The content hash of such a file. Raises `InputError` where it holds no task."""
    if next(read(path, Task), None) is None:
        raise InputError(f"{path} holds no task; make some with `provegym dataset import`")
    return content_hash(path)


def drawn(paths: Iterable[str], count: int, seed: int) -> list[Task]:
    """At most `count` tasks of such files, each question once, in an order that `seed` shuffles.

    Raises `InputError` for a file with a task that was not imported.
    """
    found: dict[str, Task] = {}
    for path in paths:
        for task in read_distinct(path, Task):
            if task.servers or task.kind != "abstention" or not task.certificate.passed:
                raise InputError(
                    f"{path}: task {task.id!r} is not one that `provegym dataset import` made; "
                    "name files of imported abstentions as mix.abstentions"
                )
            found.setdefault(task.turns[0].user, task)
    tasks = list(found.values())
    rng(seed, "abstentions").shuffle(tasks)
    return tasks[:count]


def conversation(task: Task, origin: str) -> Trace:
    """A task's question and its answer in words; `origin` is the task that it was imported as."""
    messages: list[dict[str, Any]] = []
    for turn in task.turns:
        messages.append({"role": "user", "content": turn.user})
        messages.append({"role": "assistant", "content": turn.reply})
    policy = f"import:{origin}"
    return Trace(task.id, task.id, (), policy, task.seed, messages=tuple(messages))


def _drawn(found: Sequence[Example], limit: int, seed: int, path: Path) -> Sequence[Example]:
    if not limit:
        return found
    if limit > len(found):
        raise InputError(
            f"{path} has {len(found)} examples, fewer than --limit {limit}; ask for less"
        )
    places = rng(seed, "import").sample(range(len(found)), limit)
    return [found[i] for i in sorted(places)]


def _task(source: Source, example: Example) -> Task:
    reply = example.reply or NO_TOOL
    return Task(
        id=f"{source.name}-{example.key}",
        kind="abstention",
        turns=(Turn(example.question, reply=reply),),
        tools=example.tools,
        teacher=source.name,
    )


def _certified(task: Task) -> Task:
    """The task with its certificate: that the set labels it so, and that every call scores 0."""
    world = world_of(task)
    timed = replace(task, reference_time=world.cast.start.isoformat())
    found = certify(timed, world)
    checks = {"labelled_no_call": True, **found.checks}
    return replace(timed, certificate=replace(found, checks=checks))
