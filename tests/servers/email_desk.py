"""A session of the mail server and how tests talk to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from provegym.servers.email import SERVER
from provegym.servers.email.post import NO_REPLY
from provegym.servers.email.state import Account, Attachment, Draft, Mail, Message
from provegym.world.world import World
from tests.servers.talk import Talk


@lru_cache
def world(seed: int) -> World:
    return World(seed, [SERVER])


@dataclass(frozen=True)
class Desk(Talk):
    """One session and the typed view of it."""

    mail: Mail

    def account(self, name: str = "Work") -> Account:
        return self.mail.accounts.where(name=name)[0]

    def received(self, account: str = "Work", **equal: Any) -> Message:
        """A received message that can be answered and passed on, unless asked for otherwise."""
        own, bounced = self.account(account).id, self.bounced()
        wanted = {"restricted": False, "reply_to_id": "", **equal}
        return next(
            m
            for m in self.mail.messages.where(account=own)
            if m.sender_address not in (own, bounced)
            and not m.sender_address.startswith(NO_REPLY)
            and all(getattr(m, name) == value for name, value in wanted.items())
            and not self.mail.files(message=m.id)
            and all(c.status == "active" for c in self._contacts(m))
        )

    def _contacts(self, m: Message) -> list[Any]:
        return [c for a in (m.sender_address,) for c in self.mail.contacts.where(address=a)]

    def sent(self) -> Message:
        own = self.account().id
        return self.mail.messages.where(account=own, sender_address=own)[0]

    def friend(self, index: int = 0) -> str:
        return self.mail.contacts.where(status="active")[index].address

    def bounced(self) -> str:
        """The address that came back and that a draft is waiting for."""
        bad = {c.address for c in self.mail.contacts.where(status="bounced")}
        return next(d.to[0] for d in self.mail.drafts if d.to and d.to[0] in bad)

    def draft(self, account: str = "Work") -> Draft:
        """A new open draft with an addressee."""
        own = self.account(account).id
        given = {"subject": "Lamp", "body": "Which one", "to": [self.friend()]}
        return self.mail.drafts[self.ok("create_email_draft", from_address=own, **given)["id"]]

    def file(self, least: int = 0, most: int = 2000, end: str = "") -> Attachment:
        """A file on a message, a program only if asked for."""
        return next(
            a
            for a in self.mail.attachments
            if a.message_id
            and least <= a.size_kb <= most
            and a.filename.endswith(end or ("pdf", "xlsx", "docx", "pptx", "png", "zip"))
        )


def desk(seed: int = 11) -> Desk:
    session = world(seed).open()
    mail = session.state("email")
    assert isinstance(mail, Mail)
    return Desk(session, mail)
