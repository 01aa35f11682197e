"""Openings and forks with a key of the caller's: asked for again, one gives the session of the
first time, also where that has ended since: a key never makes a second session.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from hashlib import blake2b

import msgspec

from provegym.errors import InputError, seen
from provegym.gateway.wire import Opened

REMEMBERED = 10_000
"""How many openings are known by their keys, the latest."""

Work = Callable[[], Awaitable[Opened]]


class Openings:
    """What was opened by which key, also while it is being opened. A failure is not remembered."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[bytes, asyncio.Future[Opened]]] = OrderedDict()
        """A mark of what was asked in place of it, for its task may be long; and what it opened."""

    async def once(self, key: str | None, asked: object, work: Work) -> Opened:
        """What the first opening with the key gave; `work` does it. `asked` says what was to be
        opened, so that two can be told apart.

        Raises `InputError` where the key belongs to another opening, and what `work` raises.
        """
        if key is None:
            return await work()
        mark = blake2b(msgspec.json.encode(asked, order="deterministic"), digest_size=16).digest()
        known = self._known.get(key)
        if known is None:
            return await self._first(key, mark, work)
        if known[0] != mark:
            raise InputError(f"the key {seen(key)} opened another session; use a new one")
        return await asyncio.shield(known[1])

    async def _first(self, key: str, mark: bytes, work: Work) -> Opened:
        future = asyncio.get_running_loop().create_future()
        self._known[key] = mark, future
        try:
            opened = await work()
        except BaseException as error:
            self._known.pop(key, None)
            future.set_exception(error)
            future.exception()  # or it is logged where nobody asked a second time
            raise
        future.set_result(opened)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return opened
