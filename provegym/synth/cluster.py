"""A Ray cluster that computes for a synthesis: the same candidates in the same order.

This process keeps all that there must be one of: the files of tasks and, with a model, its answers,
its ledger and its budget. Processes of the cluster plan, execute and replay. One that dies is
replaced and its candidates are made again; the answers they had are on disk and cost nothing.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from provegym import __version__, config
from provegym.errors import InfrastructureError, InputError, ProvegymError
from provegym.synth.crew import Due, agreed, compared, spent
from provegym.synth.hand import Hand
from provegym.synth.make import Maker, Outcome, Rejection
from provegym.synth.offline import Rejected
from provegym.synth.twin import Answer, Order, Request, outcomes_of, tasks_of, to_make
from provegym.synth.unmet import Aims

if TYPE_CHECKING:
    from provegym.synth.studio import Studio

T = TypeVar("T")

PIECE = 8
"""Candidates of the offline teacher that a process makes at a time."""
PIECES = 8
"""Pieces for each process between two looks at what is missing."""
CONNECT = 10.0
"""Seconds until nobody is taken to be at RAY_ADDRESS."""
MOST_DEATHS = 10
"""Processes that are replaced before a run stops."""


class Cluster:
    """The cluster, as a context manager: the one that runs (RAY_ADDRESS, or this machine's), else
    a new one on this machine. To be left after a `Studio` that works with it.
    """

    def __enter__(self) -> Cluster:
        """Raises `InputError` where Ray is not installed, or the cluster cannot be reached."""
        self._ray = _ray()
        self._hands: list[Any] = []
        self._replacing, self._deaths = threading.Lock(), 0
        self._ours = not self._ray.is_initialized()
        if self._ours:
            try:
                _knock(os.environ.get("RAY_ADDRESS", ""))
                self._ray.init(
                    include_dashboard=False, log_to_driver=False, logging_level=logging.WARNING
                )
            except (OSError, RuntimeError) as error:
                raise InputError(
                    f"no Ray cluster can be used: {error}; mend RAY_ADDRESS, or take --engine local"
                ) from error
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._dismiss()
        if self._ours:
            self._ray.shutdown()

    @property
    def size(self) -> int:
        """How many processes compute: one for each CPU, two at least, for one replays what another
        made.
        """
        return max(2, int(self._cpus()))

    def hire(self, order: Order, teacher: config.Teacher) -> None:
        """Start the processes; those of an earlier order end.

        Raises `InputError` where one has another provegym or does not start.
        """
        self._dismiss()
        share = min(1.0, self._cpus() / self.size)
        told = msgspec.json.encode(order), teacher.model_dump_json()
        actor = self._ray.remote(Hand).options(num_cpus=share)
        self._hire = partial(actor.remote, *told)
        self._hands = [self._hire() for _ in range(self.size)]
        try:
            found = set(self._ray.get([hand.version.remote() for hand in self._hands]))
        except self._ray.exceptions.RayError as error:
            raise InputError(
                f"a process of the Ray cluster does not start: {_told(error)}; see that provegym "
                f"{__version__} is installed on each machine, or take --engine local"
            ) from error
        if found != {__version__}:
            raise InputError(
                f"the Ray cluster has provegym {', '.join(sorted(found))}, but this is "
                f"{__version__}; install it on each machine, or take --engine local"
            )

    def ask(self, n: int, request: Request) -> Answer:
        """The answer of the n-th process."""
        told = msgspec.json.encode(request)
        found = self.with_hand(n, lambda hand: self.get(hand.answer.remote(told)))
        return msgspec.json.decode(found, type=Answer)

    def get(self, wanted: Any) -> Any:
        """What a call comes to. Raises what was raised in the other process."""
        try:
            return self._ray.get(wanted)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error

    def with_hand(self, n: int, work: Callable[[Any], T]) -> T:
        """What `work` comes to with the n-th process; where it dies, anew with another.

        Raises `InfrastructureError` where too many died.
        """
        n %= len(self._hands)
        while True:
            hand = self._hands[n]
            try:
                return work(hand)
            except self._ray.exceptions.RayError as error:
                self._replace(n, hand, error)

    def _replace(self, n: int, hand: Any, error: Exception) -> None:
        with self._replacing:
            if self._hands[n] is not hand:
                return  # somebody else noticed before
            self._deaths += 1
            if self._deaths > MOST_DEATHS:
                raise InfrastructureError(
                    f"{self._deaths} processes of the Ray cluster died, the last: {_told(error)}; "
                    "see Ray's logs and run the same command again: what is finished is kept"
                ) from error
            self._hands[n] = self._hire()

    def _dismiss(self) -> None:
        for hand in self._hands:
            self._ray.kill(hand)

    def _cpus(self) -> float:
        return float(self._ray.cluster_resources().get("CPU", 0.0))


class Spread:
    """The offline teacher in all processes of a cluster; another one replays each task."""

    def __init__(self, maker: Maker, cluster: Cluster) -> None:
        self._maker, self._cluster = maker, cluster
        self.due = PIECE * PIECES * cluster.size
        self.refills = maker.places is not None

    def outcomes(self, due: Due, aims: Aims) -> Iterator[Outcome]:
        """In order, piece by piece."""
        pieces = [due[start : start + PIECE] for start in range(0, len(due), PIECE)]
        with ThreadPoolExecutor(2 * self._cluster.size) as pool:
            for found in pool.map(partial(self._made, aims), range(len(pieces)), pieces):
                yield from found

    def cost(self, noted: Mapping[str, float]) -> dict[str, float]:
        """Nothing that anyone counts."""
        return {}

    def _made(self, aims: Aims, n: int, piece: Due) -> list[Outcome]:
        imported = {i: self._maker.imported(i) for i, _ in piece}
        wanted = [(i, k) for i, k in piece if imported[i] is None]
        made = iter(outcomes_of(self._cluster.ask(n, to_make(wanted, aims))))
        found = [imported[i] or next(made) for i, _ in piece]
        seen = self._cluster.ask(n + 1, Request(replay=tasks_of(found)))
        return list(compared(found, seen.digests))


class SpreadModelled:
    """A model makes candidates, which compute in a cluster; this process asks the model."""

    def __init__(self, maker: Maker, cluster: Cluster, studio: Studio) -> None:
        self._maker, self._cluster, self._studio = maker, cluster, studio
        self.due, self.refills = studio.due, True

    def outcomes(self, due: Due, aims: Aims) -> Iterator[Outcome]:
        """In order, one by one as they come."""
        return self._studio.spread(partial(self._made, aims), due)

    def cost(self, noted: Mapping[str, float]) -> dict[str, float]:
        """As the file of answers has it, which also knows of runs that were killed."""
        return spent(self._studio, noted)

    def _made(self, aims: Aims, i: int, k: int) -> Outcome:
        made = self._maker.imported(i) or self._played(i, k, aims)
        if isinstance(made, Rejection):
            return made
        seen = self._cluster.ask(i + 1, Request(replay=[made.task]))
        return agreed(made, seen.digests[0])

    def _played(self, i: int, k: int, aims: Aims) -> Outcome:
        from provegym.synth.model_make import faults

        try:
            with faults(self._maker.id(i), self._studio.notify):
                return self._cluster.with_hand(i, lambda hand: self._talk(hand, i, k, aims))
        except Rejected as error:
            return Rejection(self._maker.id(i), str(error))

    def _talk(self, hand: Any, i: int, k: int, aims: Aims) -> Outcome:
        from provegym.synth.suspended import Ask

        get = self._cluster.get
        step = get(hand.begin.remote(i, k, aims))
        while isinstance(step, Ask):
            try:
                answer = self._studio.ask(step.messages, step.tools, step.seed, step.schema)
            except ProvegymError:
                hand.drop.remote(i)
                raise
            step = get(hand.go_on.remote(i, answer))
        found: Outcome = step
        return found


def _knock(address: str) -> None:
    """Raise `OSError` where nobody listens, for which Ray itself would wait for many minutes."""
    host, _, port = address.rpartition(":")
    if port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), CONNECT).close()


def _told(error: Exception) -> str:
    """The last line of an error, which says the cause."""
    return [line.strip() for line in str(error).splitlines() if line.strip()][-1]


def _ray() -> Any:
    try:
        import ray
    except ModuleNotFoundError as error:
        raise InputError(
            "ray is not installed; run: pip install 'provegym[ray]', or take --engine local"
        ) from error
    return ray
