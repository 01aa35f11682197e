"""What the control API can do, one function an operation, and the table of them all.

`control` serves the table over HTTP and `openapi` describes it, so the two cannot differ.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol, TypeVar

from msgspec import Struct

import provegym
from provegym.errors import InputError, LimitReached
from provegym.gateway import batch, wire
from provegym.gateway.openings import Openings
from provegym.gateway.rooms import Open, Room, Rooms, new_room
from provegym.gateway.sound import check_servers, check_task, check_tools
from provegym.gateway.wire import Done, Nothing, Opened
from provegym.rewards import score
from provegym.types import Score, Trace

T = TypeVar("T")

_ALL = "/v1/sessions"
_ONE = "/v1/sessions/{session}"


class Settings(Protocol):
    """What the operations need of the gateway's settings."""

    @property
    def sessions(self) -> int:
        """Most sessions alive at once."""
        ...

    @property
    def deadline(self) -> float:
        """Seconds for the calls of one request that names no deadline."""
        ...


class Limits(Struct, frozen=True):
    """These settings by themselves, where the control API is served alone."""

    sessions: int = 10_000
    deadline: float = 30.0


class Desk(NamedTuple):
    """What every operation works on."""

    rooms: Rooms
    settings: Settings
    open: Open
    openings: Openings


class Operation(NamedTuple):
    """One operation. `run` gets the desk, the session id in the path ("" without) and the body."""

    method: str
    path: str
    says: str
    run: Callable[[Desk, str, Any], Awaitable[Any]]
    body: Any
    answer: Any
    status: int = 200


# -- sessions ---------------------------------------------------------------------------------


async def open_session(desk: Desk, _: str, body: wire.OpenSession) -> Opened:
    """A new session, or the one that the body's key opened before.

    Raises `InputError` for a world that there is none of, `LimitReached`.
    """
    return await desk.openings.once(body.key, body, lambda: _open(desk, body))


async def _open(desk: Desk, body: wire.OpenSession) -> Opened:
    _check_places(desk)
    seed, servers = _place(body)
    if getattr(desk.open, "blocking", False):
        session = await asyncio.to_thread(desk.open, seed, servers)
    else:
        session = desk.open(seed, servers)
    return _add(desk, new_room(session, body.task))


async def list_sessions(desk: Desk, _: str, body: None) -> wire.Listed:
    """All sessions alive; looking at them does not keep them so."""
    return wire.Listed(tuple(_opened(name, room) for name, room in desk.rooms.items()))


async def show_session(desk: Desk, name: str, body: None) -> Opened:
    """One session."""
    return _opened(name, desk.rooms.get(name))


async def close_session(desk: Desk, name: str, body: None) -> Done:
    """End a session; it stays closed."""
    desk.rooms.close(name)
    return Done()


async def fork(desk: Desk, name: str, body: wire.Fork) -> Opened:
    """A new session with the state of this one, or the one that the body's key made before."""
    return await desk.openings.once(body.key, ("fork", name), lambda: _fork(desk, name))


async def _fork(desk: Desk, name: str) -> Opened:
    _check_places(desk)
    room = desk.rooms.get(name)
    return _add(desk, await _in(room, room.fork))


def _place(body: wire.OpenSession) -> tuple[int, tuple[str, ...]]:
    """Seed and servers that a body asks for, by themselves or as its task's."""
    if body.task is not None:
        check_task(body.task)
        place = body.task.seed, body.task.servers
        if (body.seed, body.servers) not in ((None, None), place):
            raise InputError("seed and servers are the task's; leave them out or name the same")
        return place
    if body.seed is None or not body.servers:
        raise InputError("give a seed and servers, or a task")
    check_servers("servers", body.servers)
    return body.seed, body.servers


def _check_places(desk: Desk) -> None:
    if len(desk.rooms) >= desk.settings.sessions:
        most = f"{desk.settings.sessions} sessions are open, the most there may be"
        raise LimitReached(f"{most}; close one or wait until one expires")


def _add(desk: Desk, room: Room) -> Opened:
    try:
        _check_places(desk)  # others may have come while this one was waited for
    except LimitReached:
        room.close()
        raise
    return _opened(desk.rooms.add(room), room)


def _opened(name: str, room: Room) -> Opened:
    return Opened(name, f"/s/{name}/mcp", room.task.id if room.task else None, room.turn)


# -- calls ------------------------------------------------------------------------------------


async def call(desk: Desk, name: str, body: wire.Calls) -> wire.Results:
    """Calls of one session."""
    return await batch.one(desk.rooms.get(name), body, desk.settings.deadline)


async def call_many(desk: Desk, _: str, body: wire.ManyCalls) -> wire.Results:
    """Calls of many sessions."""
    return await batch.many(desk.rooms, body, desk.settings.deadline)


# -- what a room can do -----------------------------------------------------------------------


def offer(room: Room, name: str, body: wire.Offer) -> Done:
    """Other tools from now on."""
    if body.tools is not None and body.turn is not None:
        raise InputError("name tools or a turn, not both")
    if body.turn is not None:
        if room.task is None:
            told = f"turn {body.turn}: the session has no task and so no turns; name tools"
            raise InputError(told)
        room.enter(body.turn)
    else:
        if body.tools:
            check_tools(body.tools, room.offerable(), room.known)
        room.offer(body.tools)
    return Done()


def snapshot(room: Room, name: str, body: Nothing) -> wire.Snapshot:
    """Keep the state under a name."""
    return wire.Snapshot(room.snapshot())


def restore(room: Room, name: str, body: wire.Restore) -> Done:
    """Back to a snapshot."""
    room.restore(body.snapshot)
    return Done()


def reset(room: Room, name: str, body: Nothing) -> Done:
    """Back to the start of the world."""
    room.reset()
    return Done()


def changes(room: Room, name: str, body: None) -> wire.ChangesAnswer:
    """What differs from the start."""
    return wire.ChangesAnswer(room.session.changes())


def digest(room: Room, name: str, body: None) -> wire.Digest:
    """The state's hash."""
    return wire.Digest(room.session.digest())


def tools(room: Room, name: str, body: None) -> wire.Tools:
    """The tools on offer."""
    return wire.Tools(room.tools)


def trace(room: Room, name: str, body: None) -> Trace:
    """The calls so far and what they changed, as an episode of the room's task."""
    return room.trace(name)


def score_room(room: Room, name: str, body: wire.ScoreRequest) -> Score:
    """The reward of the calls so far against the room's task."""
    trace = room.trace(name)
    assert room.task is not None  # or there is no trace
    return score(room.task, trace, body.preset)


async def _in(room: Room, work: Callable[[], T]) -> T:
    """Work on a room, in a thread where it has to wait."""
    return await asyncio.to_thread(work) if room.blocking else work()


def _of_room(
    method: str,
    end: str,
    says: str,
    work: Callable[[Room, str, Any], Any],
    body: Any,
    answer: Any,
) -> Operation:
    """An operation on the room that the path names."""

    async def run(desk: Desk, name: str, asked: Any) -> Any:
        room = desk.rooms.get(name)
        return await _in(room, lambda: work(room, name, asked))

    return Operation(method, f"{_ONE}/{end}", says, run, body, answer)


async def health(desk: Desk, _: str, body: None) -> wire.Health:
    """That the server answers."""
    return wire.Health("ok", provegym.__version__, len(desk.rooms))


OPERATIONS = (
    Operation("POST", _ALL, "Open a session", open_session, wire.OpenSession, Opened, 201),
    Operation("GET", _ALL, "List the sessions", list_sessions, None, wire.Listed),
    Operation("GET", _ONE, "Show a session", show_session, None, Opened),
    Operation("DELETE", _ONE, "Close a session", close_session, None, Done),
    Operation("POST", f"{_ONE}/calls", "Call its tools", call, wire.Calls, wire.Results),
    Operation(
        *("POST", "/v1/calls", "Call tools of many sessions", call_many),
        body=wire.ManyCalls,
        answer=wire.Results,
    ),
    Operation("POST", f"{_ONE}/fork", "Copy a session", fork, wire.Fork, Opened, 201),
    _of_room("POST", "snapshot", "Keep the state under a name", snapshot, Nothing, wire.Snapshot),
    _of_room("POST", "restore", "Go back to a snapshot", restore, wire.Restore, Done),
    _of_room("POST", "reset", "Go back to the start", reset, Nothing, Done),
    _of_room("POST", "offer", "Offer other tools", offer, wire.Offer, Done),
    _of_room("GET", "changes", "What differs from the start", changes, None, wire.ChangesAnswer),
    _of_room("GET", "digest", "The hash of the state", digest, None, wire.Digest),
    _of_room("GET", "tools", "The tools on offer", tools, None, wire.Tools),
    _of_room("GET", "trace", "The calls so far as a trace", trace, None, Trace),
    _of_room("POST", "score", "Score the calls so far", score_room, wire.ScoreRequest, Score),
    Operation("GET", "/healthz", "Whether the server is up", health, None, wire.Health),
)
