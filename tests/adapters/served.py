"""What the adapters' tests serve on loopback: web applications, and models that play the kiosk."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from provegym.llm.scripted import Json, Response, ScriptedServer, says
from provegym.rollout.loop import system_prompt
from provegym.types import Task
from tests.adapters import kiosk


@contextmanager
def looping() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop in a thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@contextmanager
def running(app: Any, loop: asyncio.AbstractEventLoop, port: int = 0) -> Iterator[str]:
    """The URL of a web application that is served in that loop."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning"))
    served = asyncio.run_coroutine_threadsafe(server.serve(), loop)
    while not server.started:
        assert not served.done(), "the server did not start"
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    served.result()


def model(player: str) -> ScriptedServer:
    """An endpoint of OpenAI's that plays every task of the kiosk as `player` does."""

    async def script(request: Json) -> Response:
        messages = request["messages"]
        reply = await kiosk.PLAYERS[player](_task(messages), 0)(messages, request.get("tools", []))
        said = kiosk.as_message(reply, len(messages))
        calls = {"tool_calls": said["tool_calls"]} if said["tool_calls"] else {}
        return says(reply.content, finish="tool_calls" if calls else "stop", **calls)

    return ScriptedServer(script)


def _task(messages: list[Json]) -> Task:
    """The task that a conversation is about, by its system prompt, which tells each task's time."""
    for task in kiosk.TASKS.values():
        if system_prompt(task) == messages[0]["content"]:
            return task
    raise AssertionError(f"no task begins with {messages[0]!r}")
