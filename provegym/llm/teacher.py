"""A language model as the teacher, behind any endpoint of OpenAI's protocol.

    async with Teacher(settings, Path("answers.sqlite")) as teacher:
        answer = await teacher.complete(messages, tools, seed=7)

`complete` may be called any number of times at once. A request that was answered before, in this
run or an earlier one, is read from the disk; the same request asked twice at once goes out once.
Another `seed` makes another request, so that an answer can be asked for anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from provegym import config
from provegym.llm.cache import Cache
from provegym.llm.client import address
from provegym.llm.completion import Completion, decode, on_the_wire, to_reply
from provegym.llm.dialect import Request
from provegym.llm.endpoint import Endpoint, Notify
from provegym.llm.ledger import Budget, Ledger, Prices
from provegym.rollout.parse import json_value, split_thinking
from provegym.rollout.reply import Reply
from provegym.types import Usage


class Answer(Reply, frozen=True):
    """A reply, and what a synthesis needs to know besides.

    `value` is the JSON value that was asked for by a schema, None where the text holds none; it
    need not fit the schema. `refusal` is the endpoint's word for not answering. `finish` is its
    `finish_reason`, "length" where `max_tokens` cut the answer off. `cached` says that nothing was
    paid for it now. With `overflow` the conversation is too long for the model, and the rest empty.
    """

    value: Any = None
    refusal: str = ""
    finish: str = ""
    cached: bool = False


class Teacher:
    """The model of one run; an async context manager."""

    def __init__(
        self,
        settings: config.Teacher,
        cache: Path,
        *,
        api_key: str | None = None,
        notify: Notify = lambda line: None,
    ) -> None:
        """Open the file of answers `cache`, and count what those in it took.

        Raises `InputError` where the file is in use or foreign, or a key is missing.
        """
        self._settings, self._notify = settings, notify
        where = address(settings.base_url, api_key)
        self._cache = Cache(cache)
        prices = Prices(settings.prices.prompt, settings.prices.completion, settings.prices.cached)
        budget = Budget(settings.budget_usd, settings.budget_tokens)
        self.ledger = Ledger(prices, budget, *self._cache.spent(settings.model))
        """What was spent so far, in this run and in earlier ones with the same file."""
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._flights: dict[str, asyncio.Task[bytes | None]] = {}
        self._endpoint = Endpoint(
            where,
            self._cache,
            self.ledger,
            timeout=settings.timeout,
            retries=settings.retries,
            patience=settings.patience,
            notify=notify,
        )

    async def __aenter__(self) -> Teacher:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Close. What is on the wire is waited for, since it is paid for, unless cancelled."""
        self._endpoint.stop()
        cancelled = kind is not None and not issubclass(kind, Exception)
        flights = list(self._flights.values())
        for flight in flights:
            if cancelled or flight not in self._endpoint.sending:
                flight.cancel()
        for end in await asyncio.gather(*flights, return_exceptions=True):
            if isinstance(end, Exception):  # nobody else may be left to tell
                self._notify(f"a request failed while closing: {end}")
        await self._endpoint.aclose()
        self._cache.close()

    async def complete(
        self,
        messages: Iterable[Mapping[str, Any]],
        tools: Iterable[Mapping[str, Any]] | None = None,
        *,
        seed: int,
        temperature: float | None = None,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> Answer:
        """The model's answer to chat `messages`; messages and `tools` are as in OpenAI's chat
        completions, what is not given is the settings'.

        `schema` is a JSON Schema of the answer's `value`. For OpenAI's own endpoint its objects
        require all their properties and set `additionalProperties` to false.

        Raises `BudgetSpent` before the budget could be exceeded, `EndpointDown` where going on is
        in vain, `ModelFault` where this request fails alone, and `InputError` for what the user
        has to mend. All that is finished is kept in any case.
        """
        request = Request(
            model=self._settings.model,
            messages=[on_the_wire(message) for message in messages],
            seed=seed,
            temperature=float(self._settings.temperature if temperature is None else temperature),
            max_tokens=max_tokens or self._settings.max_tokens,
            tools=[dict(tool) for tool in tools or ()],
            schema=None if schema is None else dict(schema),
            mode=self._settings.mode,
            extra=self._settings.extra,
        )
        key = request.key
        body = self._cache.get(key)
        paid_now = body is None and key not in self._flights
        if body is None:
            body = await self._fetched(key, request)
        self.ledger.hits += not paid_now
        return Answer(overflow=True) if body is None else _answer(body, request, not paid_now)

    async def _fetched(self, key: str, request: Request) -> bytes | None:
        """The answer to the request under way with that key. It outlives who waits for it."""
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = asyncio.create_task(self._fetch(request))
            flight.add_done_callback(lambda done: self._landed(key, done))
        return await asyncio.shield(flight)

    async def _fetch(self, request: Request) -> bytes | None:
        async with self._slots:
            return await self._endpoint.ask(request)

    def _landed(self, key: str, flight: asyncio.Task[bytes | None]) -> None:
        del self._flights[key]
        if not flight.cancelled():
            flight.exception()  # is told to those who wait; none may be left to


def _answer(body: bytes, request: Request, cached: bool) -> Answer:
    completion = decode(body)
    reply = _reply(completion, request)
    return Answer(
        **msgspec.structs.asdict(reply),
        value=None if request.schema is None else json_value(reply.content),
        refusal=completion.refusal,
        finish=completion.finish,
        cached=cached,
    )


def _reply(completion: Completion, request: Request) -> Reply:
    """Calls are looked for in the text only where tools were offered."""
    if request.tools:
        return to_reply(completion, lenient=request.schema is None)
    thought, content = split_thinking(completion.content)
    return Reply(
        content=content.strip(),
        usage=completion.usage or Usage(),
        raw=completion.message,
        reasoning=completion.reasoning or thought,
    )
