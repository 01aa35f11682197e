"""Many calls in one request: in order within a session, and always an answer for each.

Worlds of ours answer at once and run here; sessions that wait for something outside (see
`Room.blocking`) run beside each other in threads.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import msgspec
from msgspec import Raw

from provegym.errors import InputError, SessionClosed, SessionError, SessionExpired
from provegym.gateway.rooms import KEYS, Room, Rooms, failed
from provegym.gateway.wire import CallRequest, Calls, ManyCalls, Results
from provegym.world.session import Result

SLICE = 0.005
"""Seconds after which others get their turn."""
THREADS = 256
"""So many sessions that wait for something outside are waited for at once."""

Job = tuple[Room | Result, CallRequest]
"""A call and its room, or the result where there is none."""

_aside = ThreadPoolExecutor(THREADS, "provegym-batch")
_text_of = msgspec.json.Decoder(str).decode


async def one(room: Room, body: Calls, seconds: float) -> Results:
    """The calls of one room. `seconds` is the deadline where the request has none.

    Raises `InputError` where it has more calls with keys than a room remembers.
    """
    _check_keys(["" for call in body.calls if call.key])
    return await _run([(room, call) for call in body.calls], body.deadline or seconds)


async def many(rooms: Rooms, body: ManyCalls, seconds: float) -> Results:
    """The calls of many rooms; one that is gone is said so in the results of its calls.

    Raises `InputError` as `one` does.
    """
    check_many(body)
    found = {name: _find(rooms, name) for name in {call.session for call in body.calls}}
    jobs: list[Job] = [(found[call.session], call) for call in body.calls]
    return await _run(jobs, body.deadline or seconds)


def check_many(body: ManyCalls) -> None:
    """Raise `InputError` for what no batch may be, wherever its sessions live."""
    _check_keys([call.session for call in body.calls if call.key])


def code_of(error: SessionError) -> str:
    """The stable code of a session that cannot be used."""
    if isinstance(error, SessionClosed):
        return "session_closed"
    return "session_expired" if isinstance(error, SessionExpired) else "session_unknown"


def _check_keys(sessions: list[str]) -> None:
    """See that each call of a request that is made again would still be remembered."""
    if len(sessions) > KEYS:
        count = max(Counter(sessions).values())
        if count > KEYS:
            raise InputError(
                f"{count} calls with keys for one session; send {KEYS} at most at once"
            )


def _find(rooms: Rooms, name: str) -> Room | Result:
    try:
        return rooms.get(name)
    except SessionError as error:
        return failed(code_of(error), str(error))


async def _run(jobs: Sequence[Job], seconds: float) -> Results:
    end = monotonic() + seconds
    late = failed("deadline", f"not done within {seconds:g} s; the call does not count")
    results = [late] * len(jobs)
    aside: dict[Room, list[tuple[int, CallRequest]]] = {}
    pause = monotonic() + SLICE
    for place, (room, call) in enumerate(jobs):
        if isinstance(room, Result):
            results[place] = room
        elif room.blocking:
            aside.setdefault(room, []).append((place, call))
        elif (now := monotonic()) < end:
            results[place] = _call(room, call)
            if now > pause:
                pause = now + SLICE
                await asyncio.sleep(0)
    if aside:
        await _beside(aside, results, end)
    return Results(results.copy())  # a thread that is late may still write into the other


async def _beside(
    aside: dict[Room, list[tuple[int, CallRequest]]], results: list[Result], end: float
) -> None:
    """The calls of rooms that block, all rooms at once, until `end`."""

    def work(room: Room, calls: list[tuple[int, CallRequest]]) -> None:
        for place, call in calls:
            if monotonic() < end:
                results[place] = _call(room, call)

    loop = asyncio.get_running_loop()
    waits = [loop.run_in_executor(_aside, work, room, calls) for room, calls in aside.items()]
    done, _ = await asyncio.wait(waits, timeout=max(0.0, end - monotonic()))
    for wait in done:
        wait.result()


def _call(room: Room, call: CallRequest) -> Result:
    try:
        return room.call(call.name, _given(call.arguments), call.key)
    except SessionError as error:  # it ended while others had their turn
        return failed(code_of(error), str(error))


def _given(raw: Raw) -> str | bytes:
    """An object's text as it is, a string's content."""
    text = bytes(raw)
    if text[:1] != b'"':
        return text
    try:
        return _text_of(text)
    except msgspec.MsgspecError:
        return text  # no UTF-8: the session says that it is no JSON
