"""The model of one synthesis run, and many candidates that wait for it at once.

Candidates run in threads, one of them at a time: it computes until it asks the model, and lets the
others go on while it waits. So worlds are never shared between two that compute, and as many
requests are under way as there are threads. An event loop in a thread of its own sends them.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from provegym import config
from provegym.errors import InfrastructureError
from provegym.llm.endpoint import Notify
from provegym.llm.ledger import Ledger, Spent
from provegym.llm.teacher import Answer, Teacher
from provegym.synth.make import Maker, Outcome
from provegym.synth.model_make import ModelMaker
from provegym.synth.unmet import Aims

T = TypeVar("T")
Advance = Callable[[int, int], None]
"""Told how many tasks are done, and of how many in all."""

GUESS = Spent(requests=10, prompt_tokens=50_000, completion_tokens=2_000)
"""What a task may take, rejected candidates included: a forecast before any is done (ours; whole
servers as lists of tools, which every step reads)."""
FORECAST_AFTER = 20
"""Finished tasks after which the forecast is told anew."""
AHEAD = 4
"""Candidates that are begun for each request that may be under way."""


class Studio:
    """Makes candidates with a model; a context manager."""

    def __init__(
        self, settings: config.Teacher, cache: Path, notify: Notify = lambda line: None
    ) -> None:
        """`cache` is the file of answers, `notify` is told what the user may want to know."""
        self.settings = settings
        self._cache, self.notify = cache, notify
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._pool = ThreadPoolExecutor(settings.concurrency)
        self._turn = threading.Lock()
        self._closed = False

    def __enter__(self) -> Studio:
        """Raises `InputError` where the file of answers is in use, or a key is missing."""
        self._thread.start()
        try:
            self._teacher = self._wait(self._open())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._closed = True
        try:
            self._wait(self._teacher.__aexit__(kind, error, at))
        finally:
            self._pool.shutdown(cancel_futures=True)
            self._end()

    @property
    def ledger(self) -> Ledger:
        """What was spent so far, in this run and in earlier ones with the same file."""
        return self._teacher.ledger

    @property
    def due(self) -> int:
        """How many candidates to begin between two looks at what is missing."""
        return AHEAD * self.settings.concurrency

    def outcomes(
        self, maker: Maker, due: Sequence[tuple[int, int]], aims: Aims
    ) -> Iterator[Outcome]:
        """What becomes of the candidates of those numbers and places, in order.

        Raises `EndpointDown`, `BudgetSpent` and `InputError` at the candidate that met it.
        """
        model = ModelMaker(maker, self.settings, self.complete, self.notify)

        def make(i: int, k: int) -> Outcome:
            with self._turn:
                return maker.imported(i) or model.make(i, k, aims)

        yield from self.spread(make, due)

    def spread(
        self, make: Callable[[int, int], Outcome], due: Sequence[tuple[int, int]]
    ) -> Iterator[Outcome]:
        """What `make` makes of the candidates of those numbers and places, in order; it is called
        in as many threads as requests may be under way.
        """
        futures = [self._pool.submit(make, i, k) for i, k in due]
        try:
            for future in futures:
                yield future.result()
        except BaseException:  # one that ends the run, or nobody wants the rest
            self._closed = True
            raise

    def complete(
        self,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[dict[str, Any]] | None = None,
        *,
        seed: int,
        schema: dict[str, Any] | None = None,
    ) -> Answer:
        """Wait for the model while other candidates compute."""
        self._turn.release()
        try:
            return self.ask(messages, tools, seed, schema)
        finally:
            self._turn.acquire()

    def ask(
        self,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[dict[str, Any]] | None,
        seed: int,
        schema: dict[str, Any] | None,
    ) -> Answer:
        """Wait for the model, in a thread that computes nothing."""
        return self._wait(self._ask(messages, tools, seed, schema))

    def forecasting(self, advance: Advance, total: int, done: int) -> Advance:
        """Tell what the run will take: now that so many tasks are done, and again after some."""
        self.notify(self.forecast(total, done))

        def told(done: int, total: int) -> None:
            if done == FORECAST_AFTER < total:
                self.notify(self.forecast(total, done))
            advance(done, total)

        return told

    def forecast(self, tasks: int, done: int) -> str:
        """What all tasks will take, in a sentence; from the `done` ones where there are any."""
        spent = self.ledger.forecast(tasks, done, GUESS)
        money = self.ledger.prices.cost(spent)
        basis = f"as the first {done:,} took" if done else "a guess"
        cost = f", ${money:,.2f}" if money else ""
        return (
            f"{tasks:,} tasks may take {spent.requests:,} requests and {spent.tokens:,} tokens"
            f"{cost} ({basis})"
        )

    # -- the event loop --------------------------------------------------------------------

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _open(self) -> Teacher:
        return Teacher(self.settings, self._cache, notify=self.notify)

    async def _ask(self, messages: Any, tools: Any, seed: int, schema: Any) -> Answer:
        if self._closed:
            raise InfrastructureError("the synthesis is over")  # nobody waits for this candidate
        return await self._teacher.complete(messages, tools, seed=seed, schema=schema)

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
