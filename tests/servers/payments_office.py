"""A session of the billing office and how tests talk to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from provegym.servers.payments import SERVER
from provegym.servers.payments.state import (
    Card,
    Customer,
    Invoice,
    Office,
    Payment,
    Webhook,
    card_status,
    due_of,
)
from provegym.world.world import World
from tests.servers.talk import Talk


@lru_cache
def world(seed: int) -> World:
    return World(seed, [SERVER])


@dataclass(frozen=True)
class Till(Talk):
    """One session and the typed view of it."""

    office: Office

    def customer(self, status: str = "active", tax_rate: int | None = None) -> Customer:
        """A customer of that kind with a working card."""
        return next(
            c
            for c in self.office.customers.where(status=status)
            if tax_rate in (None, c.tax_rate) and self.cards(c.id, "active")
        )

    def cards(self, customer_id: str, status: str) -> list[Card]:
        every = self.office.cards.where(customer_id=customer_id)
        return [c for c in every if card_status(c, self.office.today) == status]

    def invoice(self, status: str, test: Callable[[Invoice], bool] = bool) -> Invoice:
        return next(i for i in self.office.invoices.where(status=status) if test(i))

    def payable(self, card: str = "active") -> tuple[Invoice, Card]:
        """An open invoice that is not paid in part, and a card of its customer."""
        return next(
            (i, cards[0])
            for i in self.office.invoices.where(status="open")
            if (cards := self.cards(i.customer_id, card)) and due_of(self.office, i) == i.total
        )

    def payment(self, test: Callable[[Payment], bool] = bool) -> Payment:
        """The latest payment that went through and is like that."""
        rows = [p for p in self.office.payments.where(status="succeeded") if test(p)]
        return max(rows, key=lambda p: p.created_at)

    def webhook(self, path: str) -> Webhook:
        return next(w for w in self.office.webhooks if w.url.endswith(f"/{path}"))

    def told(self, before: set[str]) -> list[tuple[str, str]]:
        """Which webhook was told of what since then, by its path."""
        hooks = self.office.webhooks
        rows = [e for e in self.office.events if e.id not in before]
        return sorted((hooks[e.webhook_id].url.rsplit("/")[-1], e.event_type) for e in rows)

    def events(self) -> set[str]:
        return {e.id for e in self.office.events}


def till(seed: int = 11) -> Till:
    session = world(seed).open()
    office = session.state("payments")
    assert isinstance(office, Office)
    return Till(session, office)
