"""The MCP face: one low-level server of the SDK in front of many rooms, in both protocol eras.

The server keeps nothing of its own. `Find` tells for each request which room it is about, so one
server answers for all sessions of a process. A result's text and its structured content are one
value; an error has no structured content (MCP 2026-07-28, "Tools", error handling).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import anyio
import msgspec
from anyio.to_thread import run_sync
from mcp import types
from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from provegym import __version__
from provegym.errors import SessionError
from provegym.gateway import listing
from provegym.gateway.door import kind_of
from provegym.gateway.rooms import Room, failed
from provegym.rollout import loop
from provegym.types import Tool
from provegym.world.session import Result

log = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]

KEY = "provegym/key"
"""In a call's `_meta`: the idempotency key. A retry with the same key is not run again."""
OUTCOME = "provegym/outcome"
"""In a result's `_meta`: what became of the call, as traces have it."""
KEY_LENGTH = 200
"""Most characters of an idempotency key."""
SESSION_ENDED = -32001
"""JSON-RPC error of a session that is unknown, closed or expired."""
PLAIN = frozenset(("name", "arguments", "_meta"))
"""The parameters of a call that has nothing unusual."""
SERVER_INFO = {"name": "provegym", "version": __version__}
THREADS = 256
"""So many calls that wait for something outside are waited for at once."""
FAILED = "the server failed; nothing is known"
LISTS = 256
"""How many tool lists are kept ready, each as one protocol version has it."""


class View(NamedTuple):
    """A room, and the server whose tools alone are seen of it ("" for all)."""

    room: Room
    server: str = ""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that this view shows."""
        tools = self.room.tools
        if not self.server:
            return tools
        return tuple(t for t in tools if self.shows(t.function.name))

    def shows(self, name: str) -> bool:
        """Whether a tool of that name may be called; the room itself knows what it offers."""
        return not self.server or listing.server_of(name, self.room.known) == self.server


Find = Callable[[Context], View]


def server(find: Find, deadline: float, max_result: int) -> Server[Any]:
    """The MCP server that answers each request for what `find` says it is about.

    `deadline`: seconds after which a call that waits for something outside is given up.
    `max_result`: most characters of a result's text.
    """
    waiting = anyio.CapacityLimiter(THREADS)

    async def list_tools(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        view = find(context)
        shown = [listing.described(tool, view.room.known) for tool in view.tools]
        return types.ListToolsResult(tools=shown)

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> Any:
        view = find(context)
        given = view, params.name, params.arguments or {}, key_of(context), max_result
        if not view.room.blocking:
            return call(*given)
        with anyio.move_on_after(deadline):
            return await run_sync(call, *given, abandon_on_cancel=True, limiter=waiting)
        late = failed("deadline", f"not done within {deadline:g} s; it does not count")
        return answer(late, max_result)

    made = Server[Any](
        "provegym",
        version=__version__,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        # No tool declares `x-mcp-header`. Unset, the SDK would list all tools before each call.
        get_tool_input_schema=lambda name: None,
    )
    made.middleware[:0] = [sealed, direct(find, max_result), Shelf(find)]
    return made


def direct(find: Find, max_result: int) -> ServerMiddleware[Any]:
    """Answers plain calls ahead of all else in the SDK: its other layers parse both ways what is
    known to be sound, and cost as much as the rest together.

    What is in any way unusual is passed on, so that the SDK says what is wrong with it.
    """

    async def answer_call(ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.method == "tools/call" and ctx.request_id is not None:
            _check_call(ctx.params)
        given = _plain(ctx) if ctx.method == "tools/call" else None
        if given is None:
            return await call_next(ctx)
        view = find(ctx)
        if view.room.blocking:
            return await call_next(ctx)
        told = call(view, *given, key_of(ctx), max_result)
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            told["_meta"][types.SERVER_INFO_META_KEY] = SERVER_INFO
        else:
            del told["resultType"]
        return told

    return answer_call


def _check_call(params: Mapping[str, Any] | None) -> None:
    """Say what is wrong with a call's parameters; the SDK says no more than that something is."""
    name, given = (params or {}).get("name"), (params or {}).get("arguments")
    if name is None:
        told = "`name` is missing: the name of a tool"
    elif not isinstance(name, str):
        told = f"`name` must be the name of a tool, got {kind_of(name)}"
    elif not isinstance(given, dict | None):
        told = f"`arguments` must be an object, got {kind_of(given)}"
    else:
        return
    raise MCPError(types.INVALID_PARAMS, told)


def _plain(ctx: Context) -> tuple[str, dict[str, Any]] | None:
    """Name and arguments of a call of the usual shape, by a client that has introduced itself."""
    params = ctx.params
    if ctx.request_id is None:
        return None  # a notification of that name, which the SDK lets drop
    if not params or params.keys() - PLAIN or type(params.get("_meta", {})) is not dict:
        return None
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS and ctx.session.client_params is None:
        return None
    name, given = params.get("name"), params.get("arguments", {})
    return (name, given) if type(name) is str and type(given) is dict else None


async def sealed(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Let no text of an unforeseen failure out: the SDK would tell it to clients of 2025-11-25.

    Such a text may name files, commands and what other sessions hold. The log has it.
    """
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except SessionError as error:
        raise MCPError(SESSION_ENDED, str(error)) from None
    except Exception as error:
        log.exception("a request of %r failed", ctx.method[:80])
        raise MCPError(types.INTERNAL_ERROR, FAILED) from error


def call(
    view: View, name: str, arguments: dict[str, Any], key: str | None, max_result: int
) -> dict[str, Any]:
    """Run one call and give its result as MCP has it.

    Raises `MCPError` for a tool that is not there (-32602), `SessionError` where the session ended
    meanwhile.
    """
    if view.shows(name):
        result = view.room.call(name, arguments, key)
        if result.outcome != "unknown_tool":
            return answer(result, max_result)
    raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name[:80]}")


def answer(result: Result, max_result: int) -> dict[str, Any]:
    """A result as MCP has it: the value once as text and, where the call succeeded, once whole.

    Of a text that is too long the start is shown, as a rollout shows it. There is no structured
    content then, which clients miss of anything but an error; the outcome stays what it was.
    """
    text = result.json()
    whole = text.decode()
    shown = loop.cut(whole, max_result)
    content = [{"type": "text", "text": shown}]
    told = {"_meta": {OUTCOME: result.outcome}, "resultType": "complete", "content": content}
    if result.outcome != "ok" or shown is not whole:
        return {**told, "isError": True}
    return {**told, "isError": False, "structuredContent": msgspec.json.decode(text)}


def key_of(context: Context) -> str | None:
    """The idempotency key of a call. Raises `MCPError` for one that is not a short text."""
    meta = context.params and context.params.get("_meta")
    key = meta.get(KEY) if isinstance(meta, dict) else None
    if key is None or (isinstance(key, str) and 0 < len(key) <= KEY_LENGTH):
        return key
    told = f"_meta[{KEY!r}] must be a text of 1 to {KEY_LENGTH} characters"
    raise MCPError(types.INVALID_PARAMS, told)


class Shelf:
    """Keeps lists of tools as the SDK shaped them, since that takes milliseconds for many tools.

    Only those of the library are kept; what a task perturbed is shaped each time. Entries depend
    on nothing but the names and the protocol's version.
    """

    def __init__(self, find: Find) -> None:
        self._find = find
        self._lists: dict[tuple[str, tuple[str, ...]], HandlerResult] = {}

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Answer a plain `tools/list` from the shelf, and let all else pass."""
        if ctx.method != "tools/list" or (ctx.params or {}).get("cursor") is not None:
            return await call_next(ctx)
        tools = self._find(ctx).tools
        if not all(map(listing.is_library_tool, tools)):
            return await call_next(ctx)
        key = ctx.protocol_version, tuple([tool.function.name for tool in tools])
        if key not in self._lists:
            if len(self._lists) >= LISTS:
                self._lists.clear()
            self._lists[key] = await call_next(ctx)
        return self._lists[key]
