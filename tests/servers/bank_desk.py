"""A session of the bank and how tests talk to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from provegym.servers.banking import SERVER
from provegym.servers.banking.state import Account, Bank, Card, Transaction
from provegym.world.world import World
from tests.servers.talk import Talk


@lru_cache
def world(seed: int) -> World:
    return World(seed, [SERVER])


@dataclass(frozen=True)
class Desk(Talk):
    """One session and the typed view of it."""

    bank: Bank

    def account(self, index: int = 0, **equal: Any) -> Account:
        found = [a for a in self.bank.my_accounts() if _equals(a, equal)]
        return found[index]

    def balance(self, account: Account) -> int:
        return self.bank.accounts[account.id].balance

    def card(self, status: str) -> Card:
        found = [c for c in self.bank.cards if c.status == status and c.expires > self.bank.today]
        return found[0]

    def payee(self, *, here: bool) -> Any:
        holders = {a.iban: a for a in self.bank.accounts}
        return next(
            p
            for p in self.bank.payees
            if p.status == "active"
            and (p.iban in holders) == here
            and (not here or holders[p.iban].status == "open")
            and p.added_at < self.bank.today
        )

    def purchase(self, dispute: str = "none", *, recent: bool = True) -> Transaction:
        edge = "2026" if recent else ""
        found = [
            t
            for t in self.bank.transactions.where(kind="purchase", dispute=dispute)
            if t.amount < 0 and t.posted_at >= edge
        ]
        return max(found, key=lambda t: t.posted_at) if recent else found[0]


def _equals(row: Any, wanted: dict[str, Any]) -> bool:
    return all(getattr(row, name) == value for name, value in wanted.items())


def desk(seed: int = 11) -> Desk:
    session = world(seed).open()
    bank = session.state("banking")
    assert isinstance(bank, Bank)
    return Desk(session, bank)
