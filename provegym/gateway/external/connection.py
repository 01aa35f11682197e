"""One connection to an external server: a client in a task of its own, asked from any thread.

The SDK's client may only be used by the task that opened it (anyio's cancel scopes), so each
connection is a task that takes requests from a queue, one after the other.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import math
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError

from provegym.errors import InputError, ServerFault, seen
from provegym.gateway.external import leash
from provegym.gateway.external.link import Link
from provegym.gateway.external.loop import loop
from provegym.gateway.external.mistakes import mistake
from provegym.gateway.external.results import Answer, answer, masked, without
from provegym.gateway.external.settings import External
from provegym.gateway.external.strays import Strays

Ask = Callable[[Client], Awaitable[Any]]
Job = tuple[Ask, concurrent.futures.Future[Any]]
"""A request, and who waits for its answer."""

GRACE = 5.0
"""Seconds beyond a deadline after which the task itself is given up."""
LOST = (types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT)
"""Errors that no server answers with."""
MOST_PAGES = 100
"""Pages of a list of tools that are read."""


class Listing(NamedTuple):
    """What a server says of itself."""

    title: str
    tools: list[types.Tool]


class NotOpened(ServerFault):
    """A server cannot be reached, or what was started or reached is no MCP server."""


class Silent(ServerFault):
    """A server gave no answer within the time that its settings allow."""

    doing = ""
    """What it was asked for."""


class Connection:
    """A live server. `start` it, then `listing` and `call`; `close` it at the end."""

    def __init__(self, name: str, told: External, home: Path, seed: int) -> None:
        """`home` is the folder that the settings' paths are relative to."""
        self.name, self.told = name, told
        self.lost = False
        """Whether it can no longer be asked."""
        self._link = Link(name, told, home, seed)
        self._jobs: asyncio.Queue[Job]
        self._scope: anyio.CancelScope | None = None
        self._strays = Strays(name)
        self._ready: concurrent.futures.Future[str] = concurrent.futures.Future()
        self._done: concurrent.futures.Future[None] | None = None

    @property
    def folder(self) -> Path:
        """Where its process runs."""
        return self._link.folder

    # -- life ------------------------------------------------------------------------------

    def start(self) -> Connection:
        """Begin to open it; the first request waits until it is open. Raises `InputError` where
        the files that it starts with cannot be copied.
        """
        self._link.lay_out()
        self._done = loop().run(self._live())
        return self

    def ready(self) -> str:
        """Wait until it is open; the server's title. Raises `ServerFault`, and `InputError` for a
        variable that is not set.
        """
        try:
            return self._ready.result(self.told.seconds + GRACE)
        except TimeoutError as error:
            self.close()
            raise self._late(f"did not start within {self._limit}") from error

    def close(self) -> None:
        """End it; its process goes on to die on the loop."""
        self.lost = True
        if self._done is not None and not self._done.done():
            loop().run(self._stop())

    def ended(self, seconds: float) -> bool:
        """Whether it is over, after at most so long a wait."""
        done = [self._done] if self._done else []
        return not concurrent.futures.wait(done, seconds).not_done

    async def _stop(self) -> None:
        # Not the task: the SDK shields how it ends a process from the cancelling of a scope alone.
        if self._scope is not None:
            self._scope.cancel()

    async def _live(self) -> None:
        self._jobs = asyncio.Queue()
        self._strays.listen()
        try:
            with anyio.fail_after(self.told.seconds) as self._scope:
                async with self._link.client() as client:
                    self._scope.deadline = math.inf
                    self._ready.set_result(_title(client))
                    self._strays.open()
                    while True:
                        await self._serve(client)
        except TimeoutError:
            self._fail(self._late(f"did not start within {self._limit}"))
        except Exception as error:  # noqa: BLE001  # whatever ended it is told to who asks
            self._fail(error)
        finally:
            self.lost = True
            self._fail(EOFError("it was closed"))
            self._link.clear_away()

    async def _serve(self, client: Client) -> None:
        ask, future = await self._jobs.get()
        try:
            future.set_result(await ask(client))
        except asyncio.CancelledError:
            future.set_exception(self._fault("was closed"))
            raise
        except Exception as error:  # noqa: BLE001  # told to who asked
            future.set_exception(error)

    def _fail(self, error: BaseException) -> None:
        """Tell everyone who waits."""
        told = isinstance(error, InputError | Silent)
        kept = error if told else self._fault(f"ended: {_why(error)}")
        if not self._ready.done():
            kept = self._unopened(error) or kept
        if not self._ready.done():
            self._ready.set_exception(kept)
        while not self._jobs.empty():
            _, future = self._jobs.get_nowait()
            future.set_exception(kept)

    def _unopened(self, error: BaseException) -> Exception | None:
        """What is wrong with a server that did not open, if that can be told."""
        error, url = _first(error), self.told.url
        if self._link.exit_code() in leash.CANNOT_RUN:
            return InputError(f"server {self.name} cannot be started: {self._link.last_words()}")
        if url and isinstance(error, httpx2.TransportError):
            return self._not_opened(f"server {self.name} cannot be reached at {url}", error)
        if isinstance(error, MCPError) and error.code not in LOST:
            where = f"server {self.name} is no MCP server ({url or self.told.command})"
            return self._not_opened(f"{where}; it answered the first request with", error)
        if self._link.exit_code() is not None and (misplaced := self._link.misplaced()):
            return NotOpened(misplaced)
        if self._link.exit_code() == 0:
            what = f"is no MCP server ({self.told.command}): it ended where one waits for requests"
            return NotOpened(str(self._fault(what)))
        return None

    def _not_opened(self, what: str, error: BaseException) -> NotOpened:
        return NotOpened(without(f"{what}: {_why(error)}", self._link.secrets()))

    # -- requests --------------------------------------------------------------------------

    def listing(self) -> Listing:
        """The server's title and all of its tools. Raises `ServerFault`, also for a list without
        an end and for a name that stands in it twice, and `NotOpened` for one that is not of MCP.
        """
        title = self.ready()

        async def ask(client: Client) -> tuple[list[types.Tool], str | None]:
            found: list[types.Tool] = []
            cursor, before = None, set[str]()
            for _ in range(MOST_PAGES):
                page = await client.list_tools(cursor=cursor)
                found += page.tools
                cursor = page.next_cursor
                if not cursor or cursor in before:
                    break
                before.add(cursor)
            return found, cursor

        try:
            tools, more = self._asked(ask, "listing its tools")
        except MCPError as error:
            raise self._fault(f"does not list its tools: {error.message}") from error
        except ServerFault as fault:
            if fault.__cause__ and mistake(fault.__cause__):
                raise NotOpened(str(fault)) from fault
            raise
        if more:
            raise self._fault(f"lists tools without an end: it always goes on, at {seen(more)}")
        twice = [name for name, count in Counter(t.name for t in tools).items() if count > 1]
        if twice:
            raise self._fault(f"lists {seen(twice[0])} twice")
        return Listing(title, tools)

    def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        """Call a tool by the server's own name. Raises `ServerFault` where no answer comes."""
        self.ready()
        parameters = types.CallToolRequestParams(name=tool, arguments=arguments)
        request = types.CallToolRequest(params=parameters)

        async def ask(client: Client) -> Answer:
            # Not `call_tool`: that holds results against the server's own schema and fails on
            # those that third parties get wrong, which is nothing the policy did.
            found = await client.session.send_request(
                request, types.CallToolResult, request_read_timeout_seconds=self.told.seconds
            )
            return answer(found, self.told.most_characters)

        try:
            found: Answer = self._asked(ask, f"running {tool}")
        except MCPError as error:
            found = Answer(None, error.message, misused=error.code == types.INVALID_PARAMS)
        return masked(found, self._link.secrets())

    def _asked(self, ask: Ask, doing: str) -> Any:
        """What the server answers. Raises `MCPError` for an error that it answers with."""
        if self.lost:
            raise self._fault("was lost before")
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        loop().run(self._put(ask, future))
        try:
            return future.result(self.told.seconds + GRACE)
        except ServerFault:
            raise
        except Exception as error:
            if isinstance(error, MCPError) and error.code not in LOST:
                raise
            self.close()
            if wrong := mistake(error):
                text = f"server {self.name} breaks MCP while {doing}: {wrong}; mend the server"
                raise ServerFault(without(text, self._link.secrets())) from error
            if _is_late(error):
                raise self._late(
                    f"gave no answer within {self._limit} while {doing}", doing
                ) from error
            self.ended(GRACE)  # then it is known how
            raise self._fault(f"failed: {_why(error)} while {doing}") from error

    async def _put(self, ask: Ask, future: concurrent.futures.Future[Any]) -> None:
        if self.lost:
            future.set_exception(self._fault("was lost before"))
        else:
            self._jobs.put_nowait((ask, future))

    @property
    def _limit(self) -> str:
        return f"{self.told.seconds:g} s"

    def _late(self, what: str, doing: str = "") -> Silent:
        silent = Silent(str(self._fault(what)))
        silent.doing = doing
        return silent

    def _fault(self, what: str) -> ServerFault:
        text = f"server {self.name} {what}"
        code = self._link.exit_code()
        text += f"; its exit code is {code}" if code is not None and code >= 0 else ""
        text += f"; it said: {said}" if (said := self._link.last_words()) else ""
        if strays := self._strays.told():
            text += f"; it {strays}"
        return ServerFault(without(text, self._link.secrets()))


def _title(client: Client) -> str:
    info = client.server_info
    return (info.title or info.name) if info else ""


def _is_late(error: Exception) -> bool:
    """Whether the time for an answer was over."""
    late = isinstance(error, MCPError) and error.code == types.REQUEST_TIMEOUT
    return late or isinstance(error, TimeoutError)


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _why(error: BaseException) -> str:
    error = _first(error)
    return " ".join(str(error).split()) or type(error).__name__
