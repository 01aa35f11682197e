"""What the CRM has of the world's stories, as its tools show it."""

from __future__ import annotations

import pytest

from provegym.world.fields import money
from provegym.world.stories import stories
from tests.servers.crm_desk import desk

SEEDS = range(6)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_deal_is_open_with_its_contact_amount_and_closing_day(seed: int) -> None:
    d = desk(seed)
    told = stories(d.crm.cast).deal
    found = d.ok("search_deals", query=told.title, status="open", owner="me")["deals"]
    assert [deal["title"] for deal in found] == [told.title]
    shown = d.ok("get_deal", deal_id=found[0]["id"])
    assert shown["company"]["name"] == told.contact.company
    assert shown["amount"] == money(told.amount)
    assert shown["expected_close_on"] == told.closes.isoformat()
    assert shown["contact"]["email"] == told.contact.email
    people = d.ok("search_crm_contacts", query=told.contact.email)["contacts"]
    assert [person["id"] for person in people] == [shown["contact"]["id"]]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_note_of_the_user_says_what_the_contact_wrote_about_the_deal(seed: int) -> None:
    d = desk(seed)
    told = stories(d.crm.cast).deal
    (deal,) = d.ok("search_deals", query=told.title)["deals"]
    (note,) = d.ok("list_crm_history", deal_id=deal["id"], kind="note")["history"]
    assert note["person"] == told.contact.name
    assert f"${money(told.amount)}" in note["subject"]
    assert told.closes.isoformat() in note["subject"]
    assert note["at"] > told.written.isoformat()
