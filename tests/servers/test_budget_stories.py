"""What the budget tells of a world's stories."""

from __future__ import annotations

from datetime import date

import pytest

from provegym.servers.budget.books import occurrence
from provegym.servers.budget.invariants import violations
from provegym.world.cast import cast
from provegym.world.fields import money
from provegym.world.stories import stories
from tests.servers.budget_desk import desk

SEEDS = range(24)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_told_dues_are_recurring_items_with_amount_and_next_day(seed: int) -> None:
    d = desk(seed)
    for told in stories(cast(seed)).dues:
        (item,) = d.ok("list_recurring_items", query=told.name)["recurring_items"]
        assert (item["amount"], item["next_on"]) == (money(told.amount), told.due.isoformat())
        assert (item["frequency"], item["status"]) == ("monthly", "scheduled")
    assert list(violations(d.home)) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_they_were_paid_each_month_since_they_began(seed: int) -> None:
    d = desk(seed)
    for told in stories(cast(seed)).dues:
        (item,) = d.home.recurring_items.where(name=told.name)
        day, days = item.starts_on, list[str]()
        while day < item.next_on:
            days.append(day)
            day = occurrence(item.starts_on, "monthly", day)
        assert day == told.due.isoformat()
        paid = d.ok("list_expenses", query=told.name)["expenses"]
        assert sorted(e["date"] for e in paid) == days != []
        assert {e["amount"] for e in paid} == {money(told.amount)}


def test_their_category_plans_what_they_cost_together() -> None:
    d, told = desk(3), stories(cast(3)).dues
    (shown,) = d.ok("list_budget_categories", query="Dues")["categories"]
    assert shown["planned"] == money(sum(t.amount for t in told))


def test_due_on_a_31st_they_began_in_a_month_that_has_one() -> None:
    ends = [
        (seed, told)
        for seed in range(200)
        for told in stories(cast(seed)).dues
        if told.due.day == 31
    ]
    assert ends
    for seed, told in ends[:3]:
        (item,) = desk(seed).home.recurring_items.where(name=told.name)
        assert date.fromisoformat(item.starts_on).day == 31
