"""Invoices, payments, refunds and webhooks, as a business uses them. Amounts are US dollars."""

from __future__ import annotations

from typing import Annotated, Literal

from provegym.servers.payments import samples
from provegym.servers.payments.billing import (
    MOST_WEBHOOKS,
    emit,
    known_customer,
    known_invoice,
    positive,
    refundable,
    require_moves,
    require_payable,
    usable_card,
)
from provegym.servers.payments.state import (
    CardId,
    CustomerId,
    EventType,
    Invoice,
    InvoiceId,
    Office,
    Payment,
    PaymentId,
    Refund,
    RefundReason,
    ShownStatus,
    Subscription,
    Url,
    Webhook,
    due_of,
    shown_status,
    tax_on,
)
from provegym.servers.payments.views import (
    CardList,
    ChargeReceipt,
    CustomerPage,
    DraftReceipt,
    EventPage,
    InvoiceItem,
    InvoicePage,
    PaymentPage,
    RefundReceipt,
    WebhookItem,
    card_item,
    customer_item,
    event_item,
    invoice_item,
    payer,
    payment_item,
    webhook_item,
)
from provegym.world.fields import Date, Limit, Money, Range, Text, money
from provegym.world.page import page
from provegym.world.period import period
from provegym.world.tool import refuse, tool

# -- customers -----------------------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        'Look up our[ {status}] billing customers[ matching "{query}"]',
        "List the[ {status}] customers we invoice[ under the name {query}] with what they owe",
        "Find the[ {status}] customers in billing[ called {query}]",
    ),
    sample=samples.customers,
)
def search_billing_customers(
    office: Office,
    query: str = "",
    status: Literal["active", "archived"] | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> CustomerPage:
    """Find customers by name or e-mail address, with what they owe on open invoices.

    Args:
        query: Part of the name or e-mail address.
        status: Only active or only archived customers.
        limit: Customers per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    found = [
        c
        for c in office.customers
        if (status is None or c.status == status)
        and (words in c.name.casefold() or words in c.email.casefold())
    ]
    found.sort(key=lambda c: c.name)
    rows, total, after = page(found, limit, cursor)
    return CustomerPage([customer_item(office, c) for c in rows], total, after)


@tool(
    "read",
    phrases=(
        "Show the cards that {customer_id} has on file",
        "Which cards can {customer_id} be charged on",
        "List the saved payment cards of {customer_id}",
    ),
    refuses=("not_found",),
)
def list_customer_cards(office: Office, customer_id: CustomerId) -> CardList:
    """List the cards that a customer has on file, and whether they still work.

    Args:
        customer_id: The customer.
    """
    customer = known_customer(office, customer_id)
    cards = office.cards.where(customer_id=customer.id)
    return CardList(customer.id, customer.name, [card_item(office, c) for c in cards])


# -- invoices ------------------------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        "List our[ {status}] invoices[ to {customer_id}][ for {query}]",
        'Show the[ {status}] invoices we issued[ to {customer_id}][ about "{query}"]',
        "Go through the[ {status}] invoices[ of {customer_id}][ that mention {query}]",
    ),
    refuses=("not_found",),
    sample=samples.invoices,
)
def list_invoices(
    office: Office,
    customer_id: CustomerId | None = None,
    query: str = "",
    status: ShownStatus | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> InvoicePage:
    """List invoices with what is still due, the latest due date first.

    Args:
        customer_id: Only invoices to this customer.
        query: Part of the description or the customer's name.
        status: Only invoices in this state; overdue ones are open past their date.
        limit: Invoices per page.
        cursor: next_cursor of the page before.
    """
    rows = (
        list(office.invoices)
        if customer_id is None
        else office.invoices.where(customer_id=known_customer(office, customer_id).id)
    )
    words, today = query.casefold(), office.today
    found = [
        i
        for i in rows
        if (status is None or shown_status(i, today) == status)
        and (
            words in i.description.casefold()
            or words in office.customers[i.customer_id].name.casefold()
        )
    ]
    found.sort(key=lambda i: i.due_on, reverse=True)
    shown, total, after = page(found, limit, cursor)
    return InvoicePage([invoice_item(office, i) for i in shown], total, after)


@tool(
    "write",
    phrases=(
        "Draft an invoice to {customer_id} for {description} at {unit_price}[ times {quantity}], "
        "due {due_on}",
        "Create a draft invoice: bill {customer_id} {unit_price}[ for each of {quantity} units] "
        "for {description}, payable by {due_on}",
        "Prepare an invoice for {customer_id} over {description}, {unit_price} each"
        "[, quantity {quantity}], with due date {due_on}",
    ),
    refuses=("not_found", "customer_archived", "date_in_past"),
    sample=samples.new_invoice,
)
def create_invoice(
    office: Office,
    customer_id: CustomerId,
    description: Text,
    unit_price: Money,
    due_on: Date,
    quantity: Annotated[int, Range(1, 1000)] = 1,
) -> DraftReceipt:
    """Draft an invoice; the customer's sales tax is added. Set it to open to send it.

    Args:
        customer_id: Who is billed.
        description: What for.
        unit_price: US dollars for one unit, before tax.
        due_on: Last day to pay, today at the earliest.
        quantity: Number of units.
    """
    price, customer = positive(unit_price), known_customer(office, customer_id)
    if customer.status == "archived":
        refuse("customer_archived", f"{customer.name} is archived and cannot be billed")
    if due_on < office.today:
        text = f"the due date {due_on} is before today, {office.today}"
        refuse("date_in_past", text, today=office.today)
    invoice = Invoice(
        id=office.invoices.new_id(),
        customer_id=customer.id,
        description=description.strip(),
        quantity=quantity,
        unit_price=price,
        tax=tax_on(quantity * price, customer.tax_rate),
        due_on=due_on,
        status="draft",
        created_at=office.stamp,
    )
    office.invoices.put(invoice)
    emit(office, "invoice.created", invoice)
    return DraftReceipt(invoice_item(office, invoice), money(invoice.tax))


@tool(
    "write",
    phrases=(
        "Set {invoice_id} to {status}",
        "Mark {invoice_id} as {status}",
        "Change the status of {invoice_id} to {status}",
    ),
    refuses=(
        "not_found",
        "no_change",
        "already_paid",
        "invoice_void",
        "invoice_draft",
        "invoice_written_off",
        "has_payments",
    ),
    sample=samples.status,
)
def set_invoice_status(
    office: Office, invoice_id: InvoiceId, status: Literal["open", "void", "uncollectible"]
) -> InvoiceItem:
    """Send a draft (open), take an unpaid invoice back (void), or write it off (uncollectible).

    Args:
        invoice_id: The invoice.
        status: Its new state.
    """
    invoice, now = known_invoice(office, invoice_id), office.stamp
    require_moves(office, invoice, status)
    if status == "open":
        changed = office.invoices.update(invoice, status="open", finalized_at=now)
        emit(office, "invoice.finalized", changed)
    elif status == "void":
        changed = office.invoices.update(invoice, status="void", settled_at=now)
        emit(office, "invoice.voided", changed)
    else:
        changed = office.invoices.update(invoice, status="uncollectible", written_off_at=now)
        emit(office, "invoice.uncollectible", changed)
    return invoice_item(office, changed)


# -- payments ------------------------------------------------------------------------------------


@tool(
    "write",
    phrases=(
        "Charge {card_id} for {invoice_id}[, but only {amount} of it]",
        "Collect payment for {invoice_id} from {card_id}[, just {amount} for now]",
        "Use {card_id} to pay {invoice_id}[ in part, with {amount}]",
    ),
    refuses=(
        "not_found",
        "already_paid",
        "invoice_void",
        "invoice_draft",
        "over_amount_due",
        "other_customers_card",
        "expired_card",
        "card_blocked",
    ),
    sample=samples.charge,
)
def charge_invoice(
    office: Office, invoice_id: InvoiceId, card_id: CardId, amount: Money | None = None
) -> ChargeReceipt:
    """Charge a customer's card for an invoice, in full or in part.

    Args:
        invoice_id: The invoice.
        card_id: A working card of the same customer.
        amount: US dollars; all that is due if left out.
    """
    invoice = known_invoice(office, invoice_id)
    value = require_payable(office, invoice, amount)
    card = usable_card(office, card_id, invoice.customer_id)
    due = due_of(office, invoice)
    payment = Payment(
        id=office.payments.new_id(),
        invoice_id=invoice.id,
        card_id=card.id,
        amount=value,
        refunded=0,
        status="succeeded",
        created_at=office.stamp,
    )
    office.payments.put(payment)
    emit(office, "payment.succeeded", invoice, payment.id)
    if value == due:
        invoice = office.invoices.update(invoice, status="paid", settled_at=office.stamp)
        emit(office, "invoice.paid", invoice)
    return ChargeReceipt(payment_item(office, payment), invoice_item(office, invoice))


@tool(
    "read",
    phrases=(
        "List the[ {status}] payments we took[ from {query}][ for {invoice_id}]"
        "[ since {since}][ until {until}]",
        "Show our[ {status}] customer payments[ by {query}][ towards {invoice_id}]"
        "[ from {since} on][ up to {until}]",
        "Which[ {status}] payments came in[ from {query}][ on {invoice_id}]"
        "[ starting {since}][ ending {until}]",
    ),
    refuses=("not_found",),
    sample=samples.payments,
)
def list_customer_payments(
    office: Office,
    query: str = "",
    invoice_id: InvoiceId | None = None,
    status: Literal["succeeded", "failed"] | None = None,
    since: Date | None = None,
    until: Date | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> PaymentPage:
    """List payments with what of them was refunded, newest first.

    Args:
        query: Part of the customer's name.
        invoice_id: Only payments for this invoice.
        status: Only those that went through, or only those that failed.
        since: First day.
        until: Last day.
        limit: Payments per page.
        cursor: next_cursor of the page before.
    """
    rows = (
        list(office.payments)
        if invoice_id is None
        else office.payments.where(invoice_id=known_invoice(office, invoice_id).id)
    )
    words, (first, last) = query.casefold(), period(since, until)
    found = [
        p
        for p in rows
        if first <= p.created_at < last
        and (status is None or p.status == status)
        and (not words or words in payer(office, p).casefold())
    ]
    found.sort(key=lambda p: p.created_at, reverse=True)
    shown, total, after = page(found, limit, cursor)
    return PaymentPage([payment_item(office, p) for p in shown], total, after)


@tool(
    "write",
    phrases=(
        "Refund {payment_id} with the reason {reason}[, but give back {amount} only]",
        "Give the customer back[ {amount} of] {payment_id}, reason {reason}",
        "Reverse[ {amount} of] {payment_id}; the reason is {reason}",
    ),
    refuses=(
        "not_found",
        "payment_failed",
        "already_refunded",
        "refund_window_over",
        "refund_over_amount",
    ),
    sample=samples.refund,
)
def refund_customer_payment(
    office: Office, payment_id: PaymentId, reason: RefundReason, amount: Money | None = None
) -> RefundReceipt:
    """Give back a payment of the last 180 days to its card, in full or in part.

    Args:
        payment_id: The payment.
        reason: Why it is given back.
        amount: US dollars; all that is left of it if left out.
    """
    payment, value = refundable(office, payment_id, amount)
    refund = Refund(
        id=office.refunds.new_id(),
        payment_id=payment.id,
        amount=value,
        reason=reason,
        created_at=office.stamp,
    )
    office.refunds.put(refund)
    payment = office.payments.update(payment, refunded=payment.refunded + value)
    emit(office, "payment.refunded", office.invoices[payment.invoice_id], payment.id, refund.id)
    shown = payment_item(office, payment)
    return RefundReceipt(refund.id, money(value), shown.customer, shown)


# -- webhooks ------------------------------------------------------------------------------------


@tool(
    "write",
    phrases=(
        "Have the webhook {url} {action} as regards {event_type} events",
        "For the webhook endpoint {url}, {action} on the event type {event_type}",
        "Update what the webhook {url} is sent: {action}, event type {event_type}",
    ),
    refuses=("webhook_disabled", "already_subscribed", "not_subscribed", "webhook_limit"),
    sample=samples.subscription,
)
def set_webhook_subscription(
    office: Office,
    url: Url,
    event_type: EventType,
    action: Literal["subscribe", "unsubscribe"],
) -> WebhookItem:
    """Subscribe a webhook address to one type of event, or end that. New addresses are added.

    Args:
        url: Where events are posted to.
        event_type: The type of event.
        action: Start or stop sending it there.
    """
    hook = next(iter(office.webhooks.where(url=url)), None)
    if hook is not None and hook.status == "disabled":
        refuse("webhook_disabled", f"{url} was disabled after failed deliveries", url=url)
    mine = office.subscriptions.where(webhook_id=hook.id, active=True) if hook else []
    now = next((s for s in mine if s.event_type == event_type), None)
    if action == "unsubscribe":
        if hook is None or now is None:
            refuse("not_subscribed", f"{url} is not subscribed to {event_type}", url=url)
        office.subscriptions.update(now, active=False, until=office.stamp)
        return webhook_item(office, hook)
    if now is not None:
        refuse("already_subscribed", f"{url} is subscribed to {event_type} already", url=url)
    hook = hook or _new_webhook(office, url)
    row = Subscription(
        office.subscriptions.new_id(), hook.id, event_type, active=True, since=office.stamp
    )
    office.subscriptions.put(row)
    return webhook_item(office, hook)


def _new_webhook(office: Office, url: str) -> Webhook:
    if len(office.webhooks) >= MOST_WEBHOOKS:
        text = f"all {MOST_WEBHOOKS} webhook addresses are in use; use one of them"
        refuse("webhook_limit", text, most=MOST_WEBHOOKS)
    hook = Webhook(office.webhooks.new_id(), url, "enabled", healthy=True)
    return office.webhooks.put(hook)


@tool(
    "read",
    phrases=(
        "List the webhook events[ of type {event_type}][ sent to {url}][ about {invoice_id}]"
        "[ since {since}][ with delivery {delivery}]",
        "Show what our webhooks were told[ of {event_type}][ at {url}][ on {invoice_id}]"
        "[ from {since} on][, only those with delivery {delivery}]",
        "Check the webhook event log[ for {event_type}][ at the address {url}]"
        "[ regarding {invoice_id}][ starting {since}][ for {delivery} deliveries]",
    ),
    refuses=("not_found", "unknown_webhook"),
    sample=samples.events,
)
def list_webhook_events(
    office: Office,
    event_type: EventType | None = None,
    url: Url | None = None,
    invoice_id: InvoiceId | None = None,
    since: Date | None = None,
    delivery: Literal["delivered", "failed"] | None = None,
    limit: Limit = 4,
    cursor: str = "",
) -> EventPage:
    """List the events that webhooks were sent, newest first.

    Args:
        event_type: Only this type.
        url: Only those sent to this webhook.
        invoice_id: Only those about this invoice.
        since: First day.
        delivery: Only those that arrived, or only those that did not.
        limit: Events per page.
        cursor: next_cursor of the page before.
    """
    hooks = office.webhooks.where(url=url) if url is not None else list(office.webhooks)
    if not hooks:
        refuse("unknown_webhook", f"no webhook has the address {url}", url=url)
    if invoice_id is not None:
        known_invoice(office, invoice_id)
    found = [
        e
        for hook in hooks
        for e in office.events.where(webhook_id=hook.id)
        if e.created_at >= (since or "")
        and (event_type is None or e.event_type == event_type)
        and (invoice_id is None or e.invoice_id == invoice_id)
        and (delivery is None or e.delivery == delivery)
    ]
    found.sort(key=lambda e: e.created_at, reverse=True)
    rows, total, after = page(found, limit, cursor)
    return EventPage([event_item(office, e) for e in rows], total, after)
