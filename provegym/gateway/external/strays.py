"""What a server writes on its standard output that is no message of the protocol.

The SDK logs each such line with a traceback. Those of our connections are told in one line instead;
everything else that the SDK logs stays.
"""

from __future__ import annotations

import logging
from contextvars import ContextVar

from pydantic import ValidationError

SDK = "mcp.client.stdio"
"""The SDK's logger for what it reads."""
LOGGED = "Failed to parse JSONRPC"
"""How its message begins."""
SHOWN = 80
"""Characters of a line that are told."""

_log = logging.getLogger(__name__)
_noted: set[str] = set()
"""Servers whose strays were told of; once in a process is enough."""


class Strays:
    """The first stray line of one connection."""

    def __init__(self, server: str) -> None:
        self.server, self.first = server, ""
        self._open = False

    def told(self) -> str:
        """What it wrote, as a sentence about the server; empty if there is nothing."""
        if not self.first:
            return ""
        shown = self.first[:SHOWN] + ("..." if len(self.first) > SHOWN else "")
        return f"writes on stdout what is no JSON-RPC: {shown!r}"

    def listen(self) -> None:
        """From now on what the SDK logs in this task and those that it starts is kept here."""
        _mine.set(self)

    def open(self) -> None:
        """The server works all the same: what it wrote, and will write, is noted once."""
        self._open = True
        self._note()

    def add(self, line: str) -> None:
        """Keep the line, if it is the first one that is not blank."""
        self.first = self.first or line.strip()
        self._note()

    def _note(self) -> None:
        if self._open and self.first and self.server not in _noted:
            _noted.add(self.server)
            _log.warning("server %s %s", self.server, self.told())


_mine: ContextVar[Strays | None] = ContextVar("strays", default=None)


def _kept(record: logging.LogRecord) -> bool:
    """Whether the record is to be logged: not if it is about a stray line of ours."""
    strays = _mine.get()
    if strays is None or not record.getMessage().startswith(LOGGED):
        return True
    error = record.exc_info[1] if record.exc_info else None
    strays.add(str(error.errors()[0]["input"]) if isinstance(error, ValidationError) else "?")
    return False


logging.getLogger(SDK).addFilter(_kept)
