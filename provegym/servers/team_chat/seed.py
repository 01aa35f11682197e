"""A chat's rows: the company's workspace, a community's, and one of a partner, as its guest."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

from provegym.servers.team_chat.state import (
    Channel,
    Emoji,
    File,
    Member,
    Membership,
    Message,
    Reaction,
    Revision,
    Thread,
    Workspace,
)
from provegym.servers.team_chat.words import (
    ANSWERS,
    CHANNELS,
    COMMUNITY,
    DAYS,
    FILE_TYPES,
    SAYINGS,
    THINGS,
    TITLES,
    TOPICS,
)
from provegym.world.cast import Cast, Person
from provegym.world.server import Seeds
from provegym.world.stories import stories

HISTORY_DAYS = 60
SIZES = (20, 12, 10)
"""People in each workspace besides the user."""
CHANNEL_COUNTS = (13, 7, 6)
"""Channels besides the required and the restricted one."""
EMOJI: tuple[Emoji, ...] = ("thumbs_up", "thumbs_up", "heart", "tada", "eyes", "check", "rocket")
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"


def seed(cast: Cast, rnd: Random) -> Seeds:
    """Rows of every table for one world."""
    return _Team(cast, rnd).rows()


class _Team:
    """Collects the rows."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd, self.start = cast, rnd, cast.start
        self._used: set[str] = set()
        self._texts: set[str] = set()
        self.workspaces = self._workspaces()
        self.members: list[Member] = []
        self.channels: list[Channel] = []
        self.memberships: list[Membership] = []
        self.messages: list[Message] = []
        self.threads: list[Thread] = []
        self.revisions: list[Revision] = []
        self.reactions: list[Reaction] = []
        self.files: list[File] = []
        self.present: dict[str, list[Member]] = {}

    def rows(self) -> Seeds:
        for number, workspace in enumerate(self.workspaces):
            people = self._members(workspace, number)
            self._channels(workspace, people, number)
        for channel in self.channels:
            self._talk(channel)
        self._stories()
        self.messages.sort(key=lambda m: (m.posted_at, m.id))
        return {
            "workspaces": self.workspaces,
            "members": self.members,
            "channels": self.channels,
            "memberships": self.memberships,
            "messages": self.messages,
            "threads": self.threads,
            "revisions": self.revisions,
            "reactions": self.reactions,
            "files": self.files,
        }

    def id(self, prefix: str) -> str:
        """A fresh id."""
        while True:
            bits = self.rnd.getrandbits(30)
            new = f"{prefix}_{''.join([_LETTERS[bits >> 5 * i & 31] for i in range(6)])}"
            if new not in self._used:
                self._used.add(new)
                return new

    # -- people and places -----------------------------------------------------------------

    def _workspaces(self) -> list[Workspace]:
        home = self.cast.user.company
        partner = next(c for c in self.cast.companies if _slug(c) != _slug(home))
        club = self.rnd.choice(COMMUNITY)
        return [
            Workspace(_slug(home), home, 24 * 7, True),
            Workspace(club, club.capitalize(), 24 * 30, False),
            Workspace(_slug(partner), partner, 24, False),
        ]

    def _members(self, workspace: Workspace, number: int) -> list[Member]:
        """The user first; the last one has left. The user is a guest in the third workspace."""
        rnd = self.rnd
        people = [self.cast.user, *rnd.sample(self.cast.others, SIZES[number])]
        rows = []
        for i, person in enumerate(people):
            role = (
                "admin" if i == 1 else "guest" if (i == 0 and number == 2) or i == 5 else "member"
            )
            row = Member(
                *(self.id("mem"), workspace.id, person.name, person.email, rnd.choice(TITLES)),
                role=role,  # type: ignore[arg-type]
                status="deactivated" if i >= len(people) - 2 else "active",
            )
            rows.append(row)
        self.members += rows
        return rows

    def _channels(self, workspace: Workspace, people: list[Member], number: int) -> None:
        """Two for everybody, then some that the user is in or not, private or archived."""
        active, admin = people[:-2], people[1]
        self._channel(workspace, "general", admin, active, required=True)
        self._channel(workspace, "announcements", admin, active, restricted=True)
        for i, name in enumerate(self.rnd.sample(CHANNELS, CHANNEL_COUNTS[number])):
            there = self.rnd.sample(people[1:], self.rnd.randrange(3, 7))
            if i % 3 != 1:
                there.insert(0, people[0])
            owner = people[0] if i % 3 != 1 and i % 2 == 0 and number < 2 else there[-1]
            private, archived = i % 5 in (1, 2), i in (3, 8, 10, 12)
            self._channel(workspace, name, owner, there, private=private, archived=archived)

    def _channel(
        self,
        workspace: Workspace,
        name: str,
        owner: Member,
        people: list[Member],
        *,
        private: bool = False,
        archived: bool = False,
        required: bool = False,
        restricted: bool = False,
    ) -> None:
        row = Channel(
            id=self.id("chn"),
            workspace=workspace.id,
            name=name,
            topic=self.rnd.choice(TOPICS),
            visibility="private" if private else "public",
            owner_id=owner.id,
            archived=archived,
            required=required,
            restricted=restricted,
        )
        self.channels.append(row)
        self.memberships += [Membership(self.id("mbs"), row.id, m.id) for m in people]
        self.present[row.id] = people

    # -- messages --------------------------------------------------------------------------

    def _talk(self, channel: Channel) -> None:
        rnd, people = self.rnd, self.present[channel.id]
        if channel.restricted:
            people = [m for m in people if m.role == "admin"]
        for _ in range(rnd.randrange(3, 8)):
            author = people[0] if rnd.random() < 0.3 else rnd.choice(people)
            message = self._message(channel, author, self._text(), self._ago())
            if rnd.random() < 0.3:
                self._replies(channel, message)
            self._react(channel, message)

    def _message(
        self, channel: Channel, author: Member, text: str, when: datetime, thread: str = ""
    ) -> Message:
        """A message; now and then with a file, or edited once or twice."""
        rnd, edits = self.rnd, 0
        row_id, file_id = self.id("cms"), ""
        if text.endswith("attached") or rnd.random() < 0.08:
            file_id = self._file(channel.workspace, text)
        if rnd.random() < 0.08:
            edits = rnd.choice((1, 1, 2))
            for i in range(edits):
                old = f"{text}?" if i == edits - 1 else f"{text.split()[0]} ... {text.split()[-1]}"
                self.revisions.append(Revision(self.id("rev"), row_id, i + 1, old))
        row = Message(
            *(row_id, channel.id, author.id, author.name, text, when.isoformat(), thread),
            file_id=file_id,
            edits=edits,
        )
        self.messages.append(row)
        return row

    def _replies(self, channel: Channel, message: Message) -> None:
        rnd, thread = self.rnd, self.id("cth")
        when, count = datetime.fromisoformat(message.posted_at), rnd.choice((1, 1, 2, 3, 4))
        for _ in range(count):
            when = min(when + timedelta(minutes=rnd.randrange(2, 900)), self._just_now())
            author = rnd.choice(self.present[channel.id])
            self._message(channel, author, self._filled(rnd.choice(ANSWERS)), when, thread)
        self.threads.append(Thread(thread, channel.id, message.id, count))

    def _just_now(self) -> datetime:
        return self.start - timedelta(minutes=1)

    def _react(self, channel: Channel, message: Message) -> None:
        rnd, people = self.rnd, self.present[channel.id]
        for member in rnd.sample(people, min(len(people), rnd.choice((0, 0, 1, 1, 2, 3)))):
            emoji = rnd.choice(EMOJI)
            self.reactions.append(Reaction(self.id("rct"), message.id, member.id, emoji))

    def _file(self, workspace: str, text: str) -> str:
        """A file that is called after what the message is about."""
        name = next((t for t in THINGS if t in text), "notes").replace(" ", "_")
        taken = {f.filename for f in self.files}
        kinds = [k for k in FILE_TYPES if f"{name}.{k}" not in taken] or [
            f"{len(self.files)}.{FILE_TYPES[0]}"
        ]
        size = self.rnd.randrange(12, 9000)
        row = File(self.id("cfl"), workspace, f"{name}.{self.rnd.choice(kinds)}", size)
        self.files.append(row)
        return row.id

    # -- what other servers of this world know of, too -----------------------------------

    def _stories(self) -> None:
        """A customer asks about a deal, somebody has found a fault, somebody shares a paper."""
        told, self.rnd = stories(self.cast), self.cast.rng("stories", "team_chat")
        deal, fault, paper = told.deal, told.fault, told.paper
        asks = f"{deal.title}: can we settle the details before {deal.closes}"
        self._says(deal.contact, asks, deal.written)
        self._says(fault.reporter, f"{fault.title}, has anyone else seen this", fault.found)
        shares = f"I uploaded {paper.filename}, please read it before we talk"
        self._says(paper.sender, shares, paper.sent, paper.filename)

    def _says(self, person: Person, text: str, when: datetime, filename: str = "") -> None:
        """Where both the person and the user are: if nowhere else, in the channel for everybody."""
        author = self._present(person)
        places = [c for c in self.channels if c.workspace == author.workspace]
        shared = [c for c in places if self._open_to(c, author)]
        channel = self.rnd.choice(shared or [c for c in places if c.required])
        file_id = ""
        if filename:
            file_id = self.id("cfl")
            self.files.append(File(file_id, channel.workspace, filename, 1))
        row = Message(
            *(self.id("cms"), channel.id, author.id, author.name, text, when.isoformat()),
            file_id=file_id,
        )
        self.messages.append(row)
        self._react(channel, row)

    def _open_to(self, channel: Channel, author: Member) -> bool:
        """Whether the author could write there by now, and the user read it."""
        there = {m.email for m in self.present[channel.id]}
        live = not channel.archived and not channel.restricted
        return live and {author.email, self.cast.user.email} <= there

    def _present(self, person: Person) -> Member:
        """The person with a working account; a new one if there is a workspace without them."""
        rows = [m for m in self.members if m.email == person.email]
        working = [m for m in rows if m.status == "active"]
        free = [w for w in self.workspaces if w.id not in {m.workspace for m in rows}]
        return (working or rows)[0] if working or not free else self._joined(person, free[0])

    def _joined(self, person: Person, workspace: Workspace) -> Member:
        row = Member(
            *(self.id("mem"), workspace.id, person.name, person.email, self.rnd.choice(TITLES)),
            role="member" if person.company == workspace.title else "guest",
        )
        self.members.append(row)
        for channel in self.channels:
            if channel.workspace == workspace.id and channel.required:
                self.memberships.append(Membership(self.id("mbs"), channel.id, row.id))
                self.present[channel.id] = [*self.present[channel.id], row]
        return row

    # -- words -----------------------------------------------------------------------------

    def _text(self) -> str:
        """Something that nobody has said yet."""
        while True:
            text = self._filled(self.rnd.choice(SAYINGS))
            if text not in self._texts:
                self._texts.add(text)
                return text

    def _filled(self, template: str) -> str:
        rnd = self.rnd
        return template.format(
            thing=rnd.choice(THINGS),
            day=rnd.choice(DAYS),
            company=rnd.choice(self.cast.companies),
            percent=rnd.randrange(2, 40),
            amount=f"{rnd.randrange(40, 2400)}.00",
            hour=f"{rnd.randrange(9, 17)}:{rnd.choice(('00', '30'))}",
        )

    def _ago(self) -> datetime:
        """A working moment before the start; recent ones are more frequent."""
        rnd = self.rnd
        days = 1 + int(HISTORY_DAYS * rnd.random() ** 2.5)
        if days == 1 and rnd.random() < 0.5:
            return self.start - timedelta(minutes=rnd.randrange(10, 100))
        return (self.start - timedelta(days=days)).replace(
            hour=rnd.randrange(8, 18), minute=rnd.randrange(60)
        )


def _slug(company: str) -> str:
    return "".join(c for c in company.split()[0].lower() if c.isalpha())
