"""What a month comes to, when a recurring item is next, and the checks before a booking."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import NamedTuple, TypeVar

from dateutil.relativedelta import relativedelta

from provegym.servers.budget.state import (
    Budget,
    Category,
    Frequency,
    Goal,
    GoalStatus,
    Household,
    ItemStatus,
    RecurringItem,
)
from provegym.world.fields import cents, money
from provegym.world.table import Row, Table
from provegym.world.tool import refuse

R = TypeVar("R", bound=Row)

STEPS: Mapping[Frequency, relativedelta] = {
    "weekly": relativedelta(weeks=1),
    "monthly": relativedelta(months=1),
    "quarterly": relativedelta(months=3),
    "yearly": relativedelta(years=1),
}


class Sums(NamedTuple):
    """A month's money; `saved` is what went to goals less what came back."""

    income: int
    planned: int
    spent: int
    saved: int

    @property
    def left(self) -> int:
        """Income that is neither spent nor saved."""
        return self.income - self.spent - self.saved


def sums_of(home: Household, budget: Budget) -> Sums:
    """The month's rows added up."""
    allocations = home.allocations.where(budget_id=budget.id)
    return Sums(
        income=sum(i.amount for i in home.incomes.where(budget_id=budget.id)),
        planned=sum(a.planned for a in allocations),
        spent=sum(a.spent for a in allocations),
        saved=sum(c.amount for c in home.contributions.where(budget_id=budget.id)),
    )


def occurrence(starts_on: str, frequency: Frequency, after: str) -> str:
    """The first day of the series after a day.

    Months are counted from the start, so that one begun on the 31st falls on the last day of a
    shorter month and on the 31st again after it. RFC 5545 would leave such months out;
    bills do not.
    """
    start, step = date.fromisoformat(starts_on), STEPS[frequency]
    count = max(0, _whole_steps(start, frequency, date.fromisoformat(after)) - 1)
    while (day := (start + step * count).isoformat()) <= after:
        count += 1
    return day


def _whole_steps(start: date, frequency: Frequency, day: date) -> int:
    """About how many steps lie between two days; never more than there are."""
    if frequency == "weekly":
        return (day - start).days // 7
    months = (day.year - start.year) * 12 + day.month - start.month
    return months // {"monthly": 1, "quarterly": 3, "yearly": 12}[frequency]


def item_status(home: Household, item: RecurringItem) -> ItemStatus:
    """Whether a recurring item can be posted today."""
    if item.ends_on and item.next_on > item.ends_on:
        return "ended"
    if item.paused:
        return "paused"
    return "due" if item.next_on <= home.today else "scheduled"


def goal_status(goal: Goal) -> GoalStatus:
    """Whether a goal still takes money."""
    if goal.closed:
        return "closed"
    return "reached" if goal.saved >= goal.target else "saving"


def found(table: Table[R], row_id: str, noun: str) -> R:
    """The row of that id, else `not_found`."""
    row = table.get(row_id)
    if row is None:
        refuse("not_found", f"there is no {noun} {row_id[:40]!r}", id=row_id)
    return row


def positive(amount: str) -> int:
    """Cents of an amount; `invalid_amount` unless it is above zero."""
    value = cents(amount)
    if value <= 0:
        refuse("invalid_amount", f"the amount must be above 0.00, got {amount}", amount=amount)
    return value


def budget_of(home: Household, month: str) -> Budget:
    """The budget of a month, else `no_budget`."""
    rows = home.budgets.where(month=month)
    if not rows:
        months = [b.month for b in home.budgets]
        text = f"there is no budget for {month}; there is from {months[0]} to {months[-1]}"
        refuse("no_budget", text, first=months[0], last=months[-1])
    return rows[0]


def require_open(budget: Budget) -> None:
    """`month_closed` for a closed month."""
    if budget.status == "closed":
        refuse("month_closed", f"{budget.month} is closed and final", month=budget.month)


def open_budget(home: Household, day: str) -> Budget:
    """The open budget of a day up to today; else `date_in_future`, `no_budget`, `month_closed`."""
    if day > home.today:
        refuse("date_in_future", f"{day} is after today, {home.today}", today=home.today)
    budget = budget_of(home, day[:7])
    require_open(budget)
    return budget


def active_category(home: Household, category_id: str) -> Category:
    """A category that is in use, else `not_found` or `category_archived`."""
    category = found(home.categories, category_id, "category")
    if category.status == "archived":
        refuse("category_archived", f"the {category.name} category is archived; restore it first")
    return category


def spend(home: Household, budget: Budget, category: Category, amount: int) -> None:
    """Count an amount (below zero: take it off); `over_hard_limit` where that goes too far."""
    allocation = home.allocation(budget, category.id)
    spent = allocation.spent + amount
    if amount > 0 and category.limit_kind == "hard" and spent > allocation.planned:
        left = money(allocation.planned - allocation.spent)
        text = f"{category.name} has a hard limit, {left} are left of it in {budget.month}"
        refuse("over_hard_limit", text, left=left, planned=money(allocation.planned))
    home.allocations.update(allocation, spent=spent)
