"""What the tools answer: small records, amounts as decimal strings in US dollars."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from provegym.servers.crm.rules import next_stage
from provegym.servers.crm.state import (
    Activity,
    ActivityId,
    ActivityStatus,
    Company,
    CompanyId,
    Contact,
    ContactId,
    Crm,
    Deal,
    DealId,
    DealStatus,
    Lead,
    LeadId,
    LeadStatus,
    Need,
    Note,
    NoteId,
    Pipeline,
    PipelineId,
    Source,
    missing_needs,
)
from provegym.world.fields import Email, Money, Stamp, money


class LeadItem(Struct, frozen=True):
    """A lead in a list."""

    id: LeadId
    name: str
    company: str
    source: Source
    status: LeadStatus
    owner: str


class LeadPage(Struct, frozen=True):
    """A page of leads, newest first."""

    leads: list[LeadItem]
    total: int
    next_cursor: str


class ContactItem(Struct, frozen=True):
    """A contact in a list."""

    id: ContactId
    name: str
    email: Email
    company: str
    do_not_contact: bool


class ContactPage(Struct, frozen=True):
    """A page of contacts by name."""

    contacts: list[ContactItem]
    total: int
    next_cursor: str


class CompanyItem(Struct, frozen=True):
    """A company and how many deals are open with it."""

    id: CompanyId
    name: str
    industry: str
    city: str
    status: str
    open_deals: int


class CompanyPage(Struct, frozen=True):
    """A page of companies by name."""

    companies: list[CompanyItem]
    total: int
    next_cursor: str


class DealItem(Struct, frozen=True):
    """A deal in a list."""

    id: DealId
    title: str
    company: str
    stage: str
    status: DealStatus
    amount: Money


class DealPage(Struct, frozen=True):
    """A page of deals, largest first, and the sum of the amounts of all pages."""

    deals: list[DealItem]
    total_amount: Money
    total: int
    next_cursor: str


class CompanyName(Struct, frozen=True):
    """A company by its name."""

    id: CompanyId
    name: str


class ContactCard(Struct, frozen=True):
    """A contact and how to reach them."""

    id: ContactId
    name: str
    email: Email
    phone: str


class DealName(Struct, frozen=True):
    """A deal by its title."""

    id: DealId
    title: str
    stage: str


class DealDetail(Struct, frozen=True, omit_defaults=True):
    """Everything about one deal; `missing` is what the next stage still needs."""

    id: DealId
    title: str
    pipeline: str
    stage: str
    status: DealStatus
    owner: str
    company: CompanyName
    amount: Money
    contact: ContactCard | None = None
    expected_close_on: str = ""
    next_stage: str = ""
    missing: list[Need] = []
    lost_reason: str = ""
    planned_activities: int = 0
    notes: int = 0


class DealCard(Struct, frozen=True, omit_defaults=True):
    """A deal after a change."""

    id: DealId
    title: str
    company: str
    stage: str
    status: DealStatus
    amount: Money
    expected_close_on: str = ""
    contact: str = ""
    lost_reason: str = ""


class DealClosed(Struct, frozen=True):
    """A closed deal and how many planned activities were called off with it."""

    deal: DealCard
    cancelled_activities: int


class Conversion(Struct, frozen=True):
    """What a lead became, and how much of its history went along."""

    lead_id: LeadId
    contact: ContactCard
    company: CompanyName
    deal: DealName
    history_kept: int


class PipelineItem(Struct, frozen=True):
    """A pipeline: its stages in order, what is open in it and what that is worth."""

    id: PipelineId
    name: str
    stages: list[str]
    open_deals: int
    open_amount: Money
    weighted_amount: Money
    won_amount: Money


class PipelinePage(Struct, frozen=True):
    """A page of pipelines."""

    pipelines: list[PipelineItem]
    total: int
    next_cursor: str


class HistoryItem(Struct, frozen=True, omit_defaults=True):
    """An activity, or a note (which has no status). `at` is when it is due or was written."""

    kind: Literal["call", "meeting", "email", "task", "note"]
    subject: str
    at: Stamp
    person: str = ""
    deal: str = ""
    status: ActivityStatus | Literal[""] = ""
    outcome: str = ""
    activity_id: ActivityId = ""


class HistoryPage(Struct, frozen=True):
    """A page of history, latest first."""

    history: list[HistoryItem]
    total: int
    next_cursor: str


class ActivityCard(Struct, frozen=True, omit_defaults=True):
    """An activity after a change; `lead_status` if it was with a lead."""

    id: ActivityId
    kind: str
    subject: str
    due_at: str
    status: ActivityStatus
    person: str = ""
    deal: str = ""
    outcome: str = ""
    lead_status: LeadStatus | Literal[""] = ""


class NoteCard(Struct, frozen=True, omit_defaults=True):
    """A note as it was filed."""

    id: NoteId
    body: str
    person: str = ""
    deal: str = ""


def lead_item(crm: Crm, x: Lead) -> LeadItem:
    """A lead in a list."""
    return LeadItem(x.id, x.name, x.company, x.source, x.status, crm.reps[x.owner_id].name)


def contact_item(crm: Crm, c: Contact) -> ContactItem:
    """A contact in a list."""
    company = crm.companies[c.company_id].name
    return ContactItem(c.id, c.name, c.email, company, c.do_not_contact)


def company_item(crm: Crm, c: Company) -> CompanyItem:
    """A company in a list."""
    count = len(crm.deals.where(company_id=c.id, status="open"))
    return CompanyItem(c.id, c.name, c.industry, c.city, c.status, count)


def contact_card(c: Contact) -> ContactCard:
    """A contact and how to reach them."""
    return ContactCard(c.id, c.name, c.email, c.phone)


def deal_item(crm: Crm, d: Deal) -> DealItem:
    """A deal in a list."""
    company, stage = crm.companies[d.company_id].name, crm.stages[d.stage_id].name
    return DealItem(d.id, d.title, company, stage, d.status, money(d.amount))


def deal_card(crm: Crm, d: Deal) -> DealCard:
    """A deal after a change."""
    return DealCard(
        d.id,
        d.title,
        crm.companies[d.company_id].name,
        crm.stages[d.stage_id].name,
        d.status,
        money(d.amount),
        d.expected_close_on,
        crm.contacts[d.contact_id].name if d.contact_id else "",
        d.lost_reason,
    )


def deal_detail(crm: Crm, d: Deal) -> DealDetail:
    """Everything about one deal."""
    company, contact = crm.companies[d.company_id], crm.contacts.get(d.contact_id)
    upcoming = next_stage(crm, d) if d.status == "open" else None
    return DealDetail(
        id=d.id,
        title=d.title,
        pipeline=crm.pipelines[d.pipeline_id].name,
        stage=crm.stages[d.stage_id].name,
        status=d.status,
        owner=crm.reps[d.owner_id].name,
        company=CompanyName(company.id, company.name),
        contact=contact_card(contact) if contact else None,
        amount=money(d.amount),
        expected_close_on=d.expected_close_on,
        next_stage=upcoming.name if upcoming else "",
        missing=missing_needs(crm, d, upcoming) if upcoming else [],
        lost_reason=d.lost_reason,
        planned_activities=len(crm.activities.where(deal_id=d.id, status="planned")),
        notes=len(crm.notes.where(deal_id=d.id)),
    )


def pipeline_item(crm: Crm, p: Pipeline) -> PipelineItem:
    """A pipeline with the sums over its deals."""
    stages, deals = crm.stages_of(p.id), crm.deals.where(pipeline_id=p.id)
    chance = {s.id: s.probability for s in stages}
    live = [d for d in deals if d.status == "open"]
    return PipelineItem(
        id=p.id,
        name=p.name,
        stages=[s.name for s in stages],
        open_deals=len(live),
        open_amount=money(sum(d.amount for d in live)),
        weighted_amount=money(sum(d.amount * chance[d.stage_id] for d in live) // 100),
        won_amount=money(sum(d.amount for d in deals if d.status == "won")),
    )


def person_of(crm: Crm, row: Activity | Note) -> str:
    """Whom an activity or note is about: the contact, else the lead."""
    if row.contact_id:
        return crm.contacts[row.contact_id].name
    return crm.leads[row.lead_id].name if row.lead_id else ""


def _deal_title(crm: Crm, deal_id: str) -> str:
    return crm.deals[deal_id].title if deal_id else ""


def history_item(crm: Crm, row: Activity | Note) -> HistoryItem:
    """A line of history."""
    person, deal = person_of(crm, row), _deal_title(crm, row.deal_id)
    if isinstance(row, Note):
        return HistoryItem("note", row.body, row.written_at, person, deal)
    return HistoryItem(
        row.kind, row.subject, row.due_at, person, deal, row.status, row.outcome, row.id
    )


def activity_card(crm: Crm, a: Activity) -> ActivityCard:
    """An activity after a change."""
    person, deal = person_of(crm, a), _deal_title(crm, a.deal_id)
    status: LeadStatus | Literal[""] = crm.leads[a.lead_id].status if a.lead_id else ""
    return ActivityCard(
        a.id, a.kind, a.subject, a.due_at, a.status, person, deal, a.outcome, status
    )


def note_card(crm: Crm, n: Note) -> NoteCard:
    """A note as it was filed."""
    return NoteCard(n.id, n.body, person_of(crm, n), _deal_title(crm, n.deal_id))
