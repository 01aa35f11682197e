"""What the tools answer: small records, amounts as decimal strings in US dollars."""

from __future__ import annotations

from msgspec import Struct

from provegym.servers.budget.books import Sums, goal_status, item_status
from provegym.servers.budget.state import (
    Allocation,
    Budget,
    BudgetId,
    BudgetStatus,
    Category,
    CategoryId,
    CategoryStatus,
    Day,
    Expense,
    ExpenseId,
    ExpenseStatus,
    Frequency,
    Goal,
    GoalId,
    GoalStatus,
    Household,
    Income,
    IncomeId,
    ItemKind,
    ItemStatus,
    LimitKind,
    Month,
    RecurringItem,
    RecurringItemId,
)
from provegym.world.fields import Money, money


class Overspent(Struct, frozen=True):
    """A category that went over its plan."""

    category_id: CategoryId
    name: str
    over_by: Money


class MonthReport(Struct, frozen=True):
    """A month's money: left = income - spent - saved; `over` is the worst three categories."""

    id: BudgetId
    month: Month
    status: BudgetStatus
    income: Money
    planned: Money
    spent: Money
    saved: Money
    left: Money
    over: list[Overspent]


class CategoryItem(Struct, frozen=True, omit_defaults=True):
    """A category in one month; `status` is absent while it is active."""

    id: CategoryId
    name: str
    limit_kind: LimitKind
    planned: Money
    spent: Money
    left: Money
    status: CategoryStatus = "active"


class CategoryPage(Struct, frozen=True):
    """A page of categories of one month."""

    month: Month
    categories: list[CategoryItem]
    total: int
    next_cursor: str


class ExpenseItem(Struct, frozen=True, omit_defaults=True):
    """An expense; `status` is absent while it counts."""

    id: ExpenseId
    payee: str
    amount: Money
    date: Day
    category: str
    status: ExpenseStatus = "counted"


class ExpensePage(Struct, frozen=True):
    """A page of expenses, newest first; `sum` is of all that count, on every page."""

    expenses: list[ExpenseItem]
    sum: Money
    total: int
    next_cursor: str


class ExpenseReceipt(Struct, frozen=True):
    """An expense and what it leaves of its category's plan that month."""

    expense: ExpenseItem
    category_id: CategoryId
    name: str
    category_left: Money


class IncomeReceipt(Struct, frozen=True):
    """An income and what is left of the month's money with it."""

    id: IncomeId
    source: str
    amount: Money
    date: Day
    month_left: Money


class RecurringItemView(Struct, frozen=True):
    """A bill or income that repeats."""

    id: RecurringItemId
    name: str
    kind: ItemKind
    amount: Money
    frequency: Frequency
    next_on: Day
    status: ItemStatus


class RecurringPage(Struct, frozen=True):
    """A page of recurring items, the next one first."""

    recurring_items: list[RecurringItemView]
    total: int
    next_cursor: str


class Posting(Struct, frozen=True):
    """A posted recurring item: what was booked on which day, and when it is next."""

    item: RecurringItemView
    posted_amount: Money
    posted_on: Day


class GoalItem(Struct, frozen=True):
    """A savings goal."""

    id: GoalId
    name: str
    target: Money
    saved: Money
    wanted_by: Day
    status: GoalStatus


class GoalPage(Struct, frozen=True):
    """A page of goals, the most urgent first."""

    goals: list[GoalItem]
    total: int
    next_cursor: str


class GoalReceipt(Struct, frozen=True):
    """A goal after money was moved, and what the month has left."""

    goal: GoalItem
    month_left: Money


def month_report(home: Household, budget: Budget, sums: Sums) -> MonthReport:
    """A month's sums with the categories that went over."""
    over = [a for a in home.allocations.where(budget_id=budget.id) if a.spent > a.planned]
    over.sort(key=lambda a: (a.planned - a.spent, a.category_id))
    return MonthReport(
        id=budget.id,
        month=budget.month,
        status=budget.status,
        income=money(sums.income),
        planned=money(sums.planned),
        spent=money(sums.spent),
        saved=money(sums.saved),
        left=money(sums.left),
        over=[
            Overspent(
                a.category_id, home.categories[a.category_id].name, money(a.spent - a.planned)
            )
            for a in over[:3]
        ],
    )


def category_item(category: Category, allocation: Allocation) -> CategoryItem:
    """A category with one month's money."""
    return CategoryItem(
        id=category.id,
        name=category.name,
        limit_kind=category.limit_kind,
        planned=money(allocation.planned),
        spent=money(allocation.spent),
        left=money(allocation.planned - allocation.spent),
        status=category.status,
    )


def expense_item(home: Household, e: Expense) -> ExpenseItem:
    """An expense with its category's name."""
    name = home.categories[e.category_id].name
    return ExpenseItem(e.id, e.payee, money(e.amount), e.date, name, e.status)


def expense_receipt(home: Household, e: Expense) -> ExpenseReceipt:
    """An expense with what is left in its category."""
    category = home.categories[e.category_id]
    allocation = home.allocation(home.budgets[e.budget_id], e.category_id)
    left = money(allocation.planned - allocation.spent)
    return ExpenseReceipt(expense_item(home, e), category.id, category.name, left)


def income_receipt(income: Income, left: int) -> IncomeReceipt:
    """An income with what is left of its month."""
    return IncomeReceipt(income.id, income.source, money(income.amount), income.date, money(left))


def item_view(home: Household, item: RecurringItem) -> RecurringItemView:
    """A recurring item and its state today."""
    return RecurringItemView(
        id=item.id,
        name=item.name,
        kind=item.kind,
        amount=money(item.amount),
        frequency=item.frequency,
        next_on=item.next_on,
        status=item_status(home, item),
    )


def goal_item(goal: Goal) -> GoalItem:
    """A goal and its state."""
    return GoalItem(
        id=goal.id,
        name=goal.name,
        target=money(goal.target),
        saved=money(goal.saved),
        wanted_by=goal.wanted_by,
        status=goal_status(goal),
    )
