"""Candidates in, certified tasks out: every one counted, the file resumable at any moment.

Tasks are made in parts. Candidate number i depends on the seed, on i and on the tasks of the parts
before its own, so a run that was killed and started again writes the same files as one that was
not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from itertools import islice, pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from provegym.config import Synth
from provegym.dataset.dedupe import Duplicates
from provegym.errors import InputError
from provegym.graph.edges import Graph
from provegym.records import Manifest, Store, beside, config_hash, content_hash, read
from provegym.synth.crew import Crew, hired
from provegym.synth.make import Candidate, Maker, Outcome, Plan, Rejection
from provegym.synth.quota import Queue
from provegym.synth.unmet import NO_AIMS, Codes, unmet
from provegym.types import Task, Trace
from provegym.worlds import digest_of

if TYPE_CHECKING:
    from provegym.synth.cluster import Cluster
    from provegym.synth.studio import Studio

SPARE = 8
"""Candidates that are made beyond the tasks missing, for some become none."""
PARTS = (0.5, 0.6, 0.7, 0.8, 0.9)
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
    studio: Studio | None = None,
    cluster: Cluster | None = None,
) -> Summary:
    """Write `settings.limit` certified tasks to `out`, conversations and rejections beside it.

    A `studio` makes them with a language model; without one, the offline teacher does. A `cluster`
    computes, and changes nothing about what is written. The manifests carry the content of each
    server's first world.

    Raises InputError if the servers yield too few tasks, and ManifestMismatch where `out` was made
    by other settings or worlds; with a model BudgetSpent and EndpointDown. What is written stays.
    """
    world = digest_of((plan.world_seed(plan.first_world), (name,)) for name in plan.servers)
    config = _identity(plan, settings, studio)
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
            maker = Maker(plan, settings, graph)
            crew = stack.enter_context(hired(maker, graph, studio, cluster))
            if studio:
                progress = studio.forecasting(progress, settings.limit, len(files[0].keys))
            try:
                _make(files, maker, crew, progress)
            finally:
                files[0].sync(crew.cost(files[0].manifest.cost))
    return summarize(out)


def _identity(plan: Plan, settings: Synth, studio: Studio | None) -> str:
    told = {"plan": msgspec.to_builtins(plan), "synth": settings.model_dump()}
    if studio:
        told["teacher"] = studio.settings.identity()
    if settings.mix and settings.mix.abstentions:
        told["imported"] = [content_hash(path) for path in settings.mix.abstentions]
    return config_hash(told)


def _make(files: list[Any], maker: Maker, crew: Crew, progress: Callable[[int, int], None]) -> None:
    """All candidates that are missing, part by part, and the end of the files.

    Raises InputError where too few candidates become tasks.
    """
    tasks, conversations, rejections = files
    limit = maker.settings.limit
    most = limit * MOST_CANDIDATES
    queue = Queue(limit if crew.refills else most, map(maker.number, rejections.keys))
    duplicates = Duplicates(read(tasks.path, Task))
    for start, end in pairwise((0, *(round(limit * share) for share in PARTS), most)):
        due = _due(files, maker, queue, end, crew.due)
        aims = _aims(maker, conversations.path, start) if start and due else NO_AIMS
        while due and len(tasks.keys) < limit:
            for (i, _), outcome in zip(due, crew.outcomes(due, aims), strict=True):
                if len(tasks.keys) == limit:
                    break
                if _keep(files, outcome, duplicates):
                    progress(len(tasks.keys), limit)
                else:
                    queue.leave(i)
            due = _due(files, maker, queue, end, crew.due)
    if len(tasks.keys) < limit:
        raise InputError(
            f"only {len(tasks.keys)} of {limit} tasks after {most} candidates, "
            f"rejected as {_commonest(rejections.path)}; allow more worlds, servers or kinds"
        )
    for file in (rejections, conversations, tasks):
        file.finish()


def _due(
    files: list[Any], maker: Maker, queue: Queue, end: int, most: int
) -> list[tuple[int, int]]:
    """The next candidates below `end`, at most so many, each with its place."""
    tasks, _, rejections = files
    done = tasks.keys | rejections.keys
    missing = maker.settings.limit - len(tasks.keys)
    numbers = (i for i in range(min(end, queue.known)) if maker.id(i) not in done)
    return [(i, queue.place(i)) for i in islice(numbers, min(most, missing + SPARE))]


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
