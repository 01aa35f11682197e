"""A connection together with the log of calls that led to the state it is in."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from weakref import ReferenceType

import msgspec
from msgspec import Struct

from provegym.errors import ServerFault
from provegym.gateway.external import trees
from provegym.gateway.external.aliases import Aliases
from provegym.gateway.external.connection import Connection
from provegym.gateway.external.results import Answer
from provegym.gateway.external.settings import FILES
from provegym.gateway.external.snapshot import Rows, file_rows, rows_of

Entry = tuple[str, str]
"""A committed call: the server's own name of the tool, and the arguments as JSON."""
Log = tuple[Entry, ...]


class Kept(Struct, frozen=True):
    """What a process was like at one log; enough to be so again where files are all its state."""

    tree: trees.Tree
    aliases: Aliases
    rows: Rows


class Process:
    """A live server at `log`; None is a state that no log is known for."""

    def __init__(self, connection: Connection, start: datetime) -> None:
        self.connection, self._began = connection, start
        self.log: Log | None = ()
        self.fresh = True
        """Whether it was never used."""
        self.rows: Rows = {}
        """The snapshot at `log`; empty without a tool that gives one."""
        self.owner: ReferenceType[Any] | None = None
        self.busy = False
        self.aliases: Aliases
        self._told = connection.told

    @property
    def free(self) -> bool:
        """Whether no live session counts on it."""
        return self.owner is None or self.owner() is None

    def settle(self) -> None:
        """It is at its start: see what there is."""
        self.connection.ready()
        self.aliases = Aliases(self._told.volatile, self.connection.folder, self._began)
        self.log, self.fresh = (), False
        self._look()

    def read(self, tool: str, arguments: Any) -> Answer:
        """A call that changes nothing."""
        found = self._ask(tool, arguments)
        return self._shown(found)

    def write(self, entry: Entry) -> Answer:
        """A call that is added to the log if it succeeds."""
        assert self.log is not None
        tool, arguments = entry
        found = self._ask(tool, msgspec.json.decode(arguments))
        if not found.error:
            self.log = (*self.log, entry)
            self._look()
            self.aliases.learn(found.value)
        return self._shown(found)

    def changed(self) -> bool:
        """Whether the snapshot differs from that at the log, or there is none to tell by."""
        before = self.rows
        if not self._told.snapshot:
            return True
        self._look()
        changed, self.rows = self.rows != before, before
        return changed

    def keep(self) -> Kept:
        """What it is like now."""
        return Kept(trees.take(self.connection.folder), self.aliases.copy(), self.rows)

    def become(self, kept: Kept, log: Log) -> None:
        """Be as it was at that log."""
        trees.put_back(self.connection.folder, kept.tree)
        self.aliases, self.rows, self.log = kept.aliases.copy(), kept.rows, log

    def reset(self) -> None:
        """Go back to the start by the tool for it. Raises `ServerFault` where that is refused."""
        found = self.connection.call(self._told.reset, {})
        if found.error:
            self.connection.close()
            raise ServerFault(
                f"server {self.connection.name}: the tool {self._told.reset!r}, which is to reset "
                f"it, failed: {found.error}"
            )
        self.settle()

    def _ask(self, tool: str, arguments: Any) -> Answer:
        return self.connection.call(tool, self.aliases.outward(arguments))

    def _shown(self, found: Answer) -> Answer:
        writes = len(self.log or ())
        value = self.aliases.inward(found.value, writes)
        return Answer(value, self.aliases.inward(found.error, writes), found.misused)

    def _look(self) -> None:
        if self._told.snapshot == FILES:
            self.rows = file_rows(trees.take(self.connection.folder))
        elif self._told.snapshot:
            self.rows = self._snapshot()

    def _snapshot(self) -> Rows:
        found = self.connection.call(self._told.snapshot, {})
        if found.error:
            raise ServerFault(
                f"server {self.connection.name}: the snapshot tool {self._told.snapshot!r} "
                f"failed: {found.error}"
            )
        self.aliases.learn(found.value)
        shown = self.aliases.inward(found.value, len(self.log or ()))
        return rows_of(shown, frozenset(self._told.volatile))
