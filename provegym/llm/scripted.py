"""A server on loopback that speaks OpenAI's chat completions and says what it is told to.

For tests and demonstrations without a model: real HTTP, whole or streamed answers, hundreds of
requests at once, and the ways in which an endpoint fails.

    with ScriptedServer(lambda request: says(f"{len(request['messages'])} messages")) as server:
        client = openai.OpenAI(base_url=server.url, api_key="none")
        ...
        print([seen.body for seen in server.seen])
"""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from email.parser import BytesHeaderParser
from types import TracebackType
from typing import Any

Json = dict[str, Any]

BACKLOG = 1024
"""Connections that may wait to be taken up."""
PIECE = 12
"""Characters of text in one event of a streamed answer."""


@dataclass(frozen=True)
class Response:
    """What the server does with one request.

    `slow` is how many seconds it thinks. `cut` hangs up halfway, `hold` never answers.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    slow: float = 0.0
    cut: bool = False
    hold: bool = False


Script = Callable[[Json], Response | Awaitable[Response]]
"""From a request's body to the response; it runs in the server's own event loop."""


@dataclass
class Seen:
    """A request as it came, at `time.monotonic()`; `sent` once the whole answer has gone out."""

    body: Json
    key: str | None
    at: float
    sent: bool = False


def says(
    content: Any = None,
    *,
    finish: str = "stop",
    usage: tuple[int, int] | None = (11, 3),
    cached: int | None = None,
    **message: Any,
) -> Response:
    """A well-formed completion. `usage` are its prompt and completion tokens, `message` are
    further fields such as `tool_calls`, `reasoning_content` or `refusal`.
    """
    body: Json = {
        "id": "cmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
    }
    if usage:
        names = ("prompt_tokens", "completion_tokens", "total_tokens")
        body["usage"] = dict(zip(names, (*usage, sum(usage)), strict=True))
        if cached is not None:
            body["usage"]["prompt_tokens_details"] = {"cached_tokens": cached}
    return Response(body=json.dumps(body).encode())


def fails(status: int, message: str = "no", *, code: str | None = None, **headers: str) -> Response:
    """An error in OpenAI's form; a retry after a millisecond unless a header says otherwise."""
    body = {"error": {"message": message, "type": "t", "param": None, "code": code}}
    return Response(status, json.dumps(body).encode(), headers or {"retry-after-ms": "1"})


class ScriptedServer:
    """The server, in a thread of its own; a context manager.

    It answers by `script` where there is one, else with `answers` in turn, the last one for ever.
    `seen` are the requests so far, `peak` is the most that were open at once. It lists `models`, or
    has no such list.
    """

    def __init__(
        self,
        script: Script | None = None,
        answers: list[Response] | None = None,
        models: Sequence[str] = (),
    ) -> None:
        self.script, self.answers, self.models = script, answers or [], models
        self.seen: list[Seen] = []
        self.peak = 0
        self._open = 0
        self._port = 0
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def requests(self) -> list[Json]:
        """The bodies of the requests so far."""
        return [seen.body for seen in self.seen]

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        self.up()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.down()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def up(self) -> None:
        """Listen, on the same port as before."""
        self.in_loop(self._listen())

    def down(self) -> None:
        """Stop listening and cut all connections. Not to be called by the script."""
        self.in_loop(self._hang_up())

    def in_loop(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` where the server runs, and wait for it. Not to be called by the script."""
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self._port, backlog=BACKLOG
        )
        self._port = self._server.sockets[0].getsockname()[1]

    async def _hang_up(self) -> None:
        if self._server:
            self._server.close()
        connections = list(self._connections)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: requests one after the other, until either side hangs up."""
        task = asyncio.current_task()
        assert task
        self._connections.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client hung up, which is its right
        except asyncio.CancelledError:
            pass  # we did; Python 3.11 complains of a connection whose task ends as cancelled
        finally:
            self._connections.discard(task)
            writer.transport.abort() if task.cancelling() else writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its response; False where the connection ends with it."""
        head, _, fields = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")
        headers = BytesHeaderParser().parsebytes(fields)
        text = await reader.readexactly(int(headers["Content-Length"] or 0))
        if self.models and b"/models " in head:
            cards = [{"id": name, "object": "model"} for name in self.models]
            listed = {"object": "list", "data": cards}
            await _respond(writer, Response(body=json.dumps(listed).encode()))
            return True
        if b"/chat/completions " not in head:
            await _respond(writer, fails(404, "only chat completions are served here"))
            return True
        seen = Seen(json.loads(text), headers["Authorization"], time.monotonic())
        self.seen.append(seen)
        self._open += 1
        self.peak = max(self.peak, self._open)
        try:
            response = await self._response(seen.body, len(self.seen))
            seen.sent = not response.cut  # before the client can have it all
            await _respond(writer, response, seen.body)
        except BaseException:
            seen.sent = False
            raise
        finally:
            self._open -= 1
        return seen.sent

    async def _response(self, request: Json, number: int) -> Response:
        if self.script is None:
            response = self.answers[min(number, len(self.answers)) - 1]
        else:
            try:
                found = self.script(request)
                response = await found if inspect.isawaitable(found) else found
            except Exception as error:  # noqa: BLE001 - the script's mistake is told to the client
                return fails(500, f"the script failed: {error!r}", **{"x-should-retry": "false"})
        if response.hold:
            await asyncio.Event().wait()
        await asyncio.sleep(response.slow)
        return response


async def _respond(
    writer: asyncio.StreamWriter, response: Response, request: Json | None = None
) -> None:
    """Send a response, or half of it."""
    parts = [response.body]
    headers = {"Content-Type": "application/json", "Content-Length": str(len(response.body))}
    if request and request.get("stream") and response.status == 200:
        wants_usage = bool((request.get("stream_options") or {}).get("include_usage"))
        parts = [_chunk(event) for event in events(json.loads(response.body), wants_usage)]
        parts.append(b"0\r\n\r\n")
        headers = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}
    lines = [f"HTTP/1.1 {response.status} -"]
    lines += [f"{name}: {value}" for name, value in (headers | response.headers).items()]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    sent = b"".join(parts)
    writer.write(sent[: len(sent) // 2] if response.cut else sent)
    await writer.drain()


def _chunk(event: Json | str) -> bytes:
    """An event of a stream as a chunk of HTTP/1.1's transfer coding."""
    text = event if isinstance(event, str) else json.dumps(event)
    data = f"data: {text}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(data), data)


def events(completion: Json, wants_usage: bool) -> Iterator[Json | str]:
    """A completion as the events of a stream."""
    (choice,) = completion["choices"]
    head = {**completion, "object": "chat.completion.chunk"}
    usage = head.pop("usage", None)
    for delta in _deltas(choice["message"]):
        yield head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield head | {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    if wants_usage:
        yield head | {"choices": [], "usage": usage}
    yield "[DONE]"


def _deltas(message: Json) -> Iterator[Json]:
    """A message in pieces, as models write it."""
    yield {"role": message["role"]}
    for name in ("reasoning_content", "content", "refusal"):
        yield from ({name: piece} for piece in _pieces(message.get(name) or ""))
    for index, call in enumerate(message.get("tool_calls") or ()):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        start = {**call, "index": index, "function": {"name": name, "arguments": ""}}
        yield {"tool_calls": [start]}
        for piece in _pieces(arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
