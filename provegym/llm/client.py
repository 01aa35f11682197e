"""Any endpoint that speaks OpenAI's chat completions, as a policy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import openai
from msgspec import Struct

from provegym import config
from provegym.errors import EndpointDown, InputError, ModelFault
from provegym.llm.completion import decode, on_the_wire, to_reply
from provegym.llm.failures import MISCONFIGURED, is_away, overflowed, told
from provegym.rollout.reply import Reply
from provegym.types import Task


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
    """A policy factory for `model` at `base_url` (see `address` for what is not given).

    Each request may take `timeout` seconds; rate limits, server errors, time-outs and lost
    connections are tried `retries` times more, with growing pauses or as `Retry-After` says.
    `lenient` also takes calls from fenced or bare JSON (see `provegym.rollout.parse`).
    """
    options: dict[str, Any] = {"timeout": timeout, "max_retries": retries}
    return OpenAIPolicies(model, sampling, lenient, address(base_url, api_key) | options)


def address(base_url: str | None, api_key: str | None = None) -> dict[str, Any]:
    """Where an endpoint is and the key it takes, as the `openai` client wants to be told.

    What is not given is read from OPENAI_BASE_URL and OPENAI_API_KEY. An endpoint other than
    OpenAI's own may need no key. Raises `InputError` where one is needed and missing, and for a
    URL that is none.
    """
    try:
        url = config.endpoint_url(base_url or os.environ.get("OPENAI_BASE_URL") or "")
    except ValueError as error:
        raise InputError(str(error)) from error
    key = api_key or os.environ.get("OPENAI_API_KEY") or ("none" if url else "")
    if not key:
        raise InputError(
            "OpenAI's own endpoint needs a key: set OPENAI_API_KEY, or give a base URL"
        )
    return {"api_key": key} | ({"base_url": url} if url else {})


class OpenAIPolicies:
    """A policy factory over one pool of connections, which `aclose` gives back."""

    def __init__(
        self, model: str, sampling: Sampling, lenient: bool, options: Mapping[str, Any]
    ) -> None:
        self._model, self._sampling, self._lenient = model, sampling, lenient
        self._options = options
        self._client: openai.AsyncOpenAI | None = None
        self._answered = False

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

        Raises `InputError` where the endpoint refuses the key or does not know the model, and
        `EndpointDown` where nobody is there, nor ever was.
        """
        try:
            body = await self._post(self._request(messages, tools, seed))
        except MISCONFIGURED as error:
            raise InputError(
                f"the endpoint refuses model {self._model!r}: {told(error)}"
            ) from error
        except openai.BadRequestError as error:
            if overflowed(error):
                return Reply(overflow=True)
            raise ModelFault(f"model {self._model!r} refused the request: {told(error)}") from error
        except openai.OpenAIError as error:
            if is_away(error) and not self._answered:
                raise EndpointDown(
                    f"no endpoint of model {self._model!r} is there, {told(error)}; start it or "
                    "give another base URL, then run the same command again"
                ) from error
            raise ModelFault(f"model {self._model!r}: {told(error)}") from error
        self._answered = True
        return to_reply(decode(body), lenient=self._lenient)

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
