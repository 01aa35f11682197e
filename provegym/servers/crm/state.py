"""The rows of a sales CRM, and what must always hold.

A deal goes along the stages of its pipeline, one forward at a time; each stage asks for fields
that the deal must have by then. A lead's status follows from how its completed activities went.
Amounts are integer US cents.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

from provegym.world.fields import DATE, Email, Instant, Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, Table, table

RepId = Annotated[str, Ref("crm.reps")]
CompanyId = Annotated[str, Ref("crm.companies")]
ContactId = Annotated[str, Ref("crm.contacts")]
LeadId = Annotated[str, Ref("crm.leads")]
PipelineId = Annotated[str, Ref("crm.pipelines")]
StageId = Annotated[str, Ref("crm.stages")]
DealId = Annotated[str, Ref("crm.deals")]
StageChangeId = Annotated[str, Ref("crm.stage_changes")]
ActivityId = Annotated[str, Ref("crm.activities")]
NoteId = Annotated[str, Ref("crm.notes")]
Day = Annotated[str, DATE]

Industry = Literal["software", "retail", "healthcare", "logistics", "finance", "education"]
Source = Literal["website", "referral", "event", "cold call", "partner"]
LeadStatus = Literal["new", "contacted", "qualified", "disqualified", "converted"]
DealStatus = Literal["open", "won", "lost"]
LostReason = Literal["price", "competitor", "timing", "no budget", "no response"]
ActivityKind = Literal["call", "meeting", "email", "task"]
ActivityStatus = Literal["planned", "done", "cancelled"]
Outcome = Literal["interested", "follow up", "no answer", "not interested"]
Need = Literal["contact", "amount", "expected close date", "completed activity"]
"""What a stage can ask of a deal."""

SLOT = timedelta(minutes=30)
"""A call or a meeting takes its owner's time from its start for so long."""
TIMED = frozenset(("call", "meeting"))


class Rep(Row, frozen=True):
    """Someone who sells; owns leads, deals and activities."""

    label: ClassVar[str] = "{name}"
    id: RepId
    name: str
    email: Email


class Company(Row, frozen=True):
    """A customer or prospect; with one on hold no business is done."""

    label: ClassVar[str] = "{name}"
    id: CompanyId
    name: str
    industry: Industry | Literal[""]
    city: str
    status: Literal["active", "on hold"]


class Contact(Row, frozen=True):
    """A person at a company; `lead_id` is the lead that became this contact."""

    label: ClassVar[str] = "{name}"
    id: ContactId
    company_id: CompanyId
    name: str
    email: Email
    phone: str
    do_not_contact: bool = False
    lead_id: LeadId = ""


class Lead(Row, frozen=True):
    """Someone who may buy. A converted lead keeps the contact and the deal that it became."""

    label: ClassVar[str] = "the lead {name}"
    id: LeadId
    name: str
    email: Email
    phone: str
    company: str
    source: Source
    status: LeadStatus
    owner_id: RepId
    created_at: Stamp
    contact_id: ContactId = ""
    deal_id: DealId = ""


class Pipeline(Row, frozen=True):
    """A way in which deals are won, as a row of stages."""

    label: ClassVar[str] = "the {name} pipeline"
    id: PipelineId
    name: str


class Stage(Row, frozen=True):
    """A stage of a pipeline; `needs` must be there before a deal enters it."""

    id: StageId
    pipeline_id: PipelineId
    name: str
    position: int
    probability: int
    """Chance of winning in percent."""
    needs: tuple[Need, ...]


class Deal(Row, frozen=True):
    """Business that may be won; 0 and "" stand for what is not known yet."""

    label: ClassVar[str] = 'the "{title}" deal'
    id: DealId
    title: str
    pipeline_id: PipelineId
    stage_id: StageId
    company_id: CompanyId
    owner_id: RepId
    status: DealStatus
    contact_id: ContactId = ""
    amount: int = 0
    expected_close_on: str = ""
    lost_reason: LostReason | Literal[""] = ""
    lead_id: LeadId = ""


class StageChange(Row, frozen=True):
    """A move of a deal; a deal enters its first stage with its creation."""

    id: StageChangeId
    deal_id: DealId
    from_stage_id: StageId
    to_stage_id: StageId
    changed_at: Stamp


class Activity(Row, frozen=True):
    """A call, meeting, e-mail or task with a lead or a contact, perhaps about a deal."""

    label: ClassVar[str] = 'the {kind} "{subject}"'
    id: ActivityId
    kind: ActivityKind
    subject: str
    due_at: Instant
    owner_id: RepId
    status: ActivityStatus
    lead_id: LeadId = ""
    contact_id: ContactId = ""
    deal_id: DealId = ""
    outcome: Outcome | Literal[""] = ""
    completed_at: Stamp = ""


class Note(Row, frozen=True):
    """What somebody wrote down about a lead, a contact or a deal."""

    id: NoteId
    body: str
    author_id: RepId
    written_at: Stamp
    lead_id: LeadId = ""
    contact_id: ContactId = ""
    deal_id: DealId = ""


class Crm(State):
    """One session's view of the CRM, seen by the sales rep who is asking."""

    server = "crm"
    reps = table(Rep, "rep")
    companies = table(Company, "cmp")
    contacts = table(Contact, "cnt")
    leads = table(Lead, "led")
    pipelines = table(Pipeline, "pip")
    stages = table(Stage, "stg")
    deals = table(Deal, "dea")
    stage_changes = table(StageChange, "stc")
    activities = table(Activity, "act")
    notes = table(Note, "nte")

    @cached_property
    def me(self) -> str:
        """The id of the rep who is asking."""
        return self.reps.where(email=self.cast.user.email)[0].id

    @property
    def today(self) -> str:
        """The session's date."""
        return self.now.date().isoformat()

    def stages_of(self, pipeline_id: str) -> list[Stage]:
        """The stages of a pipeline in order."""
        return sorted(self.stages.where(pipeline_id=pipeline_id), key=lambda s: s.position)


def status_after(status: LeadStatus, outcome: str) -> LeadStatus:
    """A lead's status after an activity with it ended in that way."""
    if status == "converted":
        return status
    if outcome == "interested":
        return "qualified"
    if outcome == "not interested":
        return "disqualified"
    return "contacted" if status == "new" else status


def missing_needs(crm: Crm, deal: Deal, stage: Stage) -> list[Need]:
    """What the stage asks for and the deal does not have."""
    have: dict[Need, bool] = {
        "contact": bool(deal.contact_id),
        "amount": deal.amount > 0,
        "expected close date": bool(deal.expected_close_on),
    }
    if "completed activity" in stage.needs:
        done = crm.activities.where(deal_id=deal.id, status="done")
        have["completed activity"] = bool(done)
    return [need for need in stage.needs if not have[need]]


def violations(crm: Crm) -> Iterator[str]:
    """Every broken invariant of the CRM, one sentence each."""
    dangling = list(_references(crm))
    yield from dangling
    if dangling:
        return  # the other checks follow these ids
    yield from _histories(crm)
    yield from _deals(crm)
    yield from _leads(crm)
    yield from _conversions(crm)
    yield from _activities(crm)
    yield from _unique(crm)


def _references(crm: Crm) -> Iterator[str]:
    """Foreign keys hold: an id that a row names is "" or that of a row."""
    tables: dict[str, Table[Any]] = {
        "owner_id": crm.reps,
        "author_id": crm.reps,
        "company_id": crm.companies,
        "contact_id": crm.contacts,
        "lead_id": crm.leads,
        "deal_id": crm.deals,
        "pipeline_id": crm.pipelines,
        "stage_id": crm.stages,
    }
    sources: tuple[Table[Any], ...] = (
        crm.contacts,
        crm.leads,
        crm.stages,
        crm.deals,
        crm.activities,
        crm.notes,
    )
    for source in sources:
        names = [n for n in source.template.row.__struct_fields__ if n in tables]
        for row in source:
            for name in names:
                value = getattr(row, name)
                if value and value not in tables[name]:
                    yield f"{row.id} names {name} {value}, which does not exist"


def _histories(crm: Crm) -> Iterator[str]:
    first = {s.pipeline_id: s.id for s in crm.stages if s.position == 0}
    at = {deal.id: first[deal.pipeline_id] for deal in crm.deals}
    for change in crm.stage_changes:
        source, target = crm.stages[change.from_stage_id], crm.stages[change.to_stage_id]
        if source.id != at[change.deal_id] or source.pipeline_id != target.pipeline_id:
            yield f"deal {change.deal_id} left stage {source.name} without being in it"
        if target.position > source.position + 1 or target.position == source.position:
            yield f"deal {change.deal_id} went from {source.name} to {target.name}"
        at[change.deal_id] = target.id
    for deal in crm.deals:
        if deal.stage_id != at[deal.id]:
            yield f"deal {deal.id} is in another stage than its history ends in"


def _deals(crm: Crm) -> Iterator[str]:
    for deal in crm.deals:
        stage = crm.stages[deal.stage_id]
        stages = crm.stages_of(deal.pipeline_id)
        for passed in stages[: stage.position + 1]:
            if missing_needs(crm, deal, passed):
                yield f"deal {deal.id} is in {stage.name} without what {passed.name} needs"
        if deal.status == "won" and stage.position != len(stages) - 1:
            yield f"deal {deal.id} was won in the stage {stage.name}"
        if (deal.status == "lost") != bool(deal.lost_reason):
            yield f"deal {deal.id} is {deal.status} with the reason {deal.lost_reason!r}"
        if deal.contact_id and crm.contacts[deal.contact_id].company_id != deal.company_id:
            yield f"deal {deal.id} has a contact of another company"
        if deal.status != "open" and crm.activities.where(deal_id=deal.id, status="planned"):
            yield f"deal {deal.id} is closed and has planned activities"


def _leads(crm: Crm) -> Iterator[str]:
    done: dict[str, list[Activity]] = defaultdict(list)
    for activity in crm.activities:
        if activity.lead_id and activity.status == "done":
            done[activity.lead_id].append(activity)
    for lead in crm.leads:
        status: LeadStatus = "new"
        for activity in sorted(done[lead.id], key=lambda a: a.completed_at):
            status = status_after(status, activity.outcome)
        if lead.status not in (status, "converted"):
            yield f"lead {lead.id} is {lead.status}, its activities make it {status}"


def _conversions(crm: Crm) -> Iterator[str]:
    contacts = Counter(c.lead_id for c in crm.contacts)
    deals = Counter(d.lead_id for d in crm.deals)
    for lead in crm.leads:
        wanted = int(lead.status == "converted")
        if (contacts[lead.id], deals[lead.id]) != (wanted, wanted):
            yield f"lead {lead.id} is {lead.status} with {contacts[lead.id]} contacts"
        elif wanted:
            contact, deal = crm.contacts[lead.contact_id], crm.deals[lead.deal_id]
            if contact.lead_id != lead.id or deal.lead_id != lead.id:
                yield f"lead {lead.id} names a contact or a deal that came from elsewhere"
            rows: list[Activity | Note] = [*crm.activities.where(lead_id=lead.id)]
            rows += crm.notes.where(lead_id=lead.id)
            for row in rows:
                if (row.contact_id, row.deal_id) != (contact.id, deal.id):
                    yield f"{row.id} of lead {lead.id} was lost in its conversion"


def _activities(crm: Crm) -> Iterator[str]:
    times: dict[str, list[datetime]] = defaultdict(list)
    for activity in crm.activities:
        if (activity.status == "done") != bool(activity.outcome and activity.completed_at):
            yield f"activity {activity.id} is {activity.status} with {activity.outcome!r}"
        if not (activity.lead_id or activity.contact_id or activity.deal_id):
            yield f"activity {activity.id} is about nothing"
        if activity.status == "planned" and activity.kind in TIMED:
            times[activity.owner_id].append(datetime.fromisoformat(activity.due_at))
    for owner, starts in times.items():
        starts.sort()
        if any(b - a < SLOT for a, b in pairwise(starts)):
            yield f"rep {owner} has two calls or meetings at one time"


def _unique(crm: Crm) -> Iterator[str]:
    open_leads = [x.email for x in crm.leads if x.status not in ("converted", "disqualified")]
    open_deals = [d.title.casefold() for d in crm.deals if d.status == "open"]
    for what, values in (
        ("company name", [c.name.casefold() for c in crm.companies]),
        ("contact's e-mail address", [c.email for c in crm.contacts]),
        ("open lead's e-mail address", open_leads),
        ("open deal's title", open_deals),
    ):
        if len(set(values)) < len(values):
            yield f"the same {what} occurs twice"
