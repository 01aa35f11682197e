"""A session of the household budget and how tests talk to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from provegym.servers.budget import SERVER
from provegym.servers.budget.books import item_status
from provegym.servers.budget.state import Budget, Category, Expense, Household, RecurringItem
from provegym.world.world import World
from tests.servers.talk import Talk


@lru_cache
def world(seed: int) -> World:
    return World(seed, [SERVER])


@dataclass(frozen=True)
class Desk(Talk):
    """One session and the typed view of it."""

    home: Household

    def category(self, name: str) -> Category:
        return self.home.categories.where(name=name)[0]

    def month(self, back: int = 0) -> Budget:
        """The budget of the present month, or of one so many before it."""
        months = [b.month for b in self.home.budgets]
        return self.home.budgets.where(month=months[months.index(self.home.month) - back])[0]

    def spent(self, name: str, back: int = 0) -> int:
        return self.home.allocation(self.month(back), self.category(name).id).spent

    def planned(self, name: str, back: int = 0) -> int:
        return self.home.allocation(self.month(back), self.category(name).id).planned

    def item(self, name: str) -> RecurringItem:
        return next(i for i in self.home.recurring_items if i.name.startswith(name))

    def item_of(self, status: str) -> RecurringItem:
        return next(i for i in self.home.recurring_items if item_status(self.home, i) == status)

    def expense(self, *, status: str = "counted", closed: bool = False) -> Expense:
        """An expense of an open month (or a closed one) that no recurring item made."""
        state = "closed" if closed else "open"
        return next(
            e
            for e in self.home.expenses.where(status=status)
            if self.home.budgets[e.budget_id].status == state and not e.recurring_item_id
        )

    def buy(self, name: str, amount: str, **given: Any) -> dict[str, Any]:
        """Arguments of an expense today."""
        category = self.category(name).id
        base = {"category_id": category, "payee": "Corner Shop", "spent_on": self.home.today}
        return {**base, "amount": amount, **given}


def desk(seed: int = 11) -> Desk:
    session = world(seed).open()
    home = session.state("budget")
    assert isinstance(home, Household)
    return Desk(session, home)
