"""The processes of one external server, lent to sessions one call at a time.

A session needs a process at its log. One that is there already costs nothing; one on the way is
brought there by the calls that are missing; else one goes back to the start: by its reset tool, by
its files, or by a new process. A process that a live session counts on is taken from it only where
no other may be started.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from weakref import ref

from provegym.errors import ServerFault
from provegym.gateway.external import trees
from provegym.gateway.external.connection import Connection, Listing
from provegym.gateway.external.process import Entry, Kept, Log, Process
from provegym.gateway.external.results import Answer
from provegym.gateway.external.settings import FILES, External
from provegym.gateway.external.snapshot import Rows
from provegym.gateway.external.turns import Turns

KEPT, KEPT_BYTES = 256, 1 << 28
"""States of the files that are remembered, the latest: so many, and about so much in all."""


class Pool:
    """Processes of one server at one seed. `connect` makes a connection that is not started, and
    `check` looks at the first one before it is used.

    A URL whose server a tool resets is one server that all share: it gets one connection, and the
    file `turns` says whose turn it is.
    """

    def __init__(
        self,
        told: External,
        start: datetime,
        connect: Callable[[], Connection],
        turns: Path,
        check: Callable[[Connection], None] = lambda connection: None,
    ) -> None:
        self._told, self._start, self._connect = told, start, connect
        self._check, self._checked = check, False
        self._shared = bool(told.url) and told.reset != "restart"
        self._turns = Turns(turns) if self._shared else None
        self._most = 1 if self._shared else told.processes
        self._processes: list[Process] = []
        """The least recently used first."""
        self._kept: OrderedDict[Log, Kept] = OrderedDict()
        self._change = threading.Condition()
        self._cheap = told.reset != "restart"

    def read(self, owner: object, log: Log, tool: str, arguments: Any) -> Answer:
        """A call that changes nothing, in the state that the log leads to.

        Raises `ServerFault`, as all methods do.
        """
        with self._at(owner, log) as process:
            return process.read(tool, arguments)

    def write(self, owner: object, log: Log, entry: Entry) -> tuple[Answer, Rows]:
        """A call that may change the state, with the snapshot after it."""
        with self._at(owner, log) as process:
            found = process.write(entry)
            if not found.error:
                self._remember(process)
            elif not found.misused:
                self._undo(process)
            return found, process.rows

    def probe(self, owner: object, log: Log, tool: str, arguments: Any) -> tuple[Answer, bool]:
        """A call that should change nothing, and whether the snapshot shows that it did."""
        with self._at(owner, log) as process:
            found = process.read(tool, arguments)
            changed = bool(self._told.snapshot) and process.changed()
            if changed:
                process.log = None
            return found, changed

    def rows(self, owner: object, log: Log = ()) -> Rows:
        """The snapshot in the state that the log leads to."""
        with self._at(owner, log) as process:
            return process.rows

    def listing(self) -> Listing:
        """What the server says of itself."""
        process = self._take(self, ())
        try:
            return process.connection.listing()
        finally:
            self._give_back(process)

    def close(self) -> None:
        """End all processes."""
        with self._change:
            for process in self._processes:
                process.connection.close()
            self._processes.clear()

    # -- lending ---------------------------------------------------------------------------

    @contextmanager
    def _at(self, owner: object, log: Log) -> Iterator[Process]:
        process = self._take(owner, log)
        try:
            with self._turn(process):
                self._bring(process, log)
                self._own(process, owner)
                yield process
        except BaseException:
            process.log = None
            raise
        finally:
            self._give_back(process)

    @contextmanager
    def _turn(self, process: Process) -> Iterator[None]:
        """Wait until nobody else uses a server that is shared."""
        if self._turns is None:
            yield
            return
        with self._turns.turn() as undisturbed:
            process.log = process.log if undisturbed else None
            yield

    def _own(self, process: Process, owner: object) -> None:
        """From now on this is the one that the session counts on."""
        with self._change:
            for other in self._processes:
                if other.owner and other.owner() is owner:
                    other.owner = None
            process.owner = ref(owner)

    def _take(self, owner: object, log: Log) -> Process:
        with self._change:
            while True:
                chosen = self._chosen(owner, log)
                if chosen is not None:
                    break
                self._change.wait()
            chosen.busy = True
            if not self._cheap:
                self._warm_up()
            return chosen

    def _chosen(self, owner: object, log: Log) -> Process | None:
        """The process to use, None where all are busy: the nearest on the way, else a new one.
        Where no more may be started, one on another session's way, else one is started anew.
        """
        idle = [p for p in self._processes if not p.busy]
        mine = [p for p in idle if p.free or (p.owner and p.owner() is owner)]
        if near := _nearest(idle if self._cheap else mine, log):
            return near
        if self._cheap and idle:
            return idle[0]
        if len(self._processes) < self._most:
            return self._started()
        if near := _nearest(idle, log):
            return near
        if idle:
            self._dismiss(next((p for p in idle if p.free), idle[0]))
            return self._started()
        return None

    def _started(self) -> Process:
        process = Process(self._connect().start(), self._start)
        self._processes.append(process)
        return process

    def _dismiss(self, process: Process) -> None:
        process.connection.close()
        self._processes.remove(process)

    def _warm_up(self) -> None:
        """See that enough unused processes are there or on their way."""
        spare = sum(p.free and not p.busy and not p.log for p in self._processes)
        room = self._most - len(self._processes)
        for _ in range(min(room, self._told.warm - spare)):
            self._started()

    def _give_back(self, process: Process) -> None:
        with self._change:
            process.busy = False
            if process in self._processes:
                self._processes.remove(process)
                if process.connection.lost or (process.log is None and not self._cheap):
                    process.connection.close()
                else:
                    self._processes.append(process)
            self._change.notify()

    # -- states ----------------------------------------------------------------------------

    def _bring(self, process: Process, log: Log) -> None:
        """Put the process where the log leads."""
        if not self._checked:
            self._check(process.connection)
            self._checked = True
        if process.fresh and not self._shared:
            process.settle()
            self._remember(process)
        if process.fresh or not _leads(process.log, log):
            self._reset(process, log)
        for entry in log[len(process.log or ()) :]:
            found = process.write(entry)
            if found.error:
                raise ServerFault(
                    f"server {process.connection.name} refuses a call that it took before "
                    f"({entry[0]}: {found.error}); it is not deterministic"
                )
            self._remember(process)

    def _reset(self, process: Process, log: Log) -> None:
        if self._told.reset != FILES:
            process.reset()
            return
        with self._change:
            known = next(log[:n] for n in range(len(log), -1, -1) if log[:n] in self._kept)
            self._kept.move_to_end(known)
            kept = self._kept[known]
        process.become(kept, known)

    def _remember(self, process: Process) -> None:
        if self._told.reset != FILES or process.log is None:
            return
        kept = process.keep()
        room = max(2, min(KEPT, KEPT_BYTES // (1 + trees.size(kept.tree))))
        with self._change:
            self._kept[process.log] = kept
            while len(self._kept) > room:
                del self._kept[next(log for log in self._kept if log)]

    def _undo(self, process: Process) -> None:
        """A refused call may have left something behind: go back, or have no known state."""
        log = process.log
        kept = self._kept.get(log) if log is not None else None
        if kept is not None and log is not None:
            process.become(kept, log)
        elif process.changed():
            process.log = None


def _nearest(processes: list[Process], log: Log) -> Process | None:
    """Of those on the way to the log, the one that is furthest; one that was used, if several."""
    near = [p for p in processes if _leads(p.log, log)]
    return max(near, key=lambda p: (len(p.log or ()), not p.fresh), default=None)


def _leads(there: Log | None, log: Log) -> bool:
    return there is not None and log[: len(there)] == there
