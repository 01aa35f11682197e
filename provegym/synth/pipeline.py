"""Candidates in, certified tasks out: every one counted, the file resumable at any moment.

Tasks are made in parts. Candidate number i depends on the seed, on i and on the tasks of the parts
before its own, so a run that was killed and started again writes the same files as one that was
not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice, pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from provegym import records
from provegym.config import Synth, Teacher
from provegym.dataset.dedupe import Duplicates, Sayings
from provegym.dataset.languages import named
from provegym.errors import InputError, ManifestMismatch
from provegym.graph.edges import Graph
from provegym.records import Manifest, Store, beside, config_hash, read
from provegym.synth import external
from provegym.synth.crew import Crew, hired
from provegym.synth.make import Candidate, Maker, Outcome, Plan, Rejection
from provegym.synth.quota import Queue
from provegym.synth.unmet import NO_AIMS, Aims, unmet
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
UNUSABLE = frozenset(
    {
        *("model_fault", "model_refused", "cut_off", "broken_json"),
        *("broken_call", "empty_answer", "prose_only", "unknown_tool"),
    }
)
"""Reasons that a model's answers cannot even be read, or call nothing."""
MOST_UNUSABLE = 40
"""Candidates in a row that are lost so, with no task at all, before a model is given up."""
OF_SETTINGS = frozenset(
    {
        *("short_chains", "too_many_tools", "no_other_server", "nothing_to_leave_out"),
        *("nothing_to_hide", "duplicate"),
    }
)
"""Reasons that lie with servers, worlds and kinds, also where a model makes the candidates."""


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

    Raises InputError if the servers or the model yield too few tasks, and ManifestMismatch where
    `out` was made by other settings or worlds; with a model BudgetSpent, EndpointDown, and
    UnknownName for a language that turns cannot be checked for. What is written stays.
    """
    teacher = studio.settings if studio else None
    files: list[Any] = []
    with ExitStack() as stack:
        with _told_of_answers(teacher):
            for path, kind, made_by in _files(plan, settings, out, teacher):
                files.append(stack.enter_context(Store(path, kind, made_by)))
        if not files[0].complete:
            maker = Maker(plan, settings, graph)
            crew = stack.enter_context(hired(maker, graph, studio, cluster))
            if studio:
                progress = studio.forecasting(progress, settings.limit, len(files[0].keys))
            try:
                model = studio.settings.model if studio else ""
                _make(files, maker, crew, _Kept(files[0].path, said=bool(studio)), model, progress)
            finally:
                files[0].sync(crew.cost(files[0].manifest.cost))
    return summarize(out)


def check(plan: Plan, settings: Synth, out: Path, teacher: Teacher | None = None) -> None:
    """Raise what `synthesize` would raise before it makes anything; nothing is written."""
    with _told_of_answers(teacher):
        for path, _, made_by in _files(plan, settings, out, teacher):
            records.accepted(path, made_by)


def _files(
    plan: Plan, settings: Synth, out: Path, teacher: Teacher | None
) -> list[tuple[Path, type[Any], Manifest]]:
    """What is written, with what makes it. Raises `UnknownName` for a language."""
    for language in teacher.languages if teacher else ():
        named(language)
    world = digest_of((plan.world_seed(plan.first_world), (name,)) for name in plan.servers)
    told = _identity(plan, settings, teacher)
    config, plainly = config_hash(told), records.plain(told)
    return [
        (path, kind, Manifest(name, config, plan.seed, world, settings=plainly))
        for path, kind, name in (
            (out, Task, "tasks"),
            (beside(out, "conversations"), Trace, "conversations"),
            (beside(out, "rejections"), Rejection, "rejections"),
        )
    ]


@contextmanager
def _told_of_answers(teacher: Teacher | None) -> Iterator[None]:
    """A refusal says that what a model was paid for is not lost with the files."""
    try:
        yield
    except ManifestMismatch as error:
        if teacher is None:
            raise
        raise ManifestMismatch(
            f"{error}; the model's answers stay in their file, and none is paid for twice"
        ) from error


def _identity(plan: Plan, settings: Synth, teacher: Teacher | None) -> dict[str, Any]:
    """What shapes the files."""
    told: dict[str, Any] = {"plan": msgspec.to_builtins(plan), "synth": settings.model_dump()}
    if teacher:
        told["teacher"] = teacher.identity()
    if settings.mix and settings.mix.abstentions:
        told["imported"] = [external.file_hash(path) for path in settings.mix.abstentions]
    return told


class _Kept:
    """The tasks so far, to find those that a new one repeats; rebuilt from the file, so that a run
    that goes on decides as one that was not interrupted.
    """

    def __init__(self, tasks: Path, *, said: bool) -> None:
        """`said` is whether also the users' words must differ: a model may say the same anew."""
        self._calls = Duplicates()
        self._said = Sayings() if said else None
        for task in read(tasks, Task):
            self.refuses(task)

    def refuses(self, task: Task) -> str:
        """Why the task is not kept, "" where it is: then later ones are held against it."""
        if self._calls.has(task):
            return "duplicate"
        if self._said and self._said.nearest_or_add(task):
            return "duplicate_turns"
        self._calls.add(task)
        return ""


def _make(
    files: list[Any],
    maker: Maker,
    crew: Crew,
    kept: _Kept,
    model: str,
    progress: Callable[[int, int], None],
) -> None:
    """All candidates that are missing, part by part, and the end of the files.

    Raises InputError where too few candidates become tasks.
    """
    tasks, conversations, rejections = files
    unusable = 0
    limit = maker.settings.limit
    most = limit * MOST_CANDIDATES
    queue = Queue(limit if crew.refills else most, map(maker.number, rejections.keys))
    due = _Due(files, maker, queue, crew.due)
    for start, end in pairwise((0, *(round(limit * share) for share in PARTS), most)):
        now = due.below(end)
        aims = _aims(maker, conversations.path, start) if start and now else NO_AIMS
        while now and len(tasks.keys) < limit:
            for (i, _), outcome in zip(now, crew.outcomes(now, aims), strict=True):
                if len(tasks.keys) == limit:
                    break
                if _keep(files, outcome, kept):
                    progress(len(tasks.keys), limit)
                else:
                    queue.leave(i)
                unusable = unusable + 1 if _is_unusable(outcome) else 0
                if model and not tasks.keys and unusable >= MOST_UNUSABLE:
                    raise _too_few(files, limit, model)
            now = due.below(end)
    if len(tasks.keys) < limit:
        raise _too_few(files, limit, model)
    for file in (rejections, conversations, tasks):
        file.finish()


class _Due:
    """Hands out the candidates that are not decided yet, each once."""

    def __init__(self, files: list[Any], maker: Maker, queue: Queue, most: int) -> None:
        """`most` are handed out at a time."""
        self._tasks, _, rejections = files
        self._done = frozenset(self._tasks.keys | rejections.keys)
        self._maker, self._queue, self._most = maker, queue, most
        self._next = 0

    def below(self, end: int) -> list[tuple[int, int]]:
        """The next candidates below number `end`, each with its place."""
        missing = self._maker.settings.limit - len(self._tasks.keys)
        open_ = range(self._next, min(end, self._queue.known))
        numbers = (i for i in open_ if self._maker.id(i) not in self._done)
        found = [
            (i, self._queue.place(i)) for i in islice(numbers, min(self._most, missing + SPARE))
        ]
        self._next = found[-1][0] + 1 if found else self._next
        return found


def _aims(maker: Maker, conversations: Path, start: int) -> Aims:
    """What no candidate before number `start` met."""
    talks = takewhile(lambda t: maker.number(t.task_id) < start, read(conversations, Trace))
    return unmet(talks, maker.plan.servers)


def _keep(files: list[Any], outcome: Outcome, kept: _Kept) -> bool:
    """Write what became of a candidate; whether it is a task."""
    tasks, conversations, rejections = files
    if isinstance(outcome, Candidate) and (reason := kept.refuses(outcome.task)):
        outcome = Rejection(outcome.task.id, reason)
    if isinstance(outcome, Rejection):
        rejections.append(outcome)
        return False
    if outcome.task.id not in conversations.keys:
        conversations.append(outcome.conversation)
    tasks.append(outcome.task)
    return True


def _is_unusable(outcome: Outcome) -> bool:
    return isinstance(outcome, Rejection) and outcome.reason in UNUSABLE


def _too_few(files: list[Any], limit: int, model: str) -> InputError:
    """What to tell where too few candidates became tasks, with the three commonest reasons."""
    tasks, _, rejections = files
    reasons = Counter(r.reason for r in read(rejections.path, Rejection))
    common = reasons.most_common(3)
    mend = "allow more worlds, servers or kinds"
    if model and not {reason for reason, _ in common} <= OF_SETTINGS:
        mend = (
            f"the model {model!r} does not write tasks as it is asked: take another one, or see "
            "its chat template, teacher.mode and teacher.max_tokens"
        )
    return InputError(
        f"only {len(tasks.keys)} of {limit} tasks after {len(tasks.keys | rejections.keys)} "
        f"candidates, rejected as {', '.join(f'{why} ({count})' for why, count in common)}; {mend}"
    )


def summarize(out: Path) -> Summary:
    """Counts of a finished or unfinished synthesis run."""
    rejected = Counter(r.reason for r in read(beside(out, "rejections"), Rejection))
    kinds: Counter[str] = Counter(t.kind for t in read(out, Task))
    tasks = sum(kinds.values())
    return Summary(tasks, tasks + sum(rejected.values()), dict(rejected), dict(kinds))
