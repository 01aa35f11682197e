"""Moving money, and the checks that come before it. Amounts are integer US cents."""

from __future__ import annotations

from provegym.servers.banking.numbers import is_own_iban
from provegym.servers.banking.state import (
    CUSTOMER_KINDS,
    Account,
    Bank,
    Category,
    Payee,
    Transaction,
    TransactionKind,
    is_locked,
)
from provegym.world.fields import cents, money
from provegym.world.tool import refuse

NEW_PAYEE_CAP = 200_00
"""Cents that are paid at most at once to a payee added today."""
DISPUTE_WINDOW = 120
"""Days after a purchase in which it can be disputed, as the card schemes allow."""


def move(
    bank: Bank,
    source: Account,
    target: Account,
    amount: int,
    texts: tuple[str, str],
    *,
    kind: TransactionKind,
    category: Category,
    card_id: str = "",
    note: str = "",
) -> Transaction:
    """Post `amount` from source to target; `texts` describe it to each side.

    Gives the source's posting. The caller has checked that it may be done.
    """
    out_id, in_id = bank.transactions.new_id(), bank.transactions.new_id()
    bank.accounts.update(source, balance=source.balance - amount)
    bank.accounts.update(target, balance=target.balance + amount)
    out = Transaction(
        id=out_id,
        account_id=source.id,
        counter_id=in_id,
        amount=-amount,
        description=texts[0],
        kind=kind,
        category=category,
        posted_at=bank.stamp,
        card_id=card_id,
        note=note,
    )
    bank.transactions.put(
        Transaction(
            id=in_id,
            account_id=target.id,
            counter_id=out_id,
            amount=amount,
            description=texts[1],
            kind=kind,
            category="transfers" if kind == "transfer" else "other",
            posted_at=bank.stamp,
            note=note,
        )
    )
    return bank.transactions.put(out)


def positive(amount: str) -> int:
    """Cents of an amount; `invalid_amount` unless it is above zero."""
    value = cents(amount)
    if value <= 0:
        refuse("invalid_amount", f"the amount must be above 0.00, got {amount}", amount=amount)
    return value


def available(bank: Bank, account: Account) -> int:
    """What can be taken out: balance and overdraft, nothing while closed or locked."""
    if account.status == "closed" or is_locked(bank, account):
        return 0
    return account.balance + account.overdraft_limit


def my_account(bank: Bank, account_id: str) -> Account:
    """The asking customer's account of that id, else `not_found`."""
    account = bank.accounts.get(account_id)
    if account is None or account.customer_id != bank.me or account.kind not in CUSTOMER_KINDS:
        refuse("not_found", f"you have no account {account_id[:40]!r}", account_id=account_id)
    return account


def usable(bank: Bank, account_id: str) -> Account:
    """An own account that money may enter or leave: open and not locked."""
    account = my_account(bank, account_id)
    if account.status == "closed":
        refuse("account_closed", f"the {account.nickname} account is closed")
    if is_locked(bank, account):
        text = f"the {account.nickname} account is fixed until {account.matures_on}"
        refuse("account_locked", text, matures_on=account.matures_on)
    return account


def payable(bank: Bank, account_id: str) -> Account:
    """An own account from which payees are paid: a usable checking account."""
    account = usable(bank, account_id)
    if account.kind != "checking":
        text = f"payees are paid from checking accounts; {account.nickname} is {account.kind}"
        refuse("not_a_checking_account", text, kind=account.kind)
    return account


def require_funds(bank: Bank, account: Account, amount: int) -> None:
    """`insufficient_funds` where the amount exceeds what is available."""
    free = available(bank, account)
    if amount > free:
        text = f"{money(amount)} is more than the {money(free)} available on {account.nickname}"
        refuse("insufficient_funds", text, available=money(free), amount=money(amount))


def known_payee(bank: Bank, payee_id: str) -> Payee:
    """The asking customer's payee, else `unknown_payee`; `payee_blocked` where fraud is feared."""
    payee = bank.payees.get(payee_id)
    if payee is None or payee.customer_id != bank.me:
        refuse("unknown_payee", f"you have no payee {payee_id[:40]!r}", payee_id=payee_id)
    if payee.status == "blocked":
        refuse("payee_blocked", f"payments to {payee.name} are blocked by the fraud team")
    return payee


def payee_account(bank: Bank, payee: Payee) -> Account:
    """Where a payment to the payee is posted: an account here, or the clearing ledger."""
    if not is_own_iban(payee.iban):
        return bank.ledger("Clearing")
    account = bank.accounts.where(iban=payee.iban)[0]
    if account.status == "closed":
        refuse("payee_account_closed", f"the account of {payee.name} is closed")
    return account


def require_daily_limit(bank: Bank, account: Account, amount: int) -> None:
    """`daily_limit` where today's payments to payees would exceed the account's limit."""
    today = bank.today
    paid = -sum(
        t.amount
        for t in bank.transactions.where(account_id=account.id)
        if t.kind == "payment" and t.amount < 0 and t.posted_at.startswith(today)
    )
    _require_within(amount, account.daily_limit, paid)


def require_card_limit(bank: Bank, card_id: str, limit: int, amount: int) -> None:
    """`daily_limit` where today's cash withdrawals would exceed the card's limit."""
    today = bank.today
    drawn = -sum(
        t.amount
        for t in bank.transactions.where(card_id=card_id)
        if t.kind == "cash" and t.posted_at.startswith(today)
    )
    _require_within(amount, limit, drawn)


def _require_within(amount: int, limit: int, used: int) -> None:
    left = max(0, limit - used)
    if amount > left:
        text = f"{money(amount)} is more than the {money(left)} left of today's {money(limit)}"
        refuse("daily_limit", text, limit=money(limit), used=money(used), left=money(left))
