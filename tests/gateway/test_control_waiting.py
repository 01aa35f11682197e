"""Sessions that wait for something outside hold nobody up, and are not waited for for ever."""

from __future__ import annotations

import asyncio
from threading import Barrier, Event
from typing import Any

import msgspec
import pytest

from provegym import servers
from provegym.gateway import batch, listing
from provegym.gateway.http import background
from provegym.gateway.rooms import Room
from provegym.gateway.wire import CallRequest, Calls, ManyCalls, SessionCall
from provegym.world.server import Server
from provegym.world.session import Result, Session
from provegym.world.world import World
from tests.gateway.control_app import PAD, control_app, new_rooms
from tests.gateway.test_control import Http


class Waiting(Session):
    """A session as another process has it: a call takes as long as something outside does."""

    blocking = True

    def __init__(self, wait: Any) -> None:
        super().__init__(World(7, [PAD]))
        self.wait = wait

    def call(self, name: str, arguments: str | bytes | dict[str, Any]) -> Result:
        self.wait()
        return super().call(name, arguments)


def write(text: str, key: str | None = None) -> CallRequest:
    return CallRequest("write_note", msgspec.Raw(msgspec.json.encode({"text": text})), key)


def outcomes(results: list[Result]) -> list[str]:
    return [r.outcome if r.outcome == "ok" else r.value["error"]["code"] for r in results]


def texts(room: Room) -> list[str]:
    return [note.text for note in room.session.call("list_notes", {}).value]


def test_sessions_that_wait_are_waited_for_beside_each_other() -> None:
    together = Barrier(3, timeout=30)  # each call ends only when all three are under way
    rooms = new_rooms()
    names = [rooms.add(Room(Waiting(together.wait))) for _ in range(3)]
    calls = tuple(
        SessionCall(call.name, call.arguments, session=name)
        for name in names
        for call in [write("x")]
    )
    answer = asyncio.run(batch.many(rooms, ManyCalls(calls), 30.0))
    assert outcomes(answer.results) == ["ok"] * 3


def test_a_call_under_way_is_left_at_the_deadline_and_never_run_twice() -> None:
    outside = Event()
    waiting = Waiting(lambda: outside.wait(30))
    room = Room(waiting)
    calls = Calls((write("tea", "k1"), write("cake", "k2")), deadline=0.05)

    async def ask_twice() -> tuple[list[Result], list[Result]]:
        first = await batch.one(room, calls, 30.0)
        again = asyncio.create_task(batch.one(room, Calls(calls.calls), 30.0))
        await asyncio.sleep(0)
        outside.set()
        return first.results, (await again).results

    late, done = asyncio.run(ask_twice())
    assert outcomes(late) == ["deadline", "deadline"]
    assert outcomes(done) == ["ok", "ok"]
    assert texts(room) == ["milk", "tea", "cake"]


def test_who_waits_holds_up_no_session_of_ours() -> None:
    outside = Event()
    rooms = new_rooms()
    slow = rooms.add(Room(Waiting(lambda: outside.wait(30))))
    quick = rooms.add(Room(World(7, [PAD]).open()))

    async def ask() -> tuple[list[Result], list[Result]]:
        waits = asyncio.create_task(batch.one(rooms.get(slow), Calls((write("a"),)), 30.0))
        await asyncio.sleep(0)
        here = await batch.one(rooms.get(quick), Calls((write("b"),)), 30.0)
        assert not waits.done()
        outside.set()
        return here.results, (await waits).results

    here, there = asyncio.run(ask())
    assert outcomes(here) == outcomes(there) == ["ok"]


def test_the_library_is_known_before_the_first_session_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load(name: str) -> Server:
        raise AssertionError(f"{name} is loaded while others wait")

    listing.library.cache_clear()
    app = control_app(new_rooms())
    monkeypatch.setattr(servers, "load", load)
    with background(app) as url:
        api = Http(url)
        path = f"/v1/sessions/{api.open()}/offer"
        assert api.error("POST", path, {"tools": ["ghost"]})[:2] == (422, "unknown_name")
        assert api("POST", path, {"tools": ["list_payees"]})[0] == 200
