"""The bank: its arithmetic, its books, what always holds, and how natural its worlds are."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import msgspec
import pytest

from provegym.seeding import rng
from provegym.servers.banking import SERVER
from provegym.world.explore import Walk
from provegym.world.fields import cents, money
from tests.servers.bank_desk import desk

# -- movements of money ------------------------------------------------------------------------


def test_a_transfer_is_two_postings_that_sum_to_zero() -> None:
    d = desk()
    source, target = d.account(nickname="Everyday"), d.account(kind="savings")
    before = {t.id for t in d.bank.transactions}
    got = d.ok(
        "transfer_between_accounts",
        from_account_id=source.id,
        to_account_id=target.id,
        amount="12.34",
    )
    out, into = sorted(
        (t for t in d.bank.transactions if t.id not in before), key=lambda t: t.amount
    )
    assert (out.amount, into.amount) == (-1234, 1234)
    assert (out.account_id, into.account_id) == (source.id, target.id)
    assert (out.counter_id, into.counter_id) == (into.id, out.id)
    assert d.balance(source) == source.balance - 1234
    assert d.balance(target) == target.balance + 1234
    assert got["balance"] == money(source.balance - 1234)
    assert got["available"] == money(source.balance - 1234 + source.overdraft_limit)
    assert got["transaction"]["id"] == out.id


def test_a_payee_of_this_bank_is_paid_into_the_payees_account() -> None:
    d = desk()
    source, payee = d.account(nickname="Everyday"), d.payee(here=True)
    theirs = d.bank.accounts.where(iban=payee.iban)[0]
    clearing = d.bank.ledger("Clearing")
    d.ok("pay_payee", payee_id=payee.id, from_account_id=source.id, amount="20.00")
    assert d.balance(theirs) == theirs.balance + 2000
    assert d.balance(clearing) == clearing.balance
    assert d.balance(source) == source.balance - 2000


def test_a_payee_elsewhere_is_paid_through_the_clearing_ledger() -> None:
    d = desk()
    source, payee = d.account(nickname="Everyday"), d.payee(here=False)
    clearing = d.bank.ledger("Clearing")
    got = d.ok(
        "pay_payee", payee_id=payee.id, from_account_id=source.id, amount="20.00", reference="Rent"
    )
    assert d.balance(clearing) == clearing.balance + 2000
    assert got["transaction"]["description"] == payee.name
    assert d.bank.transactions[got["transaction"]["id"]].note == "Rent"


def test_everything_down_to_the_overdraft_limit_can_be_spent_and_not_a_cent_more() -> None:
    d = desk()
    source = next(a for a in d.bank.my_accounts() if a.overdraft_limit > 0)
    target = d.account(kind="savings")
    ids = {"from_account_id": source.id, "to_account_id": target.id}
    free = source.balance + source.overdraft_limit
    error = d.refused("transfer_between_accounts", **ids, amount=money(free + 1))
    assert error["code"] == "insufficient_funds"
    assert error["details"]["available"] == money(free)
    d.ok("transfer_between_accounts", **ids, amount=money(free))
    assert d.balance(source) == -source.overdraft_limit


def test_the_daily_limit_counts_todays_payments_and_starts_anew_the_next_day() -> None:
    d = desk()
    source, payee = d.account(nickname="Everyday"), d.payee(here=False)
    half = source.daily_limit // 2 + 1
    call = {"payee_id": payee.id, "from_account_id": source.id, "amount": money(half)}
    d.ok("pay_payee", **call)
    error = d.refused("pay_payee", **call)
    assert error["code"] == "daily_limit"
    assert error["details"]["left"] == money(source.daily_limit - half)
    now = d.session.snapshot()
    d.session.restore(msgspec.structs.replace(now, writes=now.writes + 24 * 60))
    assert d.session.call("pay_payee", call).outcome == "ok"


def test_transfers_between_own_accounts_do_not_use_up_the_daily_limit() -> None:
    d = desk()
    source, target = d.account(nickname="Everyday"), d.account(kind="savings")
    ids = {"from_account_id": source.id, "to_account_id": target.id}
    over = source.daily_limit + 100
    d.ok("transfer_between_accounts", from_account_id=target.id, to_account_id=source.id,
         amount=money(target.balance))  # fmt: skip
    d.ok("transfer_between_accounts", **ids, amount=money(over))
    d.ok("pay_payee", payee_id=d.payee(here=False).id, from_account_id=source.id, amount="5.00")


def test_a_dispute_credits_the_amount_from_the_disputes_ledger() -> None:
    d = desk()
    bought, ledger = d.purchase(), d.bank.ledger("Disputes")
    account = d.bank.accounts[bought.account_id]
    got = d.ok("dispute_transaction", transaction_id=bought.id, reason="overcharged")
    assert d.balance(account) == account.balance - bought.amount
    assert d.balance(ledger) == ledger.balance + bought.amount
    assert got["provisional_credit"]["amount"] == money(-bought.amount)
    assert got["provisional_credit"]["direction"] == "in"
    assert d.bank.transactions[bought.id].dispute == "open"


def test_repaying_all_that_is_owed_closes_the_loan() -> None:
    d = desk()
    loan = min(d.bank.loans, key=lambda x: d.bank.accounts[x.account_id].balance == 0)
    ledger = d.bank.accounts[loan.account_id]
    owed = 100_00
    d.bank.accounts.put(msgspec.structs.replace(ledger, balance=-owed))
    source = d.account(nickname="Everyday")
    part = d.ok("repay_loan", loan_id=loan.id, from_account_id=source.id, amount="40.00")
    assert (part["loan"]["owed"], part["loan"]["status"]) == ("60.00", "open")
    rest = d.ok("repay_loan", loan_id=loan.id, from_account_id=source.id, amount="60.00")
    assert (rest["loan"]["owed"], rest["loan"]["status"]) == ("0.00", "repaid")
    assert d.balance(source) == source.balance - owed


# -- chains ------------------------------------------------------------------------------------


def test_a_frozen_card_gives_no_cash_until_it_is_unfrozen() -> None:
    d = desk()
    card = d.card("active")
    cash = {"card_id": card.id, "amount": "20.00", "pin": card.pin}
    d.ok("manage_card", card_id=card.id, action="freeze")
    assert d.refused("withdraw_cash", **cash)["code"] == "card_frozen"
    d.ok("manage_card", card_id=card.id, action="unfreeze")
    before = d.balance(d.bank.accounts[card.account_id])
    d.ok("withdraw_cash", **cash)
    assert d.balance(d.bank.accounts[card.account_id]) == before - 2000


def test_the_cards_daily_limit_counts_all_cash_of_the_day() -> None:
    d = desk()
    card = next(c for c in d.bank.cards if c.account_id == d.account(nickname="Everyday").id)
    call = {"card_id": card.id, "pin": card.pin}
    d.ok("withdraw_cash", **call, amount=money(card.daily_limit - 10_00))
    assert d.refused("withdraw_cash", **call, amount="20.00")["details"]["left"] == "10.00"
    d.ok("withdraw_cash", **call, amount="10.00")


def test_a_new_payee_is_found_by_name_and_can_be_paid() -> None:
    d = desk()
    new = d.ok("add_payee", name="Ada Lovelace", iban="GB82WEST12345698765432")
    assert d.ok("list_payees", query="lovelace")["payees"] == [new]
    source = d.account(nickname="Everyday")
    d.ok("pay_payee", payee_id=new["id"], from_account_id=source.id, amount="10.00")


def test_a_standing_order_is_created_changed_and_cancelled() -> None:
    d = desk()
    source, payee = d.account(nickname="Everyday"), d.payee(here=False)
    made = d.ok(
        "create_standing_order",
        payee_id=payee.id,
        from_account_id=source.id,
        amount="15.00",
        frequency="monthly",
        first_payment_on="2027-01-31",
        ends_on="2027-12-31",
    )
    assert made["payee"] == payee.name
    changed = d.ok(
        "update_standing_order", standing_order_id=made["id"], amount="17.50", frequency="weekly"
    )
    assert changed == {**made, "amount": "17.50", "frequency": "weekly"}
    gone = d.ok("cancel_standing_order", standing_order_id=made["id"])
    assert gone == {**changed, "status": "cancelled"}
    found = d.ok("list_standing_orders", query=payee.name, status="cancelled")
    assert gone in found["standing_orders"]


def test_transactions_are_found_by_what_a_person_remembers_of_them() -> None:
    d = desk()
    bought = d.purchase()
    day = bought.posted_at[:10]
    found = d.ok(
        "list_transactions",
        account_id=bought.account_id,
        query=bought.description.lower(),
        since=day,
        until=day,
    )
    assert bought.id in [t["id"] for t in found["transactions"]]
    assert all(t["date"] == day for t in found["transactions"])


def test_pages_of_transactions_hold_each_one_once_newest_first() -> None:
    d = desk()
    seen: list[dict[str, Any]] = []
    cursor, total = "", 0
    while True:
        got = d.ok("list_transactions", limit=50, cursor=cursor)
        seen, cursor, total = seen + got["transactions"], got["next_cursor"], got["total"]
        if not cursor:
            break
    mine = {a.id for a in d.bank.my_accounts()}
    assert {t["id"] for t in seen} == {t.id for t in d.bank.transactions if t.account_id in mine}
    assert len(seen) == total
    days = [t["date"] for t in seen]
    assert days == sorted(days, reverse=True)


def test_categorizing_changes_the_category_alone() -> None:
    d = desk()
    bought = d.purchase()
    new = "travel" if bought.category != "travel" else "dining"
    d.ok("categorize_transaction", transaction_id=bought.id, category=new)
    assert d.session.changes() == {"banking.transactions": {bought.id: {"category": new}}}


# -- what holds in every world -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_a_seeded_world_is_varied_and_tells_its_names_apart(seed: int) -> None:
    d = desk(seed)
    names = [a.nickname for a in d.bank.my_accounts()]
    assert len(set(names)) == len(names)
    assert len({p.name for p in d.bank.payees}) == len(d.bank.payees)
    assert {a.status for a in d.bank.my_accounts()} == {"open", "closed"}
    assert {"active", "frozen", "cancelled"} == {c.status for c in d.bank.cards}
    assert any(c.expires < d.bank.today for c in d.bank.cards)
    assert len({c.number[-4:] for c in d.bank.cards}) == len(d.bank.cards)
    assert {o.status for o in d.bank.standing_orders} == {"active", "cancelled"}


def test_no_days_payments_of_an_account_exceed_its_limit() -> None:
    d = desk(3)
    list(Walk(SERVER, d.session, rng(3, "limits")).steps(2000))
    paid: dict[tuple[str, str], int] = defaultdict(int)
    for t in d.bank.transactions:
        if t.kind == "payment" and t.amount < 0 and t.posted_at >= d.bank.cast.start.isoformat():
            paid[t.account_id, t.posted_at[:10]] -= t.amount
    assert paid
    assert all(total <= d.bank.accounts[a].daily_limit for (a, _), total in paid.items())


# -- how the tools read --------------------------------------------------------------------------


def test_amounts_shown_are_those_of_the_rows() -> None:
    d = desk()
    listed = {a["id"]: a for a in d.ok("list_accounts", limit=50)["accounts"]}
    for account in d.bank.my_accounts():
        shown = listed[account.id]
        assert cents(shown["balance"]) == account.balance
        free = account.balance + account.overdraft_limit
        usable = account.status == "open" and account.kind != "term"
        assert cents(shown["available"]) == (free if usable else 0)
