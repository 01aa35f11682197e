"""A local model behind OpenAI's chat completions, so that any benchmark can ask it.

Thin on purpose: one process, whole answers (streamed in pieces where a client asks for it), one
temperature for all. It serves whatever plays episodes as a policy, so a checkpoint reads the same
rendering here as in a rollout. For throughput there is `vllm serve` (see `vllm_command`).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import Any

from msgspec import Struct
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from provegym.errors import InfrastructureError, UnknownName, Unrenderable
from provegym.llm.request import Asked, BadRequest, read
from provegym.llm.scripted import events
from provegym.rollout.reply import Limited, Policy, PolicyFactory, Reply, aclose
from provegym.types import Task


class Card(Struct, frozen=True):
    """What is served: listed under /v1/models, for results that are to be reproduced."""

    id: str
    temperature: float
    template_hash: str
    weights_hash: str


def app(make: PolicyFactory, card: Card, keep: int = 4) -> Starlette:
    """The server's application. The last `keep` conversations' states are kept for their next
    request, which then costs only what is new in it.
    """
    server = _Server(make, card, keep)
    return Starlette(
        routes=[
            Route("/v1/chat/completions", server.complete, methods=["POST"]),
            Route("/v1/models", server.models),
            Route("/v1/models/{name:path}", server.model),
            Route("/health", lambda request: JSONResponse({"status": "ok"})),
        ],
        exception_handlers={HTTPException: _no_such_thing, Exception: _broken},
    )


class _Server:
    def __init__(self, make: PolicyFactory, card: Card, keep: int) -> None:
        self._make, self._card, self._keep = make, card, keep
        self._recent: OrderedDict[str, Policy] = OrderedDict()
        self._slots = asyncio.Semaphore(keep)
        self._answered = 0

    async def models(self, request: Request) -> Response:
        """The one model, with hashes of its weights and of how it renders conversations."""
        return JSONResponse({"object": "list", "data": [self._shown()]})

    async def model(self, request: Request) -> Response:
        """The one model, by its name."""
        name = request.path_params["name"]
        if name != self._card.id:
            return _unknown(name, self._card.id)
        return JSONResponse(self._shown())

    def _shown(self) -> dict[str, Any]:
        told = {"object": "model", "created": 0, "owned_by": "provegym"}
        return {name: getattr(self._card, name) for name in Card.__struct_fields__} | told

    async def complete(self, request: Request) -> Response:
        """One chat completion."""
        try:
            asked = read(await request.body(), self._card.temperature)
            if asked.request.model != self._card.id:
                return _unknown(asked.request.model, self._card.id)
            async with self._slots:
                reply = await self._reply(asked)
        except BadRequest as error:
            return _error(str(error), "invalid_request", param=error.param)
        except RecursionError:
            return _error("the request is nested too deeply to be rendered", "invalid_request")
        except Unrenderable as error:
            return _error(str(error), "invalid_request", param="messages")
        except InfrastructureError as fault:
            return _error(str(fault), "fault", 500)
        if reply.overflow:
            return _error("the conversation is longer than the context", "context_length_exceeded")
        self._answered += 1
        completion = _completion(reply, self._card.id, self._answered, len(asked.messages))
        if asked.request.stream:
            options = asked.request.stream_options
            usage = bool(options and options.include_usage)
            return StreamingResponse(_stream(completion, usage), media_type="text/event-stream")
        return JSONResponse(completion)

    async def _reply(self, asked: Asked) -> Reply:
        mark = hashlib.sha256(json.dumps([asked.messages[0], asked.tools]).encode()).hexdigest()
        policy = self._make(Task(mark, "workflow", ()), 0)
        try:
            if asked.request.limit is not None:
                _limit(policy, asked.request.limit)
            return await policy(asked.messages, asked.tools)
        finally:
            await aclose(policy)
            self._recent.pop(mark, None)
            self._recent[mark] = policy
            while len(self._recent) > self._keep:
                self._recent.popitem(last=False)


def _completion(reply: Reply, model: str, number: int, place: int) -> dict[str, Any]:
    """A reply in the protocol's form, the server's `number`th. Calls without an id get one by their
    message's `place`, so that no two of a conversation have the same.
    """
    calls = [
        {
            "id": call.id or f"call_{place}_{position}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments_text},
        }
        for position, call in enumerate(reply.calls)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": reply.content or None}
    if calls:
        message["tool_calls"] = calls
    elif not reply.content:
        message["content"] = ""
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    read, written = reply.usage.prompt_tokens, reply.usage.completion_tokens
    finish = "tool_calls" if calls else "length" if reply.cut else "stop"
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [choice],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
        },
    }


async def _stream(completion: dict[str, Any], usage: bool) -> AsyncIterator[str]:
    for event in events(completion, usage):
        yield f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n"


def _limit(policy: Policy, tokens: int) -> None:
    """Let a policy write at most so many tokens. Raises `BadRequest` where it cannot be told."""
    if not isinstance(policy, Limited):
        raise BadRequest("max_tokens is not honoured here; leave it out", "max_tokens")
    policy.limit(tokens)


def _error(told: str, code: str, status: int = 400, param: str | None = None) -> Response:
    kind = "invalid_request_error" if status < 500 else "server_error"
    body = {"error": {"message": told, "type": kind, "param": param, "code": code}}
    return JSONResponse(body, status)


def _unknown(name: str, known: str) -> Response:
    told = str(UnknownName("model", name, [known]))
    return _error(told, "model_not_found", 404, "model")


async def _no_such_thing(request: Request, error: Exception) -> Response:
    """An unknown path, or a method that it does not take."""
    assert isinstance(error, HTTPException)
    told = f"{request.method} {request.url.path}: {error.detail.lower()}"
    answer = _error(told, "invalid_request", error.status_code)
    answer.headers.update(error.headers or {})
    return answer


async def _broken(request: Request, error: Exception) -> Response:
    """A fault of ours; its traceback goes to the server's log alone."""
    return _error("the server failed at this request; its log says why", "fault", 500)


def vllm_command(path: str, name: str, host: str, port: int) -> list[str]:
    """The line that serves a whole checkpoint with vLLM, calls written in Hermes' form."""
    return [
        *("vllm", "serve", path, "--served-model-name", name, "--host", host),
        *("--port", str(port), "--enable-auto-tool-choice", "--tool-call-parser", "hermes"),
    ]
