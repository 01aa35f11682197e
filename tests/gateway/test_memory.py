"""What sessions leave behind when they end."""

from __future__ import annotations

import fnmatch
import functools
import gc
import inspect
import tracemalloc

import httpx2
import pytest

from provegym import servers
from provegym.errors import SessionClosed, SessionUnknown
from provegym.gateway import control, listing, openings
from provegym.gateway.openings import Openings
from provegym.gateway.rooms import Room, Rooms, open_world
from provegym.gateway.settings import Settings
from provegym.servers.calendar import state as calendar
from provegym.servers.calendar.recurrence import recurring
from provegym.world import sessions
from provegym.world.sessions import Sessions
from provegym.world.world import templates
from tests.gateway.house import Clock, house


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


def test_what_is_kept_of_ended_sessions_stays_at_its_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sessions live and end through the whole app; each table is counted."""
    monkeypatch.setattr(sessions, "REMEMBERED", 10)
    monkeypatch.setattr(openings, "REMEMBERED", 5)
    tables: list[Openings] = []

    def table() -> Openings:
        tables.append(Openings())
        return tables[-1]

    monkeypatch.setattr(control, "Openings", table)
    with house(Settings(servers=("banking",))) as gateway, httpx2.Client(timeout=60) as client:
        gateway.send = client.post
        for i in range(20):
            body = {"seed": 7, "servers": ["banking"], "key": f"k{i}"}
            name = gateway.post("/v1/sessions", body).json()["id"]
            called = gateway.ask(f"/s/{name}/mcp", "tools/call", {"name": "list_payees"})
            assert called.status_code == 200
            assert client.delete(f"{gateway.url}/v1/sessions/{name}").status_code == 200
        assert len(gateway.rooms) == 0
        assert len(gateway.rooms._ended) == 10
    assert [len(found._known) for found in tables] == [5]
    marks = [mark for mark, _ in tables[0]._known.values()]
    assert {type(mark) for mark in marks} == {bytes}, "a body, with its task, is not kept"


def test_rows_that_sessions_wrote_stay_in_no_cache() -> None:
    def live(number: int) -> None:
        session = open_world(7, ("calendar",))
        start = f"2031-03-{1 + number % 28:02d}T09:{number // 28:02d}:00+00:00"
        end = start.replace("T09", "T11")
        event = {"title": f"Event {number}", "start": start, "end": end}
        assert session.call("create_event", event).outcome == "ok"
        listed = session.call("list_events", {"start_date": start[:10]}).builtins()
        assert [row["title"] for row in listed["events"]] == [event["title"]]
        session.close()

    live(0)
    known, series = len(calendar._known), recurring.cache_info().currsize
    for number in range(1, 300):
        live(number)
    assert len(calendar._known) == known
    assert recurring.cache_info().currsize == series


def test_texts_that_sessions_wrote_stay_in_no_cache() -> None:
    def live(count: int) -> None:
        for number in range(count):
            session = open_world(7, ("email",))
            body = f"{number} of {count}, " + 40 * "which nobody else says "
            sent = {"to": ["anna@example.com"], "subject": "New", "body": body}
            assert session.call("send_email", sent).outcome == "ok"
            assert session.call("search_emails", {"query": "nobody else"}).builtins()["total"] == 1
            session.close()

    live(50)
    tracemalloc.start()
    try:
        live(51)
        before = tracemalloc.get_traced_memory()[0]
        live(300)
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after - before < 50_000


def test_patterns_that_sessions_looked_for_stay_in_no_cache_but_the_few_of_re() -> None:
    session = open_world(7, ("filesystem",))
    before = fnmatch._compile_pattern.cache_info().currsize  # type: ignore[attr-defined]
    for number in range(20):
        found = session.call("find_files", {"path": "/", "name": f"*{number}.md"})
        assert found.outcome == "ok"
    assert fnmatch._compile_pattern.cache_info().currsize == before  # type: ignore[attr-defined]


def test_every_cache_has_a_bound() -> None:
    listing.library()
    # The type is looked at, for `isinstance` asks torch's deprecated objects for their class.
    caches = [o for o in gc.get_objects() if type(o) is functools._lru_cache_wrapper]
    ours = [cache for cache in caches if cache.__module__.startswith("provegym.")]
    assert servers.worlds in ours
    for cache in ours:
        is_constant = not inspect.signature(cache).parameters
        assert is_constant or cache.cache_info().maxsize, cache.__qualname__


def test_worlds_hold_no_more_tables_than_are_kept_of_all_servers() -> None:
    worlds, kept = servers.worlds.cache_info().maxsize, templates.cache_info().maxsize
    assert worlds is not None
    assert kept is not None
    assert worlds * len(servers.library()) <= kept
