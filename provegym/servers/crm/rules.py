"""What the tools look up and check before they write, and the writes that several tools share."""

from __future__ import annotations

from datetime import UTC, datetime

from provegym.servers.crm.state import (
    SLOT,
    TIMED,
    Activity,
    Company,
    Contact,
    Crm,
    Deal,
    Lead,
    Pipeline,
    Stage,
)
from provegym.world.fields import cents
from provegym.world.tool import refuse


def positive(amount: str) -> int:
    """The cents of an amount; refused with `invalid_amount` unless it is above 0."""
    value = cents(amount)
    if value <= 0:
        refuse("invalid_amount", f"an amount is above 0.00, not {amount}")
    return value


# -- look-ups ----------------------------------------------------------------------------------


def known_lead(crm: Crm, lead_id: str) -> Lead:
    """The lead; refused with `not_found`."""
    lead = crm.leads.get(lead_id)
    if lead is None:
        refuse("not_found", f"there is no lead {lead_id[:40]!r}", lead_id=lead_id)
    return lead


def known_contact(crm: Crm, contact_id: str) -> Contact:
    """The contact; refused with `not_found`."""
    contact = crm.contacts.get(contact_id)
    if contact is None:
        refuse("not_found", f"there is no contact {contact_id[:40]!r}", contact_id=contact_id)
    return contact


def known_company(crm: Crm, company_id: str) -> Company:
    """The company; refused with `not_found`."""
    company = crm.companies.get(company_id)
    if company is None:
        refuse("not_found", f"there is no company {company_id[:40]!r}", company_id=company_id)
    return company


def known_pipeline(crm: Crm, pipeline_id: str) -> Pipeline:
    """The pipeline; refused with `not_found`."""
    pipeline = crm.pipelines.get(pipeline_id)
    if pipeline is None:
        refuse("not_found", f"there is no pipeline {pipeline_id[:40]!r}", pipeline_id=pipeline_id)
    return pipeline


def known_deal(crm: Crm, deal_id: str) -> Deal:
    """The deal; refused with `not_found`."""
    deal = crm.deals.get(deal_id)
    if deal is None:
        refuse("not_found", f"there is no deal {deal_id[:40]!r}", deal_id=deal_id)
    return deal


# -- what may be changed -----------------------------------------------------------------------


def my_lead(crm: Crm, lead_id: str) -> Lead:
    """A lead that the asking rep owns; another's is refused with `not_your_lead`."""
    lead = known_lead(crm, lead_id)
    if lead.owner_id != crm.me:
        owner = crm.reps[lead.owner_id].name
        refuse("not_your_lead", f"the lead {lead.name} belongs to {owner}", owner=owner)
    return lead


def my_open_deal(crm: Crm, deal_id: str) -> Deal:
    """An open deal of the asking rep; else `not_your_deal` or `deal_closed`."""
    deal = known_deal(crm, deal_id)
    if deal.owner_id != crm.me:
        owner = crm.reps[deal.owner_id].name
        refuse("not_your_deal", f'the deal "{deal.title}" belongs to {owner}', owner=owner)
    if deal.status != "open":
        text = f'the deal "{deal.title}" was {deal.status} and can no longer change'
        refuse("deal_closed", text, status=deal.status)
    return deal


def require_not_converted(lead: Lead) -> None:
    """Refuse with `lead_already_converted`."""
    if lead.status == "converted":
        text = f"{lead.name} was converted; use the contact and the deal"
        refuse("lead_already_converted", text, contact_id=lead.contact_id, deal_id=lead.deal_id)


def require_in_business(company: Company) -> None:
    """Refuse with `company_on_hold`."""
    if company.status == "on hold":
        refuse("company_on_hold", f"{company.name} is on hold; no business is done with it")


def require_new_title(crm: Crm, title: str) -> None:
    """Refuse the title of another open deal."""
    wanted = title.casefold()
    twin = next((d for d in crm.deals.where(status="open") if d.title.casefold() == wanted), None)
    if twin:
        refuse("duplicate_title", f"there is an open deal {twin.title!r}", deal_id=twin.id)


def require_not_past(crm: Crm, day: str) -> None:
    """Refuse a day before the session's date with `date_in_past`."""
    if day < crm.today:
        refuse("date_in_past", f"{day} is over; today is {crm.today}", today=crm.today)


def require_contact_of(crm: Crm, contact_id: str, company: Company) -> Contact:
    """A contact at the company; else `contact_of_other_company`."""
    contact = known_contact(crm, contact_id)
    if contact.company_id != company.id:
        other = crm.companies[contact.company_id].name
        text = f"{contact.name} is at {other}, not at {company.name}"
        refuse("contact_of_other_company", text, company=other)
    return contact


def require_reachable(contact: Contact) -> None:
    """Refuse with `do_not_contact`."""
    if contact.do_not_contact:
        refuse("do_not_contact", f"{contact.name} has asked not to be contacted")


# -- stages and time ---------------------------------------------------------------------------


def next_stage(crm: Crm, deal: Deal) -> Stage | None:
    """The stage after the deal's, None at the end."""
    stages = crm.stages_of(deal.pipeline_id)
    place = crm.stages[deal.stage_id].position + 1
    return stages[place] if place < len(stages) else None


def clash(crm: Crm, kind: str, start: datetime) -> Activity | None:
    """A planned call or meeting of the asking rep that the new one would run into."""
    if kind not in TIMED:
        return None
    mine = crm.activities.where(owner_id=crm.me, status="planned")
    return next(
        (
            a
            for a in mine
            if a.kind in TIMED and abs(datetime.fromisoformat(a.due_at) - start) < SLOT
        ),
        None,
    )


def utc(instant: str) -> datetime:
    """An instant in UTC."""
    return datetime.fromisoformat(instant).astimezone(UTC)
