"""The billing office: what is due, what is given back, who is told, and how its worlds are."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from provegym.servers.payments.state import due_of, tax_on, violations
from provegym.world.fields import money
from tests.servers.payments_office import Till, till
from tests.servers.talk import agree

# -- invoices and payments -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subtotal", "rate", "tax"),
    [
        (100_00, 825, 8_25),
        (10_00, 725, 73),  # 72.5 cents round up
        (10_00, 724, 72),
        (999_99, 0, 0),
    ],
)
def test_sales_tax_is_rounded_half_up_to_the_cent(subtotal: int, rate: int, tax: int) -> None:
    assert tax_on(subtotal, rate) == tax


def _draft(t: Till, **given: Any) -> dict[str, Any]:
    base = {"customer_id": t.customer(tax_rate=825).id, "description": "Garden plan"}
    due = (t.office.now + timedelta(days=14)).date().isoformat()
    return {**base, "unit_price": "100.00", "due_on": due, **given}


def test_an_invoice_is_drafted_with_tax_sent_and_paid() -> None:
    t = till()
    got = t.ok("create_invoice", **_draft(t, quantity=3))
    invoice_id = got["invoice"]["id"]
    assert (got["invoice"]["total"], got["tax"]) == ("324.75", "24.75")
    assert (got["invoice"]["status"], got["invoice"]["due"]) == ("draft", "0.00")
    sent = t.ok("set_invoice_status", invoice_id=invoice_id, status="open")
    assert (sent["status"], sent["due"]) == ("open", "324.75")
    card = t.cards(t.office.invoices[invoice_id].customer_id, "active")[0]
    part = t.ok("charge_invoice", invoice_id=invoice_id, card_id=card.id, amount="200.00")
    assert (part["invoice"]["status"], part["invoice"]["due"]) == ("open", "124.75")
    rest = t.ok("charge_invoice", invoice_id=invoice_id, card_id=card.id)
    assert (rest["payment"]["amount"], rest["invoice"]["status"]) == ("124.75", "paid")
    listed = t.ok("list_customer_payments", invoice_id=invoice_id)
    assert [p["amount"] for p in listed["payments"]] == ["124.75", "200.00"]


def test_what_a_customer_owes_is_the_sum_of_what_is_due() -> None:
    t = till()
    invoice, card = t.payable()
    customer = t.office.customers[invoice.customer_id]
    owed = sum(due_of(t.office, i) for i in t.office.invoices.where(customer_id=customer.id))
    before = t.ok("search_billing_customers", query=customer.email)["customers"][0]
    t.ok("charge_invoice", invoice_id=invoice.id, card_id=card.id)
    after = t.ok("search_billing_customers", query=customer.email)["customers"][0]
    written_off = sum(
        due_of(t.office, i)
        for i in t.office.invoices.where(customer_id=customer.id, status="uncollectible")
    )
    assert before["outstanding"] == money(owed - written_off)
    assert after["outstanding"] == money(owed - written_off - invoice.total)


def test_a_refund_of_a_paid_invoice_leaves_it_paid() -> None:
    t = till()
    invoice, card = t.payable()
    paid = t.ok("charge_invoice", invoice_id=invoice.id, card_id=card.id)["payment"]
    ids = {"payment_id": paid["id"], "reason": "not_delivered"}
    got = t.ok("refund_customer_payment", **ids, amount="1.00")
    assert got["payment"]["refunded"] == "1.00"
    rest = t.ok("refund_customer_payment", **ids)
    assert rest["amount"] == money(invoice.total - 100)
    assert rest["payment"]["refunded"] == money(invoice.total)
    assert t.office.invoices[invoice.id].status == "paid"
    assert list(violations(t.office)) == []


def test_a_refund_of_an_unpaid_invoice_makes_the_amount_due_again() -> None:
    t = till()
    invoice, card = t.payable()
    ids = {"invoice_id": invoice.id}
    part = t.ok("charge_invoice", **ids, card_id=card.id, amount="2.00")["payment"]
    assert due_of(t.office, t.office.invoices[invoice.id]) == invoice.total - 200
    refused = t.refused("set_invoice_status", **ids, status="void")
    assert (refused["code"], refused["details"]["paid"]) == ("has_payments", "2.00")
    t.ok("refund_customer_payment", payment_id=part["id"], reason="duplicate")
    assert due_of(t.office, t.office.invoices[invoice.id]) == invoice.total
    assert t.ok("set_invoice_status", **ids, status="void")["status"] == "void"
    assert list(violations(t.office)) == []


def test_a_refunded_part_has_to_be_paid_again_before_the_invoice_counts_as_paid() -> None:
    t = till()
    invoice, card = t.payable()
    ids = {"invoice_id": invoice.id, "card_id": card.id}
    part = t.ok("charge_invoice", **ids, amount="2.00")["payment"]
    t.ok("refund_customer_payment", payment_id=part["id"], reason="duplicate")
    t.ok("charge_invoice", **ids, amount=money(invoice.total - 200))
    assert t.office.invoices[invoice.id].status == "open"
    assert t.ok("charge_invoice", **ids)["invoice"]["status"] == "paid"
    assert list(violations(t.office)) == []


def test_a_written_off_invoice_can_still_be_paid() -> None:
    t = till()
    invoice, card = t.payable()
    t.ok("set_invoice_status", invoice_id=invoice.id, status="uncollectible")
    got = t.ok("charge_invoice", invoice_id=invoice.id, card_id=card.id)
    assert got["invoice"]["status"] == "paid"
    assert list(violations(t.office)) == []


def test_open_invoices_past_their_date_are_overdue() -> None:
    t = till()
    late = t.invoice("open", lambda i: i.due_on < t.office.today)
    shown = t.ok("list_invoices", customer_id=late.customer_id, status="overdue", limit=50)
    assert late.id in [i["id"] for i in shown["invoices"]]
    every = t.ok("list_invoices", status="open", limit=50)["invoices"]
    assert all(i["due_on"] >= t.office.today for i in every)


# -- webhooks ------------------------------------------------------------------------------------


def test_a_full_payment_tells_each_subscribed_webhook_once_of_each_change() -> None:
    t = till()
    (invoice, card), before = t.payable(), t.events()
    t.ok("charge_invoice", invoice_id=invoice.id, card_id=card.id)
    assert t.told(before) == [
        ("accounting", "invoice.paid"),
        ("billing", "invoice.paid"),
        ("billing", "payment.succeeded"),
    ]


def test_a_part_payment_is_no_news_to_who_waits_for_paid_invoices() -> None:
    t = till()
    (invoice, card), before = t.payable(), t.events()
    t.ok("charge_invoice", invoice_id=invoice.id, card_id=card.id, amount="1.00")
    assert t.told(before) == [("billing", "payment.succeeded")]


def test_an_address_that_does_not_answer_has_failed_deliveries() -> None:
    t = till()
    payment = t.payment(lambda p: p.refunded == 0)
    before = t.events()
    t.ok("refund_customer_payment", payment_id=payment.id, reason="duplicate")
    assert t.told(before) == [("billing", "payment.refunded"), ("warehouse", "payment.refunded")]
    failed = t.ok("list_webhook_events", event_type="payment.refunded", delivery="failed")
    assert failed["events"][0]["url"] == t.webhook("warehouse").url


def test_a_new_webhook_is_told_from_its_subscription_until_its_end() -> None:
    t = till()
    url = "https://hooks.new-shop.example/in"
    kind = {"url": url, "event_type": "invoice.created"}
    t.ok("create_invoice", **_draft(t, description="Before"))
    got = t.ok("set_webhook_subscription", **kind, action="subscribe")
    assert (got["url"], got["event_types"]) == (url, ["invoice.created"])
    t.ok("create_invoice", **_draft(t, description="Between"))
    assert t.ok("set_webhook_subscription", **kind, action="unsubscribe")["event_types"] == []
    t.ok("create_invoice", **_draft(t, description="After"))
    shown = t.ok("list_webhook_events", url=url)
    assert [e["description"] for e in shown["events"]] == ["Between"]
    assert list(violations(t.office)) == []


def test_an_ended_subscription_can_be_taken_up_again() -> None:
    t = till()
    kind = {"url": t.webhook("billing").url, "event_type": "invoice.paid"}
    for action in ("unsubscribe", "subscribe"):
        t.ok("set_webhook_subscription", **kind, action=action)
    invoice, card = t.payable()
    before = t.events()
    t.ok("charge_invoice", invoice_id=invoice.id, card_id=card.id)
    assert ("billing", "invoice.paid") in t.told(before)
    assert list(violations(t.office)) == []


def test_the_same_writes_in_either_order_give_the_same_changes() -> None:
    t = till()
    invoice, card = t.payable()
    writes = [
        ("charge_invoice", {"invoice_id": invoice.id, "card_id": card.id}),
        ("create_invoice", _draft(t)),
        ("set_invoice_status", {"invoice_id": t.invoice("draft").id, "status": "open"}),
        (
            "refund_customer_payment",
            {"payment_id": t.payment(lambda p: p.refunded == 0).id, "reason": "duplicate"},
        ),
    ]
    one, two = till(), till()
    agree(one, writes, two)


# -- what holds in every world -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_a_seeded_world_is_varied(seed: int) -> None:
    t = till(seed)
    assert {i.status for i in t.office.invoices} == {
        *("draft", "open", "paid", "void", "uncollectible"),
    }
    named = [(i.customer_id, i.description) for i in t.office.invoices]
    assert len(set(named)) == len(named)
    start = t.office.cast.start.isoformat()
    rows = (*t.office.invoices, *t.office.payments, *t.office.refunds, *t.office.events)
    assert all(row.created_at < start for row in rows)
    for p in t.office.payments:
        assert p.created_at > t.office.invoices[p.invoice_id].finalized_at
