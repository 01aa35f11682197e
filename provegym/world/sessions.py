"""Sessions by id, for whoever serves them to others: explicit about unknown, closed and expired.

An id is never re-used and no session is made by asking for it. A session that nobody asked for
during `idle` seconds expires at the next use of the registry. Time comes from the `clock` that
the caller passes in.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Generic, Literal, Protocol, TypeVar

from msgspec import Struct

from provegym.errors import SessionClosed, SessionExpired, SessionUnknown, seen

IDLE_SECONDS = 1800.0
"""Time to live without use."""
REMEMBERED = 10_000
"""How many ended ids are told apart from unknown ones, the latest: some 250 bytes each."""

End = Literal["closed", "expired"]


class Closable(Protocol):
    """What is kept: a session, or what is held around one."""

    def close(self) -> None:
        """End it; it stays closed."""
        ...


S = TypeVar("S", bound=Closable)


class _Live(Struct, Generic[S]):
    session: S
    used: float


class Sessions(Generic[S]):
    """The live sessions of one process.

    `clock` gives seconds that never go back (`time.monotonic`), `new_id` an id that was not given
    before (a token nobody can guess, where strangers may reach the server).
    """

    def __init__(
        self, clock: Callable[[], float], new_id: Callable[[], str], idle: float = IDLE_SECONDS
    ) -> None:
        self._clock = clock
        self._new_id = new_id
        self._idle = idle
        self._live: OrderedDict[str, _Live[S]] = OrderedDict()
        """Least recently used first."""
        self._ended: OrderedDict[str, End] = OrderedDict()
        self.counts: Counter[Literal["opened", "closed", "expired"]] = Counter()
        """How many sessions were opened and how they ended, since the start."""

    def items(self) -> list[tuple[str, S]]:
        """Ids and sessions that are alive, the longest unused first; they do not count as used."""
        self.expire()
        return [(name, live.session) for name, live in self._live.items()]

    def __len__(self) -> int:
        """How many sessions are alive."""
        self.expire()
        return len(self._live)

    def add(self, session: S) -> str:
        """Keep a session that was just opened, and return its id."""
        self.expire()
        name = self._new_id()
        if name in self._live or name in self._ended:
            raise ValueError(f"session id {name!r} was given before; new_id must not repeat itself")
        self._live[name] = _Live(session, self._clock())
        self.counts["opened"] += 1
        return name

    def get(self, name: str) -> S:
        """The session of that id, whose idle time starts anew.

        Raises SessionUnknown, SessionClosed or SessionExpired.
        """
        now = self._clock()
        self._expire(now)
        live = self._find(name)
        live.used = now
        self._live.move_to_end(name)
        return live.session

    def close(self, name: str) -> None:
        """End a session. Raises as `get` does, also where it was closed before."""
        self.expire()
        self._find(name)
        self._end(name, "closed")

    def expire(self) -> int:
        """End every session that was idle for too long; how many those were."""
        return self._expire(self._clock())

    def _expire(self, now: float) -> int:
        limit = now - self._idle
        count = 0
        while self._live:
            name, live = next(iter(self._live.items()))
            if live.used > limit:
                break
            self._end(name, "expired")
            count += 1
        return count

    def _find(self, name: str) -> _Live[S]:
        live = self._live.get(name)
        if live is not None:
            return live
        end = self._ended.get(name)
        if end == "closed":
            raise SessionClosed(f"session {name!r} was closed; open another one")
        if end == "expired":
            raise SessionExpired(
                f"session {name!r} was idle for {self._idle:g} s; open another one"
            )
        raise SessionUnknown(f"no session {seen(name)} was opened here")

    def _end(self, name: str, end: End) -> None:
        self._live.pop(name).session.close()
        self._ended[name] = end
        self.counts[end] += 1
        if len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)
