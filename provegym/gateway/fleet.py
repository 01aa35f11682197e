"""The workers behind one port: started, watched, replaced, and found by the ids they gave.

A session lives in one worker, whose name stands in front of its id (`w3.<token>`). A worker that
dies takes its sessions along: their ids stay dead, and the worker that takes its place has a name
that was never used.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Protocol

from msgspec import Struct

from provegym.errors import InfrastructureError, WorkerLost
from provegym.gateway.settings import Settings
from provegym.gateway.upstream import Answer, Asked, Pool

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 60.0
"""How long a request that any worker may answer waits while none is ready."""
DIGITS = 9
"""Most digits of a worker's number; Python makes no number of over 4,300."""
KEYS = 10_000
"""How many openings' keys are known, the latest."""
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0
"""Between attempts to replace a worker that does not start; each pause is twice the one before."""


class Plan(Struct, frozen=True):
    """What a worker is; `settings.host` and `.port` say where it listens (port 0: anywhere)."""

    name: str
    settings: Settings


class Handle(Protocol):
    """A running worker, as an engine (processes here, actors of a cluster) gives it."""

    @property
    def host(self) -> str:
        """Where it listens."""
        ...

    @property
    def port(self) -> int:
        """Where it listens."""
        ...

    @property
    def pid(self) -> int:
        """Its process, on the machine where it listens."""
        ...

    async def ended(self) -> str:
        """Wait until it is gone; how it ended, in words."""
        ...

    async def stop(self) -> None:
        """End it, and wait until it is gone."""
        ...


Launch = Callable[[str], Awaitable[Handle]]
"""Starts a worker of that name, and waits until it listens. Raises InfrastructureError."""


class Worker:
    """A worker that listens."""

    def __init__(self, name: str, handle: Handle) -> None:
        self.name, self.handle = name, handle
        self.pool = Pool(handle.host, handle.port)

    @property
    def url(self) -> str:
        """Where it is reached without the front."""
        return f"http://{self.handle.host}:{self.handle.port}"

    async def ask(self, asked: Asked, limit: float) -> Answer:
        """Its whole answer. Raises InfrastructureError, also after `limit` seconds."""
        try:
            async with asyncio.timeout(limit):
                return await self.pool.whole(asked)
        except TimeoutError as error:
            told = f"worker {self.name} did not answer within {limit:g} s"
            raise InfrastructureError(told) from error


class Fleet:
    """So many workers, kept up. A context manager: all of them are ready inside, gone outside."""

    def __init__(self, launch: Launch, size: int) -> None:
        self._launch, self.size = launch, size
        self.ready: dict[str, Worker] = {}
        self.lost = 0
        """How many workers died."""
        self._named = 0
        self._turn = 0
        self._keys: OrderedDict[str, str] = OrderedDict()
        self._some = asyncio.Event()
        self._keepers: list[asyncio.Task[None]] = []

    # -- finding -----------------------------------------------------------------------------

    async def of(self, session: str) -> Worker:
        """The worker that holds a session; any one, to say so, where no worker gave that id.

        Raises WorkerLost.
        """
        name = session.partition(".")[0]
        worker = self.ready.get(name)
        if worker is not None:
            return worker
        if self._was_named(name):
            raise WorkerLost(f"worker {name} is gone, and its sessions with it; open another one")
        return await self.next()

    async def next(self) -> Worker:
        """The worker whose turn it is. Waits for one; raises InfrastructureError after a minute."""
        try:
            await asyncio.wait_for(self._some.wait(), PATIENCE_SECONDS)
        except TimeoutError as error:
            raise InfrastructureError("no worker is ready; try again later") from error
        workers = list(self.ready.values())
        self._turn += 1
        return workers[self._turn % len(workers)]

    def _was_named(self, name: str) -> bool:
        number = name.removeprefix("w")
        if len(number) > DIGITS or not (number.isascii() and number.isdecimal()):
            return False
        return name == f"w{int(number)}" and int(number) < self._named

    async def by_key(self, key: str) -> Worker:
        """The worker that this key went to before, while it lives; else the next."""
        worker = self.ready.get(self._keys.get(key, ""))
        if worker is None:
            worker = await self.next()
            self._keys[key] = worker.name
            if len(self._keys) > KEYS:
                self._keys.popitem(last=False)
        return worker

    # -- keeping up --------------------------------------------------------------------------

    async def __aenter__(self) -> Fleet:
        """Start all workers at once. Raises InfrastructureError where one does not start."""
        starts = [asyncio.ensure_future(self._start()) for _ in range(self.size)]
        try:
            workers = await asyncio.gather(*starts)
        except BaseException:
            for start in starts:
                start.cancel()
            await asyncio.gather(*starts, return_exceptions=True)
            await self._stop()
            raise
        self._keepers = [asyncio.create_task(self._keep(worker)) for worker in workers]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End all workers."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        await self._stop()

    async def _stop(self) -> None:
        workers = list(self.ready.values())
        self.ready.clear()
        for worker in workers:
            worker.pool.close()
        await asyncio.gather(*(worker.handle.stop() for worker in workers))

    async def _start(self) -> Worker:
        name = f"w{self._named}"
        self._named += 1
        worker = Worker(name, await self._launch(name))
        self.ready[name] = worker
        self._some.set()
        return worker

    async def _keep(self, worker: Worker) -> None:
        """One place in the fleet: wait for its worker's end, then fill it again."""
        while True:
            how = await worker.handle.ended()
            log.error("worker %s is lost with its sessions (%s)", worker.name, how)
            del self.ready[worker.name]
            self.lost += 1
            worker.pool.close()
            if not self.ready:
                self._some.clear()
            worker = await self._replace()

    async def _replace(self) -> Worker:
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                return await self._start()
            except InfrastructureError as error:
                log.error("no worker took its place, once more in %.0f s: %s", pause, error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
