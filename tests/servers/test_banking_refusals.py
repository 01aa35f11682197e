"""Each refusal of the bank occurs in its worlds as seeded; broken books are noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from provegym.seeding import rng
from provegym.servers.banking import SERVER
from provegym.servers.banking.numbers import (
    own_iban,
)
from provegym.servers.banking.state import Account, violations
from provegym.world.fields import money
from tests.servers.bank_desk import Desk, desk
from tests.servers.talk import agree, declared

# -- refusals ----------------------------------------------------------------------------------

Scenario = Callable[[Desk], dict[str, Any]]
SCENARIOS: dict[tuple[str, str], Scenario] = {}
"""How each declared refusal of each tool comes about in a world as seeded."""


def _transfer(d: Desk, **given: Any) -> dict[str, Any]:
    ids = {"from_account_id": d.account(nickname="Everyday").id}
    return {**ids, "to_account_id": d.account(kind="savings").id, "amount": "10.00", **given}


def _payment(d: Desk, **given: Any) -> dict[str, Any]:
    ids = {"from_account_id": d.account(nickname="Everyday").id}
    return {**ids, "payee_id": d.payee(here=False).id, "amount": "10.00", **given}


def _order(d: Desk, **given: Any) -> dict[str, Any]:
    return {**_payment(d), "frequency": "monthly", "first_payment_on": "2027-02-01", **given}


def _repayment(d: Desk, **given: Any) -> dict[str, Any]:
    loan = next(x for x in d.bank.loans if d.bank.accounts[x.account_id].balance < 0)
    ids = {"from_account_id": d.account(nickname="Everyday").id}
    return {**ids, "loan_id": loan.id, "amount": "10.00", **given}


def _cash(d: Desk, **given: Any) -> dict[str, Any]:
    card = d.card("active")
    return {"card_id": card.id, "amount": "20.00", "pin": card.pin, **given}


def _stranger(d: Desk) -> Account:
    known = {p.iban for p in d.bank.payees}
    rows = d.bank.accounts.where(kind="checking", status="open")
    return next(a for a in rows if a.customer_id != d.bank.me and a.iban not in known)


def _expired(d: Desk) -> str:
    return next(c.id for c in d.bank.cards if c.expires < d.bank.today)


def _closed_payee(d: Desk) -> str:
    closed = {a.iban for a in d.bank.accounts.where(status="closed")}
    return next(p.id for p in d.bank.payees if p.iban in closed)


def _blocked(d: Desk) -> str:
    return d.bank.payees.where(status="blocked")[0].id


def _new_payee(d: Desk) -> str:
    return max(d.bank.payees, key=lambda p: p.added_at).id


def _poor(d: Desk) -> Account:
    """The checking account that is nearly empty, with its daily limit untouched."""
    rows = [a for a in d.bank.my_accounts() if a.kind == "checking" and a.status == "open"]
    found = [a for a in rows if a.id != _spent(d) and a.overdraft_limit == 0]
    return min(found, key=lambda a: a.balance)


def _free(account: Account) -> int:
    return account.balance + account.overdraft_limit


def _spent(d: Desk) -> str:
    today = d.bank.transactions.where(kind="payment")
    return next(t.account_id for t in today if t.amount < 0 and t.posted_at >= d.bank.today)


def _order_id(d: Desk, status: str, *, ends: bool = False) -> str:
    found = d.bank.standing_orders.where(status=status)
    return next(o.id for o in found if bool(o.ends_on) or not ends)


def _unknown(field: str, make: Callable[..., dict[str, Any]]) -> Scenario:
    return lambda d: make(d, **{field: "nobody_x1"})


def _from_account(make: Callable[..., dict[str, Any]], **equal: Any) -> Scenario:
    return lambda d: make(d, from_account_id=d.account(**equal).id)


for _tool, _make in (
    ("transfer_between_accounts", _transfer),
    ("pay_payee", _payment),
    ("create_standing_order", _order),
    ("repay_loan", _repayment),
):
    SCENARIOS[_tool, "not_found"] = _unknown("from_account_id", _make)
    SCENARIOS[_tool, "account_closed"] = _from_account(_make, status="closed")
    SCENARIOS[_tool, "account_locked"] = _from_account(_make, kind="term")
for _tool, _make in (("pay_payee", _payment), ("create_standing_order", _order)):
    SCENARIOS[_tool, "not_a_checking_account"] = _from_account(_make, kind="savings")
    SCENARIOS[_tool, "unknown_payee"] = _unknown("payee_id", _make)
    SCENARIOS[_tool, "payee_blocked"] = lambda d, m=_make: m(d, payee_id=_blocked(d))  # type: ignore[misc]
    SCENARIOS[_tool, "payee_account_closed"] = lambda d, m=_make: m(d, payee_id=_closed_payee(d))  # type: ignore[misc]

SCENARIOS |= {
    ("list_transactions", "not_found"): lambda d: {"account_id": _stranger(d).id},
    ("categorize_transaction", "not_found"): lambda d: {
        "transaction_id": d.bank.transactions.where(account_id=_stranger(d).id)[0].id,
        "category": "dining",
    },
    ("categorize_transaction", "no_change"): lambda d: {
        "transaction_id": d.purchase().id,
        "category": d.purchase().category,
    },
    ("dispute_transaction", "not_found"): lambda d: {
        "transaction_id": "txn_none",
        "reason": "faulty",
    },
    ("dispute_transaction", "not_disputable"): lambda d: {
        "transaction_id": next(
            t.id
            for t in d.bank.transactions.where(account_id=d.account(nickname="Everyday").id)
            if t.kind == "transfer"
        ),
        "reason": "faulty",
    },
    ("dispute_transaction", "already_disputed"): lambda d: {
        "transaction_id": next(t.id for t in d.bank.transactions if t.dispute != "none"),
        "reason": "duplicate",
    },
    ("dispute_transaction", "dispute_window_over"): lambda d: {
        "transaction_id": d.purchase(recent=False).id,
        "reason": "duplicate",
    },
    ("transfer_between_accounts", "insufficient_funds"): lambda d: _transfer(
        d, amount="900000.00"
    ),
    ("add_payee", "payee_exists"): lambda d: {
        "name": "Someone Else",
        "iban": d.payee(here=False).iban,
    },
    ("add_payee", "own_account"): lambda d: {
        "name": d.bank.cast.user.name,
        "iban": d.account(nickname="Everyday").iban,
    },
    ("add_payee", "no_such_account"): lambda d: {
        "name": "Ada Lovelace",
        "iban": own_iban(rng(1, "test")),
    },
    ("add_payee", "name_mismatch"): lambda d: {
        "name": "Ada Lovelace",
        "iban": _stranger(d).iban,
    },
    ("add_payee", "payee_account_closed"): lambda d: {
        "name": "Ada Lovelace",
        "iban": next(
            a.iban
            for a in d.bank.accounts.where(status="closed")
            if a.customer_id != d.bank.me and a.iban not in {p.iban for p in d.bank.payees}
        ),
    },
    ("pay_payee", "new_payee_limit"): lambda d: _payment(
        d, payee_id=_new_payee(d), amount="200.01"
    ),
    ("pay_payee", "daily_limit"): lambda d: _payment(
        d, from_account_id=_spent(d), amount="61.00"
    ),
    ("pay_payee", "insufficient_funds"): lambda d: _payment(
        d,
        from_account_id=_poor(d).id,
        amount=money(_free(_poor(d)) + 1),
    ),
    ("manage_card", "not_found"): lambda d: {"card_id": "crd_none", "action": "freeze"},
    ("manage_card", "card_cancelled"): lambda d: {
        "card_id": d.card("cancelled").id,
        "action": "unfreeze",
    },
    ("manage_card", "card_expired"): lambda d: {"card_id": _expired(d), "action": "freeze"},
    ("manage_card", "already_frozen"): lambda d: {
        "card_id": d.card("frozen").id,
        "action": "freeze",
    },
    ("manage_card", "not_frozen"): lambda d: {
        "card_id": d.card("active").id,
        "action": "unfreeze",
    },
    ("withdraw_cash", "not_found"): lambda d: _cash(d, card_id="crd_none"),
    ("withdraw_cash", "card_cancelled"): lambda d: _cash(d, card_id=d.card("cancelled").id),
    ("withdraw_cash", "card_expired"): lambda d: _cash(d, card_id=_expired(d)),
    ("withdraw_cash", "card_frozen"): lambda d: _cash(d, card_id=d.card("frozen").id),
    ("withdraw_cash", "wrong_pin"): lambda d: _cash(
        d, pin=f"{(int(d.card('active').pin) + 1) % 10000:04d}"
    ),
    ("withdraw_cash", "insufficient_funds"): lambda d: _cash(
        d,
        **next(
            {"card_id": c.id, "pin": c.pin, "amount": "130.00"}
            for c in d.bank.cards.where(account_id=_poor(d).id, status="active")
        ),
    ),
    ("withdraw_cash", "daily_limit"): lambda d: _cash(d, amount="510.00"),
    ("create_standing_order", "daily_limit"): lambda d: _order(d, amount="2500.01"),
    ("create_standing_order", "date_in_past"): lambda d: _order(
        d, first_payment_on=d.bank.today
    ),
    ("update_standing_order", "not_found"): lambda d: {
        "standing_order_id": "sto_none",
        "amount": "9.00",
    },
    ("update_standing_order", "order_cancelled"): lambda d: {
        "standing_order_id": _order_id(d, "cancelled"),
        "amount": "9.00",
    },
    ("update_standing_order", "daily_limit"): lambda d: {
        "standing_order_id": _order_id(d, "active"),
        "amount": "2500.01",
    },
    ("update_standing_order", "date_in_past"): lambda d: {
        "standing_order_id": _order_id(d, "active"),
        "next_payment_on": d.bank.today,
    },
    ("update_standing_order", "ends_too_early"): lambda d: {
        "standing_order_id": _order_id(d, "active", ends=True),
        "next_payment_on": "2036-01-01",
    },
    ("update_standing_order", "no_change"): lambda d: {
        "standing_order_id": _order_id(d, "active"),
    },
    ("cancel_standing_order", "not_found"): lambda d: {"standing_order_id": "sto_none"},
    ("cancel_standing_order", "order_cancelled"): lambda d: {
        "standing_order_id": _order_id(d, "cancelled"),
    },
    ("repay_loan", "loan_repaid"): lambda d: _repayment(
        d,
        loan_id=next(x.id for x in d.bank.loans if d.bank.accounts[x.account_id].balance == 0),
    ),
    ("repay_loan", "more_than_owed"): lambda d: _repayment(d, amount="900000.00"),
    ("repay_loan", "insufficient_funds"): lambda d: _repayment(
        d, from_account_id=_poor(d).id, amount=money(_free(_poor(d)) + 1)
    ),
}  # fmt: skip


def _drain(d: Desk, account: Account) -> None:
    free = money(account.balance + account.overdraft_limit)
    d.ok("transfer_between_accounts", **_transfer(d, from_account_id=account.id, amount=free))


@pytest.mark.parametrize(("tool", "code"), declared(SERVER))
@pytest.mark.parametrize("seed", [0, 1, 11])
def test_each_declared_refusal_occurs_in_a_seeded_world(tool: str, code: str, seed: int) -> None:
    d = desk(seed)
    assert d.refused(tool, **SCENARIOS[tool, code](d))["code"] == code


@pytest.mark.parametrize("seed", [0, 1, 11])
def test_an_emptied_account_pays_nothing_and_gives_no_cash(seed: int) -> None:
    d = desk(seed)
    card = d.card("active")
    account = d.bank.accounts[card.account_id]
    _drain(d, account)
    assert d.refused("withdraw_cash", **_cash(d))["code"] == "insufficient_funds"
    call = _payment(d, from_account_id=account.id, amount="1.00")
    assert d.refused("pay_payee", **call)["code"] == "insufficient_funds"


@pytest.mark.parametrize("amount", ["0.00", "-5.00"])
def test_only_positive_amounts_move(amount: str) -> None:
    d = desk()
    for tool, call in (
        ("transfer_between_accounts", _transfer(d, amount=amount)),
        ("pay_payee", _payment(d, amount=amount)),
        ("repay_loan", _repayment(d, amount=amount)),
        ("withdraw_cash", _cash(d, amount=amount)),
        ("create_standing_order", _order(d, amount=amount)),
    ):
        assert d.refused(tool, **call)["code"] == "invalid_amount"


def test_cash_comes_in_tens_and_a_transfer_needs_two_accounts() -> None:
    d = desk()
    assert d.refused("withdraw_cash", **_cash(d, amount="15.00"))["code"] == "invalid_amount"
    same = d.account(nickname="Everyday").id
    call = _transfer(d, to_account_id=same)
    assert d.refused("transfer_between_accounts", **call)["code"] == "same_account"


def test_an_iban_with_wrong_check_digits_is_no_valid_value() -> None:
    error = desk().refused("add_payee", name="Ada Lovelace", iban="GB83WEST12345698765432")
    assert error["code"] == "invalid_value"


def test_nothing_of_another_customer_can_be_reached() -> None:
    d = desk()
    theirs = _stranger(d)
    call = _transfer(d, from_account_id=theirs.id)
    assert d.refused("transfer_between_accounts", **call)["code"] == "not_found"
    call = _transfer(d, to_account_id=theirs.id)
    assert d.refused("transfer_between_accounts", **call)["code"] == "not_found"
    for ledger in d.bank.accounts.where(kind="loan"):
        call = _transfer(d, from_account_id=ledger.id)
        assert d.refused("transfer_between_accounts", **call)["code"] == "not_found"


def test_independent_writes_in_either_order_give_the_same_changes() -> None:
    d = desk()
    writes = [
        ("pay_payee", _payment(d)),
        ("pay_payee", _payment(d)),  # the same again: twins must be told apart consistently
        ("pay_payee", _payment(d, payee_id=d.payee(here=True).id)),
        ("transfer_between_accounts", _transfer(d)),
        ("add_payee", {"name": "Ada Lovelace", "iban": "GB82WEST12345698765432"}),
        ("dispute_transaction", {"transaction_id": d.purchase().id, "reason": "faulty"}),
        ("create_standing_order", _order(d)),
        ("withdraw_cash", _cash(d)),
        ("repay_loan", _repayment(d)),
    ]
    one, two = desk(), desk()
    agree(one, writes, two)
    assert len(one.session.changes()["banking.transactions"]) == 2 * 7 + 1


# -- the invariants themselves -----------------------------------------------------------------


def _lose_a_posting(d: Desk) -> None:
    d.bank.transactions.delete(d.purchase().id)


def _invent_money(d: Desk) -> None:
    account = d.account(nickname="Everyday")
    d.bank.accounts.update(account, balance=account.balance + 1)


def _unequal_halves(d: Desk) -> None:
    d.bank.transactions.update(d.purchase(), amount=-1)


def _overdraw(d: Desk) -> None:
    account = d.account(kind="savings")
    d.bank.accounts.update(account, overdraft_limit=-account.balance - 1)


def _overpay_loan(d: Desk) -> None:
    ledger = d.bank.accounts[next(iter(d.bank.loans)).account_id]
    d.bank.accounts.update(ledger, balance=5)


def _break_card(d: Desk) -> None:
    d.bank.cards.update(d.card("active"), number="4111111111111112")


def _orphan_order(d: Desk) -> None:
    d.bank.payees.delete(next(iter(d.bank.standing_orders)).payee_id)


def _close_full_account(d: Desk) -> None:
    d.bank.accounts.update(d.account(nickname="Everyday"), status="closed")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (_lose_a_posting, "no other half"),
        (_invent_money, "do not balance"),
        (_unequal_halves, "do not sum to 0"),
        (_overdraw, "below its overdraft limit"),
        (_overpay_loan, "beyond what was owed"),
        (_break_card, "bad number"),
        (_orphan_order, "standing order"),
        (_close_full_account, "closed but holds"),
    ],
)
def test_broken_books_are_noticed(harm: Callable[[Desk], None], said: str) -> None:
    d = desk()
    harm(d)
    assert any(said in line for line in violations(d.bank))
