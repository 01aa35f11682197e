"""Tools that plan and complete activities, and write notes."""

from __future__ import annotations

from typing import NamedTuple

from provegym.servers.crm import samples
from provegym.servers.crm.rules import (
    clash,
    known_contact,
    known_deal,
    known_lead,
    my_lead,
    my_open_deal,
    require_not_converted,
    require_reachable,
    utc,
)
from provegym.servers.crm.state import (
    Activity,
    ActivityId,
    ActivityKind,
    ContactId,
    Crm,
    DealId,
    LeadId,
    Note,
    Outcome,
    status_after,
)
from provegym.servers.crm.views import ActivityCard, NoteCard, activity_card, note_card
from provegym.world.fields import Instant, Text
from provegym.world.tool import refuse, tool


class About(NamedTuple):
    """What an activity or a note is filed under."""

    lead_id: str = ""
    contact_id: str = ""
    deal_id: str = ""


def _require_one(*ids: str | None) -> None:
    if sum(i is not None for i in ids) != 1:
        refuse("one_subject", "give exactly one of deal_id, contact_id and lead_id")


@tool(
    "write",
    phrases=(
        'Schedule the {kind} "{subject}" at {due_at}[ for {deal_id}]'
        "[ with the contact {contact_id}][ with {lead_id}]",
        'Plan the {kind} "{subject}" for {due_at}[ on {deal_id}][ with the contact {contact_id}]'
        "[ with {lead_id}]",
        'Put the {kind} "{subject}" on my sales plan at {due_at}[ about {deal_id}]'
        "[ with contact {contact_id}][ with {lead_id}]",
    ),
    refuses=(
        "not_found",
        "not_your_deal",
        "deal_closed",
        "not_your_lead",
        "lead_already_converted",
        "do_not_contact",
        "past_time",
        "time_taken",
    ),
    sample=samples.schedule,
)
def schedule_sales_activity(
    crm: Crm,
    kind: ActivityKind,
    subject: Text,
    due_at: Instant,
    deal_id: DealId | None = None,
    contact_id: ContactId | None = None,
    lead_id: LeadId | None = None,
) -> ActivityCard:
    """Plan an activity of yours, with exactly one of a deal, a contact or a lead.

    Args:
        kind: A call or meeting takes half an hour of your time.
        subject: What it is about.
        due_at: Start, or when it is due; not in the past.
        deal_id: An open deal of yours.
        contact_id: A contact who may be contacted.
        lead_id: A lead of yours that is not converted.
    """
    _require_one(deal_id, contact_id, lead_id)
    start = utc(due_at)
    about = _subject_of(crm, kind, deal_id, contact_id, lead_id)
    if start < crm.now:
        refuse("past_time", f"{due_at} is over; it is {crm.stamp}", now=crm.stamp)
    other = clash(crm, kind, start)
    if other:
        text = f'your {other.kind} "{other.subject}" is planned at {other.due_at}'
        refuse("time_taken", text, activity_id=other.id, due_at=other.due_at)
    row = Activity(
        id=crm.activities.new_id(),
        kind=kind,
        subject=subject.strip(),
        due_at=start.isoformat(),
        owner_id=crm.me,
        status="planned",
        lead_id=about.lead_id,
        contact_id=about.contact_id,
        deal_id=about.deal_id,
    )
    return activity_card(crm, crm.activities.put(row))


def _subject_of(
    crm: Crm, kind: ActivityKind, deal_id: str | None, contact_id: str | None, lead_id: str | None
) -> About:
    """Where a new activity is filed; a task needs nobody's consent."""
    if lead_id is not None:
        lead = my_lead(crm, lead_id)
        require_not_converted(lead)
        return About(lead_id=lead.id)
    deal = my_open_deal(crm, deal_id) if deal_id is not None else None
    person = deal.contact_id if deal else known_contact(crm, contact_id or "").id
    if person and kind != "task":
        require_reachable(crm.contacts[person])
    return About(contact_id=person, deal_id=deal.id if deal else "")


@tool(
    "write",
    phrases=(
        'Complete {activity_id} with the outcome "{outcome}"[ and note "{note}"]',
        'Mark {activity_id} as done; the outcome was "{outcome}"[; note "{note}"]',
        'Log that {activity_id} ended in "{outcome}"[, with the note "{note}"]',
    ),
    refuses=("not_found", "not_your_activity", "activity_closed", "meeting_not_begun"),
    sample=samples.complete,
)
def complete_sales_activity(
    crm: Crm, activity_id: ActivityId, outcome: Outcome, note: Text | None = None
) -> ActivityCard:
    """Mark a planned activity of yours as done. "interested" qualifies its lead, "not interested"
    disqualifies it, anything else makes a new lead contacted.

    Args:
        activity_id: The activity.
        outcome: How it went.
        note: What to remember, filed with the lead, contact or deal.
    """
    activity = _my_planned(crm, activity_id)
    if activity.kind == "meeting" and utc(activity.due_at) > crm.now:
        text = f'the meeting "{activity.subject}" begins at {activity.due_at}'
        refuse("meeting_not_begun", text, begins_at=activity.due_at)
    done = crm.activities.update(activity, status="done", outcome=outcome, completed_at=crm.stamp)
    if activity.lead_id:
        lead = crm.leads[activity.lead_id]
        after = status_after(lead.status, outcome)
        if after != lead.status:
            crm.leads.update(lead, status=after)
    if note is not None:
        _write(crm, note, About(activity.lead_id, activity.contact_id, activity.deal_id))
    return activity_card(crm, done)


def _my_planned(crm: Crm, activity_id: str) -> Activity:
    activity = crm.activities.get(activity_id)
    if activity is None:
        text = f"there is no activity {activity_id[:40]!r}"
        refuse("not_found", text, activity_id=activity_id)
    if activity.owner_id != crm.me:
        owner = crm.reps[activity.owner_id].name
        refuse("not_your_activity", f'"{activity.subject}" belongs to {owner}', owner=owner)
    if activity.status != "planned":
        text = f'"{activity.subject}" is {activity.status} already'
        refuse("activity_closed", text, status=activity.status)
    return activity


def _write(crm: Crm, body: str, about: About) -> Note:
    row = Note(
        id=crm.notes.new_id(),
        body=body.strip(),
        author_id=crm.me,
        written_at=crm.stamp,
        lead_id=about.lead_id,
        contact_id=about.contact_id,
        deal_id=about.deal_id,
    )
    return crm.notes.put(row)


@tool(
    "write",
    phrases=(
        'Write the CRM note "{body}"[ on {deal_id}][ about the contact {contact_id}]'
        "[ about {lead_id}]",
        'Note down "{body}" in the CRM[ for {deal_id}][ for the contact {contact_id}]'
        "[ for {lead_id}]",
        'Add a sales note saying "{body}"[ to {deal_id}][ to the contact {contact_id}]'
        "[ to {lead_id}]",
    ),
    refuses=("not_found",),
    sample=samples.note,
)
def add_crm_note(
    crm: Crm,
    body: Text,
    deal_id: DealId | None = None,
    contact_id: ContactId | None = None,
    lead_id: LeadId | None = None,
) -> NoteCard:
    """Write a note on exactly one deal, contact or lead, whoever owns it.

    Args:
        body: What to remember.
        deal_id: The deal, open or closed.
        contact_id: The contact.
        lead_id: The lead.
    """
    _require_one(deal_id, contact_id, lead_id)
    if deal_id is not None:
        deal = known_deal(crm, deal_id)
        about = About(contact_id=deal.contact_id, deal_id=deal.id)
    elif contact_id is not None:
        about = About(contact_id=known_contact(crm, contact_id).id)
    else:
        lead = known_lead(crm, lead_id or "")
        about = About(lead.id, lead.contact_id, lead.deal_id)
    return note_card(crm, _write(crm, body, about))
