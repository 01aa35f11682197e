"""Tools that find leads, contacts, companies, deals, pipelines and their history."""

from __future__ import annotations

from typing import Literal

from provegym.servers.crm import samples
from provegym.servers.crm.rules import (
    known_company,
    known_contact,
    known_deal,
    known_lead,
    known_pipeline,
)
from provegym.servers.crm.state import (
    Activity,
    ActivityStatus,
    CompanyId,
    ContactId,
    Crm,
    Deal,
    DealId,
    DealStatus,
    Industry,
    LeadId,
    LeadStatus,
    Note,
    PipelineId,
    Source,
)
from provegym.servers.crm.views import (
    CompanyPage,
    ContactPage,
    DealDetail,
    DealPage,
    HistoryPage,
    LeadPage,
    PipelinePage,
    company_item,
    contact_item,
    deal_detail,
    deal_item,
    history_item,
    lead_item,
    pipeline_item,
)
from provegym.world.fields import Limit, Money, cents, money
from provegym.world.page import page
from provegym.world.tool import tool

Owner = Literal["me", "anyone"]


@tool(
    "read",
    phrases=(
        'Search the[ {status}] leads[ for "{query}"][ that came from {source}][, owned by {owner}]',
        'Find[ {status}] sales leads[ matching "{query}"][ with the source {source}]'
        "[ that belong to {owner}]",
        "List[ {status}] leads in the CRM[ called {query}][ from {source}][ owned by {owner}]",
    ),
    sample=samples.leads,
)
def search_leads(
    crm: Crm,
    query: str = "",
    status: LeadStatus | None = None,
    source: Source | None = None,
    owner: Owner = "anyone",
    limit: Limit = 5,
    cursor: str = "",
) -> LeadPage:
    """Search leads, newest first.

    Args:
        query: Part of the lead's name, company or e-mail address.
        status: Only this status.
        source: Only leads that came this way.
        owner: Whose leads.
        limit: Leads per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    found = [
        x
        for x in (crm.leads.where(owner_id=crm.me) if owner == "me" else crm.leads)
        if (status is None or x.status == status)
        and (source is None or x.source == source)
        and words in f"{x.name} {x.company} {x.email}".casefold()
    ]
    found.sort(key=lambda x: x.created_at, reverse=True)
    rows, total, after = page(found, limit, cursor)
    return LeadPage([lead_item(crm, x) for x in rows], total, after)


@tool(
    "read",
    phrases=(
        'Find the CRM contacts[ called "{query}"][ at {company_id}]',
        "Look up contacts in the CRM[ by the name {query}][ who work for {company_id}]",
        "List our customer contacts[ matching {query}][ at the company {company_id}]",
    ),
    refuses=("not_found",),
    sample=samples.contacts,
)
def search_crm_contacts(
    crm: Crm,
    query: str = "",
    company_id: CompanyId | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> ContactPage:
    """Search contacts at companies, by name.

    Args:
        query: Part of the contact's name or e-mail address.
        company_id: Only contacts at this company.
        limit: Contacts per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    if company_id is None:
        pool = list(crm.contacts)
    else:
        pool = crm.contacts.where(company_id=known_company(crm, company_id).id)
    found = [c for c in pool if words in f"{c.name} {c.email}".casefold()]
    found.sort(key=lambda c: c.name)
    rows, total, after = page(found, limit, cursor)
    return ContactPage([contact_item(crm, c) for c in rows], total, after)


@tool(
    "read",
    phrases=(
        'List the companies in the CRM[ called "{query}"][ in the {industry} industry]'
        "[ that are {status}]",
        "Show our customer companies[ named {query}][ from {industry}][ with the status {status}]",
        "Look through the CRM's companies[ for {query}][ of the industry {industry}]"
        "[ that are {status}]",
    ),
    sample=samples.companies,
)
def list_crm_companies(
    crm: Crm,
    query: str = "",
    industry: Industry | None = None,
    status: Literal["active", "on hold"] | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> CompanyPage:
    """List companies by name with how many deals are open. One on hold gets no new business.

    Args:
        query: Part of the company's name or its city.
        industry: Only this industry.
        status: Only companies in this state.
        limit: Companies per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    found = [
        c
        for c in crm.companies
        if words in f"{c.name} {c.city}".casefold()
        and (industry is None or c.industry == industry)
        and (status is None or c.status == status)
    ]
    found.sort(key=lambda c: c.name)
    rows, total, after = page(found, limit, cursor)
    return CompanyPage([company_item(crm, c) for c in rows], total, after)


@tool(
    "read",
    phrases=(
        'Search the[ {status}] deals[ for "{query}"][ in {pipeline_id}][ at the stage "{stage}"]'
        "[ with {company_id}][ worth at least {min_amount}][, owned by {owner}]",
        'Find[ {status}] deals[ titled "{query}"][ of {pipeline_id}][ that are in "{stage}"]'
        "[ with the company {company_id}][ of {min_amount} or more][ belonging to {owner}]",
        "List the[ {status}] sales deals[ matching {query}][ from {pipeline_id}][ in stage {stage}]"
        "[ for {company_id}][ from {min_amount} up][ owned by {owner}]",
    ),
    refuses=("not_found",),
    sample=samples.deals,
)
def search_deals(
    crm: Crm,
    query: str = "",
    status: DealStatus | None = None,
    pipeline_id: PipelineId | None = None,
    stage: str = "",
    company_id: CompanyId | None = None,
    min_amount: Money | None = None,
    owner: Owner = "anyone",
    limit: Limit = 5,
    cursor: str = "",
) -> DealPage:
    """Search deals, largest first, with the sum of their amounts.

    Args:
        query: Part of the deal's title.
        status: Only this status.
        pipeline_id: Only deals in this pipeline.
        stage: Only deals in the stage of this name, e.g. "Proposal".
        company_id: Only deals with this company.
        min_amount: Only deals worth at least this, in US dollars.
        owner: Whose deals.
        limit: Deals per page.
        cursor: next_cursor of the page before.
    """
    words, least = query.casefold(), cents(min_amount) if min_amount is not None else 0
    wanted = stage.casefold()
    stages = {s.id for s in crm.stages if s.name.casefold() == wanted} if stage else None
    found = [
        d
        for d in _candidates(crm, pipeline_id, company_id)
        if words in d.title.casefold()
        and (status is None or d.status == status)
        and (stages is None or d.stage_id in stages)
        and d.amount >= least
        and (owner == "anyone" or d.owner_id == crm.me)
    ]
    found.sort(key=lambda d: d.amount, reverse=True)
    rows, total, after = page(found, limit, cursor)
    amount = money(sum(d.amount for d in found))
    return DealPage([deal_item(crm, d) for d in rows], amount, total, after)


def _candidates(crm: Crm, pipeline_id: str | None, company_id: str | None) -> list[Deal]:
    pipeline = None if pipeline_id is None else known_pipeline(crm, pipeline_id).id
    if company_id is None:
        return list(crm.deals) if pipeline is None else crm.deals.where(pipeline_id=pipeline)
    found = crm.deals.where(company_id=known_company(crm, company_id).id)
    return [d for d in found if pipeline is None or d.pipeline_id == pipeline]


@tool(
    "read",
    phrases=(
        "Open {deal_id} and show everything about it",
        "Show the details of {deal_id} and what its next stage needs",
        "Give me the full picture of {deal_id}",
    ),
    refuses=("not_found",),
    sample=samples.any_deal,
)
def get_deal(crm: Crm, deal_id: DealId) -> DealDetail:
    """Show one deal: company, contact, amount, stage, and what is missing for the next stage.

    Args:
        deal_id: The deal.
    """
    return deal_detail(crm, known_deal(crm, deal_id))


@tool(
    "read",
    phrases=(
        "Show the sales history[ of {deal_id}][ with {contact_id}][ of {lead_id}][: each {kind}]"
        "[, {status} ones only]",
        "List the activities and notes in the CRM[ on {deal_id}][ with {contact_id}]"
        "[ about {lead_id}][ of the kind {kind}][ that are {status}]",
        "Look up what was done or noted[ on {deal_id}][ with {contact_id}][ with {lead_id}]"
        "[, looking at each {kind}][ with the status {status}]",
    ),
    refuses=("not_found",),
    sample=samples.history,
)
def list_crm_history(
    crm: Crm,
    deal_id: DealId | None = None,
    contact_id: ContactId | None = None,
    lead_id: LeadId | None = None,
    kind: Literal["call", "meeting", "email", "task", "note"] | None = None,
    status: ActivityStatus | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> HistoryPage:
    """List activities and notes, latest first: of a deal, contact or lead, else your own.

    Args:
        deal_id: Only about this deal.
        contact_id: Only about this contact.
        lead_id: Only about this lead.
        kind: Only this kind.
        status: Only activities in this state, no notes.
        limit: Entries per page.
        cursor: next_cursor of the page before.
    """
    wanted = _subjects(crm, deal_id, contact_id, lead_id)
    activities = crm.activities.where(**(wanted or {"owner_id": crm.me}))
    notes = [] if status else crm.notes.where(**(wanted or {"author_id": crm.me}))
    if kind is not None:
        activities = [a for a in activities if a.kind == kind]
        notes = notes if kind == "note" else []
    if status is not None:
        activities = [a for a in activities if a.status == status]
    found: list[Activity | Note] = [*activities, *notes]
    found.sort(key=lambda x: x.due_at if isinstance(x, Activity) else x.written_at, reverse=True)
    rows, total, after = page(found, limit, cursor)
    return HistoryPage([history_item(crm, row) for row in rows], total, after)


def _subjects(
    crm: Crm, deal_id: str | None, contact_id: str | None, lead_id: str | None
) -> dict[str, str]:
    """The ids that were given, each of a row."""
    given: dict[str, str] = {}
    if deal_id is not None:
        given["deal_id"] = known_deal(crm, deal_id).id
    if contact_id is not None:
        given["contact_id"] = known_contact(crm, contact_id).id
    if lead_id is not None:
        given["lead_id"] = known_lead(crm, lead_id).id
    return given


@tool(
    "read",
    phrases=(
        'Show the sales pipelines[ called "{query}"] with their stages and totals',
        "List our pipelines[ named {query}] and what the open deals in them are worth",
        "Report on the sales pipelines[ matching {query}]: stages, open deals, weighted value",
    ),
    sample=samples.pipelines,
)
def list_sales_pipelines(
    crm: Crm, query: str = "", limit: Limit = 5, cursor: str = ""
) -> PipelinePage:
    """List pipelines: stages in order, open deals, their amount, weighted by chance, and won.

    Args:
        query: Part of the pipeline's name.
        limit: Pipelines per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    found = [p for p in crm.pipelines if words in p.name.casefold()]
    rows, total, after = page(found, limit, cursor)
    return PipelinePage([pipeline_item(crm, p) for p in rows], total, after)
