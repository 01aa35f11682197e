"""Months, categories and expenses. Amounts are US dollars."""

from __future__ import annotations

from typing import Literal

from provegym.servers.budget import samples
from provegym.servers.budget.books import (
    Sums,
    active_category,
    budget_of,
    found,
    open_budget,
    positive,
    require_open,
    spend,
    sums_of,
)
from provegym.servers.budget.state import (
    Allocation,
    Budget,
    Category,
    CategoryId,
    CategoryStatus,
    Expense,
    ExpenseId,
    ExpenseStatus,
    Household,
    LimitKind,
    Month,
    Report,
    ReportLine,
)
from provegym.servers.budget.views import (
    CategoryItem,
    CategoryPage,
    ExpensePage,
    ExpenseReceipt,
    MonthReport,
    category_item,
    expense_item,
    expense_receipt,
    month_report,
)
from provegym.world.fields import Date, Limit, Money, Text, cents, money
from provegym.world.page import page
from provegym.world.period import period
from provegym.world.tool import refuse, tool

MAX_NAME = 60

# -- months ------------------------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        "Show my budget report[ for {month}]",
        "How did my budget do[ in {month}]? Sum up income, spending and savings",
        "Summarize the household budget[ of {month}]",
    ),
    refuses=("no_budget",),
    sample=samples.report,
)
def get_budget_report(home: Household, month: Month | None = None) -> MonthReport:
    """Sum up a month: income, planned, spent, saved, left, and categories over their plan.

    Args:
        month: The month; this month unless given.
    """
    budget = budget_of(home, month or home.month)
    reports = home.reports.where(budget_id=budget.id)
    if not reports:
        return month_report(home, budget, sums_of(home, budget))
    final = reports[0]
    sums = Sums(final.income, final.planned, final.spent, final.saved)
    return month_report(home, budget, sums)


@tool(
    "write",
    phrases=(
        "Close my budget for {month}",
        "Finalize the {month} budget month",
        "Carry out the month-end close of {month} in my budget",
    ),
    refuses=("no_budget", "month_closed", "month_not_over", "earlier_month_open", "items_due"),
    sample=samples.close,
)
def close_budget_month(home: Household, month: Month) -> MonthReport:
    """Close a month that is over, for good: nothing in it can change afterwards.

    Earlier months must be closed and recurring items of the month posted.

    Args:
        month: The month to close.
    """
    budget = budget_of(home, month)
    require_open(budget)
    if month >= home.month:
        refuse("month_not_over", f"{month} is not over; today is {home.today}", today=home.today)
    _require_earlier_closed(home, month)
    _require_posted(home, month)
    sums = sums_of(home, budget)
    report = Report(home.reports.new_id(), budget.id, *sums)
    home.reports.put(report)
    for a in home.allocations.where(budget_id=budget.id):
        home.report_lines.put(
            ReportLine(home.report_lines.new_id(), report.id, a.category_id, a.planned, a.spent)
        )
    closed = home.budgets.update(budget, status="closed")
    return month_report(home, closed, sums)


def _require_earlier_closed(home: Household, month: str) -> None:
    earlier = [b.month for b in home.budgets.where(status="open") if b.month < month]
    if earlier:
        text = f"{min(earlier)} is still open; close it before {month}"
        refuse("earlier_month_open", text, open_month=min(earlier))


def _require_posted(home: Household, month: str) -> None:
    waiting = [
        item.name
        for item in home.recurring_items
        if not item.paused
        and item.next_on[:7] <= month
        and not (item.ends_on and item.next_on > item.ends_on)
    ]
    if waiting:
        text = f"recurring items of {month} are not posted: {', '.join(waiting[:3])}"
        refuse("items_due", text, items=waiting[:3])


# -- categories --------------------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        'List my budget categories[ called "{query}"][ for {month}][, only {standing} ones]',
        "Show what is planned and left in my[ {standing}][ {query}] budget categories[ in {month}]",
        "Go through the[ {standing}] spending categories[ named {query}] of my budget[ in {month}]",
    ),
    refuses=("no_budget",),
    sample=samples.categories,
)
def list_budget_categories(
    home: Household,
    query: str = "",
    month: Month | None = None,
    standing: Literal["over", "within", "archived"] | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> CategoryPage:
    """List categories with plan, spending and what is left in a month, archived ones last.

    Args:
        query: Part of the name.
        month: The month; this month unless given.
        standing: Only those over their plan, within it, or archived.
        limit: Categories per page.
        cursor: next_cursor of the page before.
    """
    budget, words = budget_of(home, month or home.month), query.casefold()
    pairs = [
        (category, a)
        for a in home.allocations.where(budget_id=budget.id)
        if words in (category := home.categories[a.category_id]).name.casefold()
        and standing in (None, _standing(category, a))
    ]
    pairs.sort(key=lambda pair: pair[0].status == "archived")
    rows, total, after = page(pairs, limit, cursor)
    return CategoryPage(budget.month, [category_item(c, a) for c, a in rows], total, after)


def _standing(category: Category, allocation: Allocation) -> str:
    if category.status == "archived":
        return "archived"
    return "over" if allocation.spent > allocation.planned else "within"


@tool(
    "write",
    phrases=(
        "Change {category_id}[: plan {planned}][ in {month}][, make its limit {limit_kind}]"
        '[, rename it to "{name}"][, set it to {status}]',
        "Update {category_id} in my budget[ with {planned} planned][ for {month}]"
        '[, a {limit_kind} limit][, the new name "{name}"][ and the status {status}]',
    ),
    refuses=(
        "not_found",
        "category_archived",
        "no_budget",
        "month_closed",
        "over_hard_limit",
        "name_taken",
        "category_in_use",
        "no_change",
    ),
    sample=samples.change_category,
)
def update_budget_category(
    home: Household,
    category_id: CategoryId,
    planned: Money | None = None,
    month: Month | None = None,
    limit_kind: LimitKind | None = None,
    name: Text | None = None,
    status: CategoryStatus | None = None,
) -> CategoryItem:
    """Plan another amount for a month, change the limit or name, archive or restore a category.

    Args:
        category_id: The category.
        planned: Amount planned for the month.
        month: Month of the plan; this month unless given.
        limit_kind: hard refuses expenses over the plan in open months.
        name: New name.
        status: archived takes no new expenses.
    """
    category = found(home.categories, category_id, "category")
    if category.status == "archived" and status != "active":
        refuse("category_archived", f"the {category.name} category is archived; restore it first")
    budget = budget_of(home, month or home.month)
    allocation = home.allocation(budget, category.id)
    wanted = _renewed(home, category, limit_kind, name, status)
    plan = allocation.planned if planned is None else _plan(budget, planned)
    if wanted == category and plan == allocation.planned:
        refuse("no_change", f"nothing of the {category.name} category would change")
    _require_within(home, wanted, allocation, plan)
    if plan != allocation.planned:
        allocation = home.allocations.update(allocation, planned=plan)
    if wanted != category:
        home.categories.put(wanted)
    return category_item(wanted, allocation)


def _plan(budget: Budget, planned: str) -> int:
    """Cents that are to be planned in an open month."""
    if cents(planned) < 0:
        refuse("invalid_amount", f"a plan cannot be below 0.00, got {planned}", planned=planned)
    require_open(budget)
    return cents(planned)


def _renewed(
    home: Household,
    category: Category,
    limit_kind: LimitKind | None,
    name: str | None,
    status: CategoryStatus | None,
) -> Category:
    """The category as it is wanted; `name_taken` or `category_in_use` if it cannot be."""
    title = category.name if name is None else name.strip()
    if len(title) > MAX_NAME:
        refuse("name_too_long", f"names have up to {MAX_NAME} characters, got {len(title)}")
    for other in home.categories:
        if other.id != category.id and other.name.casefold() == title.casefold():
            refuse("name_taken", f"there is a category called {title!r} already", name=title)
    if status == "archived":
        _require_unused(home, category)
    return Category(
        category.id, title, limit_kind or category.limit_kind, status or category.status
    )


def _require_unused(home: Household, category: Category) -> None:
    for item in home.recurring_items.where(category_id=category.id):
        if not item.paused and not (item.ends_on and item.next_on > item.ends_on):
            text = f"the recurring {item.name} is booked under {category.name}"
            refuse("category_in_use", text, recurring_item=item.name)


def _require_within(home: Household, category: Category, changed: Allocation, plan: int) -> None:
    """`over_hard_limit` where an open month's spending exceeds the plan of a hard limit."""
    if category.limit_kind == "soft":
        return
    for a in home.allocations.where(category_id=category.id):
        planned, budget = plan if a.id == changed.id else a.planned, home.budgets[a.budget_id]
        if a.spent > planned and budget.status == "open":
            text = f"{money(a.spent)} are spent in {budget.month}, more than the {money(planned)}"
            refuse("over_hard_limit", f"{text} of a hard limit", spent=money(a.spent))


# -- expenses ----------------------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        "List my expenses[ at {query}][ under {category_id}][ since {since}][ until {until}]",
        "Show what I spent[ on {category_id}][ at {query}][ from {since} on][ up to {until}]",
        "Find the expenses in my budget[ paid to {query}][ filed under {category_id}]"
        "[ since {since}][ until {until}]",
    ),
    refuses=("not_found",),
    sample=samples.expenses,
)
def list_expenses(
    home: Household,
    query: str = "",
    category_id: CategoryId | None = None,
    since: Date | None = None,
    until: Date | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> ExpensePage:
    """List budget expenses, newest first, with the sum of all that match.

    Args:
        query: Part of the payee's name.
        category_id: Only of this category.
        since: First day.
        until: Last day.
        limit: Expenses per page.
        cursor: next_cursor of the page before.
    """
    words, (first, last) = query.casefold(), period(since, until)
    rows = home.expenses if category_id is None else _of_category(home, category_id)
    matching = [
        e for e in rows if first <= e.date <= last and (not words or words in e.payee.casefold())
    ]
    matching.sort(key=lambda e: (e.date, e.id), reverse=True)
    spent = money(sum(e.amount for e in matching if e.status == "counted"))
    shown, total, after = page(matching, limit, cursor)
    return ExpensePage([expense_item(home, e) for e in shown], spent, total, after)


def _of_category(home: Household, category_id: str) -> list[Expense]:
    category = found(home.categories, category_id, "category")
    return home.expenses.where(category_id=category.id)


@tool(
    "write",
    phrases=(
        "Record an expense of {amount} at {payee} on {spent_on} under {category_id}",
        "On {spent_on} I spent {amount} at {payee}; log it under {category_id}",
        "Add {amount} paid to {payee} on {spent_on} to {category_id}",
    ),
    refuses=(
        "not_found",
        "category_archived",
        "date_in_future",
        "no_budget",
        "month_closed",
        "over_hard_limit",
    ),
    sample=samples.new_expense,
)
def record_expense(
    home: Household, category_id: CategoryId, payee: Text, amount: Money, spent_on: Date
) -> ExpenseReceipt:
    """Record money spent in an open month.

    Args:
        category_id: The category.
        payee: Who was paid.
        amount: US dollars.
        spent_on: Day of the expense, not after today.
    """
    value, category = positive(amount), active_category(home, category_id)
    if len(payee) > MAX_NAME:
        refuse("name_too_long", f"payees have up to {MAX_NAME} characters, got {len(payee)}")
    budget = open_budget(home, spent_on)
    spend(home, budget, category, value)
    expense = Expense(
        id=home.expenses.new_id(),
        budget_id=budget.id,
        category_id=category.id,
        payee=payee.strip(),
        amount=value,
        date=spent_on,
    )
    return expense_receipt(home, home.expenses.put(expense))


@tool(
    "write",
    phrases=(
        "Correct {expense_id}[: file it under {category_id}][, the amount is {amount}]"
        "[, mark it as {status}]",
        "Change {expense_id}[ to {amount}][ and put it under {category_id}]"
        "[ and set it to {status}]",
    ),
    refuses=(
        "not_found",
        "month_closed",
        "expense_void",
        "category_archived",
        "over_hard_limit",
        "no_change",
    ),
    sample=samples.change_expense,
)
def update_expense(
    home: Household,
    expense_id: ExpenseId,
    category_id: CategoryId | None = None,
    amount: Money | None = None,
    status: ExpenseStatus | None = None,
) -> ExpenseReceipt:
    """Correct an expense of an open month: category, amount, or void it so that it counts no more.

    Args:
        expense_id: The expense.
        category_id: New category.
        amount: New amount in US dollars.
        status: void takes it out of all sums, counted puts it back.
    """
    old = found(home.expenses, expense_id, "expense")
    budget = home.budgets[old.budget_id]
    require_open(budget)
    if old.status == "void" and status != "counted":
        refuse("expense_void", "the expense is void; set it to counted to change it")
    value = old.amount if amount is None else positive(amount)
    goal = old.category_id if category_id is None else active_category(home, category_id).id
    state = status or old.status
    if (value, goal, state) == (old.amount, old.category_id, old.status):
        refuse("no_change", "give a category, amount or status that differs from the present one")
    _recount(home, budget, old, goal, value if state == "counted" else 0)
    new = home.expenses.update(old, amount=value, category_id=goal, status=state)
    return expense_receipt(home, new)


def _recount(home: Household, budget: Budget, old: Expense, category_id: str, value: int) -> None:
    """Take an expense off the category that it was in, and count it where it goes."""
    before = old.amount if old.status == "counted" else 0
    if category_id == old.category_id:
        if value != before:
            spend(home, budget, home.categories[category_id], value - before)
        return
    spend(home, budget, home.categories[old.category_id], -before)
    spend(home, budget, home.categories[category_id], value)
