"""The household budget: sums, limits, recurrence, closing, and what always holds."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provegym.servers.budget.books import occurrence
from provegym.servers.budget.invariants import violations
from provegym.servers.budget.state import Frequency
from provegym.world.fields import cents, money
from tests.servers.budget_desk import Desk, desk

# -- expenses and categories -------------------------------------------------------------------


def test_an_expense_raises_what_its_category_spent_and_lowers_what_is_left() -> None:
    d = desk()
    before, plan = d.spent("Books"), d.planned("Books")
    got = d.ok("record_expense", **d.buy("Books", "12.34"))
    assert d.spent("Books") == before + 1234
    assert cents(got["category_left"]) == plan - before - 1234
    shown = d.ok("list_budget_categories", query="books")["categories"]
    assert [cents(shown[0][k]) for k in ("planned", "spent", "left")] == [
        plan,
        before + 1234,
        plan - before - 1234,
    ]


def test_a_hard_limit_can_be_spent_to_the_last_cent_and_not_beyond() -> None:
    d = desk()
    left = d.planned("Dining") - d.spent("Dining")
    error = d.refused("record_expense", **d.buy("Dining", money(left + 1)))
    assert (error["code"], error["details"]["left"]) == ("over_hard_limit", money(left))
    assert d.ok("record_expense", **d.buy("Dining", money(left)))["category_left"] == "0.00"
    soft = d.planned("Books") - d.spent("Books") + 5_00
    assert d.ok("record_expense", **d.buy("Books", money(soft)))["category_left"] == "-5.00"


def test_refiling_an_expense_moves_its_amount_between_categories() -> None:
    d = desk()
    made = d.ok("record_expense", **d.buy("Books", "20.00"))["expense"]["id"]
    books, pets = d.spent("Books"), d.spent("Pets")
    got = d.ok("update_expense", expense_id=made, category_id=d.category("Pets").id, amount="25.00")
    assert (d.spent("Books"), d.spent("Pets")) == (books - 2000, pets + 2500)
    assert (got["expense"]["category"], got["expense"]["amount"]) == ("Pets", "25.00")


def test_a_void_expense_counts_for_nothing_until_it_is_put_back() -> None:
    d = desk()
    made = d.ok("record_expense", **d.buy("Books", "20.00"))["expense"]["id"]
    spent, total = d.spent("Books"), d.ok("get_budget_report")["spent"]
    d.ok("update_expense", expense_id=made, status="void")
    assert d.spent("Books") == spent - 2000
    assert cents(d.ok("get_budget_report")["spent"]) == cents(total) - 2000
    assert d.refused("update_expense", expense_id=made, amount="9.00")["code"] == "expense_void"
    d.ok("update_expense", expense_id=made, status="counted", amount="9.00")
    assert d.spent("Books") == spent - 1100


def test_a_soft_limit_becomes_hard_only_while_nothing_open_is_over_it() -> None:
    d = desk()
    books = d.category("Books").id
    over = d.planned("Books") - d.spent("Books") + 1_00
    d.ok("record_expense", **d.buy("Books", money(over)))
    call = {"category_id": books, "limit_kind": "hard"}
    assert d.refused("update_budget_category", **call)["code"] == "over_hard_limit"
    worst = max(
        a.spent for b in d.home.budgets.where(status="open")
        for a in d.home.allocations.where(budget_id=b.id, category_id=books)
    )  # fmt: skip
    for b in d.home.budgets.where(status="open"):
        plan = money(worst + 1_00)
        d.ok("update_budget_category", category_id=books, planned=plan, month=b.month)
    assert d.ok("update_budget_category", **call)["limit_kind"] == "hard"
    left = d.planned("Books") - d.spent("Books")
    again = d.buy("Books", money(left + 1))
    assert d.refused("record_expense", **again)["code"] == "over_hard_limit"


def test_an_archived_category_takes_expenses_again_once_restored() -> None:
    d = desk()
    call = d.buy("Old Car", "30.00")
    assert d.refused("record_expense", **call)["code"] == "category_archived"
    got = d.ok("update_budget_category", category_id=call["category_id"], status="active")
    assert "status" not in got
    d.ok("record_expense", **call)
    d.ok("update_budget_category", category_id=call["category_id"], status="archived")
    assert d.spent("Old Car") == 3000


def test_expenses_are_found_by_payee_category_and_day_and_summed() -> None:
    d = desk()
    for amount in ("4.00", "6.50"):
        d.ok("record_expense", **d.buy("Books", amount, payee="Rare Prints"))
    got = d.ok("list_expenses", query="rare", category_id=d.category("Books").id, limit=1)
    assert (got["sum"], got["total"], len(got["expenses"])) == ("10.50", 2, 1)
    assert d.ok("list_expenses", query="rare", until="2026-01-01")["total"] == 0


# -- months ------------------------------------------------------------------------------------


def _report(d: Desk, back: int) -> dict[str, int]:
    """A month's sums, straight from the rows."""
    budget = d.month(back)
    spent = sum(
        e.amount
        for e in d.home.expenses
        if e.date.startswith(budget.month) and e.status == "counted"
    )
    income = sum(i.amount for i in d.home.incomes if i.date.startswith(budget.month))
    saved = sum(c.amount for c in d.home.contributions if c.budget_id == budget.id)
    return {"income": income, "spent": spent, "saved": saved, "left": income - spent - saved}


@pytest.mark.parametrize("back", [0, 1, 2, 4, 6])
def test_a_report_is_the_sum_of_the_months_rows(back: int) -> None:
    d = desk()
    got = d.ok("get_budget_report", month=d.month(back).month)
    assert {k: cents(got[k]) for k in ("income", "spent", "saved", "left")} == _report(d, back)
    assert got["status"] == ("closed" if back > 2 else "open")
    for over in got["over"]:
        name = d.home.categories[over["category_id"]].name
        assert cents(over["over_by"]) == d.spent(name, back) - d.planned(name, back) > 0


def test_months_close_in_order_once_over_and_posted_and_then_for_good() -> None:
    d = desk()
    last, before = d.month(1).month, d.month(2).month
    error = d.refused("close_budget_month", month=last)
    assert (error["code"], error["details"]["open_month"]) == ("earlier_month_open", before)
    shown = d.ok("get_budget_report", month=before)
    assert d.ok("close_budget_month", month=before) == {**shown, "status": "closed"}
    error = d.refused("close_budget_month", month=last)
    assert (error["code"], "Electricity" in error["details"]["items"]) == ("items_due", True)
    d.ok("update_budget_category", category_id=d.category("Fitness").id, limit_kind="soft")
    for item in list(d.home.recurring_items):
        asleep = item.paused or item.ends_on
        while not asleep and d.home.recurring_items[item.id].next_on[:7] <= last:
            d.ok("post_recurring_item", recurring_item_id=item.id)
    d.ok("close_budget_month", month=last)
    late = d.buy("Books", "5.00", spent_on=f"{last}-10")
    assert d.refused("record_expense", **late)["code"] == "month_closed"
    assert d.refused("close_budget_month", month=last)["code"] == "month_closed"
    assert list(violations(d.home)) == []


def test_a_renamed_category_leaves_closed_reports_as_they_were() -> None:
    d = desk()
    month = d.month(4).month
    before = d.ok("get_budget_report", month=month)
    d.ok("update_budget_category", category_id=d.category("Dining").id, name="Going Out")
    d.ok("record_income", source="Ada Lovelace", amount="70.00", received_on=d.home.today)
    after = d.ok("get_budget_report", month=month)
    assert {**after, "over": []} == {**before, "over": []}


def test_income_raises_what_the_month_has_left_and_saving_lowers_it() -> None:
    d = desk()
    left = cents(d.ok("get_budget_report")["left"])
    got = d.ok("record_income", source="Ada Lovelace", amount="70.00", received_on=d.home.today)
    assert cents(got["month_left"]) == left + 7000
    goal = next(g for g in d.home.goals if g.target - g.saved >= 5000 and not g.closed)
    moved = d.ok("move_goal_savings", goal_id=goal.id, action="add", amount="50.00")
    assert cents(moved["month_left"]) == left + 2000
    assert cents(moved["goal"]["saved"]) == goal.saved + 5000
    back = d.ok("move_goal_savings", goal_id=goal.id, action="withdraw", amount="20.00")
    assert (cents(back["goal"]["saved"]), cents(back["month_left"])) == (
        goal.saved + 3000,
        left + 4000,
    )


# -- recurring items ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("starts_on", "frequency", "after", "following"),
    [
        ("2026-01-31", "monthly", "2026-01-31", "2026-02-28"),
        ("2026-01-31", "monthly", "2026-02-28", "2026-03-31"),
        ("2028-01-31", "monthly", "2028-01-31", "2028-02-29"),
        ("2026-03-05", "weekly", "2026-03-05", "2026-03-12"),
        ("2025-11-30", "quarterly", "2025-11-30", "2026-02-28"),
        ("2024-02-29", "yearly", "2024-02-29", "2025-02-28"),
        ("2024-02-29", "yearly", "2027-02-28", "2028-02-29"),
        ("2026-05-01", "monthly", "2026-04-30", "2026-05-01"),
    ],
)
def test_the_next_day_of_a_series(
    starts_on: str, frequency: Frequency, after: str, following: str
) -> None:
    assert occurrence(starts_on, frequency, after) == following


@settings(max_examples=60, deadline=None)
@given(
    st.dates(min_value=date(2000, 1, 1), max_value=date(2050, 1, 1)),
    st.sampled_from(["weekly", "monthly", "quarterly", "yearly"]),
    st.integers(0, 900),
)
def test_each_day_of_a_series_is_the_first_after_the_one_before(
    start: date, frequency: Frequency, days: int
) -> None:
    begin, after = start.isoformat(), (start + timedelta(days=days)).isoformat()
    day = occurrence(begin, frequency, after)
    assert day > after
    eve = (date.fromisoformat(day) - timedelta(days=1)).isoformat()
    assert occurrence(begin, frequency, eve) == day
    assert occurrence(begin, frequency, after) <= occurrence(begin, frequency, day)


def test_posting_a_bill_books_it_on_its_day_and_moves_it_on() -> None:
    d = desk()
    item = d.item("Home insurance")
    got = d.ok("post_recurring_item", recurring_item_id=item.id, amount="31.00")
    assert (got["posted_on"], got["posted_amount"]) == (item.next_on, "31.00")
    booked = next(e for e in d.home.expenses.where(recurring_item_id=item.id) if e.amount == 3100)
    assert (booked.date, booked.payee) == (item.next_on, "Home insurance")
    assert got["item"]["next_on"] == occurrence(item.starts_on, "monthly", item.next_on)
    assert got["item"]["status"] == "scheduled"
    error = d.refused("post_recurring_item", recurring_item_id=item.id)
    assert error["code"] == "not_due"


def test_posting_an_income_adds_it_to_its_month() -> None:
    d = desk()
    item = d.item("Flat share")
    d.ok("post_recurring_item", recurring_item_id=item.id)
    new = d.home.incomes.where(recurring_item_id=item.id, date=item.next_on)
    assert [i.amount for i in new] == [item.amount]


def test_a_bill_over_a_hard_limit_is_posted_once_more_is_planned() -> None:
    d = desk()
    gym = d.item("Gym membership")
    error = d.refused("post_recurring_item", recurring_item_id=gym.id)
    assert error["code"] == "over_hard_limit"
    d.ok(
        "update_budget_category",
        category_id=d.category("Fitness").id,
        planned="150.00",
        month=gym.next_on[:7],
    )
    d.ok("post_recurring_item", recurring_item_id=gym.id)


# -- what holds in every world -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_a_seeded_world_is_varied(seed: int) -> None:
    d = desk(seed)
    for status in ("due", "scheduled", "paused", "ended"):
        assert d.item_of(status)
    for status in ("saving", "reached", "closed"):
        assert d.ok("list_savings_goals", status=status)["total"] > 0
    assert d.ok("list_budget_categories", standing="archived")["total"] == 2
    assert any(e.status == "void" for e in d.home.expenses)
    assert {i.amount > 0 for i in d.home.incomes} == {True}
