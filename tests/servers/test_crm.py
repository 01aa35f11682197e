"""The CRM: conversion, stages and what they need, activities, and how natural its worlds are."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from provegym.servers.crm.state import Crm, violations
from provegym.world.fields import cents, money
from tests.servers.crm_desk import Desk, desk
from tests.servers.talk import agree

# -- leads -------------------------------------------------------------------------------------


def test_the_outcome_of_an_activity_moves_its_lead_on() -> None:
    d = desk()
    lead = d.new_lead()
    for outcome, status in (
        ("no answer", "contacted"),
        ("interested", "qualified"),
        ("follow up", "qualified"),
        ("not interested", "disqualified"),
        ("interested", "qualified"),
    ):
        assert d.talk(outcome, lead_id=lead.id)["lead_status"] == status
        assert d.crm.leads[lead.id].status == status


def test_converting_a_lead_makes_one_contact_one_deal_and_keeps_its_history() -> None:
    d = desk()
    lead = d.new_lead()
    d.talk("interested", lead_id=lead.id)
    d.ok("add_crm_note", body="Wants a demo", lead_id=lead.id)
    sizes = [len(t) for t in (d.crm.contacts, d.crm.deals, d.crm.companies)]
    ids = {"lead_id": lead.id, "pipeline_id": d.pipeline().id}
    got = d.ok("convert_lead", **ids, deal_title="Engine order", amount="1200.00")
    assert [len(t) for t in (d.crm.contacts, d.crm.deals, d.crm.companies)] == [
        size + 1 for size in sizes
    ]
    contact, deal = d.crm.contacts[got["contact"]["id"]], d.crm.deals[got["deal"]["id"]]
    assert (contact.email, contact.lead_id) == (lead.email, lead.id)
    assert (deal.amount, deal.contact_id, deal.lead_id) == (120000, contact.id, lead.id)
    assert got["deal"]["stage"] == "Prospect"
    assert d.crm.companies[deal.company_id].name == "Engine Works"
    assert got["history_kept"] == 2
    for about in ({"deal_id": deal.id}, {"contact_id": contact.id}, {"lead_id": lead.id}):
        assert d.ok("list_crm_history", **about)["total"] == 2
    error = d.refused("convert_lead", **ids, deal_title="Again")
    assert error["code"] == "lead_already_converted"
    assert error["details"] == {"contact_id": contact.id, "deal_id": deal.id}


def test_a_lead_of_a_known_company_joins_it() -> None:
    d = desk()
    company = d.company()
    lead = d.new_lead(company=company.name.upper())
    d.talk("interested", lead_id=lead.id)
    ids = {"lead_id": lead.id, "pipeline_id": d.pipeline("Renewals").id}
    got = d.ok("convert_lead", **ids, deal_title="Engine renewal")
    assert got["company"] == {"id": company.id, "name": company.name}
    assert got["deal"]["stage"] == "Upcoming"


# -- stages ------------------------------------------------------------------------------------


def test_a_deal_goes_stage_by_stage_as_it_gets_what_each_stage_needs() -> None:
    d = desk()
    deal = d.new_deal()
    for stage, missing, fact in (
        ("Discovery", "contact", {"contact_id": d.contact(d.company()).id}),
        ("Proposal", "amount", {"amount": "5000.00"}),
        ("Negotiation", "expected close date", {"expected_close_on": "2027-06-30"}),
    ):
        shown = d.ok("get_deal", deal_id=deal.id)
        assert (shown["next_stage"], shown["missing"]) == (stage, [missing])
        error = d.refused("move_deal_stage", deal_id=deal.id, stage=stage)
        assert (error["code"], error["details"]["missing"]) == ("required_field_missing", [missing])
        d.ok("update_deal", deal_id=deal.id, **fact)
        assert d.ok("move_deal_stage", deal_id=deal.id, stage=stage.upper())["stage"] == stage
    assert d.code("move_deal_stage", deal_id=deal.id, stage="Contract") == "required_field_missing"
    assert d.code("close_deal", deal_id=deal.id, outcome="won") == "not_in_final_stage"
    d.talk("interested", deal_id=deal.id)
    d.ok("move_deal_stage", deal_id=deal.id, stage="Contract")
    assert d.ok("close_deal", deal_id=deal.id, outcome="won")["deal"]["status"] == "won"
    moves = d.crm.stage_changes.where(deal_id=deal.id)
    names = [d.crm.stages[m.to_stage_id].name for m in moves]
    assert names == ["Discovery", "Proposal", "Negotiation", "Contract"]


def test_a_deal_goes_back_to_any_earlier_stage_and_forward_to_the_next_only() -> None:
    d = desk()
    facts = {"amount": "900.00", "contact_id": d.contact(d.company()).id}
    deal = d.new_deal(**facts)
    error = d.refused("move_deal_stage", deal_id=deal.id, stage="Proposal")
    assert (error["code"], error["details"]["next"]) == ("stage_skipped", "Discovery")
    d.ok("move_deal_stage", deal_id=deal.id, stage="Discovery")
    d.ok("move_deal_stage", deal_id=deal.id, stage="Proposal")
    d.ok("move_deal_stage", deal_id=deal.id, stage="Prospect")


def test_closing_a_deal_cancels_what_was_planned_for_it() -> None:
    d = desk()
    deal = d.new_deal()
    given = {"kind": "task", "subject": "Write offer", "due_at": "2027-03-01T10:00:00+00:00"}
    task = d.ok("schedule_sales_activity", **given, deal_id=deal.id)
    got = d.ok("close_deal", deal_id=deal.id, outcome="lost", lost_reason="price")
    assert got["cancelled_activities"] == 1
    assert d.crm.activities[task["id"]].status == "cancelled"
    assert d.code("update_deal", deal_id=deal.id, amount="1.00") == "deal_closed"


def test_a_pipelines_value_is_weighted_by_the_chance_of_each_stage() -> None:
    d = desk()
    deal = d.new_deal(amount="1000.00", contact_id=d.contact(d.company()).id)

    def values() -> tuple[int, int]:
        (shown,) = d.ok("list_sales_pipelines", query="New Business")["pipelines"]
        return cents(shown["open_amount"]), cents(shown["weighted_amount"])

    before = values()
    d.ok("move_deal_stage", deal_id=deal.id, stage="Discovery")
    total, weighted = values()
    assert total == before[0]
    # from 10 % to 25 % of 1,000.00; each sum is cut to whole cents
    assert abs(weighted - before[1] - 15000) <= 1


# -- activities --------------------------------------------------------------------------------


def test_a_call_and_a_meeting_do_not_overlap_but_a_task_may() -> None:
    d = desk()
    lead = d.new_lead()
    plan = {"subject": "First", "lead_id": lead.id}
    d.ok("schedule_sales_activity", kind="call", due_at="2027-03-01T10:00:00+00:00", **plan)
    near = "2027-03-01T11:29:00+01:00"  # 10:29 UTC
    assert d.code("schedule_sales_activity", kind="meeting", due_at=near, **plan) == "time_taken"
    d.ok("schedule_sales_activity", kind="task", due_at=near, **plan)
    after = "2027-03-01T10:30:00+00:00"
    d.ok("schedule_sales_activity", kind="meeting", due_at=after, **plan)


def test_a_note_of_a_completed_activity_is_filed_with_it() -> None:
    d = desk()
    deal = d.new_deal(contact_id=d.contact(d.company()).id)
    given = {"kind": "call", "subject": "Ask", "due_at": "2027-03-01T10:00:00+00:00"}
    call = d.ok("schedule_sales_activity", **given, deal_id=deal.id)
    done = {"activity_id": call["id"], "outcome": "follow up"}
    d.ok("complete_sales_activity", **done, note="Call again in May")
    listed = d.ok("list_crm_history", deal_id=deal.id, kind="note")["history"]
    assert [entry["subject"] for entry in listed] == ["Call again in May"]
    assert d.code("complete_sales_activity", **done) == "activity_closed"


# -- looking up --------------------------------------------------------------------------------


def test_a_search_for_deals_sums_what_it_finds() -> None:
    d = desk()
    for pipeline in d.crm.pipelines:
        rows = d.crm.deals.where(pipeline_id=pipeline.id, status="open")
        rows = [r for r in rows if r.amount >= 20_000_00]
        query = {"pipeline_id": pipeline.id, "status": "open", "min_amount": "20000.00"}
        got = d.ok("search_deals", **query, limit=50)
        assert {x["id"] for x in got["deals"]} == {r.id for r in rows}
        assert got["total_amount"] == money(sum(r.amount for r in rows))
    mine = d.ok("search_deals", owner="me", limit=50)
    assert mine["total"] == len(d.crm.deals.where(owner_id=d.crm.me))


def test_searches_find_people_and_companies_by_name() -> None:
    d = desk()
    for contact in d.crm.contacts:
        found = d.ok("search_crm_contacts", query=contact.name.lower())["contacts"]
        assert contact.id in {c["id"] for c in found}
    for lead in d.crm.leads:
        assert d.ok("search_leads", query=lead.email, status=lead.status)["total"] == 1
    for company in d.crm.companies:
        (shown,) = d.ok("list_crm_companies", query=company.name)["companies"]
        count = len(d.crm.deals.where(company_id=company.id, status="open"))
        assert shown["open_deals"] == count


# -- the whole ---------------------------------------------------------------------------------


def test_the_rows_of_a_seeded_world_have_distinct_names() -> None:
    for seed in range(20):
        crm = desk(seed).crm
        for names in (
            [deal.title for deal in crm.deals],
            [contact.name for contact in crm.contacts],
            [lead.name for lead in crm.leads],
        ):
            assert len(set(names)) == len(names)


def test_independent_writes_in_either_order_give_the_same_changes() -> None:
    def calls(d: Desk) -> list[tuple[str, dict[str, object]]]:
        company, pipeline = d.company().id, d.pipeline().id
        deal = {"company_id": company, "pipeline_id": pipeline}
        person = {"name": "Ada Lovelace", "email": "ada@engines.example"}
        return [
            ("create_deal", {**deal, "title": "One of two"}),
            ("create_deal", {**deal, "title": "Two of two"}),
            ("create_lead", {**person, "company": "Engine Works", "source": "event"}),
            ("add_crm_note", {"body": "Good news", "deal_id": d.mine().id}),
            ("close_deal", {"deal_id": d.mine().id, "outcome": "lost", "lost_reason": "price"}),
        ]

    one, two = desk(), desk()
    agree(one, calls(one), two, calls(two))


# -- the invariants themselves -----------------------------------------------------------------


def _skip_a_stage(crm: Crm) -> None:
    stages = crm.stages_of(crm.pipelines.where(name="New Business")[0].id)
    deal = crm.deals.where(stage_id=stages[0].id)[0]
    crm.deals.update(deal, stage_id=stages[2].id)


def _orphan(crm: Crm) -> None:
    crm.companies.delete(next(iter(crm.contacts)).company_id)


def _two_contacts(crm: Crm) -> None:
    lead = crm.leads.where(status="converted")[0]
    contact = crm.contacts[lead.contact_id]
    crm.contacts.put(msgspec.structs.replace(contact, id="cnt_twin", email="twin@twin.example"))


def _lose_history(crm: Crm) -> None:
    lead = crm.leads.where(status="converted")[0]
    crm.activities.update(crm.activities.where(lead_id=lead.id)[0], deal_id="")


def _promote(crm: Crm) -> None:
    crm.leads.update(crm.leads.where(status="new")[0], status="qualified")


def _double_book(crm: Crm) -> None:
    planned = crm.activities.where(status="planned", kind="call")[0]
    crm.activities.put(msgspec.structs.replace(planned, id="act_twin"))


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (_skip_a_stage, "is in another stage than its history ends in"),
        (_orphan, "which does not exist"),
        (_two_contacts, "with 2 contacts"),
        (_lose_history, "was lost in its conversion"),
        (_promote, "its activities make it new"),
        (_double_book, "two calls or meetings at one time"),
    ],
)
def test_broken_records_are_noticed(harm: Callable[[Crm], None], said: str) -> None:
    d = desk()
    harm(d.crm)
    assert any(said in line for line in violations(d.crm))
