"""The rows of a retail bank that keeps its books in double entry, and what must always hold.

Amounts are integer US cents. A movement of money is two postings in `transactions`, one on each
account, that name each other as `counter_id` and sum to 0. The outside world is the bank's own
clearing account.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from functools import cached_property
from typing import Annotated, ClassVar, Literal

from provegym.servers.banking.numbers import is_card_number, is_iban
from provegym.world.fields import DATE, SENSITIVE, Format, Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, table

CustomerId = Annotated[str, Ref("banking.customers")]
AccountId = Annotated[str, Ref("banking.accounts")]
TransactionId = Annotated[str, Ref("banking.transactions")]
PayeeId = Annotated[str, Ref("banking.payees")]
CardId = Annotated[str, Ref("banking.cards")]
StandingOrderId = Annotated[str, Ref("banking.standing_orders")]
LoanId = Annotated[str, Ref("banking.loans")]
Day = Annotated[str, DATE]

IBAN = Format("iban", "IBAN without spaces.", is_iban)
PIN = Format("pin", "Four digits.", lambda text: len(text) == 4 and text.isdecimal())
Iban = Annotated[str, IBAN]
Pin = Annotated[str, PIN, SENSITIVE]

AccountKind = Literal["checking", "savings", "term"]
AccountStatus = Literal["open", "closed"]
CardStatus = Literal["active", "frozen", "cancelled", "expired"]
PayeeStatus = Literal["active", "blocked"]
OrderStatus = Literal["active", "cancelled"]
Frequency = Literal["weekly", "monthly", "quarterly", "yearly"]
Dispute = Literal["none", "open", "resolved"]
Category = Literal[
    "groceries",
    "dining",
    "transport",
    "housing",
    "utilities",
    "health",
    "shopping",
    "entertainment",
    "travel",
    "income",
    "transfers",
    "cash",
    "other",
]
TransactionKind = Literal[
    "opening", "transfer", "payment", "purchase", "cash", "loan", "provisional_credit"
]

CUSTOMER_KINDS = frozenset(("checking", "savings", "term"))
"""Kinds of account that a customer sees; the others are the bank's ledgers."""


class Customer(Row, frozen=True):
    """Who holds accounts here; the bank itself is one, for its internal ledgers."""

    id: CustomerId
    name: str
    email: str
    phone: str


class Account(Row, frozen=True):
    """An account or an internal ledger. `balance` is the sum of its postings.

    `matures_on` locks a term account until that day. `daily_limit` caps what is paid to payees in
    a day.
    """

    label: ClassVar[str] = "the {nickname} account"
    id: AccountId
    customer_id: CustomerId
    nickname: str
    kind: Literal["checking", "savings", "term", "loan", "internal"]
    status: AccountStatus
    iban: Iban
    balance: int
    overdraft_limit: int = 0
    daily_limit: int = 0
    matures_on: str = ""


class Transaction(Row, frozen=True):
    """One posting: `amount` is added to the account. `counter_id` is the other half."""

    label: ClassVar[str] = 'the ${amount} "{description}" transaction'
    id: TransactionId
    account_id: AccountId
    counter_id: TransactionId
    amount: int
    description: str
    kind: TransactionKind
    category: Category
    posted_at: Stamp
    card_id: CardId = ""
    note: str = ""
    dispute: Dispute = "none"


class Payee(Row, frozen=True):
    """Someone whom a customer pays, at this bank or elsewhere."""

    label: ClassVar[str] = "{name}"
    id: PayeeId
    customer_id: CustomerId
    name: str
    iban: Iban
    status: PayeeStatus
    added_at: Stamp


class Card(Row, frozen=True):
    """A debit card of an account. `expires` is the last day on which it works."""

    label: ClassVar[str] = "the {network} card ending {last4}"
    id: CardId
    account_id: AccountId
    network: Literal["Visa", "Mastercard"]
    number: Annotated[str, SENSITIVE]
    pin: Pin
    status: CardStatus
    expires: Day
    daily_limit: int


class StandingOrder(Row, frozen=True):
    """A payment that repeats until `ends_on` ("" for never)."""

    label: ClassVar[str] = "the {frequency} ${amount} standing order to {payee}"
    id: StandingOrderId
    account_id: AccountId
    payee_id: PayeeId
    amount: int
    frequency: Frequency
    next_payment_on: Day
    ends_on: str = ""
    status: OrderStatus = "active"


class Loan(Row, frozen=True):
    """A loan; what is owed is the negative balance of its ledger, `account_id`."""

    label: ClassVar[str] = "the {name}"
    id: LoanId
    customer_id: CustomerId
    account_id: AccountId
    name: str
    rate: str
    """Nominal yearly interest in percent, e.g. "4.90"."""
    monthly_payment: int
    next_due_on: Day


class Bank(State):
    """One session's view of the bank, seen by the customer who is asking."""

    server = "banking"
    customers = table(Customer, "cus")
    accounts = table(Account, "acc")
    transactions = table(Transaction, "txn")
    payees = table(Payee, "pay")
    cards = table(Card, "crd")
    standing_orders = table(StandingOrder, "sto")
    loans = table(Loan, "loan")

    @cached_property
    def me(self) -> str:
        """The id of the customer who is asking."""
        return self.customers.where(email=self.cast.user.email)[0].id

    @property
    def today(self) -> str:
        """The session's date."""
        return self.now.date().isoformat()

    def my_accounts(self) -> list[Account]:
        """The asking customer's accounts, closed ones too, without loan ledgers."""
        return [a for a in self.accounts.where(customer_id=self.me) if a.kind in CUSTOMER_KINDS]

    def ledger(self, nickname: str) -> Account:
        """One of the bank's own ledgers: "Clearing" or "Disputes"."""
        return self.accounts.where(nickname=nickname, kind="internal")[0]


def is_locked(bank: Bank, account: Account) -> bool:
    """Whether a term account has not matured yet."""
    return account.kind == "term" and account.matures_on > bank.today


def card_status(card: Card, today: str) -> CardStatus:
    """The card's status, with expiry read off the calendar."""
    return "expired" if card.status != "cancelled" and card.expires < today else card.status


def violations(bank: Bank) -> Iterator[str]:
    """Every broken invariant of the books, one sentence each."""
    yield from _postings(bank)
    yield from _balances(bank)
    for card in bank.cards:
        if not is_card_number(card.number) or card.account_id not in bank.accounts:
            yield f"card {card.id} has a bad number or no account"
    for order in bank.standing_orders:
        if order.amount <= 0 or order.payee_id not in bank.payees:
            yield f"standing order {order.id} pays {order.amount} to {order.payee_id}"
        if order.ends_on and order.ends_on < order.next_payment_on:
            yield f"standing order {order.id} ends before its next payment"
    for loan in bank.loans:
        if bank.accounts[loan.account_id].balance > 0:
            yield f"loan {loan.id} is repaid beyond what was owed"
    yield from _numbers(bank)


def _postings(bank: Bank) -> Iterator[str]:
    for posting in bank.transactions:
        other = bank.transactions.get(posting.counter_id)
        if other is None or other.counter_id != posting.id or other.id == posting.id:
            yield f"posting {posting.id} has no other half"
        elif posting.amount + other.amount != 0 or posting.amount == 0:
            yield f"postings {posting.id} and {other.id} do not sum to 0, or move nothing"
        if posting.dispute != "none" and posting.kind != "purchase":
            yield f"posting {posting.id} is disputed but no card purchase"


def _balances(bank: Bank) -> Iterator[str]:
    sums: dict[str, int] = defaultdict(int)
    for posting in bank.transactions:
        sums[posting.account_id] += posting.amount
    for account in bank.accounts:
        if account.balance != sums[account.id]:
            yield f"account {account.id} holds {account.balance}, postings {sums[account.id]}"
        if account.kind != "internal" and account.balance < -account.overdraft_limit:
            yield f"account {account.id} is at {account.balance}, below its overdraft limit"
        if account.status == "closed" and account.balance != 0:
            yield f"account {account.id} is closed but holds {account.balance}"
    if sum(account.balance for account in bank.accounts) != 0:
        yield "the books do not balance"


def _numbers(bank: Bank) -> Iterator[str]:
    ibans = [a.iban for a in bank.accounts]
    if len(set(ibans)) < len(ibans):
        yield "two accounts share an IBAN"
    for iban in (*ibans, *(p.iban for p in bank.payees)):
        if not is_iban(iban):
            yield f"{iban} is no IBAN"


def days_between(earlier: str, later: str) -> int:
    """Whole days from one ISO date or instant to another."""
    return (date.fromisoformat(later[:10]) - date.fromisoformat(earlier[:10])).days
