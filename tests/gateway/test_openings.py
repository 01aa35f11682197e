"""An opening with a key is done once, however often it is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from provegym.errors import InputError, LimitReached
from provegym.gateway import openings
from provegym.gateway.openings import Openings
from provegym.gateway.wire import Opened, OpenSession

BODY = OpenSession(1, ("banking",), key="k")


class Work:
    """Opens sessions numbered 1, 2, ..."""

    def __init__(self) -> None:
        self.done = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.fails = False

    async def __call__(self) -> Opened:
        await self.gate.wait()
        self.done += 1
        if self.fails:
            raise LimitReached("full")
        return Opened(str(self.done), "")


def run(test: Callable[[Openings, Work], Awaitable[None]]) -> None:
    async def inside() -> None:
        await test(Openings(), Work())

    asyncio.run(inside())


def test_the_same_key_gives_the_same_session_and_none_a_new_one() -> None:
    async def test(known: Openings, work: Work) -> None:
        other = OpenSession(1, ("banking",), key="other")
        keyless = OpenSession(1, ("banking",))
        bodies = (BODY, BODY, other, keyless, keyless, BODY)
        opened = [(await known.once(body.key, body, work)).id for body in bodies]
        assert opened == ["1", "1", "2", "3", "4", "1"]

    run(test)


def test_who_asks_while_the_first_is_under_way_waits_for_it() -> None:
    async def test(known: Openings, work: Work) -> None:
        work.gate.clear()
        tasks = [asyncio.create_task(known.once(BODY.key, BODY, work)) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[1].cancel()  # one client leaves; the others get their session
        work.gate.set()
        first, left, third = await asyncio.gather(*tasks, return_exceptions=True)
        assert (first, third) == (Opened("1", ""), Opened("1", ""))
        assert isinstance(left, asyncio.CancelledError)

    run(test)


def test_a_failure_is_told_and_tried_anew_the_next_time() -> None:
    async def test(known: Openings, work: Work) -> None:
        work.fails = True
        with pytest.raises(LimitReached):
            await known.once(BODY.key, BODY, work)
        work.fails = False
        assert (await known.once(BODY.key, BODY, work)).id == "2"

    run(test)


def test_a_key_belongs_to_what_it_opened() -> None:
    async def test(known: Openings, work: Work) -> None:
        await known.once(BODY.key, BODY, work)
        with pytest.raises(InputError, match="'k' opened another session"):
            await known.once("k", OpenSession(2, ("banking",), key="k"), work)
        assert work.done == 1

    run(test)


def test_the_latest_keys_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openings, "REMEMBERED", 2)

    async def test(known: Openings, work: Work) -> None:
        bodies = [OpenSession(1, ("banking",), key=str(n)) for n in (1, 2, 3, 2, 3, 1)]
        assert [(await known.once(body.key, body, work)).id for body in bodies] == [*"12323", "4"]

    run(test)
