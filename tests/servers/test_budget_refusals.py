"""Each refusal of the budget occurs in its worlds as seeded; broken books are noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from provegym.servers.budget import SERVER
from provegym.servers.budget.invariants import violations
from provegym.servers.budget.state import Budget, Goal
from provegym.world.fields import money
from tests.servers.budget_desk import Desk, desk
from tests.servers.talk import agree, declared

Scenario = Callable[[Desk], dict[str, Any]]


def _goal(d: Desk, **equal: Any) -> Goal:
    """A goal that is, or is not, closed or full."""
    return next(
        g
        for g in d.home.goals
        if g.closed == equal.get("closed", False)
        and (g.saved >= g.target) == equal.get("full", False)
    )


def _save(d: Desk, goal: Goal, amount: str, action: str = "add") -> dict[str, Any]:
    return {"goal_id": goal.id, "action": action, "amount": amount}


def _change(d: Desk, category: str, **given: Any) -> dict[str, Any]:
    return {"category_id": d.category(category).id, **given}


def _correct(d: Desk, *, status: str = "counted", closed: bool = False, **given: Any) -> Any:
    return {"expense_id": d.expense(status=status, closed=closed).id, **given}


def _income(d: Desk, day: str) -> dict[str, Any]:
    return {"source": "Ada Lovelace", "amount": "10.00", "received_on": day}


def _closed_day(d: Desk) -> str:
    return f"{d.month(4).month}-10"


def _post(d: Desk, status: str) -> dict[str, Any]:
    return {"recurring_item_id": d.item_of(status).id}


def _big_goal(d: Desk) -> Goal:
    """A goal that lacks more than the month has left, once nearly all of that is spent."""
    goal = _goal(d)
    left = int(d.ok("get_budget_report")["left"].split(".")[0])
    d.ok("record_expense", **d.buy("Travel", money(max(1, left) * 100)))
    return goal


SCENARIOS: dict[tuple[str, str], Scenario] = {
    ("get_budget_report", "no_budget"): lambda d: {"month": "2019-05"},
    ("close_budget_month", "no_budget"): lambda d: {"month": "2019-05"},
    ("close_budget_month", "month_closed"): lambda d: {"month": d.month(4).month},
    ("close_budget_month", "month_not_over"): lambda d: {"month": d.month().month},
    ("close_budget_month", "earlier_month_open"): lambda d: {"month": d.month(1).month},
    ("close_budget_month", "items_due"): lambda d: {
        "month": _closed_before_last(d).month,
    },
    ("list_budget_categories", "no_budget"): lambda d: {"month": "2019-05"},
    ("update_budget_category", "not_found"): lambda d: {"category_id": "cat_none"},
    ("update_budget_category", "category_archived"): lambda d: _change(
        d, "Old Car", planned="5.00"
    ),
    ("update_budget_category", "no_budget"): lambda d: _change(
        d, "Books", planned="5.00", month="2019-05"
    ),
    ("update_budget_category", "month_closed"): lambda d: _change(
        d, "Books", planned="5.00", month=d.month(5).month
    ),
    ("update_budget_category", "over_hard_limit"): lambda d: _change(
        d,
        "Subscriptions",
        planned="0.50",
        month=d.month(1).month,
    ),
    ("update_budget_category", "name_taken"): lambda d: _change(d, "Books", name="PETS"),
    ("update_budget_category", "category_in_use"): lambda d: _change(
        d, "Housing", status="archived"
    ),
    ("update_budget_category", "no_change"): lambda d: _change(d, "Books", limit_kind="soft"),
    ("list_expenses", "not_found"): lambda d: {"category_id": "cat_none"},
    ("record_expense", "not_found"): lambda d: d.buy("Books", "5.00", category_id="cat_none"),
    ("record_expense", "category_archived"): lambda d: d.buy("Old Car", "5.00"),
    ("record_expense", "date_in_future"): lambda d: d.buy("Books", "5.00", spent_on="2031-01-01"),
    ("record_expense", "no_budget"): lambda d: d.buy("Books", "5.00", spent_on="2019-05-05"),
    ("record_expense", "month_closed"): lambda d: d.buy("Books", "5.00", spent_on=_closed_day(d)),
    ("record_expense", "over_hard_limit"): lambda d: d.buy("Dining", "4000.00"),
    ("update_expense", "not_found"): lambda d: {"expense_id": "exp_none"},
    ("update_expense", "month_closed"): lambda d: _correct(d, closed=True, amount="5.00"),
    ("update_expense", "expense_void"): lambda d: {
        "expense_id": _voided(d),
        "amount": "5.00",
    },
    ("update_expense", "category_archived"): lambda d: _correct(
        d, category_id=d.category("Old Car").id
    ),
    ("update_expense", "over_hard_limit"): lambda d: _correct(
        d, category_id=d.category("Dining").id, amount="4000.00"
    ),
    ("update_expense", "no_change"): lambda d: _correct(d, status="counted"),
    ("record_income", "date_in_future"): lambda d: _income(d, "2031-01-01"),
    ("record_income", "no_budget"): lambda d: _income(d, "2019-05-05"),
    ("record_income", "month_closed"): lambda d: _income(d, _closed_day(d)),
    ("post_recurring_item", "not_found"): lambda d: {"recurring_item_id": "rec_none"},
    ("post_recurring_item", "item_ended"): lambda d: _post(d, "ended"),
    ("post_recurring_item", "item_paused"): lambda d: _post(d, "paused"),
    ("post_recurring_item", "not_due"): lambda d: _post(d, "scheduled"),
    ("post_recurring_item", "over_hard_limit"): lambda d: {
        "recurring_item_id": d.item("Gym membership").id
    },
    ("move_goal_savings", "not_found"): lambda d: {
        "goal_id": "goal_none",
        "action": "add",
        "amount": "5.00",
    },
    ("move_goal_savings", "goal_closed"): lambda d: _save(
        d, _goal(d, closed=True, full=True), "5.00"
    ),
    ("move_goal_savings", "goal_reached"): lambda d: _save(d, _goal(d, full=True), "5.00"),
    ("move_goal_savings", "over_target"): lambda d: _save(
        d, _goal(d), money(_goal(d).target - _goal(d).saved + 1)
    ),
    ("move_goal_savings", "not_enough_left"): lambda d: _save(d, _big_goal(d), "20.00"),
    ("move_goal_savings", "not_enough_saved"): lambda d: _save(
        d, _goal(d), money(_goal(d).saved + 1), "withdraw"
    ),
}


def _closed_before_last(d: Desk) -> Budget:
    """The month before the present one, when all before it are closed."""
    d.ok("close_budget_month", month=d.month(2).month)
    return d.month(1)


def _voided(d: Desk) -> str:
    expense = d.expense()
    d.ok("update_expense", expense_id=expense.id, status="void")
    return expense.id


@pytest.mark.parametrize("seed", [0, 11])
@pytest.mark.parametrize(("tool", "code"), declared(SERVER))
def test_each_declared_refusal_occurs_in_a_seeded_world(tool: str, code: str, seed: int) -> None:
    d = desk(seed)
    assert d.refused(tool, **SCENARIOS[tool, code](d))["code"] == code


@pytest.mark.parametrize("amount", ["0.00", "-5.00"])
def test_only_positive_amounts_are_booked(amount: str) -> None:
    d = desk()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("record_expense", d.buy("Books", amount)),
        ("record_income", {**_income(d, d.home.today), "amount": amount}),
        ("update_expense", _correct(d, amount=amount)),
        ("post_recurring_item", {**_post(d, "due"), "amount": amount}),
        ("move_goal_savings", _save(d, _goal(d), amount)),
    ]
    for tool, call in calls:
        assert d.refused(tool, **call)["code"] == "invalid_amount"
    plan = _change(d, "Books", planned="-1.00")
    assert d.refused("update_budget_category", **plan)["code"] == "invalid_amount"
    assert d.refused("get_budget_report", month="2026-13")["code"] == "invalid_value"


def test_independent_writes_in_either_order_give_the_same_changes() -> None:
    d = desk()
    goal, last = _goal(d), d.month(1).id
    expense = d.home.expenses.where(budget_id=last, status="counted")[0]
    writes: list[tuple[str, dict[str, Any]]] = [
        ("record_expense", d.buy("Books", "5.00")),
        ("record_expense", d.buy("Books", "5.00")),
        ("record_income", _income(d, d.home.today)),
        ("update_expense", {"expense_id": expense.id, "status": "void"}),
        ("post_recurring_item", {"recurring_item_id": d.item("Home insurance").id}),
        ("move_goal_savings", _save(d, goal, "5.00")),
        ("update_budget_category", _change(d, "Pets", name="Animals")),
        ("close_budget_month", {"month": d.month(2).month}),
    ]
    one, two = desk(), desk()
    agree(one, writes, two)
    assert len(one.session.changes()["budget.report_lines"]) == len(list(d.home.categories))


# -- the invariants themselves -----------------------------------------------------------------


def _lose_an_expense(d: Desk) -> None:
    d.home.expenses.delete(d.expense().id)


def _break_a_hard_limit(d: Desk) -> None:
    a = d.home.allocation(d.month(), d.category("Subscriptions").id)
    d.home.allocations.update(a, planned=a.spent - 1)


def _change_a_closed_month(d: Desk) -> None:
    a = d.home.allocation(d.month(4), d.category("Books").id)
    d.home.allocations.update(a, planned=a.planned + 1)


def _reopen(d: Desk) -> None:
    d.home.budgets.update(d.month(5), status="open")


def _misdate(d: Desk) -> None:
    d.home.expenses.update(d.expense(), date="2019-05-05")


def _oversave(d: Desk) -> None:
    d.home.goals.update(_goal(d), saved=1)


def _archive_in_use(d: Desk) -> None:
    d.home.categories.update(d.category("Housing"), status="archived")


def _post_ahead(d: Desk) -> None:
    item = d.item("Rent")
    d.home.recurring_items.update(item, next_on=item.starts_on)


def _twin_name(d: Desk) -> None:
    d.home.categories.update(d.category("Pets"), name="books")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (_lose_an_expense, "its expenses do not"),
        (_break_a_hard_limit, "over its hard limit"),
        (_change_a_closed_month, "differs from its categories"),
        (_reopen, "closed after one that is open"),
        (_misdate, "in the wrong month"),
        (_oversave, "goal says"),
        (_archive_in_use, "archived category"),
        (_post_ahead, "still to come"),
        (_twin_name, "two categories"),
    ],
)
def test_broken_books_are_noticed(harm: Callable[[Desk], None], said: str) -> None:
    d = desk()
    harm(d)
    assert any(said in line for line in violations(d.home))
