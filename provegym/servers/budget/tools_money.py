"""Incomes, recurring items and savings goals. Amounts are US dollars."""

from __future__ import annotations

from typing import Literal

from provegym.servers.budget import samples
from provegym.servers.budget.books import (
    active_category,
    budget_of,
    found,
    goal_status,
    item_status,
    occurrence,
    open_budget,
    positive,
    spend,
    sums_of,
)
from provegym.servers.budget.state import (
    Contribution,
    Expense,
    Goal,
    GoalId,
    GoalStatus,
    Household,
    Income,
    ItemKind,
    ItemStatus,
    RecurringItem,
    RecurringItemId,
)
from provegym.servers.budget.tools import MAX_NAME
from provegym.servers.budget.views import (
    GoalPage,
    GoalReceipt,
    IncomeReceipt,
    Posting,
    RecurringPage,
    goal_item,
    income_receipt,
    item_view,
)
from provegym.world.fields import Date, Limit, Money, Text, money
from provegym.world.page import page
from provegym.world.tool import refuse, tool


@tool(
    "write",
    phrases=(
        "Record an income of {amount} from {source} received on {received_on}",
        "On {received_on} I got {amount} from {source}; add it to my budget as income",
        "Log {amount} that came in from {source} on {received_on}",
    ),
    refuses=("date_in_future", "no_budget", "month_closed"),
    sample=samples.new_income,
)
def record_income(home: Household, source: Text, amount: Money, received_on: Date) -> IncomeReceipt:
    """Record money that came in during an open month.

    Args:
        source: Who paid.
        amount: US dollars.
        received_on: Day of the income, not after today.
    """
    value = positive(amount)
    if len(source) > MAX_NAME:
        refuse("name_too_long", f"sources have up to {MAX_NAME} characters, got {len(source)}")
    budget = open_budget(home, received_on)
    income = Income(home.incomes.new_id(), budget.id, source.strip(), value, received_on)
    home.incomes.put(income)
    return income_receipt(income, sums_of(home, budget).left)


# -- recurring items ---------------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        'List my recurring[ {status}][ {kind}] items[ called "{query}"]',
        "Show the bills and incomes that repeat[, only {kind} items][, only {status} ones]"
        "[, named {query}]",
        "Which recurring items[ of kind {kind}][ with {query} in the name]"
        "[ that are {status}] are in my budget? List them",
    ),
    sample=samples.recurring,
)
def list_recurring_items(
    home: Household,
    query: str = "",
    kind: ItemKind | None = None,
    status: ItemStatus | None = None,
    limit: Limit = 4,
    cursor: str = "",
) -> RecurringPage:
    """List bills and incomes that repeat, the next first; due ones wait to be posted.

    Args:
        query: Part of the name.
        kind: Only expenses or incomes.
        status: Only in this state.
        limit: Items per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    items = [
        i
        for i in home.recurring_items
        if words in i.name.casefold()
        and kind in (None, i.kind)
        and status in (None, item_status(home, i))
    ]
    asleep = ("paused", "ended")
    items.sort(key=lambda i: (item_status(home, i) in asleep, i.next_on))
    rows, total, after = page(items, limit, cursor)
    return RecurringPage([item_view(home, i) for i in rows], total, after)


@tool(
    "write",
    phrases=(
        "Post {recurring_item_id}[ with {amount} this time]",
        "Book what is due of {recurring_item_id}[; the amount was {amount}]",
        "Enter {recurring_item_id} into the budget now[ at {amount}]",
    ),
    refuses=(
        "not_found",
        "item_ended",
        "item_paused",
        "not_due",
        "over_hard_limit",
    ),
    sample=samples.post_item,
)
def post_recurring_item(
    home: Household, recurring_item_id: RecurringItemId, amount: Money | None = None
) -> Posting:
    """Book a due recurring item on its day, as expense or income, and move it to its next day.

    Args:
        recurring_item_id: The item.
        amount: US dollars, if other than usual this time.
    """
    item = found(home.recurring_items, recurring_item_id, "recurring item")
    value = item.amount if amount is None else positive(amount)
    _require_due(home, item)
    _book(home, item, value)
    following = occurrence(item.starts_on, item.frequency, item.next_on)
    moved = home.recurring_items.update(item, next_on=following)
    return Posting(item_view(home, moved), money(value), item.next_on)


def _require_due(home: Household, item: RecurringItem) -> None:
    status = item_status(home, item)
    if status == "ended":
        refuse("item_ended", f"the recurring {item.name} ended on {item.ends_on}")
    if status == "paused":
        refuse("item_paused", f"the recurring {item.name} is paused")
    if status == "scheduled":
        text = f"the recurring {item.name} is next on {item.next_on}, today is {home.today}"
        refuse("not_due", text, next_on=item.next_on)


def _book(home: Household, item: RecurringItem, value: int) -> None:
    budget, day = open_budget(home, item.next_on), item.next_on
    if item.kind == "income":
        new = home.incomes.new_id()
        home.incomes.put(Income(new, budget.id, item.name, value, day, item.id))
        return
    category = active_category(home, item.category_id)
    spend(home, budget, category, value)
    home.expenses.put(
        Expense(
            id=home.expenses.new_id(),
            budget_id=budget.id,
            category_id=category.id,
            payee=item.name,
            amount=value,
            date=day,
            recurring_item_id=item.id,
        )
    )


# -- goals -------------------------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        'List my savings goals[ called "{query}"][, only {status} ones]',
        "Show how far my[ {status}] savings goals are[, only {query}]",
        "Go through what I am saving for[ under the name {query}][, status {status}]",
    ),
    sample=samples.goals,
)
def list_savings_goals(
    home: Household,
    query: str = "",
    status: GoalStatus | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> GoalPage:
    """List savings goals, the most urgent first, closed ones last.

    Args:
        query: Part of the name.
        status: Only in this state.
        limit: Goals per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    goals = [
        g for g in home.goals if words in g.name.casefold() and status in (None, goal_status(g))
    ]
    goals.sort(key=lambda g: (g.closed, g.wanted_by))
    rows, total, after = page(goals, limit, cursor)
    return GoalPage([goal_item(g) for g in rows], total, after)


@tool(
    "write",
    phrases=(
        "For {goal_id}, {action} {amount}",
        "On {goal_id}, {action} {amount} of savings",
        "Please {action} {amount} for {goal_id}",
    ),
    refuses=(
        "not_found",
        "goal_closed",
        "goal_reached",
        "over_target",
        "not_enough_left",
        "not_enough_saved",
    ),
    sample=samples.save,
)
def move_goal_savings(
    home: Household, goal_id: GoalId, action: Literal["add", "withdraw"], amount: Money
) -> GoalReceipt:
    """Add money that this month has left to a savings goal, or withdraw some back.

    Args:
        goal_id: The goal.
        action: add or withdraw.
        amount: US dollars.
    """
    value, goal = positive(amount), found(home.goals, goal_id, "goal")
    if goal.closed:
        refuse("goal_closed", f"the {goal.name} goal is closed")
    budget = budget_of(home, home.month)
    if action == "add":
        _require_addable(goal, value, sums_of(home, budget).left)
    elif value > goal.saved:
        text = f"the {goal.name} goal holds {money(goal.saved)}, less than {amount}"
        refuse("not_enough_saved", text, saved=money(goal.saved))
    change = value if action == "add" else -value
    home.contributions.put(
        Contribution(home.contributions.new_id(), goal.id, budget.id, change, home.stamp)
    )
    moved = home.goals.update(goal, saved=goal.saved + change)
    return GoalReceipt(goal_item(moved), money(sums_of(home, budget).left))


def _require_addable(goal: Goal, amount: int, left: int) -> None:
    missing = goal.target - goal.saved
    if missing <= 0:
        refuse("goal_reached", f"the {goal.name} goal has its {money(goal.target)}")
    if amount > missing:
        text = f"the {goal.name} goal lacks {money(missing)}, less than {money(amount)}"
        refuse("over_target", text, missing=money(missing))
    if amount > left:
        text = f"this month has {money(left)} left, less than {money(amount)}"
        refuse("not_enough_left", text, left=money(left))
