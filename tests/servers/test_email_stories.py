"""The mail server's part of a world's stories, as its tools show it."""

from __future__ import annotations

from typing import Any

import pytest

from provegym.servers.email.state import violations
from provegym.world.cast import Person, cast
from provegym.world.fields import money
from provegym.world.stories import stories
from tests.servers.email_desk import Desk, desk

SEEDS = range(12)


def _letter(d: Desk, sender: str, query: str) -> dict[str, Any]:
    """The one mail that a search for it brings up, in full."""
    (found,) = d.ok("search_emails", sender=sender, query=query)["emails"]
    shown: dict[str, Any] = d.ok("get_email", email_id=found["id"])
    return shown


def _says(d: Desk, person: Person, query: str, *values: str) -> None:
    """Whether the person's letter holds the values, arrived, and can be answered."""
    shown = _letter(d, person.email, query)
    text = f"{shown['subject']} {shown['body']}"
    assert all(value in text for value in values), (text, values)
    assert len(shown["body"].split()) < 60
    assert shown["folder"] == "Inbox"
    assert shown["sent_at"] < d.mail.cast.start.isoformat()
    thread = d.ok("get_email_thread", thread_id=shown["thread_id"])
    assert [e["sender"] for e in thread["emails"]] == [person.name]
    (entry,) = d.ok("search_mail_contacts", query=person.email)["contacts"]
    assert not entry["bounced"]
    reply = d.ok("reply_to_email", email_id=shown["id"], body="Thank you.")
    assert reply["to"] == [person.email]


@pytest.mark.parametrize("seed", SEEDS)
def test_everyone_in_a_story_has_written_and_can_be_answered(seed: int) -> None:
    d, told = desk(seed), stories(cast(seed))
    for bill in told.bills:
        _says(d, bill.payer, bill.work, f"${money(bill.amount)}", bill.due.isoformat())
    deal, sale = told.deal, told.sale
    _says(d, deal.contact, deal.title, f"${money(deal.amount)}", deal.closes.isoformat())
    _says(d, told.fault.reporter, told.fault.title)
    _says(d, sale.seller, sale.title, f"${money(sale.price)}")
    _says(d, told.paper.sender, told.paper.filename)
    assert list(violations(d.mail)) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_the_booked_flight_was_confirmed_and_the_paper_is_attached(seed: int) -> None:
    d, told = desk(seed), stories(cast(seed))
    trip, paper = told.trip, told.paper
    body = _letter(d, "flightdesk", trip.number)["body"]
    assert trip.departs.date().isoformat() in body
    assert f"departs at {trip.departs:%H:%M}" in body
    shown = _letter(d, paper.sender.email, paper.filename)
    assert [f["filename"] for f in shown["attachments"]] == [paper.filename]


def test_a_bill_of_a_story_is_found_by_its_work_and_amount_alone() -> None:
    for seed in SEEDS:
        d, told = desk(seed), stories(cast(seed))
        for bill in told.bills:
            assert d.ok("search_emails", query=f"{bill.work} {money(bill.amount)}")["total"] == 1
