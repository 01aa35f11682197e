"""What is booked, forecast and refused."""

from __future__ import annotations

import asyncio
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.errors import BudgetSpent
from provegym.llm.ledger import NOTHING, Budget, Claim, Ledger, Prices, Spent

PRICES = Prices(prompt=2.0, completion=8.0, cached=0.5)


def test_money_is_tokens_times_the_price_of_a_million() -> None:
    assert PRICES.cost(Spent(1, 1_000_000, 250_000)) == 4.0
    assert PRICES.cost(Spent(1, 1_000_000, 0, cached_tokens=400_000)) == pytest.approx(1.4)
    assert Prices(2.0, 8.0).cost(Spent(1, 1_000_000, 0, 400_000)) == 2.0
    assert Prices().cost(Spent(1, 10**9, 10**9)) == 0.0


def test_a_forecast_scales_what_was_done_or_a_guess() -> None:
    ledger = Ledger(PRICES, answered=Spent(30, 3_000, 600, 900), lost=Spent(1, 100, 50))
    assert ledger.forecast(1000, done=10) == Spent(3_100, 310_000, 65_000, 90_000)
    assert ledger.forecast(1000, guess=Spent(3, 300, 60)) == Spent(3_000, 300_000, 60_000)
    assert PRICES.cost(ledger.forecast(1000, guess=Spent(3, 300, 60))) == pytest.approx(1.08)


def test_what_was_spent_or_is_expected_is_told_in_one_line() -> None:
    spent = Spent(3_100, 310_000, 65_000)
    plain = "3,100 requests, 310,000 tokens read, 65,000 written"
    assert Prices().tell(spent) == plain
    assert PRICES.tell(spent) == f"{plain}, $1.14"


def test_figures_name_every_part() -> None:
    ledger = Ledger(PRICES, answered=Spent(3, 300, 60, 90), lost=Spent(1, 100, 50))
    ledger.retries, ledger.hits = 2, 5
    assert ledger.figures() == {
        "requests": 3,
        "lost_requests": 1,
        "retries": 2,
        "cache_hits": 5,
        "prompt_tokens": 400,
        "cached_prompt_tokens": 90,
        "completion_tokens": 110,
        "usd": pytest.approx((310 * 2 + 90 * 0.5 + 110 * 8) / 1e6),
    }


def settle(claim: Claim, took: Spent | None) -> None:
    """None for a request that was turned away."""
    claim.turned_away() if took is None else claim.answered(took)


def test_a_claim_that_is_told_nothing_counts_as_lost() -> None:
    ledger = Ledger()

    async def all_of_it() -> None:
        async with ledger.claim(Spent(1, 100, 50)):
            pass
        with pytest.raises(ZeroDivisionError):
            async with ledger.claim(Spent(1, 7, 3)):
                raise ZeroDivisionError
        async with ledger.claim(Spent(1, 100, 50)) as claim:
            claim.answered(Spent(1, 80, 9))
        async with ledger.claim(Spent(1, 100, 50)) as claim:
            claim.turned_away()

    asyncio.run(all_of_it())
    assert (ledger.answered, ledger.lost) == (Spent(1, 80, 9), Spent(2, 107, 53))


REQUEST = st.integers(1, 60).flatmap(
    lambda worst: st.tuples(
        st.just(Spent(1, worst, 10)),
        st.one_of(
            st.none(),
            st.builds(Spent, st.just(1), st.integers(0, worst), st.integers(0, 10)),
            st.just("lost"),
        ),
    )
)


@given(st.lists(REQUEST, max_size=12), st.integers(20, 200), st.booleans(), st.randoms())
def test_no_interleaving_exceeds_the_budget_and_the_sum_is_that_of_the_parts(
    requests: list[tuple[Spent, Spent | str | None]], limit: int, money: bool, chance: object
) -> None:
    budget = Budget(usd=limit / 1e6) if money else Budget(tokens=limit)
    ledger = Ledger(Prices(1.0, 1.0), budget)
    booked: list[Spent] = []
    open_: dict[int, tuple[Spent, asyncio.Event]] = {}
    refused: list[Spent] = []

    async def request(number: int, worst: Spent, took: Spent | str | None) -> None:
        try:
            async with ledger.claim(worst) as claim:
                open_[number] = worst, asyncio.Event()
                await open_[number][1].wait()
                del open_[number]
                if not isinstance(took, str):
                    settle(claim, took)
                booked.append(worst if isinstance(took, str) else took or NOTHING)
        except BudgetSpent:
            refused.append(worst)
            assert (ledger.spent + worst).tokens > limit  # never for what is only under way

    async def all_of_it() -> None:
        tasks = [asyncio.create_task(request(n, *r)) for n, r in enumerate(requests)]
        while not all(task.done() for task in tasks):
            for _ in range(3):
                await asyncio.sleep(0)  # let those go on that can
            under_way = sum(worst.tokens for worst, _ in open_.values())
            assert ledger.spent.tokens + under_way <= limit
            waiting = [event for _, event in open_.values() if not event.is_set()]
            if waiting:
                chance.choice(waiting).set()  # type: ignore[attr-defined]
        await asyncio.gather(*tasks)

    asyncio.run(all_of_it())
    assert ledger.spent == [*accumulate([NOTHING, *booked], Spent.__add__)][-1]
    assert len(booked) + len(refused) == len(requests)


def refusal(ledger: Ledger, worst: Spent) -> str:
    async def claim() -> None:
        async with ledger.claim(worst):
            pass

    with pytest.raises(BudgetSpent) as caught:
        asyncio.run(claim())
    return str(caught.value)


def test_a_refusal_says_what_was_spent_the_budget_and_what_to_do() -> None:
    spent = Ledger(budget=Budget(tokens=1_000), answered=Spent(3, 700, 112))
    assert refusal(spent, Spent(1, 150, 200)) == (
        "the budget of 1,000 tokens is spent: 3 requests took 812, and the next may take 350 "
        "tokens; raise budget_tokens and run the same command again: what is finished is kept"
    )
    answered, lost = Spent(1, 1_000_000, 0), Spent(2, 0, 100_000)
    spent = Ledger(PRICES, Budget(usd=3.0), answered, lost)
    assert refusal(spent, Spent(1, 0, 50_000)) == (
        "the budget of $3.00 is spent: 3 requests took $2.8000, of it 2 lost ones at their worst, "
        "and the next may take $0.4000; raise budget_usd and run the same command again: what is "
        "finished is kept"
    )


def test_a_request_waits_for_those_under_way_where_they_may_leave_enough() -> None:
    ledger = Ledger(budget=Budget(tokens=100))
    order: list[str] = []

    async def first(may_end: asyncio.Event) -> None:
        async with ledger.claim(Spent(1, 60, 20)) as claim:
            await may_end.wait()
            claim.answered(Spent(1, 10, 5))
            order.append("first")

    async def second() -> None:
        async with ledger.claim(Spent(1, 60, 20)) as claim:
            claim.answered(Spent(1, 10, 5))
            order.append("second")

    async def all_of_it() -> None:
        may_end = asyncio.Event()
        tasks = [asyncio.create_task(first(may_end)), asyncio.create_task(second())]
        for _ in range(5):
            await asyncio.sleep(0)
        assert order == []
        may_end.set()
        await asyncio.gather(*tasks)

    asyncio.run(all_of_it())
    assert order == ["first", "second"]
    assert ledger.spent == Spent(2, 20, 10)
