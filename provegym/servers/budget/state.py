"""The rows of a household budget. Amounts are integer US cents.

Each month has a budget, and in it each category has an allocation: what is planned and what has
been spent. A closed month is final: its report keeps what it came to.
"""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from provegym.world.fields import DATE, Format, Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, table

BudgetId = Annotated[str, Ref("budget.budgets")]
CategoryId = Annotated[str, Ref("budget.categories")]
AllocationId = Annotated[str, Ref("budget.allocations")]
ExpenseId = Annotated[str, Ref("budget.expenses")]
IncomeId = Annotated[str, Ref("budget.incomes")]
RecurringItemId = Annotated[str, Ref("budget.recurring_items")]
GoalId = Annotated[str, Ref("budget.goals")]
ContributionId = Annotated[str, Ref("budget.contributions")]
ReportId = Annotated[str, Ref("budget.reports")]
ReportLineId = Annotated[str, Ref("budget.report_lines")]
Day = Annotated[str, DATE]

MONTH = Format(
    "month",
    'Year and month, e.g. "2026-03".',
    re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])", re.ASCII).fullmatch,
)
Month = Annotated[str, MONTH]

BudgetStatus = Literal["open", "closed"]
CategoryStatus = Literal["active", "archived"]
LimitKind = Literal["soft", "hard"]
ExpenseStatus = Literal["counted", "void"]
Frequency = Literal["weekly", "monthly", "quarterly", "yearly"]
ItemKind = Literal["expense", "income"]
ItemStatus = Literal["due", "scheduled", "paused", "ended"]
GoalStatus = Literal["saving", "reached", "closed"]


class Budget(Row, frozen=True):
    """One month's budget."""

    label: ClassVar[str] = "the {month} budget"
    id: BudgetId
    month: Month
    status: BudgetStatus


class Category(Row, frozen=True):
    """What money is spent on. A hard limit refuses to be exceeded, a soft one only shows it."""

    label: ClassVar[str] = "the {name} category"
    id: CategoryId
    name: str
    limit_kind: LimitKind
    status: CategoryStatus


class Allocation(Row, frozen=True):
    """A category's money in one month; `spent` is the sum of its counted expenses."""

    id: AllocationId
    budget_id: BudgetId
    category_id: CategoryId
    planned: int
    spent: int


class Expense(Row, frozen=True):
    """Money spent; a void one is kept but counts for nothing."""

    label: ClassVar[str] = "the ${amount} {payee} expense of {date}"
    id: ExpenseId
    budget_id: BudgetId
    category_id: CategoryId
    payee: str
    amount: int
    date: Day
    status: ExpenseStatus = "counted"
    recurring_item_id: RecurringItemId = ""


class Income(Row, frozen=True):
    """Money that came in."""

    label: ClassVar[str] = "the ${amount} income from {source}"
    id: IncomeId
    budget_id: BudgetId
    source: str
    amount: int
    date: Day
    recurring_item_id: RecurringItemId = ""


class RecurringItem(Row, frozen=True):
    """A bill or an income that repeats from `starts_on`; the one on `next_on` is not posted yet."""

    label: ClassVar[str] = "the recurring {name}"
    id: RecurringItemId
    name: str
    kind: ItemKind
    amount: int
    frequency: Frequency
    starts_on: Day
    next_on: Day
    ends_on: str = ""
    paused: bool = False
    category_id: CategoryId = ""


class Goal(Row, frozen=True):
    """Something to save for; `saved` is the sum of its contributions."""

    label: ClassVar[str] = "the {name} goal"
    id: GoalId
    name: str
    target: int
    saved: int
    wanted_by: Day
    closed: bool = False


class Contribution(Row, frozen=True):
    """Money put towards a goal, or below zero taken back, out of a month's budget."""

    id: ContributionId
    goal_id: GoalId
    budget_id: BudgetId
    amount: int
    moved_at: Stamp


class Report(Row, frozen=True):
    """What a closed month came to."""

    id: ReportId
    budget_id: BudgetId
    income: int
    planned: int
    spent: int
    saved: int


class ReportLine(Row, frozen=True):
    """What one category came to in a closed month."""

    id: ReportLineId
    report_id: ReportId
    category_id: CategoryId
    planned: int
    spent: int


class Household(State):
    """One session's view of the budget of the household that is asking."""

    server = "budget"
    budgets = table(Budget, "bud")
    categories = table(Category, "cat")
    allocations = table(Allocation, "all")
    expenses = table(Expense, "exp")
    incomes = table(Income, "inc")
    recurring_items = table(RecurringItem, "rec")
    goals = table(Goal, "goal")
    contributions = table(Contribution, "con")
    reports = table(Report, "rep")
    report_lines = table(ReportLine, "rln")

    @property
    def today(self) -> str:
        """The session's date."""
        return self.now.date().isoformat()

    @property
    def month(self) -> str:
        """The session's month."""
        return self.today[:7]

    def allocation(self, budget: Budget, category_id: str) -> Allocation:
        """A category's money in one month; every month has one for every category."""
        return self.allocations.where(budget_id=budget.id, category_id=category_id)[0]
