"""What the tools answer: small records, amounts as decimal strings in US dollars."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from provegym.servers.banking.ledger import available
from provegym.servers.banking.state import (
    Account,
    AccountId,
    AccountStatus,
    Bank,
    Card,
    CardId,
    CardStatus,
    Category,
    Day,
    Dispute,
    Frequency,
    Iban,
    Loan,
    LoanId,
    OrderStatus,
    Payee,
    PayeeId,
    PayeeStatus,
    StandingOrder,
    StandingOrderId,
    Transaction,
    TransactionId,
    card_status,
)
from provegym.world.fields import DATE, VOLATILE, Money, money


class AccountItem(Struct, frozen=True):
    """An account with what it holds and what can be spent."""

    id: AccountId
    nickname: str
    kind: str
    status: AccountStatus
    balance: Money
    available: Money


class AccountPage(Struct, frozen=True):
    """A page of accounts."""

    accounts: list[AccountItem]
    total: int
    next_cursor: str


class TransactionItem(Struct, frozen=True):
    """A transaction seen from the customer's account; `amount` has no sign."""

    id: TransactionId
    date: Annotated[str, DATE, VOLATILE]
    description: str
    direction: Literal["in", "out"]
    amount: Money
    category: Category


class TransactionPage(Struct, frozen=True):
    """A page of transactions, newest first."""

    transactions: list[TransactionItem]
    total: int
    next_cursor: str


class Receipt(Struct, frozen=True):
    """A movement of money and what it leaves on the account it came from."""

    transaction: TransactionItem
    balance: Money
    available: Money


class DisputeReceipt(Struct, frozen=True):
    """A disputed purchase, and the credit given until the case is decided."""

    transaction: TransactionItem
    dispute: Dispute
    provisional_credit: TransactionItem


class PayeeItem(Struct, frozen=True):
    """A payee."""

    id: PayeeId
    name: str
    iban: Iban
    status: PayeeStatus


class PayeePage(Struct, frozen=True):
    """A page of payees by name."""

    payees: list[PayeeItem]
    total: int
    next_cursor: str


class CardItem(Struct, frozen=True):
    """A debit card; of its number only the last four digits."""

    id: CardId
    network: str
    last4: str
    account: str
    status: CardStatus
    expires: Day
    daily_limit: Money


class CardPage(Struct, frozen=True):
    """A page of cards."""

    cards: list[CardItem]
    total: int
    next_cursor: str


class OrderItem(Struct, frozen=True, omit_defaults=True):
    """A standing order: who is paid, from which account, how often; `ends_on` if it has an end."""

    id: StandingOrderId
    payee: str
    account: str
    amount: Money
    frequency: Frequency
    next_payment_on: Day
    status: OrderStatus
    ends_on: str = ""


class OrderPage(Struct, frozen=True):
    """A page of standing orders by next payment."""

    standing_orders: list[OrderItem]
    total: int
    next_cursor: str


class LoanItem(Struct, frozen=True, omit_defaults=True):
    """A loan and what is still owed; `next_due_on` while anything is."""

    id: LoanId
    name: str
    owed: Money
    rate_percent: str
    monthly_payment: Money
    status: Literal["open", "repaid"]
    next_due_on: str = ""


class LoanPage(Struct, frozen=True):
    """A page of loans."""

    loans: list[LoanItem]
    total: int
    next_cursor: str


class Repayment(Struct, frozen=True):
    """A repayment: the loan as it stands after it, and the posting on the paying account."""

    loan: LoanItem
    transaction: TransactionItem


def account_item(bank: Bank, a: Account) -> AccountItem:
    """An account as its customer sees it."""
    free = money(available(bank, a))
    return AccountItem(a.id, a.nickname, a.kind, a.status, money(a.balance), free)


def transaction_item(t: Transaction) -> TransactionItem:
    """A posting as its customer sees it."""
    direction: Literal["in", "out"] = "in" if t.amount > 0 else "out"
    day, amount = t.posted_at[:10], money(abs(t.amount))
    return TransactionItem(t.id, day, t.description, direction, amount, t.category)


def receipt(bank: Bank, posting: Transaction) -> Receipt:
    """The receipt of a posting on an own account."""
    account = bank.accounts[posting.account_id]
    left = money(available(bank, account))
    return Receipt(transaction_item(posting), money(account.balance), left)


def payee_item(p: Payee) -> PayeeItem:
    """A payee as its customer sees it."""
    return PayeeItem(p.id, p.name, p.iban, p.status)


def card_item(bank: Bank, c: Card) -> CardItem:
    """A card as its holder sees it."""
    account = bank.accounts[c.account_id].nickname
    status, limit = card_status(c, bank.today), money(c.daily_limit)
    return CardItem(c.id, c.network, c.number[-4:], account, status, c.expires, limit)


def order_item(bank: Bank, o: StandingOrder) -> OrderItem:
    """A standing order with its names filled in."""
    return OrderItem(
        id=o.id,
        payee=bank.payees[o.payee_id].name,
        account=bank.accounts[o.account_id].nickname,
        amount=money(o.amount),
        frequency=o.frequency,
        next_payment_on=o.next_payment_on,
        ends_on=o.ends_on,
        status=o.status,
    )


def loan_item(bank: Bank, loan: Loan) -> LoanItem:
    """A loan with what is owed."""
    owed = -bank.accounts[loan.account_id].balance
    return LoanItem(
        id=loan.id,
        name=loan.name,
        owed=money(owed),
        rate_percent=loan.rate,
        monthly_payment=money(loan.monthly_payment),
        next_due_on=loan.next_due_on if owed else "",
        status="open" if owed else "repaid",
    )
