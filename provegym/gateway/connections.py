"""Connections of 2025-11-25 to sessions by their URL: no more than a session can use.

The SDK ends a connection when its client says so, or after long idleness. A client that opens one
for each call, or whose session was closed, would leave so many behind that nobody gets one.
"""

from __future__ import annotations

from collections import deque
from itertools import islice

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from provegym.gateway.rooms import Room

MOST = 64
"""Connections of one session; a further one ends the oldest."""
LOOKED_AT = 2
"""Sessions that are looked at when a connection opens, so that ended ones are found in time."""


class Connections:
    """The connections of each room, by their ids."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager
        self._of: dict[Room, deque[str]] = {}

    async def opened(self, room: Room, name: str) -> None:
        """Note a new connection, and end what is one too many or belongs to a closed room."""
        names = self._of.setdefault(room, deque())
        names.append(name)
        if len(names) > MOST:
            await self._end(names.popleft())
        for seen in list(islice(self._of, LOOKED_AT)):
            found = self._of.pop(seen)
            if not seen.closed:
                self._of[seen] = found  # to the end of the line
                continue
            for left in found:
                await self._end(left)

    async def _end(self, name: str) -> None:
        transport = self._manager._server_instances.get(name)  # no public name leads to it
        if transport is not None:
            await transport.terminate()
