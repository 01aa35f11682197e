"""One connection to an external server: a client in a task of its own, asked from any thread.

The SDK's client may only be used by the task that opened it (anyio's cancel scopes), so each
connection is a task that takes requests from a queue, one after the other.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import math
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from provegym.errors import InputError, ServerFault, seen
from provegym.gateway.external import files, folders, leash
from provegym.gateway.external.loop import loop, started_here
from provegym.gateway.external.mistakes import mistake
from provegym.gateway.external.results import Answer, answer, masked, without
from provegym.gateway.external.settings import FOLDER, HOME, External
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
SAID = 300
"""Characters of what a lost server last said."""
SEED = "PROVEGYM_SEED"
"""The environment variable that tells a process the seed of its world."""


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
        self.name, self.told, self._home, self._seed = name, told, home, seed
        self.lost = False
        """Whether it can no longer be asked."""
        self.folder = Path()
        self._jobs: asyncio.Queue[Job]
        self._scope: anyio.CancelScope | None = None
        self._log: IO[bytes] | None = None
        self._said = ""
        self._started: list[asyncio.SubprocessTransport] = []
        """The process, once there is one."""
        self._strays = Strays(name)
        self._ready: concurrent.futures.Future[str] = concurrent.futures.Future()
        self._done: concurrent.futures.Future[None] | None = None

    # -- life ------------------------------------------------------------------------------

    def start(self) -> Connection:
        """Begin to open it; the first request waits until it is open. Raises `InputError` where
        the files that it starts with cannot be copied.
        """
        self.folder = folders.private()
        try:
            if self.told.files:
                files.copy(self._home / self.told.files, self.folder)
        except BaseException as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            if isinstance(error, OSError):
                what = f"cannot copy {error.filename}: {error.strerror}"
                raise InputError(f"server {self.name}: {what}") from error
            raise
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
        started_here.set(self._started)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # closed below
        try:
            with anyio.fail_after(self.told.seconds) as self._scope:
                async with self._client() as client:
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
            self._said = self._last_words()
            self._log.close()
            shutil.rmtree(self.folder, ignore_errors=True)

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
        if self._exit_code() in leash.CANNOT_RUN:
            return InputError(f"server {self.name} cannot be started: {self._last_words()}")
        if url and isinstance(error, httpx2.TransportError):
            return self._not_opened(f"server {self.name} cannot be reached at {url}", error)
        if isinstance(error, MCPError) and error.code not in LOST:
            where = f"server {self.name} is no MCP server ({url or self.told.command})"
            return self._not_opened(f"{where}; it answered the first request with", error)
        if self._exit_code() is not None and (word := self._misplaced()):
            return NotOpened(
                f"server {self.name} does not start: it runs in a folder of its own, and {word!r} "
                f"is one of {self._home}; write it as {HOME}/{word}"
            )
        if self._exit_code() == 0:
            what = f"is no MCP server ({self.told.command}): it ended where one waits for requests"
            return NotOpened(str(self._fault(what)))
        return None

    def _misplaced(self) -> str:
        """A file of the command that lies beside provegym.toml alone; empty for none."""
        words = [word for word in self.told.words if not Path(word).is_absolute()]
        there = (word for word in words if (self._home / word).is_file())
        return next((word for word in there if not (self.folder / word).exists()), "")

    def _not_opened(self, what: str, error: BaseException) -> NotOpened:
        return NotOpened(without(f"{what}: {_why(error)}", self._secrets()))

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Client]:
        if self.told.url:
            headers = {"Authorization": f"Bearer {_secret(self.told.token)}"}
            async with httpx2.AsyncClient(
                headers=headers if self.told.token else {}, timeout=self.told.seconds
            ) as http:
                transport = streamable_http_client(self.told.url, http_client=http)
                async with Client(transport, cache=None) as client:
                    yield client
        else:
            pipes = stdio_client(self._process(), errlog=self._log)  # type: ignore[arg-type]
            async with Client(pipes, cache=None) as client:
                yield client

    def _process(self) -> StdioServerParameters:
        words = [self._placed(word) for word in self.told.words]
        env = {key: self._placed(value) for key, value in self.told.env.items()}
        env |= {key: _secret(key) for key in self.told.forward}
        return StdioServerParameters(
            command=sys.executable,
            args=["-IS", leash.__file__, str(os.getpid()), *words],
            env={SEED: str(self._seed), **env},
            cwd=self.folder,
        )

    def _placed(self, text: str) -> str:
        return text.replace(FOLDER, str(self.folder)).replace(HOME, str(self._home))

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
        return masked(found, self._secrets())

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
                raise ServerFault(without(text, self._secrets())) from error
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
        code = self._exit_code()
        text += f"; its exit code is {code}" if code is not None and code >= 0 else ""
        text += f"; it said: {said}" if (said := self._last_words()) else ""
        if strays := self._strays.told():
            text += f"; it {strays}"
        return ServerFault(without(text, self._secrets()))

    def _exit_code(self) -> int | None:
        """Of the process, if it ended; negative for a signal, which may be that of `close`."""
        return self._started[0].get_returncode() if self._started else None

    def _secrets(self) -> dict[str, str]:
        """What no message and no result may hold, by what it is called."""
        names = filter(None, (*self.told.forward, self.told.token))
        return {name: value for name in names if (value := os.environ.get(name))}

    def _last_words(self) -> str:
        """Of the latest that the process wrote to its standard error, the last line that tells of
        an error, else the last one.
        """
        log = self._log
        if log is None or log.closed:
            return self._said
        size = os.fstat(log.fileno()).st_size
        text = os.pread(log.fileno(), 4096, max(0, size - 4096)).decode(errors="replace")
        lines = [line.strip()[-SAID:] for line in reversed(text.split("\n")) if line.strip()]
        return next((line for line in lines if "rror" in line), lines[0] if lines else "")


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


def _secret(name: str) -> str:
    """A variable of ours that the user named."""
    if name and name not in os.environ:
        raise InputError(f"the environment variable {name} is not set; a server needs it")
    return os.environ.get(name, "")
