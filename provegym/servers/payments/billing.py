"""The rules of billing: who may be charged, what may be given back, who is told of it."""

from __future__ import annotations

from datetime import date
from typing import NoReturn

from provegym.servers.payments.state import (
    Card,
    Customer,
    Event,
    EventType,
    Invoice,
    Office,
    Payment,
    card_status,
    due_of,
)
from provegym.world.fields import cents, money
from provegym.world.tool import refuse

REFUND_WINDOW = 180
"""Days after a payment in which it can be refunded to the card."""
MOST_WEBHOOKS = 6
"""Addresses that a business may register."""


def emit(
    office: Office,
    event_type: EventType,
    invoice: Invoice,
    payment_id: str = "",
    refund_id: str = "",
) -> None:
    """Tell each subscribed webhook of a change."""
    for subscription in office.subscriptions.where(event_type=event_type, active=True):
        healthy = office.webhooks[subscription.webhook_id].healthy
        office.events.put(
            Event(
                id=office.events.new_id(),
                webhook_id=subscription.webhook_id,
                event_type=event_type,
                invoice_id=invoice.id,
                payment_id=payment_id,
                refund_id=refund_id,
                delivery="delivered" if healthy else "failed",
                created_at=office.stamp,
            )
        )


def positive(amount: str) -> int:
    """Cents of an amount; `invalid_amount` unless it is above zero."""
    value = cents(amount)
    if value <= 0:
        refuse("invalid_amount", f"the amount must be above 0.00, got {amount}", amount=amount)
    return value


def known_customer(office: Office, customer_id: str) -> Customer:
    """The customer, else `not_found`."""
    return office.customers.get(customer_id) or _unknown("customer", customer_id)


def known_invoice(office: Office, invoice_id: str) -> Invoice:
    """The invoice, else `not_found`."""
    return office.invoices.get(invoice_id) or _unknown("invoice", invoice_id)


def _unknown(noun: str, row_id: str) -> NoReturn:
    refuse("not_found", f"there is no {noun} {row_id[:40]!r}", id=row_id)


def require_payable(office: Office, invoice: Invoice, amount: str | None) -> int:
    """Cents to charge: the amount, or all that is due. Refuses what is not owed."""
    if invoice.status == "paid":
        text = f"the invoice over {money(invoice.total)} has been paid in full"
        refuse("already_paid", text, total=money(invoice.total))
    if invoice.status == "void":
        refuse("invoice_void", "the invoice is void; nothing may be charged for it")
    if invoice.status == "draft":
        refuse("invoice_draft", "the invoice is a draft; open it before charging")
    due = due_of(office, invoice)
    value = due if amount is None else positive(amount)
    if value > due:
        text = f"{money(value)} is more than the {money(due)} still due"
        refuse("over_amount_due", text, due=money(due), amount=money(value))
    return value


def usable_card(office: Office, card_id: str, customer_id: str) -> Card:
    """A working card of that customer; `expired_card`, `card_blocked`, ... for others."""
    card = office.cards.get(card_id) or _unknown("card", card_id)
    if card.customer_id != customer_id:
        text = f"the card belongs to {office.customers[card.customer_id].name}"
        refuse("other_customers_card", f"{text}, not to the customer of the invoice")
    status, name = card_status(card, office.today), f"the {card.brand} card ending {card.last4}"
    if status == "expired":
        refuse("expired_card", f"{name} expired on {card.expires}", expires=card.expires)
    if status == "blocked":
        refuse("card_blocked", f"{name} is blocked by its bank")
    return card


def refundable(office: Office, payment_id: str, amount: str | None) -> tuple[Payment, int]:
    """A payment and the cents to give back: the amount, or all that is left of it."""
    payment = office.payments.get(payment_id) or _unknown("payment", payment_id)
    if payment.status == "failed":
        refuse("payment_failed", "the payment failed, so there is nothing to give back")
    left = payment.amount - payment.refunded
    if left == 0:
        refuse("already_refunded", f"all {money(payment.amount)} have been refunded")
    age = (office.now.date() - date.fromisoformat(payment.created_at[:10])).days
    if age > REFUND_WINDOW:
        text = f"the payment is {age} days old; refunds end after {REFUND_WINDOW}"
        refuse("refund_window_over", text, age_days=age)
    value = left if amount is None else positive(amount)
    if value > left:
        text = f"{money(value)} is more than the {money(left)} left of the payment"
        refuse("refund_over_amount", text, refundable=money(left), amount=money(value))
    return payment, value


def require_moves(office: Office, invoice: Invoice, status: str) -> None:
    """Refuse a step that an invoice's life does not have."""
    if invoice.status == status:
        refuse("no_change", f"the invoice is {status} already")
    if invoice.status == "paid":
        refuse("already_paid", "the invoice is paid; refund its payment instead")
    if invoice.status == "void":
        refuse("invoice_void", "the invoice is void, which is final")
    if status == "uncollectible" and invoice.status == "draft":
        refuse("invoice_draft", "a draft is not owed yet; open or void it")
    if status == "open" and invoice.status == "uncollectible":
        refuse("invoice_written_off", "the invoice was written off; it can be paid or voided")
    if status == "void":
        _require_unpaid(office, invoice)


def _require_unpaid(office: Office, invoice: Invoice) -> None:
    charges = office.payments.where(invoice_id=invoice.id, status="succeeded")
    kept = sum(p.amount - p.refunded for p in charges)
    if kept:
        text = f"{money(kept)} has been paid for it; refund that first"
        refuse("has_payments", text, paid=money(kept))
