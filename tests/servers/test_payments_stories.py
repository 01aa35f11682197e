"""The billing office's part of a world's stories, as its tools show it."""

from __future__ import annotations

from typing import Any

import pytest

from provegym.servers.payments.state import violations
from provegym.world.cast import cast
from provegym.world.fields import money
from provegym.world.stories import Bill, stories
from tests.servers.payments_office import Till, till

SEEDS = range(12)


def _shown(t: Till, bill: Bill) -> tuple[dict[str, Any], dict[str, Any]]:
    """The payer and the invoice, the way an agent finds them."""
    (payer,) = t.ok("search_billing_customers", query=bill.payer.email)["customers"]
    (invoice,) = t.ok("list_invoices", customer_id=payer["id"], query=bill.work)["invoices"]
    return payer, invoice


@pytest.mark.parametrize("seed", SEEDS)
def test_each_bill_of_the_stories_is_an_open_invoice_over_exactly_its_amount(seed: int) -> None:
    t = till(seed)
    for bill in stories(cast(seed)).bills:
        payer, invoice = _shown(t, bill)
        assert (payer["name"], payer["status"]) == (bill.payer.name, "active")
        assert (invoice["total"], invoice["due"]) == (money(bill.amount), money(bill.amount))
        assert (invoice["due_on"], invoice["status"]) == (bill.due.isoformat(), "open")
        assert t.ok("list_customer_cards", customer_id=payer["id"])["cards"]
    assert list(violations(t.office)) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_each_webhook_that_listens_was_told_of_a_storys_invoice_on_its_day(seed: int) -> None:
    t = till(seed)
    for bill in stories(cast(seed)).bills:
        events = t.ok("list_webhook_events", invoice_id=_shown(t, bill)[1]["id"])["events"]
        assert sorted((e["url"].rsplit("/")[-1], e["event_type"]) for e in events) == [
            ("accounting", "invoice.created"),
            ("accounting", "invoice.finalized"),
            ("warehouse", "invoice.finalized"),
        ]
        assert {e["date"] for e in events} == {bill.sent.date().isoformat()}
