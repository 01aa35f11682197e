"""A session of the CRM and how tests talk to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from provegym.servers.crm import SERVER
from provegym.servers.crm.state import Company, Contact, Crm, Deal, Lead, Pipeline
from provegym.world.world import World
from tests.servers.talk import Talk


@lru_cache
def world(seed: int) -> World:
    return World(seed, [SERVER])


@dataclass(frozen=True)
class Desk(Talk):
    """One session and the typed view of it."""

    crm: Crm

    def pipeline(self, name: str = "New Business") -> Pipeline:
        return self.crm.pipelines.where(name=name)[0]

    def company(self) -> Company:
        """A company in business with a contact who may be contacted."""
        people = self.crm.contacts.where(do_not_contact=False)
        companies = [self.crm.companies[c.company_id] for c in people]
        return next(c for c in companies if c.status == "active")

    def contact(self, company: Company) -> Contact:
        return self.crm.contacts.where(company_id=company.id, do_not_contact=False)[0]

    def other_contact(self, company: Company) -> Contact:
        return next(c for c in self.crm.contacts if c.company_id != company.id)

    def new_deal(
        self, title: str = "Fresh deal", pipeline: str = "New Business", **more: Any
    ) -> Deal:
        """An open deal of the user's in the first stage."""
        ids = {"company_id": self.company().id, "pipeline_id": self.pipeline(pipeline).id}
        return self.crm.deals[self.ok("create_deal", title=title, **ids, **more)["id"]]

    def new_lead(self, name: str = "Ada Lovelace", company: str = "Engine Works") -> Lead:
        """A lead of the user's with whom nobody has talked."""
        email = f"{name.split()[0].lower()}@engines.example"
        given = {"name": name, "email": email, "company": company, "source": "event"}
        return self.crm.leads[self.ok("create_lead", **given)["id"]]

    def talk(self, outcome: str, at: str = "2027-03-01T10:00:00+00:00", **about: str) -> Any:
        """Plan a task and complete it at once."""
        given = {"kind": "task", "subject": "Talk", "due_at": at}
        planned = self.ok("schedule_sales_activity", **given, **about)
        return self.ok("complete_sales_activity", activity_id=planned["id"], outcome=outcome)

    def mine(self, status: str = "open") -> Deal:
        return self.crm.deals.where(owner_id=self.crm.me, status=status)[0]

    def theirs(self) -> Deal:
        return next(d for d in self.crm.deals.where(status="open") if d.owner_id != self.crm.me)

    def lead(self, status: str, *, own: bool = True) -> Lead:
        rows = self.crm.leads.where(status=status)
        return next(x for x in rows if (x.owner_id == self.crm.me) == own)


def desk(seed: int = 11) -> Desk:
    session = world(seed).open()
    crm = session.state("crm")
    assert isinstance(crm, Crm)
    return Desk(session, crm)
