"""A session: one private, copy-on-write world. Opening, forking and resetting cost micro-seconds.

A call either commits all of its writes or none. What the policy did wrong is a `Result`; only
our own faults raise (`ServerFault`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from provegym.errors import InfrastructureError, ServerFault, SessionClosed
from provegym.types import Changes, Outcome
from provegym.types import Tool as ToolSchema
from provegym.world.changes import canonical_changes
from provegym.world.table import Overlay, Table, Undo, roll_back
from provegym.world.tool import Refused
from provegym.world.validate import MAX_BYTES, Problem, too_large, understand, unserved

if TYPE_CHECKING:
    from provegym.world.server import State
    from provegym.world.world import Bound, World

_encode = msgspec.json.Encoder().encode
_canonical = msgspec.json.Encoder(order="sorted").encode
_MINUTE = timedelta(minutes=1)


class Result(Struct, frozen=True, gc=False):
    """What a call gave. `value` is the tool's record, or `{"error": {code, message, details}}`."""

    outcome: Outcome
    value: Any

    def json(self) -> bytes:
        """The value as JSON text."""
        return _encode(self.value)

    def builtins(self) -> Any:
        """The value as plain dicts, lists, strings and numbers, as its JSON has it."""
        return msgspec.json.decode(_encode(self.value))


class Snapshot(Struct, frozen=True):
    """A session's state at one moment; `restore` takes it any number of times."""

    overlays: dict[str, Overlay]
    minted: dict[str, int]
    writes: int


_START = Snapshot({}, {}, 0)
_SURELY_SMALL = MAX_BYTES // 4
"""So many characters are at most MAX_BYTES bytes."""
_NO_TOOLS: dict[str, Bound] = {}
_NO_TABLES: dict[str, Table[Any]] = {}
_NO_STATES: dict[str, tuple[State]] = {}
_NONE_MINTED: dict[str, int] = {}
_NO_UNDO: Undo = []
_NONE_UNSERVED: frozenset[str] = frozenset()
"""Stand in, never written to, until a session touches its first table."""


class Session:
    """One episode's private world."""

    __slots__ = (
        *("_minted", "_states", "_tables", "_tools", "_undo", "_unserved", "_writes"),
        *("closed", "world"),
    )

    def __init__(self, world: World) -> None:
        self.world = world
        self.closed = False
        self._tools = world.tools
        self._tables = _NO_TABLES
        self._states = _NO_STATES
        self._minted = _NONE_MINTED
        self._undo = _NO_UNDO
        self._unserved = _NONE_UNSERVED
        self._writes = 0

    @property
    def blocking(self) -> bool:
        """Whether its calls may wait for another process; such a session may be called from any
        thread, by one at a time.
        """
        return any(server.outside for server in self.world.servers.values())

    # -- calling ---------------------------------------------------------------------------

    def call(self, name: str, arguments: str | bytes | dict[str, Any]) -> Result:
        """Run one tool on JSON text or an object of arguments.

        Raises SessionClosed after `close`, ServerFault where the tool's body has a bug.
        """
        try:
            _, tool, place, decode, checks, run = self._tools[name]
        except (KeyError, TypeError):  # TypeError: of a name that is no text, a list for one
            return self._no_tool(name, arguments)
        try:
            text: Any = _encode(arguments) if type(arguments) is dict else arguments
            if len(text) > _SURELY_SMALL and too_large(text):
                return _problem(understand(tool, text))
            given = astuple(decode(text))
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
            decoded = understand(tool, arguments)
            if isinstance(decoded, Problem):
                return _problem(decoded)
            given = astuple(decoded)
            checks = ()
        if checks:
            for i, accepts, default in checks:
                if given[i] is not default and not accepts(given[i]):
                    decoded = understand(tool, text)
                    if isinstance(decoded, Problem):
                        return _problem(decoded)
        try:
            first = self._states[place]
        except KeyError:
            first = (self.state(place),)
        try:
            value = run(*(first + given))  # joined tuples: half the cost of `run(state, *given)`
        except Refused as refusal:
            self._roll_back()
            return Result(refusal.outcome, _error(refusal.code, refusal.message, refusal.details))
        except BaseException as error:  # an interrupt must not leave half a call behind either
            self._roll_back()
            if isinstance(error, Exception) and not isinstance(error, InfrastructureError):
                raise ServerFault(f"tool {tool.name} failed: {error!r}") from error
            raise
        if self._undo:
            self._undo.clear()
            self._writes += 1
        return Result("ok", value)

    def _roll_back(self) -> None:
        if self._undo:
            roll_back(self._undo)

    def _no_tool(self, name: object, arguments: object) -> Result:
        self._check_open()
        if isinstance(name, str) and name in self._unserved:
            return _problem(unserved(name, arguments))
        return _problem(_unknown(name))

    def _check_open(self) -> None:
        if self.closed:
            raise SessionClosed("the session is closed; open another one")

    def state(self, server: str) -> State:
        """The typed view that the server's tools get (for invariants and samplers).

        It stays valid, and follows the session, through `restore` and `reset`.
        """
        found = self._states.get(server)
        if found is None:
            self._check_open()
            found = (self.world.servers[server].state(self),)
            self._states = {**self._states, server: found}
        return found[0]

    def open_table(self, name: str) -> Table[Any]:
        """The session's view of the table `server.table`."""
        view = self._tables.get(name)
        if view is None:
            self._check_open()
            if self._tables is _NO_TABLES:
                self._undo, self._minted, self._tables = [], {}, {}
            view = Table(self.world.templates[name], self._undo, self._minted)
            self._tables[name] = view
        return view

    # -- the tool list ---------------------------------------------------------------------

    def offer(self, names: Iterable[str] | None) -> None:
        """Limit the tools to these names; every other is an `unknown_tool`. None lifts it.

        A call of one that no server of the world has is a `tool_error` of the code `no_server`.
        """
        self._check_open()
        tools = self.world.tools
        shown = list(tools if names is None else names)
        self._tools = tools if names is None else {n: tools[n] for n in shown if n in tools}
        self._unserved = _NONE_UNSERVED.union(n for n in shown if n not in tools)

    def tools(self) -> list[ToolSchema]:
        """Schemas of the tools on offer, in the order of their servers."""
        on_offer = self._tools
        return [b.tool.schema for name, b in self.world.tools.items() if name in on_offer]

    # -- time ------------------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        """The session's time: the world's start plus a minute a committed write."""
        return self.world.cast.start + self._writes * _MINUTE

    # -- the whole state -------------------------------------------------------------------

    def _overlays(self) -> dict[str, Overlay]:
        self._check_open()
        return {name: view.own for name, view in self._tables.items() if view.own}

    def snapshot(self) -> Snapshot:
        """The state now; later calls do not touch it."""
        overlays = {name: own.copy() for name, own in self._overlays().items()}
        return Snapshot(overlays, self._minted.copy(), self._writes)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of a session of the same world."""
        self._check_open()
        self._undo.clear()
        for view in self._tables.values():
            view.own.clear()
        for name in snapshot.minted:
            self.open_table(name)
        for name, own in snapshot.overlays.items():
            self.open_table(name).own.update(own)
        if self._tables:
            self._minted.clear()
            self._minted.update(snapshot.minted)
        self._writes = snapshot.writes

    def fork(self) -> Session:
        """An independent session with the same state."""
        twin = Session(self.world)
        twin.restore(Snapshot(self._overlays(), self._minted, self._writes))
        twin._tools, twin._unserved = self._tools, self._unserved
        return twin

    def reset(self) -> None:
        """Back to the world's start; the tools on offer stay as they are."""
        self.restore(_START)

    def changes(self) -> Changes:
        """What differs from the world's start, in canonical form."""
        return canonical_changes(self.world.templates, self._overlays())

    def digest(self) -> str:
        """Hash of the whole state: same seed, same calls, same digest anywhere."""
        text = _canonical([self.world.digest, self._overlays(), self._minted, self._writes])
        return hashlib.sha256(text).hexdigest()

    def close(self) -> None:
        """End the session and free its rows; it stays closed."""
        self.closed = True
        self._tools = _NO_TOOLS
        self._tables, self._states = _NO_TABLES, _NO_STATES
        self._minted, self._undo = _NONE_MINTED, _NO_UNDO


def _problem(problem: Problem) -> Result:
    return Result(problem.outcome, _error(problem.code, problem.message, problem.details))


def _error(code: str, message: str, details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "details": details}}


def _unknown(name: object) -> Problem:
    told = repr(name[:80] if isinstance(name, str) else name)[:320]
    return Problem("unknown_tool", "unknown_tool", f"there is no tool {told}")
