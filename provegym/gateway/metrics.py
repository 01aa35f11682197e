"""Metrics in the Prometheus text format: sessions, calls by server and outcome, time of a call.

Calls are counted in plain integers, for a counter of the library costs as much as a call; its
collector reads them when somebody asks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

from provegym.types import Outcome

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from provegym.gateway.rooms import Rooms

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BOUNDS = (1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
"""Seconds: the upper bounds of the histogram's buckets."""


class Meter:
    """What the calls of a process came to."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, Outcome]] = Counter()
        """By server ("" where no server has the tool) and outcome."""
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0
        self.repeated = 0
        """Calls that were answered from memory, for their key was known."""

    def count(self, server: str, outcome: Outcome, seconds: float) -> None:
        """One call that ran."""
        self.calls[server, outcome] += 1
        self.buckets[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds


METER = Meter()
"""The meter of this process, over all its rooms."""


def text(rooms: Rooms, meter: Meter = METER) -> bytes:
    """All metrics as Prometheus reads them."""
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(rooms, meter))
    return generate_latest(registry)


class _Collector:
    """The library's interface to numbers that are kept elsewhere."""

    def __init__(self, rooms: Rooms, meter: Meter) -> None:
        self._rooms, self._meter = rooms, meter

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        yield from _sessions(self._rooms)
        yield from _calls(self._meter)


def _sessions(rooms: Rooms) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    yield GaugeMetricFamily("provegym_sessions", "Sessions alive.", value=len(rooms))
    told = {"opened": "opened", "closed": "closed by a client", "expired": "ended for being idle"}
    for event, words in told.items():
        name = f"provegym_sessions_{event}"
        count = rooms.counts[event]  # type: ignore[index]
        yield CounterMetricFamily(name, f"Sessions {words}.", value=count)


def _calls(meter: Meter) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

    labels = ("server", "outcome")
    calls = CounterMetricFamily("provegym_calls", "Calls by server and outcome.", labels=labels)
    for (server, outcome), count in sorted(meter.calls.items()):
        calls.add_metric((server, outcome), count)
    yield calls
    faults = sum(n for (_, outcome), n in meter.calls.items() if outcome == "infrastructure")
    yield CounterMetricFamily("provegym_faults", "Calls lost to faults of ours.", value=faults)
    repeated = "Calls answered from memory, for their key was known."
    yield CounterMetricFamily("provegym_calls_repeated", repeated, value=meter.repeated)
    bounds = [*map(str, BOUNDS), "+Inf"]
    buckets = list(zip(bounds, accumulate(meter.buckets), strict=True))
    times = HistogramMetricFamily("provegym_call_seconds", "Time that a call took to run.")
    times.add_metric((), [(b, float(n)) for b, n in buckets], meter.seconds)
    yield times
