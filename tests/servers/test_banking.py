"""The bank: its arithmetic, its books, what always holds, and how natural its worlds are."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import Any

import msgspec
import pytest

from provegym.seeding import rng
from provegym.servers.banking import SERVER
from provegym.servers.banking.state import violations
from provegym.world.fields import cents, money
from tests.servers.bank_desk import Desk, desk, sample, world
from tests.servers.elsewhere import digests_elsewhere

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


def test_the_bank_has_exactly_seventeen_tools() -> None:
    assert list(SERVER.tools) == [
        "list_accounts",
        "list_transactions",
        "categorize_transaction",
        "dispute_transaction",
        "transfer_between_accounts",
        "list_payees",
        "add_payee",
        "pay_payee",
        "list_loans",
        "repay_loan",
        "list_cards",
        "manage_card",
        "withdraw_cash",
        "list_standing_orders",
        "create_standing_order",
        "update_standing_order",
        "cancel_standing_order",
    ]


@pytest.mark.parametrize("seed", range(25))
def test_a_seeded_world_is_large_balanced_and_varied(seed: int) -> None:
    d = desk(seed)
    assert sum(len(t.rows) for t in world(seed).templates.values()) >= 300
    assert list(violations(d.bank)) == []
    names = [a.nickname for a in d.bank.my_accounts()]
    assert len(set(names)) == len(names)
    assert len({p.name for p in d.bank.payees}) == len(d.bank.payees)
    assert {a.status for a in d.bank.my_accounts()} == {"open", "closed"}
    assert {"active", "frozen", "cancelled"} == {c.status for c in d.bank.cards}
    assert any(c.expires < d.bank.today for c in d.bank.cards)
    assert len({c.number[-4:] for c in d.bank.cards}) == len(d.bank.cards)
    assert {o.status for o in d.bank.standing_orders} == {"active", "cancelled"}


def _random_ids(d: Desk, tool: str, arguments: dict[str, Any], rnd: Any) -> dict[str, Any]:
    """The arguments with one id replaced by that of a random row of its table."""
    refs = [p for p in SERVER.tools[tool].parameters if p.ref and p.name in arguments]
    if not refs:
        return arguments
    chosen = rnd.choice(refs)
    rows = list(getattr(d.bank, chosen.ref.split(".")[1]))
    return {**arguments, chosen.name: rnd.choice(rows).id}


def test_two_thousand_calls_keep_the_books_and_leak_no_secret() -> None:
    d, rnd = desk(3), rng(3, "walk")
    secrets = [c.number for c in d.bank.cards]
    outcomes: dict[str, int] = defaultdict(int)
    for step in range(2000):
        tool = rnd.choice(list(SERVER.tools))
        arguments = sample(d, tool, rnd)
        if rnd.random() < 0.3:
            arguments = _random_ids(d, tool, arguments, rnd)
        result = d.session.call(tool, arguments)
        outcomes[result.outcome] += 1
        text = result.json().decode()
        assert not any(number in text for number in secrets)
        assert '"pin"' not in text
        if step % 20 == 0:
            assert list(violations(d.bank)) == []
    assert list(violations(d.bank)) == []
    assert outcomes["ok"] > 1000
    assert outcomes["tool_error"] > 100
    _limits_held(d)


def _limits_held(d: Desk) -> None:
    """No day's payments of an account exceed its limit."""
    paid: dict[tuple[str, str], int] = defaultdict(int)
    for t in d.bank.transactions:
        if t.kind == "payment" and t.amount < 0 and t.posted_at >= d.bank.cast.start.isoformat():
            paid[t.account_id, t.posted_at[:10]] -= t.amount
    assert paid
    assert all(total <= d.bank.accounts[a].daily_limit for (a, _), total in paid.items())


def test_reads_change_nothing() -> None:
    d, rnd = desk(4), rng(4, "reads")
    before = d.session.digest()
    for name, tool in SERVER.tools.items():
        if tool.effect == "read":
            d.ok(name, **sample(d, name, rnd))
    assert d.session.digest() == before
    assert d.session.changes() == {}


def test_every_write_that_succeeds_changes_the_state() -> None:
    rnd = rng(5, "writes")
    for name, tool in SERVER.tools.items():
        for _ in range(20):
            d = desk(5)
            good = d.session.call(name, sample(d, name, rnd)).outcome == "ok"
            assert bool(d.session.changes()) == (good and tool.effect == "write"), name


def test_sampled_arguments_succeed_in_most_worlds() -> None:
    for name in SERVER.tools:
        good = 0
        for seed in range(40):
            d = desk(seed)
            arguments = sample(d, name, rng(seed, "sample", name))
            result = d.session.call(name, arguments)
            good += result.outcome == "ok"
        assert good >= 32, (name, good)


def test_a_sampled_search_finds_something() -> None:
    for seed in range(10):
        for name in ("list_transactions", "list_payees", "list_standing_orders"):
            d = desk(seed)
            got = d.ok(name, **sample(d, name, rng(seed, "search", name)))
            assert got["total"] > 0, (name, seed)


def test_the_same_seed_gives_the_same_world_in_another_process() -> None:
    assert digests_elsewhere("banking", 7) == {world(7).digest}
    assert world(7).digest != world(8).digest


# -- how the tools read --------------------------------------------------------------------------


def test_each_phrase_says_all_that_the_call_needs() -> None:
    rnd = rng(6, "phrases")
    for name, tool in SERVER.tools.items():
        sampled = {k for _ in range(60) for k in sample(desk(6), name, rnd)}
        assert tool.required <= sampled
        for phrase in tool.phrases:
            optional = set(re.findall(r"\[[^\]]*\{(\w+)\}[^\]]*\]", phrase))
            slots = set(re.findall(r"\{(\w+)\}", phrase))
            assert slots - optional == tool.required, phrase
            assert sampled <= slots, phrase
            assert not phrase.endswith(".")


def test_schemas_and_default_results_are_short() -> None:
    # four characters a token is a safe reading of JSON for the tokenizers in use
    texts = [json.dumps(msgspec.to_builtins(t.schema)) for t in SERVER.tools.values()]
    assert sum(map(len, texts)) / 4 < 4500
    for seed in range(8):
        d = desk(seed)
        for name, tool in SERVER.tools.items():
            if tool.effect == "read":
                result = d.session.call(name, {})
                assert len(result.json()) < 1100, (name, len(result.json()))


def test_only_the_pin_is_a_secret_among_the_parameters() -> None:
    secrets = {n: set(t.sensitive) for n, t in SERVER.tools.items() if t.sensitive}
    assert secrets == {"withdraw_cash": {"pin"}}


def test_amounts_shown_are_those_of_the_rows() -> None:
    d = desk()
    listed = {a["id"]: a for a in d.ok("list_accounts", limit=50)["accounts"]}
    for account in d.bank.my_accounts():
        shown = listed[account.id]
        assert cents(shown["balance"]) == account.balance
        free = account.balance + account.overdraft_limit
        usable = account.status == "open" and account.kind != "term"
        assert cents(shown["available"]) == (free if usable else 0)
