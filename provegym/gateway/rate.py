"""How often who may ask: one bucket of tokens for each session's URL, or else each address.

A bucket holds what may be asked at once and fills at a constant rate (the token bucket of RFC
2697, with one colour).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import islice
from time import monotonic
from typing import Literal

from msgspec import Struct
from starlette.types import Scope

BURST_SECONDS = 10.0
"""A full bucket holds the requests of so many seconds."""
BUCKETS = 20_000
"""So many buckets are kept at most, those used last. A forgotten one starts full again."""

ADDRESS_SHARE = 10.0
"""An address may ask so many times as often as a session: behind it is a trainer with many."""
NAME_LENGTH = 100
"""So much of a session's name tells it from others."""

Who = tuple[Literal["session", "address", "open"], str]


class _Bucket(Struct):
    left: float
    seen: float


class Rates:
    """The buckets. `rate`: requests a second of one session; 0 for any number."""

    def __init__(self, rate: float, clock: Callable[[], float] = monotonic) -> None:
        self._rate = rate
        self._fills = max(BURST_SECONDS, 1 / rate) if rate else 0.0
        """Seconds after which any bucket is full that nobody takes from."""
        self._clock = clock
        self._buckets: OrderedDict[Who, _Bucket] = OrderedDict()

    def take(self, who: Who) -> float:
        """Count one request; 0 where it may go on, else the seconds until one may."""
        if not self._rate:
            return 0.0
        rate = self._rate * (ADDRESS_SHARE if who[0] == "address" else 1.0)
        most = max(1.0, rate * BURST_SECONDS)
        now = self._clock()
        self._forget(now)
        bucket = self._buckets.get(who)
        if bucket is None:
            bucket = self._new(who, _Bucket(most, now))
        self._buckets.move_to_end(who)
        left = min(most, bucket.left + (now - bucket.seen) * rate)
        bucket.seen = now
        bucket.left = left - 1 if left >= 1 else left
        return 0.0 if left >= 1 else (1 - left) / rate

    def _forget(self, now: float) -> None:
        """Drop the two that are unused the longest, where they are full again by now: more than
        one request can add, so that none is left of sessions that ended.
        """
        for who in list(islice(self._buckets, 2)):
            if now - self._buckets[who].seen >= self._fills:
                del self._buckets[who]

    def _new(self, who: Who, full: _Bucket) -> _Bucket:
        if len(self._buckets) >= BUCKETS:
            self._buckets.popitem(last=False)
        return self._buckets.setdefault(who, full)


def who_asks(scope: Scope) -> Who:
    """The session whose URL is used, else the client's address.

    What is open to all is counted apart, so that nobody without the token can use up what those
    with it may ask from the same address.
    """
    path: str = scope["path"]
    if path.startswith("/s/"):
        return "session", path[3:].partition("/")[0][:NAME_LENGTH]
    client = scope.get("client")
    return "open" if path == "/healthz" else "address", client[0] if client else ""
