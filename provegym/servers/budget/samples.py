"""Plausible arguments for each tool, read off the rows of a session. An empty dict: none found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from random import Random
from typing import Any, TypeVar

from provegym.servers.budget.books import goal_status, item_status, sums_of
from provegym.servers.budget.seed import CATEGORIES, RENAMES, SHOPS
from provegym.servers.budget.state import (
    Allocation,
    Budget,
    Category,
    Expense,
    Household,
    RecurringItem,
)
from provegym.world.fields import money

Arguments = dict[str, Any]
T = TypeVar("T")

SLIP = 0.08
"""How often a row is chosen without a look at its state."""


def _maybe(rnd: Random, **fields: Any) -> Arguments:
    """Each of the fields with a chance of 30 %."""
    return {name: value for name, value in fields.items() if rnd.random() < 0.3}


def _pick(rnd: Random, good: Sequence[T], every: Sequence[T]) -> T:
    """One of the good rows, now and then any row."""
    return rnd.choice(every if not good or rnd.random() < SLIP else good)


def _amount(rnd: Random, cap: int) -> str:
    """An amount people would say, at most `cap` cents where that is above a dollar."""
    most = max(1, min(cap // 100, 90))
    whole = rnd.randint(min(8, most), most)
    odd = rnd.choice((0, 0, 50, 25, 95)) if (whole + 1) * 100 <= cap else 0
    return money(whole * 100 + odd)


def _some_day(home: Household, rnd: Random) -> date:
    """A day of the last seven weeks; now and then one long ago or ahead."""
    back = rnd.choice((-3, 130, 400)) if rnd.random() < SLIP else rnd.randrange(28)
    return home.now.date() - timedelta(days=back)


def _past_months(home: Household) -> list[str]:
    return [b.month for b in home.budgets if b.month <= home.month]


def _month(home: Household, rnd: Random, good: Sequence[str]) -> str:
    """One of some months; now and then one long before the budget begins."""
    first = date.fromisoformat(f"{next(iter(home.budgets)).month}-01")
    return (
        (first - timedelta(days=150)).isoformat()[:7] if rnd.random() < SLIP else rnd.choice(good)
    )


def report(home: Household, rnd: Random) -> Arguments:
    """At times a month that has come."""
    return {"month": _month(home, rnd, _past_months(home))} if rnd.random() < 0.6 else {}


def close(home: Household, rnd: Random) -> Arguments:
    """The first open month; now and then any."""
    months = [b.month for b in home.budgets.where(status="open")]
    wanted = _pick(rnd, months[:1], [b.month for b in home.budgets])
    return {"month": _month(home, rnd, [wanted])}


def categories(home: Household, rnd: Random) -> Arguments:
    """What some category of a month meets."""
    name = rnd.choice(list(home.categories)).name
    if rnd.random() < 0.4:
        return {"query": name, **_maybe(rnd, month=_month(home, rnd, _past_months(home)))}
    return _maybe(rnd, standing=rnd.choice(("over", "within", "archived")))


def _present(home: Household) -> Budget:
    return home.budgets.where(month=home.month)[0]


def _new_plan(home: Household, a: Allocation, rnd: Random) -> str:
    """Ten to sixty dollars more or less than planned, mostly no less than what is spent."""
    change = rnd.choice((-4, -2, 1, 2, 3, 6)) * 10_00
    floor = 0 if rnd.random() < SLIP else a.spent
    return money(max(a.planned + change, floor + 5_00, 5_00))


def _new_name(home: Household, rnd: Random) -> str:
    taken = {c.name for c in home.categories}
    free = [n for n in (*RENAMES, *(c[0] for c in CATEGORIES)) if n not in taken]
    return _pick(rnd, free, sorted(taken))


def change_category(home: Household, rnd: Random) -> Arguments:
    """Another plan for an open month, another limit, name or status."""
    every = list(home.categories)
    active = [c for c in every if c.status == "active"]
    category = _pick(rnd, active, every)
    if category.status == "archived" and rnd.random() < 0.7:
        return {"category_id": category.id, "status": "active"}
    what = rnd.choice(("planned", "planned", "planned", "limit", "name", "status"))
    if what == "planned":
        return {"category_id": category.id, **_replanned(home, category, rnd)}
    if what == "limit":
        return _other_limit(home, active, rnd)
    if what == "name":
        return {"category_id": category.id, "name": _new_name(home, rnd)}
    used = {i.category_id for i in home.recurring_items}
    return {
        "category_id": _pick(rnd, [c for c in active if c.id not in used], active).id,
        "status": "archived",
    }


def _replanned(home: Household, category: Category, rnd: Random) -> Arguments:
    ahead = [b for b in home.budgets.where(status="open") if b.month >= home.month]
    budget = _pick(rnd, ahead, list(home.budgets)) if rnd.random() < 0.4 else _present(home)
    planned = _new_plan(home, home.allocation(budget, category.id), rnd)
    return {
        "planned": planned,
        **({} if budget == _present(home) else {"month": _month(home, rnd, [budget.month])}),
    }


def _other_limit(home: Household, active: list[Category], rnd: Random) -> Arguments:
    """A category whose limit can be hardened or softened."""
    closed = {b.id for b in home.budgets.where(status="closed")}
    over = {
        a.category_id for a in home.allocations if a.spent > a.planned and a.budget_id not in closed
    }
    category = _pick(rnd, [c for c in active if c.id not in over], active)
    limit = "soft" if category.limit_kind == "hard" else "hard"
    return {"category_id": category.id, "limit_kind": limit}


def expenses(home: Household, rnd: Random) -> Arguments:
    """Filters that one existing expense meets."""
    wanted = rnd.choice(list(home.expenses))
    picked = rnd.choice(({}, {"query": wanted.payee}, {"category_id": wanted.category_id}))
    return {**picked, **_maybe(rnd, since=wanted.date, until=wanted.date)}


def _room(home: Household, budget: Budget, category: Category) -> int:
    """Cents that can still be booked on a category in a month."""
    if category.limit_kind == "soft":
        return 90_00
    a = home.allocation(budget, category.id)
    return a.planned - a.spent


def new_expense(home: Household, rnd: Random) -> Arguments:
    """Something bought lately in a category that has room for it."""
    day = _some_day(home, rnd).isoformat()
    found = home.budgets.where(month=day[:7])
    budget = found[0] if found else _present(home)
    every = list(home.categories)
    good = [c for c in every if c.status == "active" and _room(home, budget, c) >= 2_00]
    category = _pick(rnd, good, every)
    room = 400_00 if rnd.random() < SLIP else _room(home, budget, category)
    shops = next((c[3] for c in CATEGORIES if c[0] == category.name), ())
    return {
        "category_id": category.id,
        "payee": rnd.choice(shops or SHOPS),
        "amount": _amount(rnd, room),
        "spent_on": day,
    }


def _open_expenses(home: Household) -> list[Expense]:
    closed = {b.id for b in home.budgets.where(status="closed")}
    return [e for e in home.expenses if e.budget_id not in closed]


def change_expense(home: Household, rnd: Random) -> Arguments:
    """Another category or amount for an expense of an open month, or its end or return."""
    found = _open_expenses(home)
    counted = [e for e in found if e.status == "counted"]
    expense = _pick(rnd, counted if rnd.random() < 0.85 else found, list(home.expenses))
    budget = home.budgets[expense.budget_id]
    if expense.status == "void" and rnd.random() < 0.8:
        return {"expense_id": expense.id, "status": "counted"}
    what = rnd.choice(("category", "category", "amount", "void"))
    if what == "void":
        return {"expense_id": expense.id, "status": "void"}
    if what == "amount":
        now = home.categories[expense.category_id]
        return {
            "expense_id": expense.id,
            "amount": _amount(rnd, max(1_00, _room(home, budget, now) + expense.amount)),
        }
    every = [c for c in home.categories if c.id != expense.category_id]
    good = [c for c in every if c.status == "active" and _fits(home, budget, c, expense)]
    return {"expense_id": expense.id, "category_id": _pick(rnd, good, every).id}


def _fits(home: Household, budget: Budget, category: Category, expense: Expense) -> bool:
    return category.limit_kind == "soft" or _room(home, budget, category) >= expense.amount


def new_income(home: Household, rnd: Random) -> Arguments:
    """A sum from someone, lately."""
    people = [p.name for p in home.cast.others[:20]]
    return {
        "source": rnd.choice((*home.cast.companies, *people)),
        "amount": money(rnd.randrange(10, 400) * 100),
        "received_on": _some_day(home, rnd).isoformat(),
    }


def recurring(home: Household, rnd: Random) -> Arguments:
    """A name, a kind or a state that some item has."""
    item = rnd.choice(list(home.recurring_items))
    if rnd.random() < 0.4:
        return {"query": item.name}
    return _maybe(rnd, kind=item.kind, status=item_status(home, item))


def _is_bookable(home: Household, item: RecurringItem) -> bool:
    if item_status(home, item) != "due":
        return False
    if item.kind == "income":
        return True
    budget, category = home.budgets.where(month=item.next_on[:7]), home.categories
    now = category[item.category_id]
    return now.limit_kind == "soft" or _room(home, budget[0], now) >= item.amount


def post_item(home: Household, rnd: Random) -> Arguments:
    """A recurring item that is due, at times at another amount."""
    every = list(home.recurring_items)
    item = _pick(rnd, [i for i in every if _is_bookable(home, i)], every)
    changed = money(max(1_00, item.amount - rnd.randrange(1, 9) * 50))
    return {"recurring_item_id": item.id, **_maybe(rnd, amount=changed)}


def goals(home: Household, rnd: Random) -> Arguments:
    """A name or a state that some goal has."""
    goal = rnd.choice(list(home.goals))
    if rnd.random() < 0.5:
        return {"query": goal.name}
    return _maybe(rnd, status=goal_status(goal))


def save(home: Household, rnd: Random) -> Arguments:
    """Money for a goal that wants some, or back from one that has some."""
    every = list(home.goals)
    if rnd.random() < 0.35:
        goal = _pick(rnd, [g for g in every if g.saved >= 20_00 and not g.closed], every)
        cap = 90_000_00 if rnd.random() < SLIP else goal.saved
        amount = money(cap) if cap > goal.saved else _amount(rnd, max(cap, 5_00))
        return {"goal_id": goal.id, "action": "withdraw", "amount": amount}
    goal = _pick(rnd, [g for g in every if goal_status(g) == "saving"], every)
    missing, left = goal.target - goal.saved, sums_of(home, _present(home)).left
    amount = _amount(rnd, max(5_00, min(missing, left)))
    if rnd.random() < 2 * SLIP:
        amount = money(max(1_00, rnd.choice((missing, missing + 10_00))))
    return {"goal_id": goal.id, "action": "add", "amount": amount}
