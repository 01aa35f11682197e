"""What sessions leave behind when they end."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from provegym.errors import SessionClosed, SessionUnknown
from provegym.gateway.rooms import Room, Rooms, open_world
from provegym.world import sessions
from provegym.world.sessions import Sessions
from tests.gateway.house import Clock


def rooms_of(clock: Clock, idle: float = 60.0) -> Rooms:
    numbers = iter(range(10**9))
    return Sessions(clock, lambda: f"{next(numbers):032d}", idle)


def live_through(rooms: Rooms, clock: Clock, count: int) -> None:
    """So many sessions with a write each; every third is left to expire, the others closed."""
    for i in range(count):
        room = Room(open_world(7, ("banking",)))
        room.call("add_payee", {"name": f"P{i}", "iban": "DE89370400440532013000"}, key=f"k{i}")
        room.snapshot()
        name = rooms.add(room)
        clock.now += 1.0
        if i % 3:
            rooms.close(name)


def held(rooms: Rooms, clock: Clock, count: int) -> int:
    """Bytes held after so many more sessions."""
    live_through(rooms, clock, count)
    clock.now += 1000.0
    assert len(rooms) == 0
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_ended_ids_are_remembered_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "REMEMBERED", 3)
    clock = Clock()
    rooms = rooms_of(clock)
    names = [rooms.add(Room(open_world(7, ("banking",)))) for _ in range(4)]
    for name in names:
        rooms.close(name)
    for name, error in zip(names, [SessionUnknown, *[SessionClosed] * 3], strict=True):
        with pytest.raises(error):
            rooms.get(name)


def test_two_thousand_sessions_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "REMEMBERED", 100)
    leaves_nothing(200, 2000)


@pytest.mark.slow
def test_a_hundred_thousand_sessions_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "REMEMBERED", 1000)
    leaves_nothing(2000, 100_000)


def leaves_nothing(few: int, many: int) -> None:
    """See that memory does not grow after the first sessions; bytes, not megabytes, are noise."""
    clock = Clock()
    rooms = rooms_of(clock)
    live_through(rooms, clock, few)
    tracemalloc.start()
    try:
        before = held(rooms, clock, few)
        after = held(rooms, clock, many)
    finally:
        tracemalloc.stop()
    assert after - before < 50_000, f"{(after - before) / many:.1f} bytes a session"
