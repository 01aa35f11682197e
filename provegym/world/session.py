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

from provegym.errors import ServerFault, SessionClosed
from provegym.seeding import derive
from provegym.types import Changes, Outcome
from provegym.types import Tool as ToolSchema
from provegym.world.changes import canonical_changes
from provegym.world.table import Overlay, Table, Template, roll_back
from provegym.world.tool import Refused, Tool
from provegym.world.validate import MAX_BYTES, Problem, diagnose, is_finite, parse, whole_numbers

if TYPE_CHECKING:
    from provegym.world.server import State
    from provegym.world.world import World

_encode = msgspec.json.Encoder().encode
_canonical = msgspec.json.Encoder(order="sorted").encode
_MINUTE = timedelta(minutes=1)
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"


class Result(Struct, frozen=True, gc=False):
    """What a call gave. `value` is the tool's record, or `{"error": {code, message, details}}`."""

    outcome: Outcome
    value: Any

    def json(self) -> bytes:
        """The value as JSON text."""
        return _encode(self.value)

    def builtins(self) -> Any:
        """The value as plain dicts, lists, strings and numbers."""
        return msgspec.to_builtins(self.value)


class Snapshot(Struct, frozen=True):
    """A session's state at one moment; `restore` takes it any number of times."""

    overlays: dict[str, Overlay]
    minted: dict[str, int]
    writes: int


class Session:
    """One episode's private world."""

    __slots__ = (
        "_minted",
        "_offered",
        "_overlays",
        "_states",
        "_undo",
        "_writes",
        "closed",
        "world",
    )

    def __init__(self, world: World) -> None:
        self.world = world
        self.closed = False
        self._overlays: dict[str, Overlay] | None = None
        self._minted: dict[str, int] | None = None
        self._states: dict[str, State] | None = None
        self._undo: list[tuple[Overlay, str, Any]] | None = None
        self._offered: frozenset[str] | None = None
        self._writes = 0

    # -- calling ---------------------------------------------------------------------------

    def call(self, name: str, arguments: str | bytes | dict[str, Any]) -> Result:
        """Run one tool on JSON text or an object of arguments.

        Raises SessionClosed after `close`, ServerFault where the tool's body has a bug.
        """
        if self.closed:
            raise SessionClosed(f"session is closed; call of {name!r} refused")
        bound = self.world.tools.get(name)
        if bound is None or (self._offered is not None and name not in self._offered):
            return _problem(_unknown(name))
        server, tool = bound
        try:
            decoded = tool.decoder.decode(arguments)  # type: ignore[arg-type]
        except (msgspec.MsgspecError, TypeError, UnicodeError, RecursionError):
            decoded = _slow_decode(tool, arguments)
            if isinstance(decoded, Problem):
                return _problem(decoded)
        for parameter, accepts, hint in tool.checks:
            text = getattr(decoded, parameter)
            if text is not None and not accepts(text):
                return _problem(_badly_written(parameter, text, hint))
        return self._run(tool, self._state(server.name), decoded)

    def _run(self, tool: Tool, state: State, decoded: Any) -> Result:
        try:
            value = tool.run(state, *astuple(decoded))
        except Refused as refusal:
            self._roll_back()
            return Result("tool_error", _error(refusal.code, refusal.message, refusal.details))
        except Exception as error:
            self._roll_back()
            raise ServerFault(f"tool {tool.name} failed: {error!r}") from error
        if self._undo:
            self._undo.clear()
            self._writes += 1
        return Result("ok", value)

    def _roll_back(self) -> None:
        if self._undo:
            roll_back(self._undo)

    def _state(self, server: str) -> State:
        if self._states is None:
            self._states = {}
        state = self._states.get(server)
        if state is None:
            state = self._states[server] = self.world.servers[server].state(self)
        return state

    def state(self, server: str) -> State:
        """The typed view that the server's tools get (for invariants and samplers)."""
        return self._state(server)

    def open_table(self, name: str) -> Table[Any]:
        """The session's view of the table `server.table`."""
        if self._overlays is None:
            self._overlays, self._undo = {}, []
        if self._undo is None:
            self._undo = []
        own = self._overlays.setdefault(name, {})
        return Table(self.world.templates[name], own, self._undo, self._mint)

    # -- the tool list ---------------------------------------------------------------------

    def offer(self, names: Iterable[str] | None) -> None:
        """Limit the tools to these names; every other is an `unknown_tool`. None lifts it."""
        self._offered = None if names is None else frozenset(names)

    def tools(self) -> list[ToolSchema]:
        """Schemas of the tools on offer."""
        offered = self._offered
        return [
            b.tool.schema
            for name, b in self.world.tools.items()
            if offered is None or name in offered
        ]

    # -- time and ids ----------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        """The session's time: the world's start plus a minute a committed write."""
        return self.world.cast.start + self._writes * _MINUTE

    def _mint(self, template: Template[Any]) -> str:
        if self._minted is None:
            self._minted = {}
        own = (self._overlays or {}).get(template.name, {})
        while True:
            count = self._minted.get(template.name, 0)
            self._minted[template.name] = count + 1
            number = derive(self.world.seed, "id", template.name, count)
            letters = "".join(_LETTERS[(number >> 5 * i) & 31] for i in range(6))
            new = f"{template.prefix}_{letters}"
            if new not in own and new not in template.rows:
                return new

    # -- the whole state -------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The state now; later calls do not touch it."""
        overlays = {n: dict(own) for n, own in (self._overlays or {}).items() if own}
        return Snapshot(overlays, dict(self._minted or {}), self._writes)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of a session of the same world."""
        self._overlays = {n: dict(own) for n, own in snapshot.overlays.items()}
        self._minted = dict(snapshot.minted)
        self._writes = snapshot.writes
        self._states, self._undo = None, None

    def fork(self) -> Session:
        """An independent session with the same state."""
        twin = Session(self.world)
        twin.restore(self.snapshot())
        twin._offered = self._offered
        return twin

    def reset(self) -> None:
        """Back to the world's start."""
        self.restore(Snapshot({}, {}, 0))

    def changes(self) -> Changes:
        """What differs from the world's start, in canonical form."""
        return canonical_changes(self.world.templates, self._overlays or {})

    def digest(self) -> str:
        """Hash of the whole state: same seed, same calls, same digest anywhere."""
        overlays = {n: own for n, own in (self._overlays or {}).items() if own}
        text = _canonical([self.world.digest, overlays, self._minted or {}, self._writes])
        return hashlib.sha256(text).hexdigest()

    def close(self) -> None:
        """End the session and free its rows; it stays closed."""
        self.closed = True
        self._overlays = self._minted = self._states = self._undo = None


def _slow_decode(tool: Tool, arguments: str | bytes | dict[str, Any]) -> Any:
    """Decode what the compiled decoder refused, or say why it cannot be."""
    if not isinstance(arguments, dict) and len(arguments) > MAX_BYTES:
        size = f"{len(arguments)} bytes of arguments; at most {MAX_BYTES} are read"
        return Problem("tool_error", "too_large", size)
    given = _plain(arguments) if isinstance(arguments, dict) else parse(arguments)
    if isinstance(given, Problem):
        return given
    problem = diagnose(tool, given)
    if problem:
        return problem
    return msgspec.convert(whole_numbers(tool, given), tool.decoder.type)


def _plain(arguments: dict[str, Any]) -> dict[str, Any] | Problem:
    """A Python dict as JSON would carry it."""
    try:
        if is_finite(arguments):
            return parse(_encode(arguments))
        return Problem("malformed", "malformed", "arguments hold NaN or infinity; JSON has neither")
    except (TypeError, UnicodeError, RecursionError, msgspec.MsgspecError) as error:
        return Problem("malformed", "malformed", f"arguments cannot be said in JSON: {error}")


def _problem(problem: Problem) -> Result:
    return Result(problem.outcome, _error(problem.code, problem.message, problem.details))


def _error(code: str, message: str, details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "details": details}}


def _unknown(name: str) -> Problem:
    return Problem("unknown_tool", "unknown_tool", f"there is no tool {name[:80]!r}")


def _badly_written(parameter: str, text: str, hint: str) -> Problem:
    message = f"{parameter} is not well written: {text[:80]!r}. {hint}".strip()
    return Problem("tool_error", "invalid_value", message, {"argument": parameter})
