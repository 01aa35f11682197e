"""Each refusal of the CRM occurs in its worlds as seeded, or a few calls on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from provegym.servers.crm import SERVER
from provegym.servers.crm.rules import next_stage
from tests.servers.crm_desk import Desk, desk
from tests.servers.talk import declared

Scenario = Callable[[Desk], dict[str, Any]]
SCENARIOS: dict[tuple[str, str], Scenario] = {}
"""How each declared refusal of each tool comes about."""

LATER = "2027-03-01T10:00:00+00:00"


def _deal(d: Desk, **given: Any) -> dict[str, Any]:
    ids = {"company_id": d.company().id, "pipeline_id": d.pipeline().id}
    return {"title": "Something new", **ids, **given}


def _plan(**given: Any) -> dict[str, Any]:
    return {"kind": "task", "subject": "Offer", "due_at": LATER, **given}


def _lead(email: str) -> dict[str, Any]:
    return {"name": "Ada Lovelace", "email": email, "company": "Engine Works", "source": "event"}


def _conversion(d: Desk, lead_id: str, **given: Any) -> dict[str, Any]:
    ids = {"lead_id": lead_id, "pipeline_id": d.pipeline().id}
    return {**ids, "deal_title": "Something new", **given}


def _on_hold(d: Desk) -> str:
    return d.crm.companies.where(status="on hold")[0].id


def _stranded(d: Desk) -> str:
    """A qualified lead of a company on hold."""
    lead = d.new_lead(company=d.crm.companies[_on_hold(d)].name)
    d.talk("interested", lead_id=lead.id)
    return lead.id


def _twin(d: Desk) -> str:
    """A qualified lead who is a contact already."""
    rows = d.crm.leads.where(status="qualified", owner_id=d.crm.me)
    return next(x.id for x in rows if d.crm.contacts.where(email=x.email))


def _ready(d: Desk) -> str:
    lead = d.new_lead()
    d.talk("interested", lead_id=lead.id)
    return lead.id


def _final_on_hold(d: Desk) -> dict[str, Any]:
    deals = [d.crm.deals[x.id] for x in d.crm.deals.where(status="open", owner_id=d.crm.me)]
    deal = next(x for x in deals if next_stage(d.crm, x) is None and _held(d, x.company_id))
    return {"deal_id": deal.id, "outcome": "won"}


def _held(d: Desk, company_id: str) -> bool:
    return d.crm.companies[company_id].status == "on hold"


def _foreign_contact(d: Desk) -> str:
    return d.other_contact(d.company()).id


def _silent(d: Desk) -> dict[str, Any]:
    contact = d.crm.contacts.where(do_not_contact=True)[0]
    return _plan(kind="email", contact_id=contact.id)


def _busy(d: Desk) -> dict[str, Any]:
    call = _plan(kind="call", lead_id=d.new_lead().id)
    d.ok("schedule_sales_activity", **call)
    return call


def _activity(d: Desk, **equal: str) -> dict[str, Any]:
    rows = d.crm.activities.where(**equal)
    return {"activity_id": rows[0].id, "outcome": "interested"}


def _their_activity(d: Desk) -> dict[str, Any]:
    rows = d.crm.activities.where(status="planned")
    row = next(a for a in rows if a.owner_id != d.crm.me)
    return {"activity_id": row.id, "outcome": "interested"}


def _coming_meeting(d: Desk) -> dict[str, Any]:
    meeting = d.ok("schedule_sales_activity", **_plan(kind="meeting", lead_id=d.new_lead().id))
    return {"activity_id": meeting["id"], "outcome": "interested"}


def _dated(d: Desk) -> dict[str, Any]:
    deal = d.new_deal(amount="10.00")
    return {"deal_id": deal.id, "amount": "10.00"}


_OF_DEAL: dict[str, dict[str, Any]] = {
    "update_deal": {"amount": "77.00"},
    "move_deal_stage": {"stage": "Prospect"},
    "close_deal": {"outcome": "lost", "lost_reason": "price"},
    "schedule_sales_activity": _plan(),
}
for _tool, _more in _OF_DEAL.items():
    SCENARIOS[_tool, "not_found"] = lambda d, m=_more: {"deal_id": "dea_none", **m}  # type: ignore[misc]
    SCENARIOS[_tool, "not_your_deal"] = lambda d, m=_more: {"deal_id": d.theirs().id, **m}  # type: ignore[misc]
    SCENARIOS[_tool, "deal_closed"] = lambda d, m=_more: {"deal_id": d.mine("lost").id, **m}  # type: ignore[misc]

_UNKNOWN: dict[str, dict[str, Any]] = {
    "search_crm_contacts": {"company_id": "cmp_none"},
    "search_deals": {"pipeline_id": "pip_none"},
    "get_deal": {"deal_id": "dea_none"},
    "list_crm_history": {"lead_id": "led_none"},
    "complete_sales_activity": {"activity_id": "act_none", "outcome": "interested"},
    "add_crm_note": {"body": "Hm", "contact_id": "cnt_none"},
}
for _tool, _given in _UNKNOWN.items():
    SCENARIOS[_tool, "not_found"] = lambda d, g=_given: g  # type: ignore[misc]

SCENARIOS |= {
    ("create_lead", "lead_exists"): lambda d: _lead(d.lead("disqualified").email.upper()),
    ("create_lead", "contact_exists"): lambda d: _lead(
        next(c.email for c in d.crm.contacts if not d.crm.leads.where(email=c.email))
    ),
    ("convert_lead", "not_found"): lambda d: _conversion(d, "led_none"),
    ("convert_lead", "not_your_lead"): lambda d: _conversion(d, d.lead("qualified", own=False).id),
    ("convert_lead", "lead_already_converted"): lambda d: _conversion(d, d.lead("converted").id),
    ("convert_lead", "lead_not_qualified"): lambda d: _conversion(d, d.lead("new").id),
    ("convert_lead", "contact_exists"): lambda d: _conversion(d, _twin(d)),
    ("convert_lead", "company_on_hold"): lambda d: _conversion(d, _stranded(d)),
    ("convert_lead", "duplicate_title"): lambda d: _conversion(
        d, _ready(d), deal_title=d.mine().title.upper()
    ),
    ("create_deal", "not_found"): lambda d: _deal(d, pipeline_id="pip_none"),
    ("create_deal", "company_on_hold"): lambda d: _deal(d, company_id=_on_hold(d)),
    ("create_deal", "contact_of_other_company"): lambda d: _deal(d, contact_id=_foreign_contact(d)),
    ("create_deal", "duplicate_title"): lambda d: _deal(d, title=d.theirs().title),
    ("create_deal", "date_in_past"): lambda d: _deal(d, expected_close_on="2026-01-31"),
    ("update_deal", "contact_of_other_company"): lambda d: {
        "deal_id": d.new_deal().id, "contact_id": _foreign_contact(d)
    },
    ("update_deal", "date_in_past"): lambda d: {
        "deal_id": d.mine().id, "expected_close_on": "2026-01-31"
    },
    ("update_deal", "no_change"): _dated,
    ("move_deal_stage", "unknown_stage"): lambda d: {
        "deal_id": d.new_deal().id, "stage": "Quote Sent"
    },
    ("move_deal_stage", "already_in_stage"): lambda d: {
        "deal_id": d.new_deal().id, "stage": "prospect"
    },
    ("move_deal_stage", "stage_skipped"): lambda d: {
        "deal_id": d.new_deal().id, "stage": "Contract"
    },
    ("move_deal_stage", "required_field_missing"): lambda d: {
        "deal_id": d.new_deal().id, "stage": "Discovery"
    },
    ("close_deal", "not_in_final_stage"): lambda d: {"deal_id": d.new_deal().id, "outcome": "won"},
    ("close_deal", "company_on_hold"): _final_on_hold,
    ("schedule_sales_activity", "not_your_lead"): lambda d: _plan(
        lead_id=d.lead("qualified", own=False).id
    ),
    ("schedule_sales_activity", "lead_already_converted"): lambda d: _plan(
        lead_id=d.lead("converted").id
    ),
    ("schedule_sales_activity", "do_not_contact"): _silent,
    ("schedule_sales_activity", "past_time"): lambda d: _plan(
        due_at="2026-02-28T10:00:00+00:00", lead_id=d.lead("new").id
    ),
    ("schedule_sales_activity", "time_taken"): _busy,
    ("complete_sales_activity", "not_your_activity"): _their_activity,
    ("complete_sales_activity", "activity_closed"): lambda d: _activity(
        d, owner_id=d.crm.me, status="done"
    ),
    ("complete_sales_activity", "meeting_not_begun"): _coming_meeting,
}  # fmt: skip


@pytest.mark.parametrize(("tool", "code"), declared(SERVER, SCENARIOS))
@pytest.mark.parametrize("seed", [0, 11])
def test_each_declared_refusal_occurs(tool: str, code: str, seed: int) -> None:
    d = desk(seed)
    assert d.code(tool, **SCENARIOS[tool, code](d)) == code


def test_what_follows_from_the_arguments_alone_is_refused_too() -> None:
    d = desk()
    deal, lead = d.mine().id, d.lead("new").id
    assert d.code("update_deal", deal_id=deal) == "nothing_given"
    assert d.code("update_deal", deal_id=deal, amount="0.00") == "invalid_amount"
    assert d.code("close_deal", deal_id=deal, outcome="lost") == "reason_required"
    won = {"deal_id": deal, "outcome": "won", "lost_reason": "price"}
    assert d.code("close_deal", **won) == "reason_not_applicable"
    assert d.code("add_crm_note", body="Hm") == "one_subject"
    assert d.code("add_crm_note", body="Hm", deal_id=deal, lead_id=lead) == "one_subject"
    assert d.code("search_leads", cursor="x") == "invalid_cursor"


def test_a_task_needs_no_consent_of_the_contact() -> None:
    d = desk()
    d.ok("schedule_sales_activity", **{**_silent(d), "kind": "task"})
