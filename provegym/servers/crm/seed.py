"""The CRM at the start of an episode: a small sales team with its leads and deals."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from random import Random
from typing import get_args

from msgspec.structs import replace

from provegym.servers.crm.state import (
    Activity,
    ActivityKind,
    Company,
    Contact,
    Deal,
    DealStatus,
    Industry,
    Lead,
    LeadStatus,
    LostReason,
    Need,
    Note,
    Outcome,
    Pipeline,
    Rep,
    Source,
    Stage,
    StageChange,
)
from provegym.servers.crm.words import NOTES, PIPELINES, PRODUCTS, SUBJECTS, short_name
from provegym.world.cast import Cast, Person
from provegym.world.fields import money
from provegym.world.server import Seeds
from provegym.world.stories import stories

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_SHIFTS = range(0, 30, 5)
REPS = 4
"""Colleagues of the user."""
KNOWN_COMPANIES = 11
CONTACTS_EACH = 2
DEALS = 46
LEADS: tuple[LeadStatus, ...] = (
    *("converted", "converted", "converted", "qualified", "qualified", "new", "contacted"),
    *("qualified", "qualified", "disqualified", "new", "contacted", "qualified", "contacted"),
    *("new", "disqualified", "new", "contacted", "disqualified"),
)
"""Statuses of the leads; every third lead is a colleague's."""
PHASES = ("", " phase two", " phase three", " phase four")
FINAL_ON_HOLD = 0
"""Which deal is ready to be won with a company on hold."""


class Desk:
    """Collects rows while the world is made."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd, self.start = cast, rnd, cast.start
        self._used: set[str] = set()
        self._subjects: set[str] = set()
        self._slots: Counter[tuple[str, bool]] = Counter()
        own = cast.user.company
        colleagues = [p for p in cast.others if p.company == own][:REPS]
        strangers = [p for p in cast.others if p.company != own]
        missing = REPS - len(colleagues)
        team = (cast.user, *colleagues, *strangers[:missing])
        self.people = strangers[missing:]
        self.reps = [Rep(self.id("rep"), p.name, p.email) for p in team]
        self.me = self.reps[0].id
        self.companies = self._companies()
        self.pipelines: list[Pipeline] = []
        self.stages: dict[str, list[Stage]] = {}
        self.contacts: list[Contact] = []
        self.leads: list[Lead] = []
        self.deals: list[Deal] = []
        self.changes: list[StageChange] = []
        self.activities: list[Activity] = []
        self.notes: list[Note] = []
        self.titles: set[str] = set()

    def id(self, prefix: str) -> str:
        """A fresh id."""
        while True:
            n = self.rnd.getrandbits(30)
            new = f"{prefix}_{''.join([ALPHABET[n >> shift & 31] for shift in _SHIFTS])}"
            if new not in self._used:
                self._used.add(new)
                return new

    def _companies(self) -> dict[str, Company]:
        """Known companies by name; the user's own is none of them."""
        rnd = self.rnd
        names = [c for c in self.cast.companies if c != self.cast.user.company]
        cities = sorted({p.city for p in self.cast.people})
        industries: tuple[Industry, ...] = get_args(Industry)
        rows = [
            Company(self.id("cmp"), name, rnd.choice(industries), rnd.choice(cities), "active")
            for name in names[:KNOWN_COMPANIES]
        ]
        return {row.name: row for row in rows}

    def day(self, days: int) -> str:
        """The date that many days from the start."""
        return (self.start + timedelta(days=days)).date().isoformat()

    def ago(self, days: float) -> str:
        """A moment that many days before the start, at some minute of working hours."""
        rnd = self.rnd
        at = self.start - timedelta(days=days)
        return at.replace(hour=rnd.randrange(8, 17), minute=rnd.randrange(60)).isoformat()

    def slot(self, owner: str, *, overdue: bool) -> str:
        """A time that the owner has free: in the coming days, or among the past ones."""
        count = self._slots[owner, overdue]
        self._slots[owner, overdue] += 1
        days = -1 - count // 4 if overdue else 1 + count // 4
        at = (self.start + timedelta(days=days)).replace(hour=9 + 2 * (count % 4))
        return at.isoformat()

    def subject(self, person: str) -> tuple[ActivityKind, str]:
        """A kind of activity and a subject that no other one has."""
        rnd = self.rnd
        while True:
            kind: ActivityKind = rnd.choice(("call", "call", "meeting", "email", "task"))
            text = f"{rnd.choice(SUBJECTS[kind])} with {person}"
            if kind in ("email", "task"):
                text = text.replace(" with ", " for ")
            if text not in self._subjects or rnd.random() < 0.05:
                self._subjects.add(text)
                return kind, text

    def owner(self, place: int) -> str:
        """The user, and for every third row a colleague."""
        return self.rnd.choice(self.reps[1:]).id if place % 3 == 2 else self.me

    def rows(self) -> Seeds:
        """All tables."""
        return {
            "reps": self.reps,
            "companies": self.companies.values(),
            "contacts": self.contacts,
            "leads": self.leads,
            "pipelines": self.pipelines,
            "stages": [s for stages in self.stages.values() for s in stages],
            "deals": self.deals,
            "stage_changes": self.changes,
            "activities": self.activities,
            "notes": self.notes,
        }


def seed(cast: Cast, rnd: Random) -> Seeds:
    """Rows of every table for one world."""
    desk = Desk(cast, rnd)
    _pipelines(desk)
    strangers = _contacts(desk)
    _leads(desk, strangers)
    _hold(desk)
    _deals(desk)
    _notes(desk)
    _told(desk)
    return desk.rows()


def _pipelines(desk: Desk) -> None:
    for name, stages in PIPELINES:
        row = Pipeline(desk.id("pip"), name)
        desk.pipelines.append(row)
        desk.stages[row.id] = [
            Stage(desk.id("stg"), row.id, stage, place, chance, needs)
            for place, (stage, chance, needs) in enumerate(stages)
        ]


def _contacts(desk: Desk) -> list[Person]:
    """Some people of each known company; gives all others."""
    each: Counter[str] = Counter()
    rest = []
    for person in desk.people:
        each[person.company] += 1
        company = desk.companies.get(person.company)
        if company and each[person.company] <= CONTACTS_EACH:
            desk.contacts.append(_contact(desk, person, company))
        else:
            rest.append(person)
    for place in desk.rnd.sample(range(len(desk.contacts)), 3):
        desk.contacts[place] = replace(desk.contacts[place], do_not_contact=True)
    return rest


def _contact(desk: Desk, p: Person, company: Company, lead_id: str = "") -> Contact:
    return Contact(desk.id("cnt"), company.id, p.name, p.email, p.phone, lead_id=lead_id)


def _leads(desk: Desk, strangers: list[Person]) -> None:
    """Leads of all statuses; those of unknown companies come last, so are not converted.

    One is the second entry of somebody who is a contact already.
    """
    people = sorted(strangers[: len(LEADS)], key=lambda p: p.company not in desk.companies)
    for place, person in enumerate(people):
        status = LEADS[place]
        if status == "converted" and person.company not in desk.companies:
            status = "qualified"
        _lead(desk, person, status, desk.owner(place))
    known = {c.email: c for c in desk.contacts}
    twin = next(p for p in desk.people if p.email in known and not known[p.email].lead_id)
    _lead(desk, twin, "qualified", desk.me)


def _lead(desk: Desk, person: Person, status: LeadStatus, owner: str) -> None:
    rnd = desk.rnd
    sources: tuple[Source, ...] = get_args(Source)
    row = Lead(
        id=desk.id("led"),
        name=person.name,
        email=person.email,
        phone=person.phone,
        company=person.company,
        source=rnd.choice(sources),
        status=status,
        owner_id=owner,
        created_at=desk.ago(rnd.randrange(60, 100)),
    )
    if status == "converted":
        company = desk.companies[person.company]
        contact = _contact(desk, person, company, row.id)
        desk.contacts.append(contact)
        deal = _deal(desk, company, contact, "open", owner, 0, lead_id=row.id)
        row = replace(row, contact_id=contact.id, deal_id=deal.id)
    desk.leads.append(row)
    for days, outcome in _talks(rnd, status):
        _done(desk, row, days, outcome)
    if status in ("new", "contacted", "qualified"):
        _planned(desk, row, overdue=rnd.random() < 0.5)
    if rnd.random() < 0.6:
        _note(desk, row)


def _talks(rnd: Random, status: LeadStatus) -> list[tuple[int, Outcome]]:
    """How activities with a lead went, and how many days ago, so that its status follows."""
    first, last = rnd.randrange(30, 60), rnd.randrange(3, 25)
    if status == "new":
        return []
    if status == "contacted":
        return [(last, rnd.choice(("no answer", "follow up")))]
    end: Outcome = "not interested" if status == "disqualified" else "interested"
    return [(first, "follow up"), (last, end)] if rnd.random() < 0.5 else [(last, end)]


def _person_of(desk: Desk, about: Lead | Deal) -> str:
    """Who an activity is with: the lead, the deal's contact, else the company."""
    if isinstance(about, Lead):
        return about.name
    names = {c.id: c.name for c in desk.contacts}
    companies = {c.id: c.name for c in desk.companies.values()}
    return names.get(about.contact_id) or companies[about.company_id]


def _links(about: Lead | Deal) -> tuple[str, str, str]:
    """(lead, contact, deal) that a row about it names."""
    if isinstance(about, Lead):
        return about.id, about.contact_id, about.deal_id
    return "", about.contact_id, about.id


def _done(desk: Desk, about: Lead | Deal, days: int, outcome: Outcome) -> None:
    kind, subject = desk.subject(_person_of(desk, about))
    lead_id, contact_id, deal_id = _links(about)
    due = desk.ago(days)
    row = Activity(
        id=desk.id("act"),
        kind=kind,
        subject=subject,
        due_at=due,
        owner_id=about.owner_id,
        status="done",
        lead_id=lead_id,
        contact_id=contact_id,
        deal_id=deal_id,
        outcome=outcome,
        completed_at=due,
    )
    desk.activities.append(row)


def _planned(desk: Desk, about: Lead | Deal, *, overdue: bool) -> None:
    kind, subject = desk.subject(_person_of(desk, about))
    lead_id, contact_id, deal_id = _links(about)
    owner = about.owner_id
    due = desk.slot(owner, overdue=overdue)
    row = Activity(
        desk.id("act"), kind, subject, due, owner, "planned", lead_id, contact_id, deal_id
    )
    desk.activities.append(row)


def _hold(desk: Desk) -> None:
    """Two companies are on hold; with one of them a qualified lead of the user is."""
    waiting = [x.company for x in desk.leads if x.status == "qualified" and x.owner_id == desk.me]
    wanted = [c for c in dict.fromkeys(waiting) if c in desk.companies][:1]
    others = [c for c in desk.companies if c not in waiting]
    for name in (wanted + others)[:2]:
        desk.companies[name] = replace(desk.companies[name], status="on hold")


def _deals(desk: Desk) -> None:
    """Deals in all pipelines, open and closed; the first one is about to be won."""
    rnd = desk.rnd
    known = list(desk.companies.values())
    for place in range(DEALS):
        company = rnd.choice(known)
        if place == FINAL_ON_HOLD:
            company = next(c for c in known if c.status == "on hold")
        status: DealStatus = rnd.choice(("open",) * 7 + ("won", "lost", "lost"))
        if place < 4:
            status = "open"
        contacts = [c for c in desk.contacts if c.company_id == company.id]
        contact = rnd.choice(contacts) if contacts else None
        _deal(desk, company, contact, status, desk.owner(place), place)


def _deal(
    desk: Desk,
    company: Company,
    contact: Contact | None,
    status: DealStatus,
    owner: str,
    place: int,
    lead_id: str = "",
) -> Deal:
    """A deal with what its stage needs, perhaps more, and the way it went there."""
    rnd = desk.rnd
    pipeline = desk.pipelines[rnd.choice((0, 0, 0, 1, 1, 2))]
    stages = desk.stages[pipeline.id]
    last = len(stages) - 1
    at = 0 if lead_id else last if status == "won" or place < 2 else rnd.randrange(last + 1)
    if contact is None:
        at, status = 0, "open" if status == "won" else status
    needs = {need for stage in stages[: at + 1] for need in stage.needs}
    reasons: tuple[LostReason, ...] = get_args(LostReason)
    closes = _close_day(desk, status)
    row = Deal(
        id=desk.id("dea"),
        title=_title(desk, company),
        pipeline_id=pipeline.id,
        stage_id=stages[at].id,
        company_id=company.id,
        owner_id=owner,
        status=status,
        contact_id=contact.id if contact and _has(rnd, needs, "contact", lead_id) else "",
        amount=500_00 * rnd.randrange(2, 180) if _has(rnd, needs, "amount") else 0,
        expected_close_on=closes if _has(rnd, needs, "expected close date") else "",
        lost_reason=rnd.choice(reasons) if status == "lost" else "",
        lead_id=lead_id,
    )
    desk.deals.append(row)
    _moves(desk, row, stages, at)
    if not lead_id:
        _talk(desk, row, certain="completed activity" in needs)
    return row


def _moves(desk: Desk, deal: Deal, stages: list[Stage], at: int) -> None:
    """The way of a deal to the stage in which it is."""
    for i in range(at):
        moved = desk.ago(90 - 80 * (i + 1) / (at + 1))
        desk.changes.append(
            StageChange(desk.id("stc"), deal.id, stages[i].id, stages[i + 1].id, moved)
        )


def _has(rnd: Random, needs: set[Need], field: Need, certain: str = "") -> bool:
    """Whether a deal has the field: if it must, else as often as not."""
    return bool(certain) or field in needs or rnd.random() < 0.5


def _close_day(desk: Desk, status: DealStatus) -> str:
    rnd = desk.rnd
    return desk.day(rnd.randrange(5, 120) if status == "open" else -rnd.randrange(3, 60))


def _title(desk: Desk, company: Company) -> str:
    """A title that no other deal has. All phases together outnumber the deals."""
    name = short_name(company.name)
    for phase in PHASES:
        free = [t for p in PRODUCTS if (t := f"{name} {p}{phase}") not in desk.titles]
        if free:
            break
    title = desk.rnd.choice(free)
    desk.titles.add(title)
    return title


def _talk(desk: Desk, deal: Deal, *, certain: bool) -> None:
    """Activities about a deal: some done, of an open one some still planned."""
    rnd = desk.rnd
    outcomes: tuple[Outcome, ...] = ("interested", "interested", "follow up", "no answer")
    for _ in range(rnd.choice((1, 2)) if certain else rnd.choice((0, 1, 1, 2))):
        _done(desk, deal, rnd.randrange(2, 80), rnd.choice(outcomes))
    if deal.status == "open" and rnd.random() < 0.65:
        _planned(desk, deal, overdue=rnd.random() < 0.3)


def _note(desk: Desk, about: Lead | Deal) -> None:
    rnd = desk.rnd
    lead_id, contact_id, deal_id = _links(about)
    author, at = (
        rnd.choice((about.owner_id, rnd.choice(desk.reps).id)),
        desk.ago(rnd.randrange(1, 60)),
    )
    body = rnd.choice(NOTES)
    desk.notes.append(Note(desk.id("nte"), body, author, at, lead_id, contact_id, deal_id))


def _notes(desk: Desk) -> None:
    """Notes on deals, and some on contacts alone."""
    rnd = desk.rnd
    for deal in rnd.sample(desk.deals, 42):
        _note(desk, deal)
    for contact in rnd.sample(desk.contacts, 10):
        author, at = rnd.choice(desk.reps).id, desk.ago(rnd.randrange(1, 60))
        body = rnd.choice(NOTES)
        desk.notes.append(Note(desk.id("nte"), body, author, at, contact_id=contact.id))


def _told(desk: Desk) -> None:
    """The deal of which other servers of this world know too."""
    desk.rnd = desk.cast.rng("stories", "crm")
    told = stories(desk.cast).deal
    contact, pipeline = _told_contact(desk, told.contact), desk.pipelines[0]
    stages, at = desk.stages[pipeline.id], desk.rnd.randrange(1, 4)
    row = Deal(
        id=desk.id("dea"),
        title=told.title,
        pipeline_id=pipeline.id,
        stage_id=stages[at].id,
        company_id=contact.company_id,
        owner_id=desk.me,
        status="open",
        contact_id=contact.id,
        amount=told.amount,
        expected_close_on=told.closes.isoformat(),
    )
    desk.deals.append(row)
    _moves(desk, row, stages, at)
    _talk(desk, row, certain=True)
    body = f"Wrote that ${money(told.amount)} is within the budget if we close by {told.closes}"
    read = (told.written + timedelta(hours=1)).isoformat()
    desk.notes.append(Note(desk.id("nte"), body, desk.me, read, "", contact.id, row.id))


def _told_contact(desk: Desk, person: Person) -> Contact:
    """The contact as it is known already, else a new one, if need be of a new company."""
    known = next((c for c in desk.contacts if c.email == person.email), None)
    if known:
        return known
    company = desk.companies.get(person.company)
    if company is None:
        industry = desk.rnd.choice(get_args(Industry))
        company = Company(desk.id("cmp"), person.company, industry, person.city, "active")
        desk.companies[company.name] = company
    contact = _contact(desk, person, company)
    desk.contacts.append(contact)
    return contact
