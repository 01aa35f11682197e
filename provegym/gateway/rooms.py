"""A room: a session that others reach by its id, with the task it is for and the tools it shows."""

from __future__ import annotations

import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from hashlib import blake2b
from threading import Lock
from time import perf_counter
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from provegym import servers, worlds
from provegym.errors import InfrastructureError, InputError, ServerFault, seen
from provegym.gateway import listing
from provegym.gateway.metrics import METER
from provegym.gateway.wire import NO_JSON
from provegym.ground import check_world
from provegym.rollout import loop
from provegym.rollout.parse import storable
from provegym.rollout.reply import ToolCall
from provegym.types import Call, Task, Tool, Trace
from provegym.world.session import Result
from provegym.world.sessions import Sessions
from provegym.world.world import Bound

log = logging.getLogger(__name__)

KEYS = 64
"""How many calls with a key a room remembers, the latest: so many a client may safely retry."""
SNAPSHOTS = 64
"""How many snapshots a room keeps, the latest."""
MOST_BYTES = 64 << 20
"""Bytes of arguments that a session takes in its life, for each write may keep what it is told."""
RECORDED = 10_000
"""How many calls of a task's room are kept for its score; with more there is none."""

Arguments = str | bytes | dict[str, Any]


class Session(loop.Session, Protocol):
    """What a room needs of a session besides an episode's needs."""

    def call(self, name: str, arguments: Arguments) -> Result:
        """Run one tool on JSON text or an object of arguments."""
        ...

    def tools(self) -> list[Tool]:
        """Schemas of the tools on offer."""
        ...

    def fork(self) -> Session:
        """An independent session with the same state."""
        ...

    def snapshot(self) -> Any:
        """The state now."""
        ...

    def restore(self, snapshot: Any) -> None:
        """Back to a snapshot."""
        ...

    def reset(self) -> None:
        """Back to the start."""
        ...


Rooms = Sessions["Room"]
"""All rooms of a process, by id."""


class _Kept(Struct, frozen=True):
    """A snapshot of a session, and the calls that had been recorded then."""

    state: Any
    calls: tuple[Call, ...]


class Room:
    """A session and what is shown of it.

    A room of a task offers the task's own (perturbed) tools, those of its first turn until `enter`
    moves on, and records its calls for the score; any other room offers all tools of its servers.
    """

    def __init__(self, session: Session, task: Task | None = None, turn: int = 0) -> None:
        self.session = session
        self.task = task
        self.closed = False
        self._calls: list[Call] = []
        self._answers: OrderedDict[str, tuple[bytes, Result]] = OrderedDict()
        self._snapshots: OrderedDict[str, _Kept] = OrderedDict()
        self._taken = self._heard = 0
        self._offered: list[str] | None = None
        self._all = tuple(session.tools())
        world = getattr(session, "world", None)
        self.known: Mapping[str, Bound] = world.tools if world else {}
        """The tools of its world by name, on offer or not."""
        self.blocking: bool = getattr(session, "blocking", False)
        """Whether the session waits for something outside of this process, so that what is done
        with it belongs into a thread of its own."""
        self._lock = Lock()  # a retry waits for the call that it repeats, where calls take time
        self.enter(turn)

    def enter(self, turn: int) -> None:
        """The user turn (0-based) that calls belong to from now on; its tools join those shown.

        Raises `InputError` for a turn that the task does not have.
        """
        turns = 1 if self.task is None else max(len(self.task.turns), 1)
        if not 0 <= turn < turns:
            raise InputError(f"there is no turn {turn} here; the last is {turns - 1}")
        self.turn = turn
        if self.task is None:
            self.tools = self._all
        else:
            self.offer(tool.function.name for tool in loop.tools_at(self.task, turn))

    def servers(self) -> list[str]:
        """Whose tools are shown."""
        found = {listing.server_of(tool.function.name, self.known) for tool in self.tools}
        return sorted(found - {""})

    def offerable(self) -> set[str]:
        """Names of all tools that may be on offer: its world's, its task's, and the library's, for
        a task's list may hold some without their server.
        """
        task = self.task
        of_task = loop.tools_at(task, len(task.turns)) if task else ()
        named = {tool.function.name for tool in of_task}
        return named | self.known.keys() | listing.library().keys()

    def offer(self, names: Iterable[str] | None) -> None:
        """From now on these tools exist; a call of any other is `unknown_tool`. None: all do."""
        self._offered = [t.function.name for t in self._all] if names is None else list(names)
        self.session.offer(self._offered)
        task = self.task
        of_task = loop.tools_at(task, len(task.turns)) if task else ()
        shown = [tool for tool in of_task if tool.function.name in self._offered]
        known = {tool.function.name for tool in shown}
        others = [tool for tool in self.session.tools() if tool.function.name not in known]
        self.tools = (*shown, *others)

    # -- calls -----------------------------------------------------------------------------

    def call(self, name: str, arguments: Arguments, key: str | None = None) -> Result:
        """Run one tool, and record the call where the room has a task.

        A call with the `key` of an earlier one is not run again: it gets the answer of that one.
        The latest `KEYS` are remembered, but none that met a fault of ours. Such a fault does not
        raise: the outcome is `infrastructure`, and the error tells no more than that, for it may
        reach the policy; the log has the fault. The code is `server_fault` (a tool's body),
        `key_reused` (the key belongs to another call, and nothing ran) or `infrastructure`.
        Raises `SessionError` where the session itself has ended.
        """
        with self._lock:
            if key is None:
                return self._run(name, arguments)
            mark = _mark(name, arguments)
            known = self._answers.get(key)
            if known is None:
                return self._remember(key, mark, self._run(name, arguments))
        if known[0] != mark:
            return failed("key_reused", f"the key {seen(key)} was used for another call; use new")
        METER.repeated += 1
        return known[1]

    def _run(self, name: str, arguments: Arguments) -> Result:
        self._heard += len(_text(arguments)) if isinstance(arguments, dict) else len(arguments)
        if self._heard > MOST_BYTES:
            told = f"the session was told over {MOST_BYTES} bytes, the most there may be"
            return failed("session_full", told)
        start = perf_counter()
        try:
            result = self.session.call(name, arguments)
        except InfrastructureError as fault:
            log.error("tool %r: %s", name[:80], storable(str(fault)))
            code = "server_fault" if isinstance(fault, ServerFault) else "infrastructure"
            self._record(name, arguments, "infrastructure", loop.lost(fault))
            result = failed(code, "the tool failed for a reason of ours; the call does not count")
        else:
            if self.task is not None:
                self._record(name, arguments, result.outcome, result.builtins())
        bound = self.known.get(name)
        METER.count(bound.place if bound else "", result.outcome, perf_counter() - start)
        return result

    def _remember(self, key: str, mark: bytes, result: Result) -> Result:
        if result.outcome != "infrastructure":
            self._answers[key] = mark, result
            if len(self._answers) > KEYS:
                self._answers.popitem(last=False)
        return result

    # -- the score -------------------------------------------------------------------------

    def _record(self, name: str, arguments: Arguments, outcome: Any, value: Any) -> None:
        """Keep a call as the episode loop would, every call as a message of its own."""
        if self.task is not None and len(self._calls) <= RECORDED:
            made = ToolCall("", storable(name), _text(arguments))
            self._calls.append(loop.record(made, self.turn, len(self._calls), outcome, value))

    def trace(self, name: str) -> Trace:
        """The episode so far, with that id, ready to be scored against the room's task.

        Raises `InputError` where the room has no task, or made more calls than are kept.
        """
        if self.task is None:
            raise InputError("the session has no task to score against; open one with a task")
        if len(self._calls) > RECORDED:
            raise InputError(f"the session made over {RECORDED} calls, which is too many to score")
        changes = self.session.changes()
        return Trace(name, self.task.id, tuple(self._calls), final_changes=changes)

    # -- the whole state -------------------------------------------------------------------

    def snapshot(self) -> str:
        """Keep the state, and the calls that the score is about, under a name for `restore`."""
        self._taken += 1
        name = f"s{self._taken}-{secrets.token_urlsafe(8)}"  # of no other session
        self._snapshots[name] = _Kept(self.session.snapshot(), tuple(self._calls))
        if len(self._snapshots) > SNAPSHOTS:
            self._snapshots.popitem(last=False)
        return name

    def restore(self, name: str) -> None:
        """Back to a snapshot, any number of times.

        Raises `InputError` for one that is not kept.
        """
        kept = self._snapshots.get(name)
        if kept is None:
            raise InputError(f"there is no snapshot {seen(name)}; the latest {SNAPSHOTS} are kept")
        self.session.restore(kept.state)
        self._calls = list(kept.calls)
        self._answers.clear()  # what they tell of has not happened

    def reset(self) -> None:
        """Back to the start of the world; the tools shown stay."""
        self.session.reset()
        self._calls.clear()
        self._answers.clear()

    def fork(self) -> Room:
        """An independent room with the same state, calls and snapshots behind it."""
        twin = Room(self.session.fork(), self.task, self.turn)
        twin._calls, twin._taken = self._calls.copy(), self._taken
        twin._heard = self._heard
        twin._snapshots = self._snapshots.copy()
        if self._offered is not None:
            twin.offer(self._offered)
        return twin

    def close(self) -> None:
        """End the session; it stays closed."""
        self.closed = True
        self.session.close()


def failed(code: str, message: str) -> Result:
    """The result of a call that failed for a reason of ours, never of the policy's."""
    error = {"code": code, "message": message, "details": {}}
    return Result("infrastructure", {"error": error})


def _text(arguments: Arguments) -> str:
    """Arguments as text that a file can hold."""
    if isinstance(arguments, str):
        return storable(arguments)
    text = msgspec.json.encode(arguments) if isinstance(arguments, dict) else arguments
    return text.decode("utf-8", "backslashreplace")


def _mark(name: str, arguments: Arguments) -> bytes:
    """What two calls with one key must have in common: the name and what the arguments say, however
    they are spelt; of a text that is no JSON, every letter.
    """
    told = _text(arguments)
    with suppress(*NO_JSON):  # the session says that it is malformed
        told = msgspec.json.encode(msgspec.json.decode(told), order="deterministic").decode()
    text = msgspec.json.encode((storable(name), told))
    return blake2b(text, digest_size=16).digest()


Open = Callable[[int, tuple[str, ...]], Session]
"""A private session at the start of the world of that seed and those servers."""


def open_world(seed: int, names: tuple[str, ...]) -> Session:
    """A session of the library's worlds. Raises `UnknownName` for a server."""
    return servers.world(seed, names).open()


def room_of(task: Task) -> Room:
    """A room for a task. Raises as `new_room` does, and `UnknownName` for a server."""
    return new_room(worlds.open_session(task), task)


def new_room(session: Session, task: Task | None) -> Room:
    """A room for a session that was just opened, and for the task it was opened for.

    Raises `InputError`, and ends the session, where the task speaks of another world.
    """
    world = getattr(session, "world", None)
    if task is not None and world is not None:
        try:
            check_world(task, world.tools, world.templates)
        except InputError:
            session.close()
            raise
    return Room(session, task)
