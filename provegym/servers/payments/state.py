"""The rows of a business's billing, and what must always hold. Amounts are integer US cents.

Each change of an invoice, payment or refund emits one event to every webhook that is subscribed
to its type at that moment; `subscriptions` keeps since when and until when each one was.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, NamedTuple

from provegym.world.fields import DATE, EMAIL, VOLATILE, Format, Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, table

CustomerId = Annotated[str, Ref("payments.customers")]
CardId = Annotated[str, Ref("payments.cards")]
InvoiceId = Annotated[str, Ref("payments.invoices")]
PaymentId = Annotated[str, Ref("payments.payments")]
RefundId = Annotated[str, Ref("payments.refunds")]
WebhookId = Annotated[str, Ref("payments.webhooks")]
EventId = Annotated[str, Ref("payments.events")]
Day = Annotated[str, DATE]

_WEB = re.compile(r"https://[a-z0-9.-]+\.[a-z]{2,}(/[A-Za-z0-9._~/-]*)?", re.ASCII)
URL = Format("url", "Address that begins with https://.", _WEB.fullmatch)
Url = Annotated[str, URL]

InvoiceStatus = Literal["draft", "open", "paid", "void", "uncollectible"]
ShownStatus = Literal["draft", "open", "overdue", "paid", "void", "uncollectible"]
CardStatus = Literal["active", "expired", "blocked"]
RefundReason = Literal["duplicate", "fraudulent", "requested_by_customer", "not_delivered"]
EventType = Literal[
    "invoice.created",
    "invoice.finalized",
    "invoice.paid",
    "invoice.voided",
    "invoice.uncollectible",
    "payment.succeeded",
    "payment.failed",
    "payment.refunded",
]


class Customer(Row, frozen=True):
    """Who is invoiced. `tax_rate` is sales tax in hundredths of a percent, 0 if exempt."""

    label: ClassVar[str] = "{name}"
    id: CustomerId
    name: str
    email: Annotated[str, EMAIL]
    status: Literal["active", "archived"]
    tax_rate: int


class Card(Row, frozen=True):
    """A card that a customer has left on file. It works through the day `expires`."""

    label: ClassVar[str] = "the {brand} card ending {last4}"
    id: CardId
    customer_id: CustomerId
    brand: Literal["Visa", "Mastercard", "Amex"]
    last4: str
    expires: Day
    blocked: bool


class Invoice(Row, frozen=True):
    """A bill. The stamps say when it came to each state, "" for never.

    `settled_at` is when it was paid or voided.
    """

    label: ClassVar[str] = 'the "{description}" invoice for {customer}'
    id: InvoiceId
    customer_id: CustomerId
    description: str
    quantity: int
    unit_price: int
    tax: int
    due_on: Day
    status: InvoiceStatus
    created_at: Stamp
    finalized_at: Stamp = ""
    written_off_at: Stamp = ""
    settled_at: Stamp = ""

    @property
    def total(self) -> int:
        """What the customer is billed."""
        return self.quantity * self.unit_price + self.tax


class Payment(Row, frozen=True):
    """One charge of a card for an invoice. `refunded` is the sum of its refunds."""

    label: ClassVar[str] = "the ${amount} payment from {customer}"
    id: PaymentId
    invoice_id: InvoiceId
    card_id: CardId
    amount: int
    refunded: int
    status: Literal["succeeded", "failed"]
    created_at: Stamp


class Refund(Row, frozen=True):
    """Money given back from a payment."""

    label: ClassVar[str] = "the ${amount} refund to {customer}"
    id: RefundId
    payment_id: PaymentId
    amount: int
    reason: RefundReason
    created_at: Stamp


class Webhook(Row, frozen=True):
    """An address that events are posted to. A disabled one gets none; `healthy` ones answer."""

    label: ClassVar[str] = "the webhook {url}"
    id: WebhookId
    url: Url
    status: Literal["enabled", "disabled"]
    healthy: bool


class Subscription(Row, frozen=True):
    """A webhook's wish for one type of event, from `since` to before `until` ("" for now)."""

    webhook_id: WebhookId
    event_type: EventType
    active: bool
    since: Stamp
    until: Annotated[str, VOLATILE] = ""


class Event(Row, frozen=True):
    """What one webhook was told about one change."""

    label: ClassVar[str] = "the {event_type} event for {customer}"
    id: EventId
    webhook_id: WebhookId
    event_type: EventType
    invoice_id: InvoiceId
    payment_id: PaymentId
    refund_id: RefundId
    delivery: Literal["delivered", "failed"]
    created_at: Stamp


class Office(State):
    """One session's view of the billing office of the business that is asking."""

    server = "payments"
    customers = table(Customer, "cust")
    cards = table(Card, "card")
    invoices = table(Invoice, "inv")
    payments = table(Payment, "pay")
    refunds = table(Refund, "ref")
    webhooks = table(Webhook, "hook")
    subscriptions = table(Subscription, "sub")
    events = table(Event, "evt")

    @property
    def today(self) -> str:
        """The session's date."""
        return self.now.date().isoformat()


def tax_on(subtotal: int, rate: int) -> int:
    """Sales tax at a rate in hundredths of a percent, half a cent rounded up."""
    return (subtotal * rate + 5_000) // 10_000


def due_of(office: Office, invoice: Invoice) -> int:
    """What is still to be paid: nothing before an invoice is finalized or once it is settled.

    A refund makes it due again while the invoice is unpaid; a paid one stays paid.
    """
    if invoice.status in ("draft", "void", "paid"):
        return 0
    charges = office.payments.where(invoice_id=invoice.id, status="succeeded")
    return invoice.total - sum(p.amount - p.refunded for p in charges)


def shown_status(invoice: Invoice, today: str) -> ShownStatus:
    """The status, with lateness read off the calendar."""
    late = invoice.status == "open" and invoice.due_on < today
    return "overdue" if late else invoice.status


def card_status(card: Card, today: str) -> CardStatus:
    """The card's status, with expiry read off the calendar."""
    if card.blocked:
        return "blocked"
    return "expired" if card.expires < today else "active"


class Change(NamedTuple):
    """A change that webhooks are told of."""

    event_type: EventType
    at: str
    invoice_id: str
    payment_id: str = ""
    refund_id: str = ""


def changes(office: Office) -> Iterator[Change]:
    """Every change so far, read off the stamps of invoices, payments and refunds."""
    for i in office.invoices:
        stamps: tuple[tuple[EventType, str], ...] = (
            ("invoice.created", i.created_at),
            ("invoice.finalized", i.finalized_at),
            ("invoice.uncollectible", i.written_off_at),
            ("invoice.paid" if i.status == "paid" else "invoice.voided", i.settled_at),
        )
        yield from (Change(kind, at, i.id) for kind, at in stamps if at)
    for p in office.payments:
        kind: EventType = "payment.succeeded" if p.status == "succeeded" else "payment.failed"
        yield Change(kind, p.created_at, p.invoice_id, p.id)
    for r in office.refunds:
        invoice_id = office.payments[r.payment_id].invoice_id
        yield Change("payment.refunded", r.created_at, invoice_id, r.payment_id, r.id)


def violations(office: Office) -> Iterator[str]:
    """Every broken invariant of the books, one sentence each."""
    for invoice in office.invoices:
        yield from _invoice(office, invoice)
    for payment in office.payments:
        yield from _payment(office, payment)
    if any(r.payment_id not in office.payments or r.amount <= 0 for r in office.refunds):
        yield "a refund gives back nothing, or is of no payment"
    yield from _subscriptions(office)
    yield from _events(office)


def _invoice(office: Office, invoice: Invoice) -> Iterator[str]:
    paid = _covered(office, invoice)
    if not 0 <= paid <= invoice.total or invoice.total <= 0:
        yield f"invoice {invoice.id} over {invoice.total} has been paid {paid}"
    if (invoice.status == "paid") != (paid == invoice.total):
        yield f"invoice {invoice.id} is {invoice.status} with {paid} of {invoice.total} paid"
    if invoice.status == "draft" and office.payments.where(invoice_id=invoice.id):
        yield f"invoice {invoice.id} is a draft but has been charged"
    if (invoice.status in ("paid", "void")) != bool(invoice.settled_at):
        yield f"invoice {invoice.id} is {invoice.status}, settled at {invoice.settled_at!r}"
    rate = office.customers[invoice.customer_id].tax_rate
    if invoice.tax != tax_on(invoice.quantity * invoice.unit_price, rate):
        yield f"invoice {invoice.id} has the wrong tax"
    if invoice.status == "void" and any(
        p.refunded < p.amount
        for p in office.payments.where(invoice_id=invoice.id, status="succeeded")
    ):
        yield f"invoice {invoice.id} is void but keeps money"


def _covered(office: Office, invoice: Invoice) -> int:
    """Payments less the refunds that came before the invoice was settled."""
    charges = office.payments.where(invoice_id=invoice.id, status="succeeded")
    back = (r for p in charges for r in office.refunds.where(payment_id=p.id))
    early = (r.amount for r in back if not invoice.settled_at or r.created_at < invoice.settled_at)
    return sum(p.amount for p in charges) - sum(early)


def _payment(office: Office, payment: Payment) -> Iterator[str]:
    back = sum(r.amount for r in office.refunds.where(payment_id=payment.id))
    if payment.refunded != back or back > payment.amount:
        yield f"payment {payment.id} of {payment.amount}: {payment.refunded} refunded, rows {back}"
    if payment.status == "failed" and back:
        yield f"payment {payment.id} failed but was refunded"
    invoice, card = office.invoices[payment.invoice_id], office.cards[payment.card_id]
    if payment.amount <= 0 or card.customer_id != invoice.customer_id:
        yield f"payment {payment.id} is of nothing, or by another customer's card"


def _subscriptions(office: Office) -> Iterator[str]:
    active = [s for s in office.subscriptions if s.active]
    if len({(s.webhook_id, s.event_type) for s in active}) < len(active):
        yield "a webhook is subscribed twice to one type"
    if any(office.webhooks[s.webhook_id].status == "disabled" for s in active):
        yield "a disabled webhook is subscribed"
    if any(s.active == bool(s.until) for s in office.subscriptions):
        yield "a subscription is active after its end, or ended without a time"
    urls = [w.url for w in office.webhooks]
    if len(set(urls)) < len(urls):
        yield "two webhooks share an address"


def _events(office: Office) -> Iterator[str]:
    """One event for each change and each webhook that was subscribed to it at the time."""
    listening: dict[str, list[Subscription]] = defaultdict(list)
    for s in office.subscriptions:
        listening[s.event_type].append(s)
    expected = Counter(
        (s.webhook_id, *change)
        for change in changes(office)
        for s in listening[change.event_type]
        if s.since <= change.at and (not s.until or change.at < s.until)
    )
    found = Counter(
        (e.webhook_id, e.event_type, e.created_at, e.invoice_id, e.payment_id, e.refund_id)
        for e in office.events
    )
    for missing in expected - found:
        yield f"webhook {missing[0]} was not told of {missing[1]} at {missing[2]}"
    for extra in found - expected:
        yield f"webhook {extra[0]} was told of {extra[1]} at {extra[2]} without cause"
