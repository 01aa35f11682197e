"""The bank at the start of an episode: five months of one customer's money, and everyone else's."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from random import Random

from msgspec.structs import replace

from provegym.servers.banking.numbers import card_number, other_iban, own_iban
from provegym.servers.banking.state import (
    Account,
    Card,
    Category,
    Customer,
    Frequency,
    Loan,
    Payee,
    StandingOrder,
    Transaction,
    TransactionKind,
)
from provegym.world.cast import Cast
from provegym.world.server import Seeds
from provegym.world.stories import Deposit, Dues, Sale, stories

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_SHIFTS = range(0, 30, 5)
NEIGHBOURS = 22
CLOSED_NEIGHBOURS = 2
HISTORY_DAYS = 150

CHECKING = ("Bills", "Joint", "Freelance", "Household", "Travel Money", "Side Business")
SAVINGS = ("Rainy Day", "Holiday Fund", "New Car", "Home Deposit", "Wedding", "Emergency", "Tax")
TERMS = ("Two-Year Bond", "Fixed Saver", "One-Year Deposit")
CLOSED = ("Old Student", "Former Joint", "First Salary")

MERCHANTS: tuple[tuple[str, Category, int, int], ...] = (
    ("Corner Bakery", "dining", 4, 22),
    ("Blue Fig Cafe", "dining", 5, 38),
    ("Noodle House", "dining", 11, 64),
    ("Luigi's Trattoria", "dining", 18, 120),
    ("Greenway Market", "groceries", 12, 160),
    ("Sunrise Foods", "groceries", 9, 140),
    ("Harvest Farm Shop", "groceries", 8, 70),
    ("Metro Transit", "transport", 3, 45),
    ("Swift Cabs", "transport", 9, 60),
    ("Northside Fuel", "transport", 25, 90),
    ("Paperback Books", "shopping", 8, 60),
    ("Urban Outfit", "shopping", 25, 210),
    ("Bright Electronics", "shopping", 19, 640),
    ("Home and Hearth", "shopping", 12, 330),
    ("City Pharmacy", "health", 5, 70),
    ("Lakeside Dental", "health", 60, 280),
    ("Cinema Lux", "entertainment", 10, 48),
    ("Streamly", "entertainment", 9, 18),
    ("Skyline Airways", "travel", 90, 720),
    ("Harbor View Hotel", "travel", 80, 450),
)
BILLERS: tuple[tuple[str, Category], ...] = (
    ("City Power", "utilities"),
    ("Clearwater Utility", "utilities"),
    ("FiberLink Internet", "utilities"),
    ("Oakwood Lettings", "housing"),
    ("Peak Fitness Club", "health"),
    ("Sentinel Insurance", "other"),
)
NOTES = ("Shared dinner", "March rent", "Birthday gift", "Concert tickets", "Invoice 2207")
WISHES = ("Holiday savings", "Weekly budget", "For the trip", "Top up", "House repairs")
BROKER = "Meridian Brokerage"
LOANS = ("car loan", "home improvement loan", "student loan", "boat loan", "wedding loan")


class Book:
    """Collects rows while the world is made; balances follow from the postings."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd, self.start = cast, rnd, cast.start
        self._used: set[str] = set()
        self.accounts: dict[str, Account] = {}
        self.sums: dict[str, int] = {}
        self.transactions: list[Transaction] = []
        self.payees: list[Payee] = []
        self.cards: list[Card] = []
        self.orders: list[StandingOrder] = []
        self.loans: list[Loan] = []
        self.customers = self._customers()
        self.bank, self.me = self.customers[0].id, self.customers[1].id
        self.short = ""  # the account that is nearly empty
        self.clearing = self.account(self.bank, "Clearing", "internal").id
        self.account(self.bank, "Disputes", "internal")

    def id(self, prefix: str) -> str:
        """A fresh id."""
        while True:
            n = self.rnd.getrandbits(30)
            new = f"{prefix}_{''.join([LETTERS[n >> shift & 31] for shift in _SHIFTS])}"
            if new not in self._used:
                self._used.add(new)
                return new

    def _customers(self) -> list[Customer]:
        people = (self.cast.user, *self.cast.others[:NEIGHBOURS])
        bank = Customer(self.id("cus"), "Harbour Bank", "desk@harbourbank.example", "+12025550100")
        return [bank, *(Customer(self.id("cus"), p.name, p.email, p.phone) for p in people)]

    def account(self, owner: str, nickname: str, kind: str, **fields: object) -> Account:
        """Open an account."""
        row = Account(
            id=self.id("acc"),
            customer_id=owner,
            nickname=nickname,
            kind=kind,  # type: ignore[arg-type]
            status="open",
            iban=own_iban(self.rnd),
            balance=0,
        )
        row = replace(row, **fields)
        self.accounts[row.id], self.sums[row.id] = row, 0
        return row

    def post(
        self,
        source: str,
        target: str,
        amount: int,
        texts: tuple[str, str],
        kind: TransactionKind,
        category: Category,
        when: datetime,
        card_id: str = "",
    ) -> Transaction:
        """Two postings that sum to 0; gives the source's."""
        one, two = self.id("txn"), self.id("txn")
        at = when.isoformat()
        theirs: Category = "transfers" if kind == "transfer" else "other"
        if kind == "payment" and source == self.clearing:
            theirs = category
        out = Transaction(
            one,
            source,
            two,
            -amount,
            texts[0],
            kind,
            category,
            at,
            card_id,
        )
        into = Transaction(two, target, one, amount, texts[1], kind, theirs, at)
        self.transactions += (out, into)
        self.sums[source] -= amount
        self.sums[target] += amount
        return out

    def days_ago(self, days: int) -> datetime:
        """A moment of waking life that many days before the start."""
        rnd = self.rnd
        return (self.start - timedelta(days=days)).replace(
            hour=rnd.randrange(7, 22), minute=rnd.randrange(60)
        )

    def opening(self, account: Account, amount: int) -> None:
        """Bring a balance forward from before the history."""
        if amount > 0:
            text = "Balance brought forward"
            when = self.days_ago(HISTORY_DAYS + 10)
            self.post(self.clearing, account.id, amount, (text, text), "opening", "other", when)

    def rows(self) -> Seeds:
        """All tables, with balances filled in."""
        accounts = [replace(a, balance=self.sums[a.id]) for a in self.accounts.values()]
        postings = sorted(self.transactions, key=lambda t: t.posted_at)
        return {
            "customers": self.customers,
            "accounts": accounts,
            "transactions": postings,
            "payees": self.payees,
            "cards": self.cards,
            "standing_orders": self.orders,
            "loans": self.loans,
        }


def seed(cast: Cast, rnd: Random) -> Seeds:
    """Rows of every table for one world."""
    book = Book(cast, rnd)
    neighbours = _neighbours(book)
    mine = _my_accounts(book)
    book.short = mine[1].nickname
    _cards(book, mine)
    _payees(book, neighbours)
    _spending(book)
    _payments(book, mine, neighbours)
    _savings(book, mine)
    _loans(book, mine[0])
    _orders(book, mine)
    book.rnd = cast.rng("stories", "banking")
    _stories(book, mine)
    book.rnd = rnd
    for account in mine:
        _settle(book, account)
    return book.rows()


def _neighbours(book: Book) -> list[Account]:
    """One account for each other customer; the last ones are closed."""
    found = []
    for customer in book.customers[2:]:
        account = book.account(customer.id, "Current", "checking", daily_limit=1_000_00)
        book.opening(account, book.rnd.randrange(200, 9000) * 100)
        found.append(account)
    text = "Closing balance"
    for account in found[-CLOSED_NEIGHBOURS:]:
        when, amount = book.days_ago(40), book.sums[account.id]
        book.post(account.id, book.clearing, amount, (text, text), "payment", "other", when)
        book.accounts[account.id] = replace(account, status="closed")
    return found


def _my_accounts(book: Book) -> list[Account]:
    """Everyday, a nearly empty account, one more; savings; one locked and one closed account."""
    rnd, me = book.rnd, book.me
    limits = [n * 100 for n in (500, 800, 1000, 1500, 2500)]
    names = ["Everyday", *rnd.sample(CHECKING, 2)]
    mine = [
        book.account(
            me,
            name,
            "checking",
            daily_limit=rnd.choice(limits),
            overdraft_limit=0 if i == 1 else rnd.choice((0, 100_00, 250_00, 500_00)),
        )
        for i, name in enumerate(names)
    ]
    mine += [book.account(me, name, "savings") for name in rnd.sample(SAVINGS, rnd.choice((3, 4)))]
    matures = _day(book, rnd.randrange(60, 600))
    mine.append(book.account(me, rnd.choice(TERMS), "term", matures_on=matures))
    mine.append(book.account(me, rnd.choice(CLOSED), "checking", status="closed"))
    return mine


def _day(book: Book, days: int) -> str:
    return (book.start + timedelta(days=days)).date().isoformat()


def _cards(book: Book, mine: list[Account]) -> None:
    """Seven cards: four work, one is frozen, one cancelled, one expired."""
    rnd = book.rnd
    plan = ("active", "active", "frozen", "active", "cancelled", "active", "expired")
    for i, status in enumerate(plan):
        network = rnd.choice(("Visa", "Mastercard"))
        expires = _month_end(book, -rnd.randrange(1, 9) if status == "expired" else 4 + 5 * i)
        number = card_number(network, rnd)
        while any(number[-4:] == c.number[-4:] for c in book.cards):
            number = card_number(network, rnd)
        book.cards.append(
            Card(
                id=book.id("crd"),
                account_id=mine[i % 3].id,
                network=network,  # type: ignore[arg-type]
                number=number,
                pin=f"{rnd.randrange(10000):04d}",
                status="active" if status == "expired" else status,  # type: ignore[arg-type]
                expires=expires,
                daily_limit=rnd.choice((200, 300, 500)) * 100,
            )
        )


def _month_end(book: Book, months: int) -> str:
    """The last day of the month that many months from the start."""
    index = book.start.year * 12 + book.start.month - 1 + months + 1
    return (date(index // 12, index % 12 + 1, 1) - timedelta(days=1)).isoformat()


def _payees(book: Book, neighbours: list[Account]) -> None:
    """People here and elsewhere, companies and billers; one is blocked, one brand new."""
    rnd = book.rnd
    names = {c.id: c.name for c in book.customers}
    inside = [*rnd.sample(neighbours[:-CLOSED_NEIGHBOURS], 5), neighbours[-1]]
    known = [(names[a.customer_id], a.iban) for a in inside]
    outside = [p.name for p in rnd.sample(book.cast.others[NEIGHBOURS:], 4)]
    outside += [*rnd.sample(book.cast.companies, 3), *(b for b, _ in BILLERS)]
    known += [(name, other_iban(rnd)) for name in outside]
    blocked, new = rnd.randrange(6, 10), rnd.randrange(10, 13)
    for i, (name, iban) in enumerate(known):
        added = book.start - timedelta(hours=1) if i == new else book.days_ago(160 + i)
        status = "blocked" if i == blocked else "active"
        row = Payee(book.id("pay"), book.me, name, iban, status, added.isoformat())  # type: ignore[arg-type]
        book.payees.append(row)


def _spending(book: Book) -> None:
    """Card purchases and cash, some of them disputed already."""
    rnd = book.rnd
    for i in range(78):
        card = rnd.choice(book.cards)
        name, category, low, high = rnd.choice(MERCHANTS)
        amount = rnd.randrange(low * 100, high * 100)
        when = book.days_ago(rnd.randrange(1, HISTORY_DAYS))
        book.post(
            card.account_id,
            book.clearing,
            amount,
            (name, name),
            "purchase",
            category,
            when,
            card.id,
        )
        if i < 2 or rnd.random() < 0.04:
            row = book.transactions[-2]
            book.transactions[-2] = replace(row, dispute=rnd.choice(("open", "resolved")))
    for _ in range(6):
        card = rnd.choice(book.cards)
        text = "Cash withdrawal"
        amount, when = rnd.randrange(2, 16) * 10_00, book.days_ago(rnd.randrange(1, 120))
        book.post(
            card.account_id, book.clearing, amount, (text, text), "cash", "cash", when, card.id
        )


def _payments(book: Book, mine: list[Account], neighbours: list[Account]) -> None:
    """Salary, bills, friends paid and paying; and one large payment made this morning."""
    rnd, everyday = book.rnd, mine[0].id
    user = book.cast.user
    employer = user.company
    pay = rnd.randrange(2600, 5200) * 100
    for month in range(3):
        when = book.days_ago(28 * month + 3)
        text = (f"Salary {user.name}", f"Salary {employer}")
        book.post(book.clearing, everyday, pay, text, "payment", "income", when)
    categories = dict(BILLERS)
    for payee in book.payees[13:]:
        for month in range(3):
            amount = rnd.randrange(2000, 14000)
            when = book.days_ago(30 * month + rnd.randrange(1, 9))
            _pay(book, mine[1].id, payee, amount, categories[payee.name], when)
    for _ in range(12):
        payee = rnd.choice(book.payees[:5])
        _pay(book, everyday, payee, rnd.randrange(8, 120) * 100, "other", book.days_ago(_near(rnd)))
    for account in rnd.sample(neighbours[:-CLOSED_NEIGHBOURS], 6):
        amount, when = rnd.randrange(10, 90) * 100, book.days_ago(_near(rnd))
        sender = next(c.name for c in book.customers if c.id == account.customer_id)
        book.post(account.id, everyday, amount, (user.name, sender), "payment", "other", when)
    morning = book.start - timedelta(minutes=rnd.randrange(10, 50))
    amount = mine[2].daily_limit - rnd.randrange(5, 60) * 100
    _pay(book, mine[2].id, book.payees[-1], amount, "other", morning)


def _near(rnd: Random) -> int:
    return rnd.randrange(1, 90)


def _pay(
    book: Book, source: str, payee: Payee, amount: int, category: Category, when: datetime
) -> None:
    target = next((a.id for a in book.accounts.values() if a.iban == payee.iban), book.clearing)
    texts = (payee.name, book.cast.user.name)
    book.post(source, target, amount, texts, "payment", category, when)


def _savings(book: Book, mine: list[Account]) -> None:
    """Monthly transfers from Everyday into each savings account."""
    rnd, everyday = book.rnd, mine[0]
    for account in mine:
        for month in range(3 if account.kind == "savings" else 0):
            amount = rnd.randrange(5, 30) * 10_00
            texts = (f"Transfer to {account.nickname}", f"Transfer from {everyday.nickname}")
            when = book.days_ago(30 * month + rnd.randrange(1, 20))
            book.post(everyday.id, account.id, amount, texts, "transfer", "transfers", when)


def _loans(book: Book, everyday: Account) -> None:
    """Three loans; the last one is paid off."""
    rnd = book.rnd
    for i, name in enumerate(rnd.sample(LOANS, 3)):
        lent, monthly = rnd.randrange(20, 160) * 100_00, rnd.randrange(12, 45) * 10_00
        ledger = book.account(book.me, name.capitalize(), "loan", overdraft_limit=lent)
        when = book.days_ago(HISTORY_DAYS + 30)
        texts = (f"Loan paid out: {name}", f"Loan paid out: {name}")
        book.post(ledger.id, book.clearing, lent, texts, "loan", "other", when)
        if i == 2:
            texts = (f"Final repayment: {name}", f"Final repayment: {name}")
            when = book.days_ago(120)
            book.post(book.clearing, ledger.id, lent, texts, "loan", "other", when)
        for month in range(0 if i == 2 else 3):
            texts = (f"Repayment of {name}", "Repayment")
            when = book.days_ago(30 * month + 5)
            book.post(everyday.id, ledger.id, monthly, texts, "loan", "other", when)
        rate, due = f"{rnd.randrange(290, 1190) / 100:.2f}", _day(book, 25 + i)
        row = Loan(book.id("loan"), book.me, ledger.id, name, rate, monthly, due)
        book.loans.append(row)


def _orders(book: Book, mine: list[Account]) -> None:
    """Ten standing orders, two of them cancelled and some with an end."""
    rnd = book.rnd
    often: tuple[Frequency, ...] = ("weekly", "monthly", "monthly", "monthly", "quarterly")
    open_payees = [p for i, p in enumerate(book.payees) if p.status == "active" and i != 5]
    for i, payee in enumerate(rnd.sample(open_payees, 10)):
        first = rnd.randrange(1, 29)
        book.orders.append(
            StandingOrder(
                id=book.id("sto"),
                account_id=mine[i % 3].id,
                payee_id=payee.id,
                amount=rnd.randrange(2, 40) * 5_00,
                frequency=rnd.choice(often),
                next_payment_on=_day(book, first),
                ends_on=_day(book, first + 28 * rnd.randrange(6, 30)) if i % 4 == 1 else "",
                status="cancelled" if i in (4, 7) else "active",
            )
        )


def _stories(book: Book, mine: list[Account]) -> None:
    """What the world's stories say of the user's money; today's balances include it."""
    told = stories(book.cast)
    _bought(book, told.sale)
    _deposited(book, mine, told.deposit)
    for dues in told.dues:
        _regular(book, mine[0], dues)


def _bought(book: Book, sale: Sale) -> None:
    """Paid with the first card, which works, in the course of the day."""
    clock = time(book.rnd.randrange(10, 17), book.rnd.randrange(60), tzinfo=UTC)
    card, text = book.cards[0], f"Marketplace: {sale.title}"
    when = datetime.combine(sale.bought, clock)
    book.post(
        *(card.account_id, book.clearing, sale.price, (text, text)),
        *("purchase", "shopping", when, card.id),
    )


def _deposited(book: Book, mine: list[Account], deposit: Deposit) -> None:
    """Paid to the broker, from a checking account whose daily limit allows it if there is one."""
    broker = _new_payee(book, BROKER)
    fit = (a for a in mine[:3] if a.daily_limit >= deposit.amount)
    source = next(fit, max(mine[:3], key=lambda a: a.daily_limit))
    _pay(book, source.id, broker, deposit.amount, "other", deposit.moved)


def _regular(book: Book, account: Account, dues: Dues) -> None:
    """A monthly standing order that was last carried out a month before it is due again."""
    payee = _new_payee(book, dues.name)
    before = dues.due.replace(day=1) - timedelta(days=1)
    last = before.replace(day=min(before.day, dues.due.day))
    when = datetime.combine(last, time(book.rnd.randrange(5, 8), tzinfo=UTC))
    _pay(book, account.id, payee, dues.amount, "other", when)
    book.orders.append(
        StandingOrder(
            id=book.id("sto"),
            account_id=account.id,
            payee_id=payee.id,
            amount=dues.amount,
            frequency="monthly",
            next_payment_on=dues.due.isoformat(),
        )
    )


def _new_payee(book: Book, name: str) -> Payee:
    """A payee at another bank, known for long."""
    added = book.days_ago(book.rnd.randrange(HISTORY_DAYS + 20, HISTORY_DAYS + 90))
    row = Payee(book.id("pay"), book.me, name, other_iban(book.rnd), "active", added.isoformat())
    book.payees.append(row)
    return row


def _settle(book: Book, account: Account) -> None:
    """Bring forward as much as makes today's balance plausible; a closed account ends at 0."""
    rnd = book.rnd
    if account.status == "closed":
        texts = ("Paid in", "Paid in")
        amount = rnd.randrange(40, 900) * 100
        book.post(book.clearing, account.id, amount, texts, "payment", "income", book.days_ago(140))
        texts = ("Account closed: balance paid out", "Account closed")
        book.post(
            account.id, book.clearing, amount, texts, "payment", "transfers", book.days_ago(90)
        )
        return
    low, high = {"checking": (60, 1900), "savings": (300, 9000), "term": (2000, 9000)}[account.kind]
    short = account.nickname == book.short
    target = rnd.randrange(15_00, 120_00) if short else rnd.randrange(low * 100, high * 100)
    book.opening(account, max(target - book.sums[account.id], rnd.randrange(20, 90) * 100))
