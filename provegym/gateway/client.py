"""Sessions of a gateway, used like those of this process: `provegym.connect(url)`.

Whatever is lost on the way is asked for again. Each call, opening and fork carries a key of its
own, so that the server does it once even if it is asked twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from secrets import token_hex
from types import TracebackType
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from provegym.errors import (
    InfrastructureError,
    InputError,
    ProvegymError,
    ServerFault,
    SessionClosed,
    SessionExpired,
    SessionUnknown,
    seen,
)
from provegym.gateway import wire
from provegym.gateway.http1 import Pool
from provegym.rollout.parse import storable
from provegym.types import Changes, Score, Task, Tool, Trace
from provegym.world.session import Result
from provegym.world.validate import is_finite

T = TypeVar("T")

TIMEOUT_SECONDS = 60.0

_encode = msgspec.json.Encoder().encode
_FAULTS: dict[str, type[ProvegymError]] = {
    "session_unknown": SessionUnknown,
    "session_closed": SessionClosed,
    "session_expired": SessionExpired,
    "server_fault": ServerFault,
}
"""What a code of the server is in this process; any other is an `InfrastructureError`."""


class _Call(Struct, frozen=True, omit_defaults=True):
    """A call as it is sent."""

    name: str
    arguments: Any
    key: str
    session: str | None = None


class Connection:
    """A gateway. A context manager; threads may share it."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        patience: float = 0.0,
        direct: bool = False,
    ) -> None:
        self._pool = Pool(url, token, timeout, patience)
        self._direct, self._token, self._timeout = direct, token, timeout
        self._workers: dict[str, Connection] = {}
        self._keys = count()
        self._own = token_hex(8)
        self.url = self._pool.url

    def open(
        self,
        seed: int | None = None,
        servers: Sequence[str] | None = None,
        task: Task | None = None,
    ) -> RemoteSession:
        """A private session of a world, or of a task's world, which then records its calls.

        Raises `InputError` for a world that there is none of, and for servers that are no sequence
        of names.
        """
        names = None if servers is None else _names(servers)
        body = wire.OpenSession(seed, names, task, self.key())
        opened = self.ask("POST", "/v1/sessions", body, wire.Opened)
        return RemoteSession(self._holder(opened.direct), opened)

    def _holder(self, url: str) -> Connection:
        """The connection to the worker of a fleet at that URL, or this one."""
        if not self._direct or not url:
            return self
        return self._workers.setdefault(url, Connection(url, self._token, self._timeout))

    def call_many(
        self, calls: Iterable[tuple[RemoteSession, str, str | bytes | dict[str, Any]]]
    ) -> list[Result]:
        """One call in each of many sessions, in one request. Nothing raises for a call alone:
        what was lost has the outcome `infrastructure` and its code.
        """
        sent = [
            _Call(named(name), sendable(arguments), self.key(), session.id)
            for session, name, arguments in calls
        ]
        return self.ask("POST", "/v1/calls", {"calls": sent}, wire.Results).results

    def key(self) -> str:
        """A key that no other call has."""
        return f"{self._own}-{next(self._keys)}"

    def ask(self, method: str, path: str, body: Any, answer: type[T]) -> T:
        """One request to the control API. Raises what its error stands for."""
        found = self._pool.ask(method, path, None if body is None else _encode(body))
        if found.status >= 400:
            raise _fault(found.status, found.body)
        try:
            return msgspec.json.decode(found.body, type=answer)
        except msgspec.MsgspecError as error:
            raise InfrastructureError(
                f"{self.url} is no gateway of this version: {error}"
            ) from error

    def close(self) -> None:
        """Close the connections: neither this one nor its sessions can be used any more. On the
        gateway the sessions stay until they expire.
        """
        self._pool.close()
        for worker in self._workers.values():
            worker.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class RemoteSession:
    """A session of a gateway, with the interface of `provegym.world.session.Session`.

    Every method raises `SessionUnknown`, `SessionClosed` or `SessionExpired` where the session is
    gone, and `InfrastructureError` where the gateway cannot be reached.
    """

    blocking = True
    """Its calls wait for another process; threads may make them, one at a time."""

    def __init__(self, connection: Connection, opened: wire.Opened) -> None:
        self._connection = connection
        self.id = opened.id
        self.mcp = f"{connection.url}{opened.mcp}"
        """Where MCP clients reach the same session; who knows it needs no token."""

    def call(self, name: str, arguments: str | bytes | dict[str, Any]) -> Result:
        """Run one tool on JSON text or an object of arguments.

        Raises `ServerFault` where the tool's body has a bug, and `InfrastructureError` where the
        server did not answer within its deadline.
        """
        sent = _Call(named(name), sendable(arguments), self._connection.key())
        result = self._ask("POST", "/calls", {"calls": [sent]}, wire.Results).results[0]
        if result.outcome == "infrastructure":
            error = result.value["error"]
            raise _FAULTS.get(error["code"], InfrastructureError)(error["message"])
        return result

    def offer(self, names: Iterable[str] | None) -> None:
        """Limit the tools to these names; every other is an `unknown_tool`. None lifts it."""
        body = wire.Offer(None if names is None else tuple(names))
        self._ask("POST", "/offer", body, wire.Done)

    def enter(self, turn: int) -> None:
        """Offer the tools of a turn of the session's task; the score counts calls into it."""
        self._ask("POST", "/offer", wire.Offer(turn=turn), wire.Done)

    def tools(self) -> list[Tool]:
        """Schemas of the tools on offer."""
        return list(self._ask("GET", "/tools", None, wire.Tools).tools)

    def snapshot(self) -> str:
        """Keep the state now; its name, for `restore`."""
        return self._ask("POST", "/snapshot", None, wire.Snapshot).snapshot

    def restore(self, snapshot: str) -> None:
        """Go back to a snapshot of this session. Raises `InputError` for one that is not kept."""
        self._ask("POST", "/restore", wire.Restore(snapshot), wire.Done)

    def fork(self) -> RemoteSession:
        """An independent session with the same state."""
        body = wire.Fork(self._connection.key())
        return RemoteSession(self._connection, self._ask("POST", "/fork", body, wire.Opened))

    def reset(self) -> None:
        """Back to the world's start; the tools on offer stay as they are."""
        self._ask("POST", "/reset", None, wire.Done)

    def changes(self) -> Changes:
        """What differs from the world's start, in canonical form."""
        return self._ask("GET", "/changes", None, wire.ChangesAnswer).changes

    def digest(self) -> str:
        """Hash of the whole state."""
        return self._ask("GET", "/digest", None, wire.Digest).digest

    def score(self, preset: str = "paper") -> Score:
        """The reward of the calls so far. Raises `InputError` where the session has no task."""
        return self._ask("POST", "/score", wire.ScoreRequest(preset), Score)

    def trace(self) -> Trace:
        """The calls so far and what they changed, as an episode. Raises as `score` does."""
        return self._ask("GET", "/trace", None, Trace)

    def close(self) -> None:
        """End the session; it stays closed."""
        try:
            self._ask("DELETE", "", None, wire.Done)
        except (SessionClosed, SessionExpired):
            return  # it has ended, be it by a first request whose answer was lost

    def _ask(self, method: str, end: str, body: Any, answer: type[T]) -> T:
        return self._connection.ask(method, f"/v1/sessions/{self.id}{end}", body, answer)


def named(name: Any) -> str:
    """The name of a tool as the control API takes it. What is no text is the name of no tool."""
    return storable(name) if isinstance(name, str) else f" {storable(repr(name)[:80])}"


def _names(servers: Any) -> tuple[str, ...]:
    """Names of servers in their order. Raises `InputError` for anything else, a text above all."""
    if isinstance(servers, Sequence) and not isinstance(servers, str | bytes):
        names = tuple(servers)
        if all(isinstance(name, str) for name in names):
            return names
    told = f"servers {seen(servers)} is no sequence of names"
    raise InputError(f'{told}; give one such as ["banking", "email"]')


def sendable(arguments: str | bytes | dict[str, Any]) -> Any:
    """Arguments as the control API takes them: an object, or their text as a JSON string.

    Text that JSON cannot hold (lone surrogates, bytes that are no UTF-8) is written in escapes; it
    was no JSON and stays none. So does an object that JSON cannot say, as its Python text.
    """
    if isinstance(arguments, bytes):
        return arguments.decode("utf-8", "backslashreplace")
    if isinstance(arguments, str):
        return storable(arguments)
    try:
        if is_finite(arguments):
            return msgspec.Raw(_encode(arguments))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        pass  # said below
    return storable(repr(arguments))


def _fault(status: int, body: bytes) -> ProvegymError:
    """The exception that an answer stands for."""
    try:
        told = msgspec.json.decode(body, type=wire.ErrorAnswer).error
    except msgspec.MsgspecError:
        told = wire.Problem("", body[:200].decode("utf-8", "replace"))
    if told.code in _FAULTS:
        return _FAULTS[told.code](told.message)
    if status >= 500 or status == 429:
        return InfrastructureError(f"the gateway failed with {status}: {told.message}")
    return InputError(f"the gateway refuses this ({status}): {told.message}")
