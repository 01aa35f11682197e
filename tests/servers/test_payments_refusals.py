"""Each refusal of the billing office occurs in its worlds as seeded; broken books are noticed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from provegym.servers.payments import SERVER
from provegym.servers.payments.state import due_of, violations
from provegym.world.fields import money
from tests.servers.payments_office import Till, till
from tests.servers.talk import declared

Scenario = Callable[[Till], dict[str, Any]]


def _draft(t: Till, **given: Any) -> dict[str, Any]:
    due = (t.office.now + timedelta(days=14)).date().isoformat()
    base = {"customer_id": t.customer().id, "description": "Garden plan"}
    return {**base, "unit_price": "100.00", "due_on": due, **given}


def _charge(t: Till, card: str = "active", **given: Any) -> dict[str, Any]:
    invoice, found = t.payable(card)
    return {"invoice_id": invoice.id, "card_id": found.id, **given}


def _foreign_card(t: Till) -> dict[str, Any]:
    invoice, _ = t.payable()
    other = next(
        c for c in t.office.customers if c.id != invoice.customer_id and t.cards(c.id, "active")
    )
    return _charge(t, card_id=t.cards(other.id, "active")[0].id)


def _refund(payment_id: str, **given: Any) -> dict[str, Any]:
    return {"payment_id": payment_id, "reason": "duplicate", **given}


def _old(t: Till) -> str:
    edge = (t.office.now - timedelta(days=181)).isoformat()
    return t.payment(lambda p: p.created_at < edge and p.refunded < p.amount).id


def _too_much(t: Till) -> dict[str, Any]:
    payment = t.payment(lambda p: p.refunded == 0)
    return _refund(payment.id, amount=money(payment.amount + 1))


def _to(now: str, status: str) -> Scenario:
    return lambda t: {"invoice_id": t.invoice(now).id, "status": status}


def _part_paid(t: Till) -> dict[str, Any]:
    invoice = t.invoice("open", lambda i: due_of(t.office, i) < i.total)
    return {"invoice_id": invoice.id, "status": "void"}


def _hook(t: Till, path: str, event_type: str, action: str = "subscribe") -> dict[str, Any]:
    return {"url": t.webhook(path).url, "event_type": event_type, "action": action}


def _seventh(t: Till) -> dict[str, Any]:
    new = {"event_type": "invoice.paid", "action": "subscribe"}
    t.ok("set_webhook_subscription", url="https://sixth.example/in", **new)
    return {"url": "https://seventh.example/in", **new}


SCENARIOS: dict[tuple[str, str], Scenario] = {
    ("list_customer_cards", "not_found"): lambda t: {"customer_id": "cust_none"},
    ("list_invoices", "not_found"): lambda t: {"customer_id": "cust_none"},
    ("list_customer_payments", "not_found"): lambda t: {"invoice_id": "inv_none"},
    ("list_webhook_events", "not_found"): lambda t: {"invoice_id": "inv_none"},
    ("list_webhook_events", "unknown_webhook"): lambda t: {"url": "https://none.example/x"},
    ("create_invoice", "not_found"): lambda t: _draft(t, customer_id="cust_none"),
    ("create_invoice", "customer_archived"): lambda t: _draft(
        t, customer_id=t.office.customers.where(status="archived")[0].id
    ),
    ("create_invoice", "date_in_past"): lambda t: _draft(t, due_on="2025-12-31"),
    ("set_invoice_status", "not_found"): lambda t: {"invoice_id": "inv_none", "status": "void"},
    ("set_invoice_status", "no_change"): _to("open", "open"),
    ("set_invoice_status", "already_paid"): _to("paid", "void"),
    ("set_invoice_status", "invoice_void"): _to("void", "open"),
    ("set_invoice_status", "invoice_draft"): _to("draft", "uncollectible"),
    ("set_invoice_status", "invoice_written_off"): _to("uncollectible", "open"),
    ("set_invoice_status", "has_payments"): _part_paid,
    ("charge_invoice", "not_found"): lambda t: _charge(t, card_id="card_none"),
    ("charge_invoice", "already_paid"): lambda t: _charge(t, invoice_id=t.invoice("paid").id),
    ("charge_invoice", "invoice_void"): lambda t: _charge(t, invoice_id=t.invoice("void").id),
    ("charge_invoice", "invoice_draft"): lambda t: _charge(t, invoice_id=t.invoice("draft").id),
    ("charge_invoice", "over_amount_due"): lambda t: _charge(
        t, amount=money(t.payable()[0].total + 1)
    ),
    ("charge_invoice", "other_customers_card"): _foreign_card,
    ("charge_invoice", "expired_card"): lambda t: _charge(t, "expired"),
    ("charge_invoice", "card_blocked"): lambda t: _charge(t, "blocked"),
    ("refund_customer_payment", "not_found"): lambda t: _refund("pay_none"),
    ("refund_customer_payment", "payment_failed"): lambda t: _refund(
        t.office.payments.where(status="failed")[0].id
    ),
    ("refund_customer_payment", "already_refunded"): lambda t: _refund(
        t.payment(lambda p: p.refunded == p.amount).id
    ),
    ("refund_customer_payment", "refund_window_over"): lambda t: _refund(_old(t)),
    ("refund_customer_payment", "refund_over_amount"): _too_much,
    ("set_webhook_subscription", "webhook_disabled"): lambda t: _hook(t, "old-crm", "invoice.paid"),
    ("set_webhook_subscription", "already_subscribed"): lambda t: _hook(
        t, "billing", "invoice.paid"
    ),
    ("set_webhook_subscription", "not_subscribed"): lambda t: _hook(
        t, "billing", "payment.failed", "unsubscribe"
    ),
    ("set_webhook_subscription", "webhook_limit"): _seventh,
}


@pytest.mark.parametrize(("tool", "code"), declared(SERVER))
@pytest.mark.parametrize("seed", [0, 1, 11])
def test_each_declared_refusal_occurs_in_a_seeded_world(tool: str, code: str, seed: int) -> None:
    t = till(seed)
    assert t.refused(tool, **SCENARIOS[tool, code](t))["code"] == code


def test_paying_twice_is_refused_and_charges_nothing() -> None:
    t = till()
    call = _charge(t)
    t.ok("charge_invoice", **call)
    count = len(t.office.payments)
    assert t.refused("charge_invoice", **call)["code"] == "already_paid"
    assert len(t.office.payments) == count


def test_two_partial_refunds_cannot_exceed_their_payment() -> None:
    t = till()
    payment = t.payment(lambda p: p.refunded == 0)
    first = payment.amount - 50
    t.ok("refund_customer_payment", **_refund(payment.id, amount=money(first)))
    error = t.refused("refund_customer_payment", **_refund(payment.id, amount="0.51"))
    assert (error["code"], error["details"]["refundable"]) == ("refund_over_amount", "0.50")
    t.ok("refund_customer_payment", **_refund(payment.id, amount="0.50"))
    error = t.refused("refund_customer_payment", **_refund(payment.id))
    assert error["code"] == "already_refunded"


@pytest.mark.parametrize("amount", ["0.00", "-3.00"])
def test_only_positive_amounts_are_billed_charged_and_refunded(amount: str) -> None:
    t = till()
    payment = t.payment(lambda p: p.refunded == 0)
    for tool, call in (
        ("create_invoice", _draft(t, unit_price=amount)),
        ("charge_invoice", _charge(t, amount=amount)),
        ("refund_customer_payment", _refund(payment.id, amount=amount)),
    ):
        assert t.refused(tool, **call)["code"] == "invalid_amount"


@pytest.mark.parametrize("url", ["http://shop.example/in", "shop.example", "https://shop"])
def test_a_webhook_lives_at_a_secure_address(url: str) -> None:
    call = {"url": url, "event_type": "invoice.paid", "action": "subscribe"}
    assert till().refused("set_webhook_subscription", **call)["code"] == "invalid_value"


# -- the invariants themselves -------------------------------------------------------------------


def _lose_an_event(t: Till) -> None:
    t.office.events.delete(next(iter(t.office.events)).id)


def _tell_twice(t: Till) -> None:
    event = next(iter(t.office.events))
    t.office.events.put(type(event)(**{**_fields(event), "id": "evt_twice0"}))


def _fields(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__struct_fields__}


def _call_it_paid(t: Till) -> None:
    t.office.invoices.update(t.invoice("open"), status="paid", settled_at=t.office.stamp)


def _charge_a_cent_more(t: Till) -> None:
    payment = t.payment(lambda p: t.office.invoices[p.invoice_id].status == "paid")
    t.office.payments.update(payment, amount=payment.amount + 1)


def _refund_too_much(t: Till) -> None:
    refund = next(iter(t.office.refunds))
    t.office.refunds.update(refund, amount=refund.amount + 10**9)


def _charge_a_draft(t: Till) -> None:
    t.office.payments.update(t.payment(), invoice_id=t.invoice("draft").id)


def _take_the_tax_away(t: Till) -> None:
    invoice = t.invoice("paid", lambda i: i.tax > 0)
    t.office.invoices.update(invoice, tax=0)


def _subscribe_twice(t: Till) -> None:
    row = t.office.subscriptions.where(active=True)[0]
    t.office.subscriptions.put(type(row)(**{**_fields(row), "id": "sub_twice0"}))


def _revive(t: Till) -> None:
    row = t.office.subscriptions.where(active=False)[0]
    t.office.subscriptions.update(row, active=True, until="")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (_lose_an_event, "was not told"),
        (_tell_twice, "without cause"),
        (_call_it_paid, "is paid with"),
        (_charge_a_cent_more, "has been paid"),
        (_refund_too_much, "refunded, rows"),
        (_charge_a_draft, "is a draft but has been charged"),
        (_take_the_tax_away, "wrong tax"),
        (_subscribe_twice, "subscribed twice"),
        (_revive, "disabled webhook is subscribed"),
    ],
)
def test_broken_books_are_noticed(harm: Callable[[Till], None], said: str) -> None:
    t = till()
    harm(t)
    assert any(said in line for line in violations(t.office))
