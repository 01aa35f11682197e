"""Plausible arguments for each tool, read off the rows of a session. An empty dict: none found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any, TypeVar, get_args

from provegym.servers.banking.ledger import DISPUTE_WINDOW, available
from provegym.servers.banking.numbers import other_iban
from provegym.servers.banking.seed import NOTES, WISHES
from provegym.servers.banking.state import (
    Account,
    Bank,
    Category,
    Frequency,
    Payee,
    StandingOrder,
    Transaction,
    card_status,
    is_locked,
)
from provegym.world.fields import money

Arguments = dict[str, Any]
T = TypeVar("T")

SLIP = 0.05
"""How often a row is chosen without a look at its state."""


def _maybe(rnd: Random, **fields: Any) -> Arguments:
    """Each of the fields with a chance of 30 %."""
    return {name: value for name, value in fields.items() if rnd.random() < 0.3}


def _word(rnd: Random, names: Sequence[str]) -> str:
    return rnd.choice(names) if names else "Savings"


def _pick(rnd: Random, good: Sequence[T], every: Sequence[T]) -> T:
    """One of the good rows, now and then any row, as people forget what is closed or blocked."""
    return rnd.choice(every if rnd.random() < SLIP else good)


def _amount(rnd: Random, cap: int) -> str:
    """An amount people would say, at most `cap` cents (which is at least 5.00)."""
    whole = rnd.randrange(5, max(6, min(cap // 100, 300) + 1))
    odd = rnd.choice((0, 0, 0, 50, 25, 75, 99)) if (whole + 1) * 100 <= cap else 0
    return money(whole * 100 + odd)


def _free(bank: Bank, least: int = 20_00) -> list[Account]:
    """Own accounts with something to spend."""
    return [a for a in bank.my_accounts() if available(bank, a) >= least]


def _checking(bank: Bank) -> list[Account]:
    return [a for a in _free(bank) if a.kind == "checking"]


def good_payees(bank: Bank) -> list[Payee]:
    """Own payees that can be paid."""
    closed = {a.iban for a in bank.accounts.where(status="closed")}
    mine = bank.payees.where(customer_id=bank.me)
    return [p for p in mine if p.status == "active" and p.iban not in closed]


def _postings(bank: Bank) -> list[Transaction]:
    accounts = bank.my_accounts()
    return [t for a in accounts for t in bank.transactions.where(account_id=a.id)]


def _days(bank: Bank, days: int) -> str:
    return (bank.now + timedelta(days=days)).date().isoformat()


def accounts(bank: Bank, rnd: Random) -> Arguments:
    """A nickname or a kind to look for."""
    nicknames = [a.nickname for a in bank.my_accounts()]
    if rnd.random() < 0.5:
        return _maybe(rnd, kind=rnd.choice(("checking", "savings")))
    return _maybe(rnd, query=_word(rnd, nicknames))


def transactions(bank: Bank, rnd: Random) -> Arguments:
    """Filters that one existing transaction meets."""
    wanted = rnd.choice(_postings(bank))
    day = wanted.posted_at[:10]
    choices = {"query": wanted.description, "category": wanted.category}
    picked = rnd.choice(("query", "category", "none"))
    return {
        **({picked: choices[picked]} if picked != "none" else {}),
        **_maybe(rnd, account_id=wanted.account_id, since=day),
    }


def categorize(bank: Bank, rnd: Random) -> Arguments:
    """An outgoing transaction and another category for it."""
    found = [t for t in _postings(bank) if t.amount < 0]
    wanted = rnd.choice(found)
    others = [c for c in get_args(Category) if c not in (wanted.category, "income")]
    return {"transaction_id": wanted.id, "category": rnd.choice(others)}


def dispute(bank: Bank, rnd: Random) -> Arguments:
    """A recent purchase that is not disputed yet."""
    since = _days(bank, 1 - DISPUTE_WINDOW)
    found = [
        t
        for t in _postings(bank)
        if t.kind == "purchase" and t.dispute == "none" and t.posted_at >= since
    ]
    reason = rnd.choice(("duplicate", "fraudulent", "undelivered", "overcharged", "faulty"))
    return {"transaction_id": rnd.choice(found).id, "reason": reason} if found else {}


def transfer(bank: Bank, rnd: Random) -> Arguments:
    """Two open accounts and an amount that the first one has."""
    sources = _free(bank)
    if not sources:
        return {}
    source = _pick(rnd, sources, bank.my_accounts())
    targets = [
        a
        for a in bank.my_accounts()
        if a.id != source.id and a.status == "open" and not is_locked(bank, a)
    ]
    return {
        "from_account_id": source.id,
        "to_account_id": _pick(rnd, targets, bank.my_accounts()).id,
        "amount": _amount(rnd, available(bank, source)),
        **_maybe(rnd, note=rnd.choice(WISHES)),
    }


def payees(bank: Bank, rnd: Random) -> Arguments:
    """A payee's name to look for."""
    names = [p.name for p in bank.payees.where(customer_id=bank.me)]
    return {"query": _word(rnd, names)} if rnd.random() < 0.6 else {}


def new_payee(bank: Bank, rnd: Random) -> Arguments:
    """Someone not yet paid: a customer here with the true IBAN, or anyone elsewhere."""
    known = {p.iban for p in bank.payees.where(customer_id=bank.me)}
    names = {p.name for p in bank.payees.where(customer_id=bank.me)}
    here = [
        a
        for a in bank.accounts.where(status="open", kind="checking")
        if a.customer_id != bank.me and a.iban not in known
    ]
    if here and rnd.random() < 0.5:
        account = rnd.choice(here)
        return {"name": bank.customers[account.customer_id].name, "iban": account.iban}
    customers = {c.name for c in bank.customers}
    people = [p.name for p in bank.cast.people if p.name not in names | customers]
    companies = [c for c in bank.cast.companies if c not in names]
    return {"name": _word(rnd, people + companies), "iban": other_iban(rnd)}


def pay(bank: Bank, rnd: Random) -> Arguments:
    """A payee that can be paid and an amount within balance and daily limit."""
    today = bank.today
    sources = [
        a
        for a in _checking(bank)
        if not any(
            t.kind == "payment" and t.amount < -a.daily_limit // 2 and t.posted_at >= today
            for t in bank.transactions.where(account_id=a.id)
        )
    ]
    found = good_payees(bank)
    if not sources or not found:
        return {}
    source = _pick(rnd, sources, bank.my_accounts())
    cap = min(available(bank, source), source.daily_limit // 4)
    return {
        "from_account_id": source.id,
        "payee_id": _pick(rnd, found, list(bank.payees)).id,
        "amount": _amount(rnd, cap),
        **_maybe(rnd, reference=rnd.choice(NOTES)),
    }


def cards(bank: Bank, rnd: Random) -> Arguments:
    """A status or the end of a number to look for."""
    if rnd.random() < 0.3:
        return {"last4": rnd.choice(list(bank.cards)).number[-4:]}
    return _maybe(rnd, status=rnd.choice(("active", "frozen")))


def manage(bank: Bank, rnd: Random) -> Arguments:
    """A working card to freeze or cancel, or a frozen one to unfreeze."""
    today = bank.today
    usable = [c for c in bank.cards if card_status(c, today) in ("active", "frozen")]
    if not usable:
        return {}
    card = rnd.choice(usable)
    action = "unfreeze" if card.status == "frozen" else rnd.choice(("freeze", "freeze", "cancel"))
    return {"card_id": card.id, "action": action}


def withdraw(bank: Bank, rnd: Random) -> Arguments:
    """An active card with its PIN and a small round sum."""
    active = [c for c in bank.cards if card_status(c, bank.today) == "active"]
    free = {c.id: available(bank, bank.accounts[c.account_id]) for c in active}
    found = [c for c in active if free[c.id] >= 20_00]
    if not found:
        return {}
    card = _pick(rnd, found, active)
    cap = card.daily_limit if rnd.random() < SLIP else min(card.daily_limit // 2, free[card.id])
    cap = max(cap, 10_00)
    amount = rnd.randrange(1, cap // 10_00 + 1) * 10_00
    return {"card_id": card.id, "amount": money(amount), "pin": card.pin}


def orders(bank: Bank, rnd: Random) -> Arguments:
    """A payee's name or a status to look for."""
    if rnd.random() < 0.5:
        return _maybe(rnd, status=rnd.choice(("active", "active", "cancelled")))
    names = [bank.payees[o.payee_id].name for o in bank.standing_orders]
    return {"query": _word(rnd, names)}


def new_order(bank: Bank, rnd: Random) -> Arguments:
    """A new repeating payment that starts in the coming weeks."""
    sources, found = _checking(bank), good_payees(bank)
    if not sources or not found:
        return {}
    source, first = _pick(rnd, sources, bank.my_accounts()), rnd.randrange(1, 40)
    return {
        "from_account_id": source.id,
        "payee_id": _pick(rnd, found, list(bank.payees)).id,
        "amount": _amount(rnd, source.daily_limit),
        "frequency": rnd.choice(get_args(Frequency)),
        "first_payment_on": _days(bank, first),
        **_maybe(rnd, ends_on=_days(bank, first + rnd.randrange(40, 700))),
    }


def _active_orders(bank: Bank) -> list[StandingOrder]:
    return bank.standing_orders.where(status="active")


def change_order(bank: Bank, rnd: Random) -> Arguments:
    """One or two new terms of an active standing order."""
    found = _active_orders(bank)
    if not found:
        return {}
    order = rnd.choice(found)
    terms = {
        "amount": money(order.amount + rnd.choice((5_00, 10_00, 25_00))),
        "frequency": rnd.choice([f for f in get_args(Frequency) if f != order.frequency]),
        "next_payment_on": _days(bank, rnd.randrange(30, 120)),
    }
    picked = rnd.sample(list(terms), rnd.choice((1, 1, 2)))
    return {"standing_order_id": order.id, **{name: terms[name] for name in picked}}


def cancel_order(bank: Bank, rnd: Random) -> Arguments:
    """An active standing order."""
    found = _active_orders(bank)
    return {"standing_order_id": rnd.choice(found).id} if found else {}


def loans(bank: Bank, rnd: Random) -> Arguments:
    """Open loans, or all."""
    return _maybe(rnd, status="open")


def repay(bank: Bank, rnd: Random) -> Arguments:
    """An open loan, an account with money, an amount below both."""
    owed = {loan.id: -bank.accounts[loan.account_id].balance for loan in bank.loans}
    found = [loan for loan in bank.loans if owed[loan.id] >= 20_00]
    sources = _free(bank)
    if not found or not sources:
        return {}
    loan, source = rnd.choice(found), _pick(rnd, sources, bank.my_accounts())
    cap = min(owed[loan.id], available(bank, source))
    return {
        "loan_id": loan.id,
        "from_account_id": source.id,
        "amount": _amount(rnd, cap),
    }
