"""A session of the household budget and how tests talk to it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from provegym.servers.budget import SERVER
from provegym.servers.budget.books import item_status
from provegym.servers.budget.state import Budget, Category, Expense, Household, RecurringItem
from provegym.world.session import Session
from provegym.world.world import World


@lru_cache
def world(seed: int) -> World:
    return World(seed, [SERVER])


class Desk(NamedTuple):
    """One session and the typed view of it."""

    session: Session
    home: Household

    def ok(self, tool: str, **arguments: Any) -> Any:
        result = self.session.call(tool, arguments)
        assert result.outcome == "ok", result
        return result.builtins()

    def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        before = self.session.digest()
        result = self.session.call(tool, arguments)
        assert result.outcome == "tool_error", result
        assert self.session.digest() == before
        error: dict[str, Any] = result.builtins()["error"]
        return error

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
