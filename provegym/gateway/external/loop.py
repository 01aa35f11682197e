"""An event loop in a thread of its own, on which all clients of external servers live."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import signal
import threading
from collections.abc import Coroutine
from contextlib import suppress
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar
from weakref import WeakSet

T = TypeVar("T")

GRACE_SECONDS = 0.5
"""How long the processes have to end by themselves when ours does: their input has ended, and what
they hold is thrown away. Whoever pressed Ctrl-C does not wait the four seconds of the SDK."""
CLOSING_SECONDS = 2.0
"""How long our process waits for all of it, whatever a server at a URL does."""


started_here: ContextVar[list[asyncio.SubprocessTransport]] = ContextVar("started_here")
"""Where a task is told of the processes that it starts; the SDK shows them to nobody."""


class _Telling(asyncio.SelectorEventLoop):
    """An event loop that tells `started_here` of processes, and knows those that run."""

    def __init__(self) -> None:
        super().__init__()
        self._processes: WeakSet[asyncio.SubprocessTransport] = WeakSet()

    async def subprocess_exec(self, *told: Any, **more: Any) -> Any:
        transport, protocol = await super().subprocess_exec(*told, **more)
        self._processes.add(transport)
        started_here.get([]).append(transport)
        return transport, protocol

    def kill(self) -> None:
        """Kill the processes that run, each with those that it started: the SDK makes each the
        first of a group.
        """
        for process in [p for p in self._processes if p.get_returncode() is None]:
            with suppress(ProcessLookupError):  # it is over, and nobody has noticed
                os.killpg(process.get_pid(), signal.SIGKILL)


class Loop:
    """The loop and the tasks that run on it."""

    def __init__(self) -> None:
        self._loop = _Telling()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="external servers", daemon=True
        )
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Start a coroutine on the loop; after its end, nothing is started any more."""
        if self._loop.is_closed():
            work.close()
            ended: concurrent.futures.Future[T] = concurrent.futures.Future()
            ended.cancel()
            return ended
        return asyncio.run_coroutine_threadsafe(self._kept(work), self._loop)

    async def _kept(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        try:
            return await work
        finally:
            self._tasks.discard(task)

    def close(self) -> None:
        """Cancel what runs, kill what does not end within the grace, and end the thread."""
        if self._loop.is_closed():
            return
        ending = asyncio.run_coroutine_threadsafe(self._end(), self._loop)
        if concurrent.futures.wait([ending], CLOSING_SECONDS).not_done:
            # asyncio would print that tasks are left, which our end leaves no time for.
            self._loop.set_exception_handler(lambda loop, context: None)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSING_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()

    async def _end(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        ending = asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.wait([ending], timeout=GRACE_SECONDS)
        self._loop.kill()
        await ending


_FIRST = threading.Lock()
"""Held while the loop is looked for, so that two threads do not start one each."""


def loop() -> Loop:
    """The loop of this process, started at the first use."""
    with _FIRST:
        return _started()


@cache
def _started() -> Loop:
    started = Loop()
    atexit.register(started.close)
    return started
