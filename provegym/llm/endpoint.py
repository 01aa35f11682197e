"""One endpoint, asked until it answers.

The `openai` client would retry, too, and honours `Retry-After`; its retries are turned off here.
It counts attempts where a run can wait for hours, gives up at once when asked to wait for more
than two minutes, and hides the attempts that may have been billed, which a hard budget must see.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx2
import openai

from provegym.errors import EndpointDown, ModelFault
from provegym.llm.cache import Cache
from provegym.llm.completion import Completion, decode
from provegym.llm.dialect import Dialect, Request
from provegym.llm.failures import PATH, Trouble, down, judge, never_answered, overflowed
from provegym.llm.ledger import Ledger, Spent
from provegym.seeding import rng

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
"""Seconds before the second attempt, and the most before any; each pause is twice the last."""
CONNECT = 10.0
"""Seconds until nobody is taken to be there."""
FEW = 4
"""Short pauses in a row that the user is told of, each; from then on at each power of two."""
SILENT = 20
"""Requests lost in a row before any is answered, after which going on is in vain."""

Notify = Callable[[str], None]
"""Told what the user may want to know while waiting."""


class News:
    """Tells the user of waiting: of many requests that fail together, the one that failed most
    often; of short pauses, the first few and then ever fewer.
    """

    def __init__(self, notify: Notify) -> None:
        self._notify, self._told = notify, 0

    def waiting(self, why: str, failed: int, pause: float) -> None:
        """A request failed for the `failed`-th time, and is made again in `pause` seconds."""
        often = failed > FEW and pause < 1 and failed & (failed - 1)
        if failed > self._told and not often:
            self._told = failed
            self._notify(f"{why}; trying again in {pause:.1f} s")

    def answered(self) -> None:
        """A request was answered, so that the next failure is news."""
        self._told = 0


class Endpoint:
    """Sends requests, keeps their answers and books what they took."""

    def __init__(
        self,
        address: dict[str, Any],
        cache: Cache,
        ledger: Ledger,
        *,
        timeout: float,
        retries: int,
        patience: float,
        notify: Notify,
    ) -> None:
        """See `provegym.config.Teacher` for `timeout`, `retries` and `patience`."""
        self._cache, self._ledger, self._dialect = cache, ledger, Dialect()
        self._timeout, self._retries, self._patience = timeout, retries, patience
        self._notify, self._news = notify, News(notify)
        self._client = openai.AsyncOpenAI(
            **address,
            max_retries=0,
            timeout=httpx2.Timeout(None, connect=min(CONNECT, timeout)),
        )
        self._answers = self._lost = 0
        self._closing = False
        self.sending: set[asyncio.Task[Any] | None] = set()
        """The tasks that have a request on the wire."""

    async def ask(self, request: Request) -> bytes | None:
        """The body of the answer, which is in the cache by then; None where the conversation is
        too long for the model.

        Raises `EndpointDown` where the endpoint turned the request away for `patience` seconds or
        never answered one of `SILENT`, `ModelFault` where only this request fails, `BudgetSpent`,
        and `InputError` for what the user has to mend.
        """
        try:
            found = await self._asked(request)
        except EndpointDown:
            raise
        except ModelFault as fault:
            self._lost += 1
            if self._lost >= SILENT and not self._answers:
                raise never_answered(fault) from fault
            raise
        self._lost = 0
        return found

    async def _asked(self, request: Request) -> bytes | None:
        """The same, whatever became of other requests."""
        failed = alone = answers = 0
        since = 0.0
        while isinstance(found := await self._attempt(request), Trouble):
            if not failed:
                since, answers = _now(), self._answers
            failed += 1
            by_itself = found.lost or (self._answers > answers and not found.busy)
            if by_itself:
                alone, since = alone + 1, _now()
            if self._closing or alone > self._retries:
                raise ModelFault(f"model {request.model!r}: {found.told} (attempt {failed})")
            pause = found.pause or own_pause(request, failed)
            if _now() - since + pause > self._patience and not by_itself:
                raise down(request.model, _now() - since, found, self._patience)
            self._ledger.retries += 1
            self._news.waiting(found.told, failed, pause)
            await asyncio.sleep(pause)
        return found

    def stop(self) -> None:
        """Let the requests on the wire be the last."""
        self._closing = True

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _attempt(self, request: Request) -> bytes | Trouble | None:
        """Send the request once, and book what becomes of it: as lost, unless it is told here."""
        worst = worst_case(self._dialect.body(request), request.max_tokens)
        async with self._ledger.claim(worst) as claim:
            sent = self._cache.send(request.model, worst)
            try:
                answer = await self._post(request)
                took = _took(decode(answer), worst)
            except TimeoutError:
                return Trouble(f"no answer within {self._timeout:g} s", lost=True)
            except ModelFault as fault:
                return Trouble(str(fault), lost=True)
            except openai.OpenAIError as error:
                found = judge(error, request.model)
                if not (isinstance(found, Trouble) and found.lost):
                    claim.turned_away()
                    self._cache.turned_away(sent)
                if isinstance(found, Exception):
                    raise found from error
                return found
            self._cache.answered(sent, request.key, request.model, took, answer)
            claim.answered(took)
        self._answers += 1
        self._news.answered()
        return answer

    async def _post(self, request: Request) -> bytes:
        """The body of the response, the request being put as the endpoint takes it."""
        body = self._dialect.body(request)
        task = asyncio.current_task()
        self.sending.add(task)
        try:
            async with asyncio.timeout(self._timeout):
                return (await self._client.post(PATH, cast_to=httpx2.Response, body=body)).content
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            unknown = self._dialect.learn(error, body)
            if overflowed(error) or not unknown:
                raise
            self._notify(f"the endpoint does not take {unknown!r}; going on without it")
        finally:
            self.sending.discard(task)
        return await self._post(request)


def worst_case(body: dict[str, Any], max_tokens: int) -> Spent:
    """The most that a request may take: a token for each byte sent, and the longest answer."""
    return Spent(1, len(json.dumps(body, ensure_ascii=False).encode()), max_tokens)


def _took(completion: Completion, worst: Spent) -> Spent:
    """As the endpoint reports it; at worst where it reports nothing."""
    usage = completion.usage
    if usage is None:
        return worst
    cached = min(completion.cached_tokens, usage.prompt_tokens)
    return Spent(1, usage.prompt_tokens, usage.completion_tokens, cached)


def own_pause(request: Request, failed: int) -> float:
    """Seconds before the next attempt, up to a quarter less by chance, so that many requests
    that failed together do not come back together.
    """
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failed - 1, 16))
    return longest * (1 - rng(request.seed, request.key, failed).random() / 4)


def _now() -> float:
    return asyncio.get_running_loop().time()
