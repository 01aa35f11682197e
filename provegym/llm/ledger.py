"""What requests took in tokens and money, and a budget that they cannot exceed.

Before a request is sent, the most that it may take is set aside: a token for each byte that is
sent, since no byte-level tokenizer makes more of it, and `max_tokens` for the answer. When the
answer is there, what the endpoint reports takes the place of that.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec import Struct

from provegym.errors import BudgetSpent

MILLION = 1_000_000


class Spent(Struct, frozen=True):
    """What a number of requests took. `cached_tokens` are those of the prompt tokens that the
    endpoint read from its own cache.
    """

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    @property
    def tokens(self) -> int:
        """All that were read and written."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
        )

    def __sub__(self, other: Spent) -> Spent:
        return self + other.times(-1)

    def times(self, factor: float) -> Spent:
        """The same for `factor` times the work."""
        return Spent(
            round(self.requests * factor),
            round(self.prompt_tokens * factor),
            round(self.completion_tokens * factor),
            round(self.cached_tokens * factor),
        )


NOTHING = Spent()


class Prices(Struct, frozen=True):
    """US dollars for a million tokens; `cached` is what cached prompt tokens cost (None: as
    others).
    """

    prompt: float = 0.0
    completion: float = 0.0
    cached: float | None = None

    def tell(self, spent: Spent) -> str:
        """In words, for a forecast or a summary; without the money where there are no prices."""
        told = (
            f"{spent.requests:,} requests, {spent.prompt_tokens:,} tokens read, "
            f"{spent.completion_tokens:,} written"
        )
        return f"{told}, ${self.cost(spent):,.2f}" if self.prompt or self.completion else told

    def cost(self, spent: Spent) -> float:
        """In US dollars."""
        cached = self.prompt if self.cached is None else self.cached
        fresh = spent.prompt_tokens - spent.cached_tokens
        read = fresh * self.prompt + spent.cached_tokens * cached
        return (read + spent.completion_tokens * self.completion) / MILLION


class Budget(Struct, frozen=True):
    """The most that all requests of one ledger may take; 0 sets no limit."""

    usd: float = 0.0
    tokens: int = 0


FREE, NO_LIMIT = Prices(), Budget()


class Claim:
    """What is set aside for one request under way."""

    def __init__(self, worst: Spent) -> None:
        self._worst = worst
        self.took, self.lost = NOTHING, worst

    def answered(self, took: Spent) -> None:
        """The answer came; `took` is what it reports, and counts instead."""
        self.took, self.lost = took, NOTHING

    def turned_away(self) -> None:
        """The endpoint did not take the request, so it costs nothing."""
        self.took = self.lost = NOTHING


class Ledger:
    """The account of one model.

    `answered` is what answered requests took, as the endpoint reports it. `lost` holds requests
    that were sent and never answered (a time-out, a cut connection, a kill): they may be billed
    all the same, so they count at their worst. `retries` and `hits` (answers that were there
    already) are those of this process.
    """

    def __init__(
        self,
        prices: Prices = FREE,
        budget: Budget = NO_LIMIT,
        answered: Spent = NOTHING,
        lost: Spent = NOTHING,
    ) -> None:
        self.prices, self.budget = prices, budget
        self.answered, self.lost = answered, lost
        self.retries = self.hits = 0
        self._under_way = NOTHING
        self._settled = asyncio.Event()

    @property
    def spent(self) -> Spent:
        """What counts against the budget, without what is under way."""
        return self.answered + self.lost

    @property
    def usd(self) -> float:
        """What was spent, in US dollars."""
        return self.prices.cost(self.spent)

    def figures(self) -> dict[str, float]:
        """All of it by name, for a manifest or a table."""
        return {
            "requests": self.answered.requests,
            "lost_requests": self.lost.requests,
            "retries": self.retries,
            "cache_hits": self.hits,
            "prompt_tokens": self.spent.prompt_tokens,
            "cached_prompt_tokens": self.spent.cached_tokens,
            "completion_tokens": self.spent.completion_tokens,
            "usd": self.usd,
        }

    def forecast(self, units: int, done: int = 0, guess: Spent = NOTHING) -> Spent:
        """What all `units` will take, from what the `done` ones took; where none is done, from
        `guess`, what one unit may take. `prices` turn it into money and words.
        """
        return self.spent.times(units / done) if done else guess.times(units)

    @asynccontextmanager
    async def claim(self, worst: Spent) -> AsyncIterator[Claim]:
        """Set `worst` aside for one request, which counts as lost unless the claim is told
        otherwise.

        Waits while requests under way may leave enough. Raises `BudgetSpent` where they cannot.
        """
        while not self._fits(self.spent + self._under_way + worst):
            if not self._fits(self.spent + worst):
                raise self._too_little(worst)
            await self._settled.wait()
        claim = Claim(worst)
        self._under_way += worst
        try:
            yield claim
        finally:
            self._under_way -= worst
            self.answered += claim.took
            self.lost += claim.lost
            self._settled.set()
            self._settled = asyncio.Event()

    def _fits(self, spent: Spent) -> bool:
        tokens, usd = self.budget.tokens, self.budget.usd
        return (not tokens or spent.tokens <= tokens) and (
            not usd or self.prices.cost(spent) <= usd
        )

    def _too_little(self, worst: Spent) -> BudgetSpent:
        short = self.budget.tokens and (self.spent + worst).tokens > self.budget.tokens
        if short:
            name, limit = "budget_tokens", f"{self.budget.tokens:,} tokens"
            used, wanted = f"{self.spent.tokens:,}", f"{worst.tokens:,} tokens"
        else:
            name, limit = "budget_usd", f"${self.budget.usd:,.2f}"
            used, wanted = f"${self.usd:,.4f}", f"${self.prices.cost(worst):,.4f}"
        lost = self.lost.requests
        presumed = f", of it {lost:,} lost ones at their worst" if lost else ""
        return BudgetSpent(
            f"the budget of {limit} is spent: {self.spent.requests:,} requests took {used}"
            f"{presumed}, and the next may take {wanted}; raise {name} and run the same command "
            "again: what is finished is kept"
        )
