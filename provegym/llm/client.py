"""Any endpoint that speaks OpenAI's chat completions, as a policy."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

import openai
from msgspec import Struct

from provegym.errors import InputError, ModelFault
from provegym.rollout.parse import from_openai, json_object, parse
from provegym.rollout.reply import Reply
from provegym.types import Task, Usage

_OVERFLOW = re.compile(
    r"context.?(length|size|window)|prompt is too long|too many (input )?tokens", re.IGNORECASE
)
_NO_NAME_CHARACTER = re.compile(r"[^a-zA-Z0-9_.-]")
_MISCONFIGURED = (
    openai.AuthenticationError,
    openai.PermissionDeniedError,
    openai.NotFoundError,
)
_KEPT = ("role", "content", "tool_calls", "tool_call_id")


class Sampling(Struct, frozen=True):
    """What is asked of the endpoint; None is left to its default.

    `send_seed` passes the episode's seed on, for endpoints that sample reproducibly.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    send_seed: bool = True


DEFAULT_SAMPLING = Sampling()


def openai_policy(
    model: str,
    base_url: str | None = None,
    *,
    api_key: str | None = None,
    sampling: Sampling = DEFAULT_SAMPLING,
    timeout: float = 120.0,
    retries: int = 5,
    lenient: bool = True,
) -> OpenAIPolicies:
    """A policy factory for `model` at `base_url` (None is OpenAI's own endpoint).

    The key is `api_key`, else the variable OPENAI_API_KEY, else "none" where a `base_url` is
    given. Each request may take `timeout` seconds; rate limits, server errors, time-outs and lost
    connections are tried `retries` times more, with growing pauses or as `Retry-After` says.
    `lenient` also takes calls from fenced or bare JSON (see `provegym.rollout.parse`).
    """
    key = api_key or os.environ.get("OPENAI_API_KEY") or ("none" if base_url else "")
    if not key:
        raise InputError(
            "OpenAI's own endpoint needs a key: set OPENAI_API_KEY, or give a base URL"
        )
    options: dict[str, Any] = {
        "api_key": key,
        "base_url": base_url,
        "timeout": timeout,
        "max_retries": retries,
    }
    return OpenAIPolicies(model, sampling, lenient, options)


class OpenAIPolicies:
    """A policy factory over one pool of connections, which `aclose` gives back."""

    def __init__(
        self, model: str, sampling: Sampling, lenient: bool, options: Mapping[str, Any]
    ) -> None:
        self._model, self._sampling, self._lenient = model, sampling, lenient
        self._options = options
        self._client: openai.AsyncOpenAI | None = None

    def __call__(self, task: Task, seed: int) -> OpenAIPolicy:
        """The policy of one episode."""
        return OpenAIPolicy(self, seed)

    async def aclose(self) -> None:
        """Close the connections; they open again when needed."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def complete(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], seed: int
    ) -> Reply:
        """One request. Raises `ModelFault` where no usable answer came after all retries.

        Raises `InputError` where the endpoint refuses the key or does not know the model.
        """
        try:
            body = await self._post(self._request(messages, tools, seed))
        except _MISCONFIGURED as error:
            raise InputError(f"the endpoint refuses model {self._model!r}: {error}") from error
        except openai.BadRequestError as error:
            if error.code == "context_length_exceeded" or _OVERFLOW.search(str(error)):
                return Reply(overflow=True)
            raise ModelFault(f"model {self._model!r} refused the request: {error}") from error
        except openai.OpenAIError as error:
            raise ModelFault(f"model {self._model!r}: {_told(error)}") from error
        return read_completion(body, lenient=self._lenient)

    async def _post(self, request: dict[str, Any]) -> bytes:
        if self._client is None:
            self._client = openai.AsyncOpenAI(**self._options)
        raw = await self._client.chat.completions.with_raw_response.create(**request)
        body: bytes = raw.content
        return body

    def _request(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], seed: int
    ) -> dict[str, Any]:
        wanted = {
            "temperature": self._sampling.temperature,
            "top_p": self._sampling.top_p,
            "max_tokens": self._sampling.max_tokens,
            "seed": seed if self._sampling.send_seed else None,
            "tools": tools or None,  # an empty list is refused
        }
        given = {name: value for name, value in wanted.items() if value is not None}
        return {"model": self._model, "messages": [on_the_wire(m) for m in messages], **given}


class OpenAIPolicy:
    """One episode's policy."""

    def __init__(self, shared: OpenAIPolicies, seed: int) -> None:
        self._shared, self._seed = shared, seed

    async def __call__(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        """Ask the endpoint for the next message."""
        return await self._shared.complete(messages, tools, self._seed)


def on_the_wire(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message as any endpoint takes it back.

    Endpoints refuse a history whose calls have empty or odd names or broken arguments, although
    a model wrote them; refusing would turn the model's mistake into a fault of ours.
    """
    kept = {key: message[key] for key in _KEPT if key in message}
    if "tool_calls" in kept:
        kept["tool_calls"] = [_acceptable(call) for call in kept["tool_calls"]]
    return kept


def _acceptable(call: Mapping[str, Any]) -> dict[str, Any]:
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    if json_object(arguments) is None:
        arguments = json.dumps({"malformed": arguments})
    name = _NO_NAME_CHARACTER.sub("_", name)[:64] or "unknown"
    return {**call, "function": {"name": name, "arguments": arguments}}


def read_completion(body: bytes, *, lenient: bool = True) -> Reply:
    """The reply in the body of a chat completion.

    Calls are taken from `tool_calls`, and from the text where the endpoint parsed none. Raises
    `ModelFault` for a body that is no chat completion.
    """
    try:
        answer = json.loads(body)
        message = answer["choices"][0]["message"]
        tool_calls = message.get("tool_calls") or []
        text, reasoning = _text(message.get("content")), _reasoning(message)
        calls = from_openai(tool_calls)
        usage = _usage(answer)
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        start = body[:200].decode("utf-8", "replace")
        raise ModelFault(f"the endpoint's answer is no chat completion: {start!r}") from error
    if calls:
        return Reply(text, calls, usage, message, "native", reasoning)
    parsed = parse(text, lenient=lenient)
    reasoning = reasoning or parsed.reasoning
    return Reply(parsed.content, parsed.calls, usage, message, parsed.form, reasoning)


def _text(content: Any) -> str:
    """Content is text, null, or a list of parts of which some are text."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content)
    return str(content or "")


def _reasoning(message: Mapping[str, Any]) -> str:
    return str(message.get("reasoning_content") or message.get("reasoning") or "")


def _usage(answer: Mapping[str, Any]) -> Usage:
    usage = answer.get("usage") or {}
    return Usage(int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0))


def _told(error: openai.OpenAIError) -> str:
    """The error and, for a lost connection, its cause."""
    cause = f" ({error.__cause__})" if str(error.__cause__ or "") else ""
    return f"{error}{cause}"
