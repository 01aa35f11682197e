"""Plausible arguments for each tool, read off the rows of a session. An empty dict: none found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from random import Random
from typing import Any, TypeVar, get_args

from provegym.servers.payments.billing import REFUND_WINDOW
from provegym.servers.payments.seed import NEW_WORKS, REASONS, WORKS, site
from provegym.servers.payments.state import (
    Card,
    EventType,
    Invoice,
    Office,
    card_status,
    due_of,
    shown_status,
)
from provegym.world.fields import money

Arguments = dict[str, Any]
T = TypeVar("T")

SLIP = 0.06
"""How often a row is chosen without a look at its state."""


def _maybe(rnd: Random, **fields: Any) -> Arguments:
    """Each of the fields with a chance of 30 %."""
    return {name: value for name, value in fields.items() if rnd.random() < 0.3}


def _pick(rnd: Random, good: Sequence[T], every: Sequence[T]) -> T:
    """One of the good rows, now and then any row, as people forget what is void or expired."""
    return rnd.choice(every if not good or rnd.random() < SLIP else good)


def customers(office: Office, rnd: Random) -> Arguments:
    """A name to look for, or a status."""
    if rnd.random() < 0.3:
        return _maybe(rnd, status=rnd.choice(("active", "archived")))
    return {"query": rnd.choice(list(office.customers)).name}


def invoices(office: Office, rnd: Random) -> Arguments:
    """Filters that one existing invoice meets."""
    wanted = rnd.choice(list(office.invoices))
    choices = {
        "query": wanted.description,
        "customer_id": wanted.customer_id,
        "status": shown_status(wanted, office.today),
    }
    picked = rnd.choice(("query", "customer_id", "customer_id", "status"))
    return {picked: choices[picked], **_maybe(rnd, status=choices["status"])}


def new_invoice(office: Office, rnd: Random) -> Arguments:
    """An active customer and a work that they have not been billed for."""
    customer = _pick(rnd, office.customers.where(status="active"), list(office.customers))
    billed = {i.description for i in office.invoices.where(customer_id=customer.id)}
    works = [w for w in (*NEW_WORKS, *(name for name, _, _ in WORKS)) if w not in billed]
    due = office.now + timedelta(days=rnd.choice((7, 14, 14, 30, 30, 45)))
    return {
        "customer_id": customer.id,
        "description": rnd.choice(works or NEW_WORKS),
        "unit_price": money(rnd.randrange(4, 180) * 5_00),
        "due_on": due.date().isoformat(),
        **_maybe(rnd, quantity=rnd.randrange(2, 13)),
    }


def status(office: Office, rnd: Random) -> Arguments:
    """A draft to send or drop, or an unpaid invoice to void or write off."""
    paid = {p.invoice_id for p in office.payments.where(status="succeeded")}
    steps = [(i, s) for i in office.invoices for s in _steps(i, i.id in paid)]
    every = [(i, s) for i in office.invoices for s in ("open", "void")]
    invoice, wanted = _pick(rnd, steps, every)
    return {"invoice_id": invoice.id, "status": wanted}


def _steps(invoice: Invoice, charged: bool) -> tuple[str, ...]:
    if invoice.status == "draft":
        return ("open", "open", "void")
    if invoice.status == "open":
        return ("uncollectible",) if charged else ("void", "uncollectible")
    return ("void",) if invoice.status == "uncollectible" and not charged else ()


def charge(office: Office, rnd: Random) -> Arguments:
    """An invoice with something due and a working card of its customer."""
    owed = [
        i
        for i in (*office.invoices.where(status="open"), *_written_off(office))
        if _working_cards(office, i.customer_id)
    ]
    invoice = _pick(rnd, owed, list(office.invoices))
    cards = office.cards.where(customer_id=invoice.customer_id)
    card = _pick(rnd, _working_cards(office, invoice.customer_id), cards)
    due = due_of(office, invoice)
    part = max(100, due // 100 // rnd.choice((2, 3, 4)) * 100)
    return {"invoice_id": invoice.id, "card_id": card.id, **_maybe(rnd, amount=money(part))}


def _written_off(office: Office) -> list[Invoice]:
    return office.invoices.where(status="uncollectible")


def _working_cards(office: Office, customer_id: str) -> list[Card]:
    cards = office.cards.where(customer_id=customer_id)
    return [c for c in cards if card_status(c, office.today) == "active"]


def payments(office: Office, rnd: Random) -> Arguments:
    """Filters that one existing payment meets."""
    wanted = rnd.choice(list(office.payments))
    if rnd.random() < 0.25:
        return {"invoice_id": wanted.invoice_id}
    invoice, day = office.invoices[wanted.invoice_id], wanted.created_at[:10]
    named = rnd.random() < 0.6
    return {
        **({"query": office.customers[invoice.customer_id].name} if named else {}),
        **_maybe(rnd, status=wanted.status, since=day, until=day),
    }


def refund(office: Office, rnd: Random) -> Arguments:
    """A payment of the last months, and part or all of what is left of it."""
    edge = (date.fromisoformat(office.today) - timedelta(days=REFUND_WINDOW)).isoformat()
    rows = office.payments.where(status="succeeded")
    good = [p for p in rows if p.refunded < p.amount and p.created_at >= edge]
    payment = _pick(rnd, good, list(office.payments))
    left = payment.amount - payment.refunded
    part = max(1, left // 100 // rnd.choice((2, 3, 4)) * 100)
    amount = money(part if rnd.random() > SLIP else payment.amount)
    return {"payment_id": payment.id, "reason": rnd.choice(REASONS), **_maybe(rnd, amount=amount)}


def subscription(office: Office, rnd: Random) -> Arguments:
    """A type of event that a webhook is not told of yet, or one that it is."""
    kinds = get_args(EventType)
    hook = _pick(rnd, office.webhooks.where(status="enabled"), list(office.webhooks))
    mine = [s.event_type for s in office.subscriptions.where(webhook_id=hook.id, active=True)]
    if rnd.random() < 0.1:
        new = f"{site(office.cast)}/{rnd.choice(('analytics', 'audit', 'payroll', 'support'))}"
        return {"url": new, "event_type": rnd.choice(kinds), "action": "subscribe"}
    free = [kind for kind in kinds if kind not in mine]
    ends = bool(mine) and (not free or rnd.random() < 0.4)
    kind = _pick(rnd, mine if ends else free, kinds)
    action = "unsubscribe" if ends else "subscribe"
    return {"url": hook.url, "event_type": kind, "action": action}


def events(office: Office, rnd: Random) -> Arguments:
    """Filters that one existing event meets."""
    wanted = rnd.choice(list(office.events))
    choices = {
        "event_type": wanted.event_type,
        "url": office.webhooks[wanted.webhook_id].url,
        "invoice_id": wanted.invoice_id,
    }
    picked = rnd.choice(list(choices))
    more = _maybe(rnd, since=wanted.created_at[:10], delivery=wanted.delivery)
    return {picked: choices[picked], **more}
