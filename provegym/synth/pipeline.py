"""Candidates in, certified tasks out: every one counted, the file resumable at any moment.

Tasks are made in parts. Candidate number i depends on the seed, on i and on the tasks of the parts
before its own, so a run that was killed and started again writes the same files as one that was
not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice, pairwise, takewhile
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from provegym.config import Synth
from provegym.errors import InputError
from provegym.graph.edges import Graph
from provegym.records import Manifest, Store, beside, config_hash, content_hash, read
from provegym.synth.filters import Duplicates
from provegym.synth.make import Candidate, Maker, Outcome, Plan, Rejection
from provegym.synth.quota import Queue
from provegym.synth.twin import Twin, digest, tasks_of
from provegym.synth.unmet import NO_AIMS, Codes, unmet
from provegym.types import Task, Trace
from provegym.worlds import digest_of

CHUNK = 64
"""Candidates that each of the two processes makes between two writes."""
SPARE = 8
"""Candidates that are made beyond the tasks missing, for some become none."""
PARTS = (0.7, 0.8, 0.9)
"""Where parts end, in candidates as shares of all tasks: the later ones aim at refusals that were
not met before."""
MOST_CANDIDATES = 40
"""Candidates per wanted task before synthesis stops as hopeless."""


class Summary(Struct, frozen=True):
    """How many tasks were written and what became of every candidate."""

    tasks: int
    candidates: int
    rejected: dict[str, int]
    kinds: dict[str, int]


def synthesize(
    plan: Plan,
    settings: Synth,
    graph: Graph,
    out: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Summary:
    """Write `settings.limit` certified tasks to `out`, conversations and rejections beside it.

    The manifests carry the content of each server's first world. Raises InputError if the servers
    yield too few tasks, and ManifestMismatch where `out` was made by other settings or worlds.
    """
    world = digest_of((plan.world_seed(plan.first_world), (name,)) for name in plan.servers)
    imported = [content_hash(path) for path in settings.mix.abstentions] if settings.mix else []
    plain = {"plan": msgspec.to_builtins(plan), "synth": settings.model_dump()}
    config = config_hash(plain | ({"imported": imported} if imported else {}))
    with ExitStack() as stack:
        files = [
            stack.enter_context(Store(path, kind, Manifest(name, config, plan.seed, world)))
            for path, kind, name in (
                (out, Task, "tasks"),
                (beside(out, "conversations"), Trace, "conversations"),
                (beside(out, "rejections"), Rejection, "rejections"),
            )
        ]
        if not files[0].complete:
            twin = stack.enter_context(Twin(plan, settings, graph))
            _make(files, Maker(plan, settings, graph), twin, progress)
    return summarize(out)


def _make(files: list[Any], maker: Maker, twin: Twin, progress: Callable[[int, int], None]) -> None:
    """All candidates that are missing, part by part, and the end of the files.

    Raises InputError where too few candidates become tasks.
    """
    tasks, conversations, rejections = files
    limit = maker.settings.limit
    most = limit * MOST_CANDIDATES
    queue = Queue(limit if maker.places else most, map(maker.number, rejections.keys))
    duplicates = Duplicates(read(tasks.path, Task))
    for start, end in pairwise((0, *(round(limit * share) for share in PARTS), most)):
        while len(tasks.keys) < limit and (due := _due(files, maker, queue, end)):
            aims = _aims(maker, conversations.path, start) if start else NO_AIMS
            for (i, _), outcome in zip(due, _verified(maker, twin, due, aims), strict=True):
                if len(tasks.keys) == limit:
                    break
                if _keep(files, outcome, duplicates):
                    progress(len(tasks.keys), limit)
                else:
                    queue.leave(i)
    if len(tasks.keys) < limit:
        raise InputError(
            f"only {len(tasks.keys)} of {limit} tasks after {most} candidates, "
            f"rejected as {_commonest(rejections.path)}; allow more worlds, servers or kinds"
        )
    for file in (rejections, conversations, tasks):
        file.finish()


def _due(files: list[Any], maker: Maker, queue: Queue, end: int) -> list[tuple[int, int]]:
    """The next candidates below `end`, each with its place."""
    tasks, _, rejections = files
    done = tasks.keys | rejections.keys
    missing = maker.settings.limit - len(tasks.keys)
    numbers = (i for i in range(min(end, queue.known)) if maker.id(i) not in done)
    return [(i, queue.place(i)) for i in islice(numbers, min(2 * CHUNK, missing + SPARE))]


def _aims(maker: Maker, conversations: Path, start: int) -> Codes:
    """What no candidate before number `start` met."""
    talks = takewhile(lambda t: maker.number(t.task_id) < start, read(conversations, Trace))
    return unmet(talks, maker.plan.servers)


def _keep(files: list[Any], outcome: Outcome, duplicates: Duplicates) -> bool:
    """Write what became of a candidate; whether it is a task."""
    tasks, conversations, rejections = files
    if isinstance(outcome, Candidate) and duplicates.has(outcome.task):
        outcome = Rejection(outcome.task.id, "duplicate")
    if isinstance(outcome, Rejection):
        rejections.append(outcome)
        return False
    if outcome.task.id not in conversations.keys:
        conversations.append(outcome.conversation)
    tasks.append(outcome.task)
    duplicates.add(outcome.task)
    return True


def _verified(
    maker: Maker, twin: Twin, due: list[tuple[int, int]], aims: Codes
) -> Iterator[Outcome]:
    """Outcomes in order. Two processes share the work, and each replays the other's tasks."""
    half = (len(due) + 1) // 2
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(twin.make, due[half:], aims)
        made = [maker.make(i, aims, k) for i, k in due[:half]]
        theirs = future.result()
        seen = pool.submit(twin.digests, tasks_of(made))
        found = [digest(task) for task in tasks_of(theirs)]
        yield from _compared(made, seen.result())
        yield from _compared(theirs, found)


def _compared(outcomes: list[Outcome], digests: list[str]) -> Iterator[Outcome]:
    seen = iter(digests)
    for outcome in outcomes:
        yield _agreed(outcome, next(seen)) if isinstance(outcome, Candidate) else outcome


def _agreed(candidate: Candidate, digest: str) -> Outcome:
    certificate = candidate.task.certificate
    if digest != certificate.digest:
        return Rejection(candidate.task.id, "certificate:two_processes_agree")
    checks = {**certificate.checks, "two_processes_agree": True}
    task = replace(candidate.task, certificate=replace(certificate, checks=checks))
    return replace(candidate, task=task)


def _commonest(rejections: Path) -> str:
    """The three reasons given most often, with their counts."""
    reasons = Counter(r.reason for r in read(rejections, Rejection))
    return ", ".join(f"{reason} ({count})" for reason, count in reasons.most_common(3))


def summarize(out: Path) -> Summary:
    """Counts of a finished or unfinished synthesis run."""
    rejected = Counter(r.reason for r in read(beside(out, "rejections"), Rejection))
    kinds: Counter[str] = Counter(t.kind for t in read(out, Task))
    tasks = sum(kinds.values())
    return Summary(tasks, tasks + sum(rejected.values()), dict(rejected), dict(kinds))
