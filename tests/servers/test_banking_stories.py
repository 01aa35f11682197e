"""The bank's part of a world's stories, as its tools show it."""

from __future__ import annotations

from datetime import date

import pytest

from provegym.servers.banking.state import violations
from provegym.world.cast import cast
from provegym.world.fields import money
from provegym.world.stories import stories
from tests.servers.bank_desk import desk

SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_bought_was_paid_by_card_on_its_day(seed: int) -> None:
    d, sale = desk(seed), stories(cast(seed)).sale
    (paid,) = d.ok("list_transactions", query=sale.title)["transactions"]
    assert (paid["amount"], paid["direction"]) == (money(sale.price), "out")
    assert (paid["date"], paid["category"]) == (sale.bought.isoformat(), "shopping")
    card = d.bank.cards[d.bank.transactions[paid["id"]].card_id]
    assert card.status == "active"
    d.ok("dispute_transaction", transaction_id=paid["id"], reason="undelivered")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_deposit_went_to_the_broker_who_is_a_payee(seed: int) -> None:
    d, deposit = desk(seed), stories(cast(seed)).deposit
    (broker,) = d.ok("list_payees", query="brokerage")["payees"]
    (moved,) = d.ok("list_transactions", query=broker["name"])["transactions"]
    assert (moved["amount"], moved["direction"]) == (money(deposit.amount), "out")
    assert moved["date"] == deposit.moved.date().isoformat()
    assert d.bank.transactions[moved["id"]].posted_at == deposit.moved.isoformat()


@pytest.mark.parametrize("seed", SEEDS)
def test_dues_are_standing_orders_that_were_carried_out_a_month_ago(seed: int) -> None:
    d = desk(seed)
    for dues in stories(cast(seed)).dues:
        (order,) = d.ok("list_standing_orders", query=dues.name)["standing_orders"]
        assert (order["payee"], order["amount"]) == (dues.name, money(dues.amount))
        assert (order["frequency"], order["status"]) == ("monthly", "active")
        assert order["next_payment_on"] == dues.due.isoformat()
        (last,) = d.ok("list_transactions", query=dues.name)["transactions"]
        assert last["amount"] == order["amount"]
        assert 28 <= (dues.due - date.fromisoformat(last["date"])).days <= 31
        assert last["date"] < d.bank.today
        d.ok("update_standing_order", standing_order_id=order["id"], amount="20.00")
    assert list(violations(d.bank)) == []
