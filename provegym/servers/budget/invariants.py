"""What must hold in every state of the budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from provegym.servers.budget.books import sums_of
from provegym.servers.budget.state import Budget, Household


def violations(home: Household) -> Iterator[str]:
    """Every broken invariant, one sentence each."""
    yield from _categories(home)
    yield from _months(home)
    yield from _dates(home)
    yield from _goals(home)
    yield from _recurring(home)


def _categories(home: Household) -> Iterator[str]:
    spent: Counter[tuple[str, str]] = Counter()
    for e in home.expenses:
        spent[e.budget_id, e.category_id] += e.amount if e.status == "counted" else 0
    keys = Counter((a.budget_id, a.category_id) for a in home.allocations)
    wanted = {(b.id, c.id) for b in home.budgets for c in home.categories}
    if set(keys) != wanted or max(keys.values()) > 1:
        yield "not every category has one allocation in every month"
    for a in home.allocations:
        category, budget = home.categories[a.category_id], home.budgets[a.budget_id]
        if a.spent != spent[a.budget_id, a.category_id]:
            yield f"{category.name} in {budget.month} says {a.spent} spent, its expenses do not"
        if category.limit_kind == "hard" and budget.status == "open" and a.spent > a.planned:
            yield f"{category.name} is over its hard limit in {budget.month}"
        if a.planned < 0:
            yield f"{category.name} has a plan below zero in {budget.month}"
    names = Counter(c.name.casefold() for c in home.categories)
    yield from (f"two categories are called {name}" for name, n in names.items() if n > 1)


def _months(home: Household) -> Iterator[str]:
    months = sorted(home.budgets, key=lambda b: b.month)
    states = [b.status for b in months]
    if states != sorted(states):
        yield "a month is closed after one that is open"
    for budget in months:
        reports = home.reports.where(budget_id=budget.id)
        if len(reports) != (budget.status == "closed"):
            yield f"{budget.month} is {budget.status} and has {len(reports)} reports"
        elif reports:
            yield from _report(home, budget)


def _report(home: Household, budget: Budget) -> Iterator[str]:
    report = home.reports.where(budget_id=budget.id)[0]
    if (report.income, report.planned, report.spent, report.saved) != sums_of(home, budget):
        yield f"the report of {budget.month} is not the sum of its rows"
    lines = {
        line.category_id: (line.planned, line.spent)
        for line in home.report_lines.where(report_id=report.id)
    }
    now = {a.category_id: (a.planned, a.spent) for a in home.allocations.where(budget_id=budget.id)}
    if lines != now:
        yield f"the report of {budget.month} differs from its categories"


def _dates(home: Household) -> Iterator[str]:
    for row in (*home.expenses, *home.incomes):
        if row.amount <= 0 or row.date[:7] != home.budgets[row.budget_id].month:
            yield f"{row.id} of {row.date} is in the wrong month, or of no amount"


def _goals(home: Household) -> Iterator[str]:
    for goal in home.goals:
        saved = sum(c.amount for c in home.contributions.where(goal_id=goal.id))
        if saved != goal.saved or not 0 <= saved <= goal.target:
            yield f"the {goal.name} goal says {goal.saved}, its contributions {saved}"


def _recurring(home: Household) -> Iterator[str]:
    for item in home.recurring_items:
        if (item.kind == "expense") != (item.category_id in home.categories):
            yield f"the recurring {item.name} has the wrong kind of category"
        elif item.category_id and not item.paused:
            ended = item.ends_on and item.next_on > item.ends_on
            if not ended and home.categories[item.category_id].status == "archived":
                yield f"the recurring {item.name} is of an archived category"
    posted = [
        (row.recurring_item_id, row.date)
        for row in (*home.expenses, *home.incomes)
        if row.recurring_item_id
    ]
    if len(set(posted)) < len(posted):
        yield "a recurring item is posted twice for one day"
    for item_id, day in posted:
        if day >= home.recurring_items[item_id].next_on:
            yield f"the recurring item {item_id} is posted for {day}, which is still to come"
