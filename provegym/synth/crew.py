"""Who makes candidates, with a second process that finds the same: the offline teacher in two
processes, or a model that many threads wait for; or either in the processes of a cluster.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from provegym import config
from provegym.graph.edges import Graph
from provegym.records import beside
from provegym.synth.make import Candidate, Maker, Outcome, Rejection
from provegym.synth.twin import Twin, digest, order_for, tasks_of
from provegym.synth.unmet import Aims

if TYPE_CHECKING:
    from provegym.synth.cluster import Cluster
    from provegym.synth.studio import Studio  # needs the `openai` client, the offline one does not

CHUNK = 64
"""Candidates that each of two processes makes between two writes."""
PIECE = 4
"""Candidates that a process takes at a time, from its end of what is due."""

OURS = ("retries", "cache_hits")
"""Figures of a model's account that count from the start of the process."""

Due = Sequence[tuple[int, int]]
"""Candidates to make, by number and place."""


class Crew(Protocol):
    """Makes candidates."""

    due: int
    """How many candidates to begin between two looks at what is missing."""
    refills: bool
    """Whether the place of what was rejected is tried again."""

    def outcomes(self, due: Due, aims: Aims) -> Iterator[Outcome]:
        """What becomes of the candidates, in order; each task was replayed by another process."""
        ...

    def cost(self, noted: Mapping[str, float]) -> dict[str, float]:
        """What it took in all, without what is noted already."""
        ...


class Offline:
    """Two processes share the work, and each replays the other's tasks."""

    def __init__(self, maker: Maker, twin: Twin) -> None:
        self._maker, self._twin = maker, twin
        self.due = 2 * CHUNK
        self.refills = maker.places is not None

    def outcomes(self, due: Due, aims: Aims) -> Iterator[Outcome]:
        """In order: this process makes them from the first on, the other from the last back."""
        left = deque(due[k : k + PIECE] for k in range(0, len(due), PIECE))
        with ThreadPoolExecutor(1) as pool, ExitStack() as stack, _cut_short(self._twin):
            stack.callback(left.clear)  # an error here must not wait for the other process
            future = pool.submit(lambda: [self._twin.make(p, aims) for p in taken(left.pop)])
            ours = [self._maker.make(i, aims, k) for p in taken(left.popleft) for i, k in p]
            theirs = [outcome for piece in reversed(future.result()) for outcome in piece]
            seen = pool.submit(self._twin.digests, tasks_of(ours))
            found = [digest(task) for task in tasks_of(theirs)]
            yield from compared(ours, seen.result())
            yield from compared(theirs, found)

    def cost(self, noted: Mapping[str, float]) -> dict[str, float]:
        """Nothing that anyone counts."""
        return {}


@contextmanager
def _cut_short(twin: Twin) -> Iterator[None]:
    """After an interrupt nobody waits for what the twin makes; that takes seconds."""
    try:
        yield
    except KeyboardInterrupt:
        twin.stop()
        raise


def taken(take: Callable[[], Due]) -> Iterator[Due]:
    """Whatever is there to take, until nothing is left."""
    with suppress(IndexError):
        while True:
            yield take()


class Modelled:
    """A model makes candidates, and the second process replays each task."""

    def __init__(self, maker: Maker, twin: Twin, studio: Studio) -> None:
        self._maker, self._twin, self._studio = maker, twin, studio
        self.due, self.refills = studio.due, True

    def outcomes(self, due: Due, aims: Aims) -> Iterator[Outcome]:
        """In order, one by one as they come."""
        for outcome in self._studio.outcomes(self._maker, due, aims):
            yield from compared([outcome], self._twin.digests(tasks_of([outcome])))

    def cost(self, noted: Mapping[str, float]) -> dict[str, float]:
        """As the file of answers has it, which also knows of runs that were killed."""
        return spent(self._studio, noted)


@contextmanager
def hired(
    maker: Maker, graph: Graph, studio: Studio | None, cluster: Cluster | None
) -> Iterator[Crew]:
    """Those who make the candidates: a model with a studio, else the offline teacher; in the
    processes of a cluster, else in this one and a second.
    """
    plan, settings = maker.plan, maker.settings
    if cluster:
        from provegym.synth.cluster import Spread, SpreadModelled

        teacher = studio.settings if studio else config.Teacher()
        cluster.hire(order_for(plan, _without_files(settings), graph), teacher)
        yield SpreadModelled(maker, cluster, studio) if studio else Spread(maker, cluster)
    else:
        with Twin(plan, settings, graph) as twin:
            yield Modelled(maker, twin, studio) if studio else Offline(maker, twin)


def _without_files(settings: config.Synth) -> config.Synth:
    """The same for processes that need not see this machine's files: imported tasks are not made
    there.
    """
    if not settings.mix:
        return settings
    return settings.model_copy(update={"mix": settings.mix.model_copy(update={"abstentions": ()})})


@contextmanager
def cluster(engine: config.Engine) -> Iterator[Cluster | None]:
    """The cluster that computes; None where this machine's two processes do."""
    if engine == "local":
        yield None
        return
    from provegym.synth.cluster import Cluster

    with Cluster() as opened:
        yield opened


@contextmanager
def studio(
    settings: config.Teacher, out: Path, notify: Callable[[str], None]
) -> Iterator[Studio | None]:
    """The model at work on the tasks in `out`; None for the offline teacher.

    Its answers lie beside the tasks unless the settings name another file. `notify` is told what
    the user may want to know.
    """
    if not settings.model:
        yield None
        return
    from provegym.synth.studio import Studio

    with Studio(settings, answers_beside(out, settings), notify) as opened:
        yield opened


def answers_beside(out: Path, settings: config.Teacher) -> Path:
    """The file of a model's answers for what is made in `out`."""
    return Path(settings.cache) if settings.cache else beside(out, "answers", ".sqlite")


def spent(studio: Studio, noted: Mapping[str, float]) -> dict[str, float]:
    """What the model took in all, without what is noted already."""
    figures = studio.ledger.figures()
    return {n: v if n in OURS else v - noted.get(n, 0) for n, v in figures.items()}


def compared(outcomes: Sequence[Outcome], digests: Sequence[str]) -> Iterator[Outcome]:
    """The outcomes, each task with what a second process found of it."""
    seen = iter(digests)
    for outcome in outcomes:
        yield agreed(outcome, next(seen)) if isinstance(outcome, Candidate) else outcome


def agreed(candidate: Candidate, digest: str) -> Outcome:
    """The candidate, or its rejection where a second process found another digest."""
    certificate = candidate.task.certificate
    if digest != certificate.digest:
        return Rejection(candidate.task.id, "certificate:two_processes_agree")
    checks = {**certificate.checks, "two_processes_agree": True}
    task = replace(candidate.task, certificate=replace(certificate, checks=checks))
    return replace(candidate, task=task)
