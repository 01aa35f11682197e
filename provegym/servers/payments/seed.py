"""The billing office at the start of an episode: half a year of invoices and payments."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from random import Random

from msgspec.structs import replace

from provegym.servers.payments.state import (
    Card,
    Change,
    Customer,
    Event,
    EventType,
    Invoice,
    InvoiceStatus,
    Payment,
    Refund,
    RefundReason,
    Subscription,
    Webhook,
    tax_on,
)
from provegym.world.cast import Cast, Person
from provegym.world.server import Seeds
from provegym.world.stories import Bill, stories

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_SHIFTS = range(0, 30, 5)
PEOPLE, COMPANIES, ARCHIVED = 22, 11, 3
INVOICES = 92

WORKS: tuple[tuple[str, int, int], ...] = (
    ("Website redesign", 900, 4200),
    ("Logo design", 250, 900),
    ("Monthly bookkeeping", 120, 480),
    ("Photo shoot", 300, 1400),
    ("Copywriting", 60, 320),
    ("Search optimization", 200, 950),
    ("Hosting plan", 15, 90),
    ("Support retainer", 150, 700),
    ("Newsletter setup", 90, 420),
    ("Product video", 700, 3600),
    ("Team workshop", 400, 1900),
    ("Strategy consulting", 250, 1600),
    ("Data migration", 350, 2400),
    ("Printed brochures", 80, 640),
    ("App maintenance", 180, 1100),
    ("Translation work", 70, 520),
    ("Security review", 500, 2600),
    ("Event planning", 300, 2100),
)
"""What is billed, with the least and most dollars of one unit."""
NEW_WORKS = (
    *("Onboarding session", "Banner design", "Market research", "Office training"),
    *("Annual report layout", "Trade fair booth", "Podcast editing", "Server upgrade"),
)
TAX_RATES = (0, 0, 600, 725, 825, 875)
REASONS: tuple[RefundReason, ...] = (
    *("duplicate", "fraudulent", "requested_by_customer", "not_delivered"),
)
PATHS = ("billing", "accounting", "slack-alerts", "warehouse", "old-crm")
"""Where webhooks point: the fourth one does not answer, the last one is disabled."""
LISTENING: tuple[tuple[EventType, ...], ...] = (
    ("invoice.paid", "payment.succeeded", "payment.refunded", "invoice.voided"),
    ("invoice.created", "invoice.finalized", "invoice.paid"),
    ("payment.failed", "invoice.uncollectible"),
    ("payment.refunded", "invoice.finalized"),
    ("invoice.paid", "payment.succeeded"),
)


def site(cast: Cast) -> str:
    """The host that the business's webhooks live on."""
    name = "".join(c for c in cast.user.company.split()[0].lower() if "a" <= c <= "z")
    return f"https://hooks.{name or 'billing'}.example"


class Book:
    """Collects rows and the changes that webhooks are told of while the world is made."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd, self.start = cast, rnd, cast.start
        self._used: set[str] = set()
        self.customers: list[Customer] = []
        self.cards: dict[str, list[Card]] = {}
        self.invoices: list[Invoice] = []
        self.payments: list[Payment] = []
        self.refunds: list[Refund] = []
        self.changes: list[Change] = []

    def id(self, prefix: str) -> str:
        """A fresh id."""
        while True:
            n = self.rnd.getrandbits(30)
            new = f"{prefix}_{''.join([LETTERS[n >> shift & 31] for shift in _SHIFTS])}"
            if new not in self._used:
                self._used.add(new)
                return new

    def days_ago(self, days: int) -> datetime:
        """A moment of office hours that many days before the start."""
        hour, minute = self.rnd.randrange(8, 18), self.rnd.randrange(60)
        return (self.start - timedelta(days=days)).replace(hour=hour, minute=minute)

    def pay(self, invoice: Invoice, amount: int, when: datetime, *, failed: bool = False) -> None:
        """A charge of one of the customer's cards."""
        card = self.rnd.choice(self.cards[invoice.customer_id])
        payment = Payment(
            id=self.id("pay"),
            invoice_id=invoice.id,
            card_id=card.id,
            amount=amount,
            refunded=0,
            status="failed" if failed else "succeeded",
            created_at=when.isoformat(),
        )
        self.payments.append(payment)
        kind: EventType = "payment.failed" if failed else "payment.succeeded"
        self.changes.append(Change(kind, payment.created_at, invoice.id, payment.id))


def seed(cast: Cast, rnd: Random) -> Seeds:
    """Rows of every table for one world."""
    book = Book(cast, rnd)
    _customers(book)
    _invoices(book)
    _refunds(book)
    webhooks, subscriptions = _webhooks(book)
    events = _events(book, book.changes, webhooks, subscriptions)
    book.rnd = cast.rng("stories", "payments")
    events += _events(book, _stories(book), webhooks, subscriptions)
    events.sort(key=lambda e: e.created_at)
    return {
        "customers": book.customers,
        "cards": [card for cards in book.cards.values() for card in cards],
        "invoices": book.invoices,
        "payments": book.payments,
        "refunds": book.refunds,
        "webhooks": webhooks,
        "subscriptions": subscriptions,
        "events": events,
    }


def _customers(book: Book) -> None:
    """People and companies, some of them archived. Each has cards on file.

    Whom a story bills is never archived and exempt from tax.
    """
    rnd, cast = book.rnd, book.cast
    billed = {bill.payer.email for bill in stories(cast).bills}
    firms = [c for c in cast.companies if c != cast.user.company][:COMPANIES]
    known = [(p.name, p.email) for p in cast.others[:PEOPLE]]
    known += [(name, _office_address(name, i)) for i, name in enumerate(firms)]
    archived = {*rnd.sample(range(len(known)), ARCHIVED)}
    for i, (name, email) in enumerate(known):
        key, rate = book.id("cust"), rnd.choice(TAX_RATES)
        plain = email in billed
        status = "archived" if i in archived and not plain else "active"
        row = Customer(key, name, email, status, 0 if plain else rate)  # type: ignore[arg-type]
        book.customers.append(row)
        book.cards[row.id] = _cards(book, row.id)


def _office_address(name: str, number: int) -> str:
    word = "".join(c for c in name.split()[0].lower() if "a" <= c <= "z")
    return f"accounts{number + 1}@{word or 'office'}.example"


def _cards(book: Book, customer_id: str) -> list[Card]:
    """Two or three cards; the first one nearly always works, later ones less often."""
    rnd, cards, ends = book.rnd, list[Card](), set[str]()
    for i in range(rnd.choice((2, 2, 2, 3))):
        expired = rnd.random() < (0.08 if i == 0 else 0.35)
        last4 = f"{rnd.randrange(10000):04d}"
        if last4 in ends:
            continue
        ends.add(last4)
        months = -rnd.randrange(1, 12) if expired else rnd.randrange(3, 48)
        cards.append(
            Card(
                id=book.id("card"),
                customer_id=customer_id,
                brand=rnd.choice(("Visa", "Mastercard", "Amex")),
                last4=last4,
                expires=_month_end(book.start, months),
                blocked=not expired and rnd.random() < 0.12,
            )
        )
    return cards


def _month_end(start: datetime, months: int) -> str:
    """The last day of the month that many months from the start."""
    index = start.year * 12 + start.month + months
    return (date(index // 12, index % 12 + 1, 1) - timedelta(days=1)).isoformat()


def _invoices(book: Book) -> None:
    """Invoices in every state, each customer billed for a work at most once."""
    rnd = book.rnd
    every = [(c, w) for c in book.customers for w in WORKS]
    plan: tuple[InvoiceStatus, ...] = (
        *("paid", "paid", "paid", "open", "paid", "draft", "open", "void", "paid", "open"),
    )
    for i, (customer, work) in enumerate(rnd.sample(every, INVOICES)):
        status = "uncollectible" if i % 23 == 7 else plan[i % len(plan)]
        if customer.status == "archived" and status in ("draft", "open"):
            status = "paid"
        _invoice(book, customer, work, status)


def _invoice(
    book: Book, customer: Customer, work: tuple[str, int, int], status: InvoiceStatus
) -> None:
    rnd, (description, low, high) = book.rnd, work
    age = {"draft": (0, 20), "open": (2, 75)}.get(status, (30, 205))
    made = book.days_ago(rnd.randrange(*age) + 1)
    quantity, price = rnd.choice((1, 1, 1, 2, 3, 5, 10)), rnd.randrange(low, high) * 100
    price = price // 10 // 100 * 100 + 5_00 if quantity >= 5 else price
    invoice = Invoice(
        id=book.id("inv"),
        customer_id=customer.id,
        description=description,
        quantity=quantity,
        unit_price=price,
        tax=tax_on(quantity * price, customer.tax_rate),
        due_on=(made + timedelta(days=rnd.choice((14, 30, 30, 45)))).date().isoformat(),
        status=status,
        created_at=made.isoformat(),
    )
    book.changes.append(Change("invoice.created", invoice.created_at, invoice.id))
    if status != "draft":
        sent = made + timedelta(minutes=rnd.randrange(5, 300))
        invoice = replace(invoice, finalized_at=sent.isoformat())
        book.changes.append(Change("invoice.finalized", sent.isoformat(), invoice.id))
        invoice = _settle(book, invoice, sent)
    book.invoices.append(invoice)


def _settle(book: Book, invoice: Invoice, sent: datetime) -> Invoice:
    """Payments, and the end of an invoice, in the weeks after it was sent."""
    rnd = book.rnd
    when = sent + timedelta(days=rnd.randrange(1, 24), minutes=rnd.randrange(600))
    if rnd.random() < 0.12 and when < book.start:
        book.pay(invoice, invoice.total, when - timedelta(hours=3), failed=True)
    if invoice.status == "open":
        if rnd.random() < 0.25 and when < book.start:
            book.pay(invoice, invoice.total // 100 // 3 * 100, when)
        return invoice
    kind: EventType = "invoice.voided"
    if invoice.status == "uncollectible":
        kind, invoice = "invoice.uncollectible", replace(invoice, written_off_at=when.isoformat())
    elif invoice.status == "void":
        invoice = replace(invoice, settled_at=when.isoformat())
    else:
        kind, invoice = "invoice.paid", replace(invoice, settled_at=when.isoformat())
        first = invoice.total // 2 if rnd.random() < 0.15 else 0
        if first:
            book.pay(invoice, first, when - timedelta(hours=9))
        book.pay(invoice, invoice.total - first, when)
    book.changes.append(Change(kind, when.isoformat(), invoice.id))
    return invoice


def _refunds(book: Book) -> None:
    """Some payments were given back, in full, in part, or in two parts."""
    rnd = book.rnd
    paid = {i.id for i in book.invoices if i.status == "paid"}
    good = [
        i
        for i, p in enumerate(book.payments)
        if p.invoice_id in paid
        and p.status == "succeeded"
        and p.created_at < (book.start - timedelta(days=8)).isoformat()
    ]
    for turn, place in enumerate(rnd.sample(good, 12)):
        payment = book.payments[place]
        half = payment.amount // 2
        parts = ((payment.amount,), (half,), (half, payment.amount - half))[turn % 3]
        for number, amount in enumerate(parts):
            when = datetime.fromisoformat(payment.created_at) + timedelta(days=1 + 3 * number)
            refund = Refund(
                book.id("ref"), payment.id, amount, rnd.choice(REASONS), when.isoformat()
            )
            book.refunds.append(refund)
            where = (payment.invoice_id, payment.id, refund.id)
            book.changes.append(Change("payment.refunded", refund.created_at, *where))
        book.payments[place] = replace(payment, refunded=sum(parts))


def _webhooks(book: Book) -> tuple[list[Webhook], list[Subscription]]:
    """Four that listen, one of which does not answer, and one that was disabled."""
    rnd, hooks, subscriptions = book.rnd, list[Webhook](), list[Subscription]()
    last = len(PATHS) - 1
    for i, (path, kinds) in enumerate(zip(PATHS, LISTENING, strict=True)):
        off = i == last
        url = f"{site(book.cast)}/{path}"
        hook = Webhook(book.id("hook"), url, "disabled" if off else "enabled", healthy=i < last - 1)
        hooks.append(hook)
        since, until = book.days_ago(rnd.randrange(45, 110)), book.days_ago(rnd.randrange(8, 30))
        for kind in kinds:
            subscriptions.append(
                Subscription(
                    id=book.id("sub"),
                    webhook_id=hook.id,
                    event_type=kind,
                    active=not off,
                    since=since.isoformat(),
                    until=until.isoformat() if off else "",
                )
            )
    return hooks, subscriptions


def _stories(book: Book) -> list[Change]:
    """The open invoices of the stories, with what is to be told of them."""
    changes = list[Change]()
    for bill in stories(book.cast).bills:
        invoice = _bill(book, bill)
        book.invoices.append(invoice)
        changes.append(Change("invoice.created", invoice.created_at, invoice.id))
        changes.append(Change("invoice.finalized", invoice.finalized_at, invoice.id))
    return changes


def _bill(book: Book, bill: Bill) -> Invoice:
    """One story's invoice, drafted shortly before it was sent."""
    made = bill.sent - timedelta(minutes=book.rnd.randrange(5, 90))
    return Invoice(
        id=book.id("inv"),
        customer_id=_customer(book, bill.payer).id,
        description=bill.work,
        quantity=1,
        unit_price=bill.amount,
        tax=0,
        due_on=bill.due.isoformat(),
        status="open",
        created_at=made.isoformat(),
        finalized_at=bill.sent.isoformat(),
    )


def _customer(book: Book, person: Person) -> Customer:
    """The person's row; a new one, exempt from tax, where there is none."""
    for row in book.customers:
        if row.email == person.email:
            return row
    new = Customer(book.id("cust"), person.name, person.email, "active", 0)
    book.customers.append(new)
    book.cards[new.id] = _cards(book, new.id)
    return new


def _events(
    book: Book, changes: list[Change], webhooks: list[Webhook], subscriptions: list[Subscription]
) -> list[Event]:
    """What each webhook was told of while it was subscribed, oldest first."""
    healthy = {w.id: w.healthy for w in webhooks}
    events = []
    for change in sorted(changes, key=lambda c: c.at):
        for s in subscriptions:
            if s.event_type != change.event_type or change.at < s.since:
                continue
            if s.until and change.at >= s.until:
                continue
            events.append(
                Event(
                    id=book.id("evt"),
                    webhook_id=s.webhook_id,
                    event_type=change.event_type,
                    invoice_id=change.invoice_id,
                    payment_id=change.payment_id,
                    refund_id=change.refund_id,
                    delivery="delivered" if healthy[s.webhook_id] else "failed",
                    created_at=change.at,
                )
            )
    return events
