"""One session's view of an external server: its log of calls, and what the snapshot shows."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from provegym.gateway.external.pool import Pool
from provegym.gateway.external.process import Log
from provegym.gateway.external.snapshot import Rows
from provegym.types import Outcome
from provegym.world.server import State
from provegym.world.table import Row, table
from provegym.world.tool import Effect, Refused

_encode = msgspec.json.Encoder(order="sorted").encode


class Committed(Row, frozen=True):
    """A call that was made; the rows of a session in their order are its log."""

    told: ClassVar[bool] = False

    tool: str = ""
    arguments: str = ""


class Record(Row, frozen=True):
    """A part of the whole state, as the snapshot tool shows it."""

    value: Any = None


class Failed(Refused):
    """The server's own error."""


class Misfit(Refused):
    """The server says that the arguments do not fit."""

    outcome: ClassVar[Outcome] = "invalid_arguments"


class Foreign(State):
    """What the tools of an external server get."""

    calls = table(Committed, "call")
    records = table(Record, "record")
    pools: ClassVar[Any]
    """Gives the pool of a world's seed."""

    def call(self, tool: str, effect: Effect, arguments: dict[str, Any]) -> Any:
        """Make a call by the server's own names.

        Raises `Refused` for an error of the server, `ServerFault` where it is lost.
        """
        pool, log = self._pool(), self._log()
        if effect == "read":
            found = pool.read(self, log, tool, arguments)
        else:
            entry = tool, _encode(arguments).decode()
            found, rows = pool.write(self, log, entry)
            if not found.error:
                self.calls.put(Committed(f"{len(log) + 1:06d}", *entry))
                self._show(rows)
        if found.error:
            raise (Misfit if found.misused else Failed)(
                "invalid_arguments" if found.misused else "tool_error", found.error
            )
        return found.value

    def _pool(self) -> Pool:
        pool: Pool = type(self).pools(self.cast.seed)
        return pool

    def _log(self) -> Log:
        own = self.calls.own.values()
        return tuple((row.tool, row.arguments) for row in own if row is not None)

    def _show(self, rows: Rows) -> None:
        """Make the records those of the snapshot."""
        for record in list(self.records):
            if record.id not in rows:
                self.records.delete(record.id)
        for name, value in rows.items():
            before = self.records.get(name)
            if before is None or before.value != value:
                self.records.put(Record(name, value))
