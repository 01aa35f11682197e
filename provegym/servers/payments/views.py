"""What the tools answer: small records, amounts as decimal strings in US dollars."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from provegym.servers.payments.state import (
    Card,
    CardId,
    CardStatus,
    Customer,
    CustomerId,
    Day,
    Event,
    EventId,
    EventType,
    Invoice,
    InvoiceId,
    Office,
    Payment,
    PaymentId,
    RefundId,
    ShownStatus,
    Url,
    Webhook,
    WebhookId,
    card_status,
    due_of,
    shown_status,
)
from provegym.world.fields import DATE, VOLATILE, Email, Money, money

StampDay = Annotated[str, DATE, VOLATILE]


class CustomerItem(Struct, frozen=True):
    """A customer and what they owe on finalized invoices."""

    id: CustomerId
    name: str
    email: Email
    status: Literal["active", "archived"]
    outstanding: Money


class CustomerPage(Struct, frozen=True):
    """A page of customers by name."""

    customers: list[CustomerItem]
    total: int
    next_cursor: str


class CardItem(Struct, frozen=True):
    """A card on file; of its number only the last four digits."""

    id: CardId
    brand: str
    last4: str
    expires: Day
    status: CardStatus


class CardList(Struct, frozen=True):
    """The cards that one customer has on file."""

    customer_id: CustomerId
    name: str
    cards: list[CardItem]


class InvoiceItem(Struct, frozen=True):
    """An invoice: `total` includes tax, `due` is what is still to be paid."""

    id: InvoiceId
    customer: str
    description: str
    total: Money
    due: Money
    due_on: Day
    status: ShownStatus


class InvoicePage(Struct, frozen=True):
    """A page of invoices, the latest first."""

    invoices: list[InvoiceItem]
    total: int
    next_cursor: str


class DraftReceipt(Struct, frozen=True):
    """A new invoice with the tax that its total includes."""

    invoice: InvoiceItem
    tax: Money


class PaymentItem(Struct, frozen=True):
    """A payment; `refunded` of it was given back."""

    id: PaymentId
    customer: str
    amount: Money
    refunded: Money
    card_last4: str
    date: StampDay
    status: Literal["succeeded", "failed"]


class PaymentPage(Struct, frozen=True):
    """A page of payments, newest first."""

    payments: list[PaymentItem]
    total: int
    next_cursor: str


class ChargeReceipt(Struct, frozen=True):
    """A payment and the invoice as it stands after it."""

    payment: PaymentItem
    invoice: InvoiceItem


class RefundReceipt(Struct, frozen=True):
    """A refund and the payment as it stands after it."""

    refund_id: RefundId
    amount: Money
    customer: str
    payment: PaymentItem


class WebhookItem(Struct, frozen=True):
    """A webhook and the event types it is subscribed to."""

    id: WebhookId
    url: Url
    status: Literal["enabled", "disabled"]
    event_types: list[EventType]


class EventItem(Struct, frozen=True):
    """What a webhook was told, of which invoice, and whether the address took it."""

    id: EventId
    event_type: EventType
    url: Url
    invoice_id: InvoiceId
    customer: str
    description: str
    date: StampDay
    delivery: Literal["delivered", "failed"]


class EventPage(Struct, frozen=True):
    """A page of events, newest first."""

    events: list[EventItem]
    total: int
    next_cursor: str


def customer_item(office: Office, c: Customer) -> CustomerItem:
    """A customer with what is outstanding; written-off invoices are not counted."""
    owed = sum(due_of(office, i) for i in office.invoices.where(customer_id=c.id, status="open"))
    return CustomerItem(c.id, c.name, c.email, c.status, money(owed))


def card_item(office: Office, c: Card) -> CardItem:
    """A card as the business sees it."""
    return CardItem(c.id, c.brand, c.last4, c.expires, card_status(c, office.today))


def invoice_item(office: Office, i: Invoice) -> InvoiceItem:
    """An invoice with its customer's name."""
    return InvoiceItem(
        id=i.id,
        customer=office.customers[i.customer_id].name,
        description=i.description,
        total=money(i.total),
        due=money(due_of(office, i)),
        due_on=i.due_on,
        status=shown_status(i, office.today),
    )


def payer(office: Office, payment: Payment) -> str:
    """The name of the customer who paid."""
    return office.customers[office.invoices[payment.invoice_id].customer_id].name


def payment_item(office: Office, p: Payment) -> PaymentItem:
    """A payment with its customer's name."""
    return PaymentItem(
        id=p.id,
        customer=payer(office, p),
        amount=money(p.amount),
        refunded=money(p.refunded),
        card_last4=office.cards[p.card_id].last4,
        date=p.created_at[:10],
        status=p.status,
    )


def webhook_item(office: Office, w: Webhook) -> WebhookItem:
    """A webhook with what it listens to, by name."""
    active = office.subscriptions.where(webhook_id=w.id, active=True)
    return WebhookItem(w.id, w.url, w.status, sorted(s.event_type for s in active))


def event_item(office: Office, e: Event) -> EventItem:
    """An event with the names of what it is about."""
    invoice = office.invoices[e.invoice_id]
    return EventItem(
        id=e.id,
        event_type=e.event_type,
        url=office.webhooks[e.webhook_id].url,
        invoice_id=invoice.id,
        customer=office.customers[invoice.customer_id].name,
        description=invoice.description,
        date=e.created_at[:10],
        delivery=e.delivery,
    )
