"""Plausible arguments for each tool, read off the rows of a session. An empty dict: none found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any, TypeVar, get_args

from provegym.servers.crm.rules import clash, next_stage
from provegym.servers.crm.state import (
    ActivityKind,
    Company,
    Contact,
    Crm,
    Deal,
    Lead,
    LostReason,
    Outcome,
    Source,
    missing_needs,
)
from provegym.servers.crm.words import NOTES, PRODUCTS, SUBJECTS, short_name
from provegym.world.fields import money
from provegym.world.table import Table

Arguments = dict[str, Any]
T = TypeVar("T")

SLIP = 0.05
"""How often a row is chosen without a look at its state."""


def _maybe(rnd: Random, **fields: Any) -> Arguments:
    """Each of the fields with a chance of 30 %."""
    return {name: value for name, value in fields.items() if rnd.random() < 0.3}


def _pick(rnd: Random, good: Sequence[T], every: Sequence[T]) -> T:
    """One of the good rows, now and then any row, as people forget whose deal is whose."""
    return rnd.choice(every if rnd.random() < SLIP or not good else good)


def _day(crm: Crm, days: int) -> str:
    return (crm.now + timedelta(days=days)).date().isoformat()


def _amount(rnd: Random) -> str:
    return money(500_00 * rnd.randrange(2, 120))


def _my_open_deals(crm: Crm) -> list[Deal]:
    return crm.deals.where(owner_id=crm.me, status="open")


def _title(crm: Crm, rnd: Random, company: str) -> str:
    """A title that no deal has, while there is one."""
    texts = [f"{short_name(company)} {product}" for product in PRODUCTS]
    free = [text for text in texts if not crm.deals.where(title=text)]
    return rnd.choice(free or texts)


def _in_business(crm: Crm, name: str) -> bool:
    rows = crm.companies.where(name=name)
    return not rows or rows[0].status == "active"


# -- finding -----------------------------------------------------------------------------------


def leads(crm: Crm, rnd: Random) -> Arguments:
    """A lead's name or company, or what it has in common with others."""
    lead = rnd.choice(list(crm.leads))
    if rnd.random() < 0.5:
        return {"query": rnd.choice((lead.name, lead.company))}
    mine = {"owner": "me"} if lead.owner_id == crm.me else {}
    return _maybe(rnd, status=lead.status, source=lead.source, **mine)


def contacts(crm: Crm, rnd: Random) -> Arguments:
    """A contact's name or company."""
    contact = rnd.choice(list(crm.contacts))
    if rnd.random() < 0.5:
        return {"query": contact.name}
    return _maybe(rnd, company_id=contact.company_id)


def companies(crm: Crm, rnd: Random) -> Arguments:
    """A company's name or what it is."""
    company = rnd.choice(list(crm.companies))
    if rnd.random() < 0.5:
        return {"query": company.name}
    more = {"industry": company.industry} if company.industry else {}
    return _maybe(rnd, status=company.status, **more)


def deals(crm: Crm, rnd: Random) -> Arguments:
    """Filters that one existing deal meets."""
    deal = rnd.choice(list(crm.deals))
    if rnd.random() < 0.4:
        return {"query": deal.title}
    more: Arguments = {
        "status": deal.status,
        "pipeline_id": deal.pipeline_id,
        "stage": crm.stages[deal.stage_id].name,
        "company_id": deal.company_id,
    }
    more |= {"owner": "me"} if deal.owner_id == crm.me else {}
    more |= {"min_amount": money(deal.amount // 1000_00 * 1000_00)} if deal.amount else {}
    names = rnd.sample(sorted(more), rnd.choice((1, 2, 2)))
    return {name: more[name] for name in names}


def any_deal(crm: Crm, rnd: Random) -> Arguments:
    """Any deal."""
    return {"deal_id": rnd.choice(list(crm.deals)).id}


def history(crm: Crm, rnd: Random) -> Arguments:
    """What one activity is about."""
    activity = rnd.choice(list(crm.activities))
    subjects = {
        "deal_id": activity.deal_id,
        "contact_id": activity.contact_id,
        "lead_id": activity.lead_id,
    }
    known = sorted(name for name, value in subjects.items() if value)
    picked = rnd.choice(known) if rnd.random() < 0.7 else ""
    about = {picked: subjects[picked]} if picked else {}
    return {**about, **_maybe(rnd, kind=activity.kind, status=activity.status)}


def pipelines(crm: Crm, rnd: Random) -> Arguments:
    """A pipeline's name, or none."""
    return _maybe(rnd, query=rnd.choice(list(crm.pipelines)).name)


# -- leads and deals ---------------------------------------------------------------------------


def new_lead(crm: Crm, rnd: Random) -> Arguments:
    """Somebody who is no lead and no contact yet."""
    known = {x.email for x in crm.leads} | {c.email for c in crm.contacts}
    known |= {r.email for r in crm.reps}
    free = [p for p in crm.cast.people if p.email not in known]
    person = _pick(rnd, free, crm.cast.people)
    return {
        "name": person.name,
        "email": person.email,
        "company": person.company,
        "source": rnd.choice(get_args(Source)),
        **_maybe(rnd, phone=person.phone),
    }


def convert(crm: Crm, rnd: Random) -> Arguments:
    """A qualified lead of the user's, who is not yet a contact, of a company in business."""
    good = [
        x
        for x in crm.leads.where(owner_id=crm.me, status="qualified")
        if not crm.contacts.where(email=x.email) and _in_business(crm, x.company)
    ]
    lead: Lead = _pick(rnd, good, list(crm.leads))
    return {
        "lead_id": lead.id,
        "pipeline_id": rnd.choice(list(crm.pipelines)).id,
        "deal_title": _title(crm, rnd, lead.company),
        **_maybe(rnd, amount=_amount(rnd)),
    }


def new_deal(crm: Crm, rnd: Random) -> Arguments:
    """A deal with an active company, perhaps with one of its people."""
    active: list[Company] = crm.companies.where(status="active")
    company = _pick(rnd, active, list(crm.companies))
    people: list[Contact] = crm.contacts.where(company_id=company.id)
    return {
        "title": _title(crm, rnd, company.name),
        "company_id": company.id,
        "pipeline_id": rnd.choice(list(crm.pipelines)).id,
        **(_maybe(rnd, contact_id=rnd.choice(people).id) if people else {}),
        **_maybe(rnd, amount=_amount(rnd), expected_close_on=_day(crm, rnd.randrange(10, 120))),
    }


def update(crm: Crm, rnd: Random) -> Arguments:
    """One or two facts of an open deal, most often such as are missing."""
    deal = _pick(rnd, _my_open_deals(crm), list(crm.deals))
    people = crm.contacts.where(company_id=deal.company_id)
    others = [c.id for c in people if c.id != deal.contact_id]
    terms: Arguments = {
        "amount": _amount(rnd),
        "expected_close_on": _day(crm, rnd.randrange(10, 150)),
    }
    terms |= {"contact_id": rnd.choice(others)} if others else {}
    picked = rnd.sample(sorted(terms), rnd.choice((1, 1, 2)))
    return {"deal_id": deal.id, **{name: terms[name] for name in picked}}


def move(crm: Crm, rnd: Random) -> Arguments:
    """The next stage of a deal that has what it needs, now and then an earlier one."""
    mine = _my_open_deals(crm)
    ready = [
        (deal, stage.name)
        for deal in mine
        if (stage := next_stage(crm, deal)) and not missing_needs(crm, deal, stage)
    ]
    back = [
        (deal, stage.name)
        for deal in mine
        for stage in crm.stages_of(deal.pipeline_id)[: crm.stages[deal.stage_id].position]
    ]
    every = [(d, s.name) for d in rnd.sample(mine, min(3, len(mine))) for s in crm.stages]
    good = back if back and rnd.random() < 0.15 else ready
    if not good and not every:
        return {}
    deal, stage_name = _pick(rnd, good or back, every)
    return {"deal_id": deal.id, "stage": stage_name}


def close(crm: Crm, rnd: Random) -> Arguments:
    """A deal in its last stage to win, or any to lose."""
    mine = _my_open_deals(crm)
    final = [d for d in mine if next_stage(crm, d) is None]
    good = [d for d in final if crm.companies[d.company_id].status == "active"]
    if final and rnd.random() < 0.6:
        return {"deal_id": _pick(rnd, good, final).id, "outcome": "won"}
    deal = _pick(rnd, mine, list(crm.deals))
    return {"deal_id": deal.id, "outcome": "lost", "lost_reason": rnd.choice(get_args(LostReason))}


# -- activities and notes ----------------------------------------------------------------------


def schedule(crm: Crm, rnd: Random) -> Arguments:
    """Something to do in the coming weeks with somebody who may be contacted."""
    kind: ActivityKind = rnd.choice(("call", "meeting", "email", "task"))
    start = crm.now.replace(minute=0) + timedelta(days=rnd.randrange(1, 25))
    free = [
        at
        for hour in range(8, 18)
        if not clash(crm, kind, at := start.replace(hour=hour, minute=rnd.choice((0, 30))))
    ]
    due = rnd.choice(free).isoformat() if free else start.isoformat()
    subject = rnd.choice(SUBJECTS[kind])
    return {"kind": kind, "subject": subject, "due_at": due, **_partner(crm, rnd)}


def _partner(crm: Crm, rnd: Random) -> Arguments:
    """A lead, a contact or a deal with which something can be planned."""
    silent = {c.id for c in crm.contacts if c.do_not_contact}
    what = rnd.choice(("lead_id", "contact_id", "deal_id", "deal_id"))
    if what == "lead_id":
        mine = [x.id for x in crm.leads.where(owner_id=crm.me) if x.status != "converted"]
        return {what: _pick(rnd, mine, [x.id for x in crm.leads])}
    if what == "contact_id":
        people = [c.id for c in crm.contacts]
        return {what: _pick(rnd, [c for c in people if c not in silent], people)}
    open_deals = [d.id for d in _my_open_deals(crm) if d.contact_id not in silent]
    return {what: _pick(rnd, open_deals, [d.id for d in crm.deals])}


def complete(crm: Crm, rnd: Random) -> Arguments:
    """A planned activity of the user's: any but a meeting to come."""
    mine = crm.activities.where(owner_id=crm.me, status="planned")
    now = crm.stamp
    good = [a.id for a in mine if a.kind != "meeting" or a.due_at <= now]
    weighted = ("interested", "interested", *get_args(Outcome))
    return {
        "activity_id": _pick(rnd, good, [a.id for a in crm.activities]),
        "outcome": rnd.choice(weighted),
        **_maybe(rnd, note=rnd.choice(NOTES)),
    }


def note(crm: Crm, rnd: Random) -> Arguments:
    """Something to remember about a deal, a contact or a lead."""
    what = rnd.choice(("deal_id", "contact_id", "lead_id"))
    tables: dict[str, Table[Any]]
    tables = {"deal_id": crm.deals, "contact_id": crm.contacts, "lead_id": crm.leads}
    return {"body": rnd.choice(NOTES), what: rnd.choice([row.id for row in tables[what]])}
