"""Tools that take in leads, convert them, and move deals along their pipelines."""

from __future__ import annotations

from typing import Literal

from provegym.servers.crm import samples
from provegym.servers.crm.rules import (
    known_company,
    known_pipeline,
    my_lead,
    my_open_deal,
    next_stage,
    positive,
    require_contact_of,
    require_in_business,
    require_new_title,
    require_not_converted,
    require_not_past,
)
from provegym.servers.crm.state import (
    Company,
    CompanyId,
    Contact,
    ContactId,
    Crm,
    Deal,
    DealId,
    Lead,
    LeadId,
    LostReason,
    PipelineId,
    Source,
    Stage,
    StageChange,
    missing_needs,
)
from provegym.servers.crm.views import (
    CompanyName,
    Conversion,
    DealCard,
    DealClosed,
    DealName,
    LeadItem,
    contact_card,
    deal_card,
    lead_item,
)
from provegym.world.fields import Date, Email, Money, Text
from provegym.world.tool import refuse, tool

# -- leads -------------------------------------------------------------------------------------


@tool(
    "write",
    phrases=(
        "Add {name} of {company} as a new lead from {source} with the e-mail address {email}"
        "[ and the phone number {phone}]",
        "Create a lead: {name} at {company}, {email}, source {source}[, phone {phone}]",
        "Enter {name} ({email}) from {company} as a sales lead; the source is {source}"
        "[; the phone number is {phone}]",
    ),
    refuses=("lead_exists", "contact_exists"),
    sample=samples.new_lead,
)
def create_lead(
    crm: Crm, name: Text, email: Email, company: Text, source: Source, phone: Text | None = None
) -> LeadItem:
    """Enter a new lead, which you then own.

    Args:
        name: Full name of the person.
        email: Address that no lead or contact has yet.
        company: Company they are with.
        source: How they came.
        phone: Phone number.
    """
    address = email.casefold()
    known = crm.leads.where(email=address)
    if known:
        text = f"{known[0].name} is a lead with {address} already"
        refuse("lead_exists", text, lead_id=known[0].id, status=known[0].status)
    _require_new_contact(crm, address)
    row = Lead(
        id=crm.leads.new_id(),
        name=name.strip(),
        email=address,
        phone=(phone or "").strip(),
        company=company.strip(),
        source=source,
        status="new",
        owner_id=crm.me,
        created_at=crm.stamp,
    )
    return lead_item(crm, crm.leads.put(row))


def _require_new_contact(crm: Crm, email: str) -> None:
    known = crm.contacts.where(email=email)
    if known:
        text = f"{known[0].name} is a contact with {email} already; create a deal for them"
        refuse("contact_exists", text, contact_id=known[0].id)


@tool(
    "write",
    phrases=(
        'Convert {lead_id} into a contact and a deal "{deal_title}" in {pipeline_id}'
        "[ worth {amount}]",
        'Turn {lead_id} into a customer with the deal "{deal_title}" in {pipeline_id}'
        "[ over {amount}]",
        'Promote {lead_id}: open the deal "{deal_title}" in {pipeline_id}[ for {amount}]',
    ),
    refuses=(
        "not_found",
        "not_your_lead",
        "lead_already_converted",
        "lead_not_qualified",
        "contact_exists",
        "company_on_hold",
        "duplicate_title",
    ),
    sample=samples.convert,
)
def convert_lead(
    crm: Crm,
    lead_id: LeadId,
    pipeline_id: PipelineId,
    deal_title: Text,
    amount: Money | None = None,
) -> Conversion:
    """Turn a qualified lead into one contact and one deal; its history goes along.

    Args:
        lead_id: A qualified lead of yours.
        pipeline_id: Pipeline in whose first stage the deal starts.
        deal_title: Title of the deal, new among open deals.
        amount: What the deal is worth, in US dollars.
    """
    value = positive(amount) if amount is not None else 0
    lead, pipeline = my_lead(crm, lead_id), known_pipeline(crm, pipeline_id)
    require_not_converted(lead)
    if lead.status != "qualified":
        text = f"{lead.name} is {lead.status}; only a qualified lead can be converted"
        refuse("lead_not_qualified", text, status=lead.status)
    _require_new_contact(crm, lead.email)
    require_new_title(crm, deal_title.strip())
    company = _company_called(crm, lead.company)
    contact = crm.contacts.put(
        Contact(
            crm.contacts.new_id(), company.id, lead.name, lead.email, lead.phone, lead_id=lead.id
        )
    )
    stage = crm.stages_of(pipeline.id)[0]
    deal = crm.deals.put(
        Deal(
            id=crm.deals.new_id(),
            title=deal_title.strip(),
            pipeline_id=pipeline.id,
            stage_id=stage.id,
            company_id=company.id,
            owner_id=crm.me,
            status="open",
            contact_id=contact.id,
            amount=value,
            lead_id=lead.id,
        )
    )
    crm.leads.update(lead, status="converted", contact_id=contact.id, deal_id=deal.id)
    kept = _hand_over(crm, lead, contact, deal)
    name = CompanyName(company.id, company.name)
    title = DealName(deal.id, deal.title, stage.name)
    return Conversion(lead.id, contact_card(contact), name, title, kept)


def _company_called(crm: Crm, name: str) -> Company:
    """The company of that name, made if there is none; one on hold is refused."""
    wanted = name.casefold()
    company = next((c for c in crm.companies if c.name.casefold() == wanted), None)
    if company is None:
        return crm.companies.put(Company(crm.companies.new_id(), name, "", "", "active"))
    require_in_business(company)
    return company


def _hand_over(crm: Crm, lead: Lead, contact: Contact, deal: Deal) -> int:
    """Let the lead's activities and notes be the contact's and the deal's too."""
    activities = crm.activities.where(lead_id=lead.id)
    notes = crm.notes.where(lead_id=lead.id)
    for activity in activities:
        crm.activities.update(activity, contact_id=contact.id, deal_id=deal.id)
    for note in notes:
        crm.notes.update(note, contact_id=contact.id, deal_id=deal.id)
    return len(activities) + len(notes)


# -- deals -------------------------------------------------------------------------------------


@tool(
    "write",
    phrases=(
        'Create the deal "{title}" with {company_id} in {pipeline_id}[ worth {amount}]'
        "[ with {contact_id} as the contact][, expected to close on {expected_close_on}]",
        'Open a new deal called "{title}" for {company_id} in {pipeline_id}[ over {amount}]'
        "[, contact {contact_id}][, expected close {expected_close_on}]",
        'Start a deal "{title}" in {pipeline_id} for the company {company_id}[; amount {amount}]'
        "[; contact {contact_id}][; closing on {expected_close_on}]",
    ),
    refuses=(
        "not_found",
        "company_on_hold",
        "contact_of_other_company",
        "duplicate_title",
        "date_in_past",
    ),
    sample=samples.new_deal,
)
def create_deal(
    crm: Crm,
    title: Text,
    company_id: CompanyId,
    pipeline_id: PipelineId,
    contact_id: ContactId | None = None,
    amount: Money | None = None,
    expected_close_on: Date | None = None,
) -> DealCard:
    """Open a deal that you own, in the first stage of a pipeline.

    Args:
        title: New among open deals.
        company_id: Company the deal is with, not one on hold.
        pipeline_id: The pipeline.
        contact_id: Contact at that company.
        amount: What it is worth, in US dollars.
        expected_close_on: When it should be decided, not in the past.
    """
    value = positive(amount) if amount is not None else 0
    company, pipeline = known_company(crm, company_id), known_pipeline(crm, pipeline_id)
    require_in_business(company)
    if contact_id is not None:
        require_contact_of(crm, contact_id, company)
    if expected_close_on is not None:
        require_not_past(crm, expected_close_on)
    require_new_title(crm, title.strip())
    row = Deal(
        id=crm.deals.new_id(),
        title=title.strip(),
        pipeline_id=pipeline.id,
        stage_id=crm.stages_of(pipeline.id)[0].id,
        company_id=company.id,
        owner_id=crm.me,
        status="open",
        contact_id=contact_id or "",
        amount=value,
        expected_close_on=expected_close_on or "",
    )
    return deal_card(crm, crm.deals.put(row))


@tool(
    "write",
    phrases=(
        "Update {deal_id}[: the amount is {amount}][: it should close on {expected_close_on}]"
        "[: the contact is {contact_id}]",
        "Change {deal_id}[ so that it is worth {amount}][ with the close date {expected_close_on}]"
        "[ with {contact_id} as its contact]",
        "Edit the facts of {deal_id}[, amount {amount}][, expected close {expected_close_on}]"
        "[, contact {contact_id}]",
    ),
    refuses=(
        "not_found",
        "not_your_deal",
        "deal_closed",
        "contact_of_other_company",
        "date_in_past",
        "no_change",
    ),
    sample=samples.update,
)
def update_deal(
    crm: Crm,
    deal_id: DealId,
    amount: Money | None = None,
    expected_close_on: Date | None = None,
    contact_id: ContactId | None = None,
) -> DealCard:
    """Set the amount, expected close date or contact of an open deal of yours.

    Args:
        deal_id: The deal.
        amount: What it is worth, in US dollars.
        expected_close_on: When it should be decided, not in the past.
        contact_id: Contact at the deal's company.
    """
    value = positive(amount) if amount is not None else None
    given: dict[str, object] = {"amount": value, "expected_close_on": expected_close_on}
    given["contact_id"] = contact_id
    if all(v is None for v in given.values()):
        refuse("nothing_given", "give an amount, an expected close date or a contact")
    deal = my_open_deal(crm, deal_id)
    if contact_id is not None:
        require_contact_of(crm, contact_id, crm.companies[deal.company_id])
    changed = {n: v for n, v in given.items() if v is not None and getattr(deal, n) != v}
    if not changed:
        refuse("no_change", f'the deal "{deal.title}" has these values already')
    if expected_close_on is not None and "expected_close_on" in changed:
        require_not_past(crm, expected_close_on)
    return deal_card(crm, crm.deals.update(deal, **changed))


@tool(
    "write",
    phrases=(
        'Move {deal_id} to the stage "{stage}"',
        'Put {deal_id} into the "{stage}" stage of its pipeline',
        'Set the stage of {deal_id} to "{stage}"',
    ),
    refuses=(
        "not_found",
        "not_your_deal",
        "deal_closed",
        "unknown_stage",
        "already_in_stage",
        "stage_skipped",
        "required_field_missing",
    ),
    sample=samples.move,
)
def move_deal_stage(crm: Crm, deal_id: DealId, stage: Text) -> DealCard:
    """Move an open deal of yours to its next stage, or back to any earlier one.

    Args:
        deal_id: The deal; it must have what the stage needs.
        stage: Name of a stage of the deal's pipeline, e.g. "Proposal".
    """
    deal = my_open_deal(crm, deal_id)
    target, now = _stage_called(crm, deal, stage), crm.stages[deal.stage_id]
    if target.id == now.id:
        refuse("already_in_stage", f'the deal "{deal.title}" is in {now.name} already')
    if target.position > now.position + 1:
        upcoming = next_stage(crm, deal)
        name = upcoming.name if upcoming else now.name
        refuse("stage_skipped", f"after {now.name} comes {name}, not {target.name}", next=name)
    missing = missing_needs(crm, deal, target)
    if missing:
        text = f"{target.name} needs {' and '.join(missing)}, which the deal lacks"
        refuse("required_field_missing", text, missing=list(missing))
    row = StageChange(crm.stage_changes.new_id(), deal.id, now.id, target.id, crm.stamp)
    crm.stage_changes.put(row)
    return deal_card(crm, crm.deals.update(deal, stage_id=target.id))


def _stage_called(crm: Crm, deal: Deal, name: str) -> Stage:
    stages = crm.stages_of(deal.pipeline_id)
    wanted = name.strip().casefold()
    found = next((s for s in stages if s.name.casefold() == wanted), None)
    if found is None:
        names = [s.name for s in stages]
        pipeline = crm.pipelines[deal.pipeline_id].name
        text = f"{pipeline} has no stage {name[:40]!r}; it has {', '.join(names)}"
        refuse("unknown_stage", text, stages=names)
    return found


@tool(
    "write",
    phrases=(
        "Close {deal_id} as {outcome}[ because of {lost_reason}]",
        "Mark {deal_id} as {outcome}[; the reason is {lost_reason}]",
        "Record that {deal_id} was {outcome}[, reason: {lost_reason}]",
    ),
    refuses=(
        "not_found",
        "not_your_deal",
        "deal_closed",
        "not_in_final_stage",
        "company_on_hold",
    ),
    sample=samples.close,
)
def close_deal(
    crm: Crm,
    deal_id: DealId,
    outcome: Literal["won", "lost"],
    lost_reason: LostReason | None = None,
) -> DealClosed:
    """Close an open deal of yours for good; what was planned for it is cancelled.

    Args:
        deal_id: The deal; to be won it must be in its last stage.
        outcome: How it ended.
        lost_reason: Why it was lost; needed with "lost" only.
    """
    if outcome == "lost" and lost_reason is None:
        refuse("reason_required", "a lost deal needs a lost_reason")
    if outcome == "won" and lost_reason is not None:
        refuse("reason_not_applicable", "a deal that was won has no lost_reason; leave it out")
    deal = my_open_deal(crm, deal_id)
    upcoming = next_stage(crm, deal)
    if outcome == "won" and upcoming is not None:
        text = f'the deal "{deal.title}" can be won in its last stage; {upcoming.name} comes next'
        refuse("not_in_final_stage", text, next=upcoming.name)
    if outcome == "won":
        require_in_business(crm.companies[deal.company_id])
    planned = crm.activities.where(deal_id=deal.id, status="planned")
    for activity in planned:
        crm.activities.update(activity, status="cancelled")
    closed = crm.deals.update(deal, status=outcome, lost_reason=lost_reason or "")
    return DealClosed(deal_card(crm, closed), len(planned))
