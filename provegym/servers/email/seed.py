"""One person's mail: three accounts, about a hundred conversations, drafts and an address book."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

from msgspec.structs import replace

from provegym.servers.email.state import (
    Account,
    Attachment,
    Contact,
    Draft,
    Folder,
    FolderKind,
    Label,
    Message,
    Thread,
)
from provegym.servers.email.told import Letter, letters, writers
from provegym.servers.email.words import (
    COLOURS,
    DAYS,
    DRAFT_SUBJECTS,
    FILE_TYPES,
    FORMS,
    FRIENDLY,
    HOME_FOLDERS,
    LABELS,
    NOTES,
    NOTICES,
    OPENINGS,
    PRIVATE,
    REPLIES,
    SPAM,
    SUBJECTS,
    UNSAFE_FILES,
    WORK_FOLDERS,
)
from provegym.world.cast import Cast, Person
from provegym.world.server import Seeds
from provegym.world.stories import stories

HISTORY_DAYS = 120
COLLEAGUES, FRIENDS, BOUNCED = 16, 9, 3
WORK_THREADS, HOME_THREADS, NOTICE_MAILS, SPAM_MAILS = 42, 18, 34, 7
WORK_KB, HOME_KB = 10 * 1024, 25 * 1024
SYSTEM: tuple[tuple[str, FolderKind], ...] = (
    ("Inbox", "inbox"),
    ("Sent", "sent"),
    ("Archive", "archive"),
    ("Spam", "spam"),
    ("Trash", "trash"),
)
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"


def seed(cast: Cast, rnd: Random) -> Seeds:
    """Rows of every table for one world."""
    return _Post(cast, rnd).rows()


def domain(company: str) -> str:
    """The mail domain of a company of the cast."""
    return "".join(c for c in company.split()[0].lower() if c.isalpha()) + ".example"


def _people(cast: Cast, rnd: Random) -> list[Person]:
    """Whom the user writes to; the last ones' mail bounces, so none of them writes in a story."""
    people = rnd.sample(cast.others, COLLEAGUES + FRIENDS + BOUNCED)
    telling = writers(stories(cast))
    for i in range(-BOUNCED, 0):
        if people[i] in telling:
            other = next(k for k, p in enumerate(people) if p not in telling)
            people[i], people[other] = people[other], people[i]
    return people


class _Post:
    """Collects the rows."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd, self.start = cast, rnd, cast.start
        self._used: set[str] = set()
        people = _people(cast, rnd)
        self.colleagues = people[:COLLEAGUES]
        self.friends = people[COLLEAGUES:-BOUNCED]
        self.gone = people[-BOUNCED:]
        self.work, self.home, self.old = self.accounts = self._accounts()
        self.labels = self._labels()
        self.folders = self._folders()
        self.threads: list[Thread] = []
        self.messages: list[Message] = []
        self.drafts: list[Draft] = []
        self.attachments: list[Attachment] = []

    def rows(self) -> Seeds:
        self._conversations()
        self._notices()
        self._spam()
        self._drafts()
        contacts = self._contacts()
        self._stories(contacts)
        self.messages.sort(key=lambda m: (m.sent_at, m.id))
        return {
            "accounts": self.accounts,
            "folders": self._counted(),
            "labels": self.labels,
            "threads": self.threads,
            "messages": self.messages,
            "drafts": self.drafts,
            "attachments": self.attachments,
            "contacts": contacts,
        }

    def id(self, prefix: str) -> str:
        """A fresh id."""
        while True:
            bits = self.rnd.getrandbits(30)
            new = f"{prefix}_{''.join([_LETTERS[bits >> 5 * i & 31] for i in range(6)])}"
            if new not in self._used:
                self._used.add(new)
                return new

    # -- what the mail lies in -------------------------------------------------------------

    def _accounts(self) -> tuple[Account, Account, Account]:
        user = self.cast.user
        name = user.email.split("@")[0]
        return (
            Account(user.email, "Work", "connected", WORK_KB, True),
            Account(f"{name}@homepost.example", "Home", "connected", HOME_KB, False),
            Account(f"{name}@alumnimail.example", "Alumni", "disconnected", HOME_KB, False),
        )

    def _labels(self) -> list[Label]:
        names = self.rnd.sample(LABELS, self.rnd.choice((9, 10, 11)))
        return [Label(n, f"label:{n}", self.rnd.choice(COLOURS)) for n in names]  # type: ignore[arg-type]

    def _folders(self) -> list[Folder]:
        custom = {
            self.work.id: self.rnd.sample(WORK_FOLDERS, 6),
            self.home.id: self.rnd.sample(HOME_FOLDERS, 4),
        }
        return [
            Folder(self.id("fld"), account.id, name, kind, 0)
            for account in self.accounts
            for name, kind in (*SYSTEM, *((n, "custom") for n in custom.get(account.id, ())))
        ]

    def _counted(self) -> list[Folder]:
        counts: dict[str, int] = {}
        for message in self.messages:
            counts[message.folder_id] = counts.get(message.folder_id, 0) + (not message.is_read)
        return [replace(f, unread=counts.get(f.id, 0)) for f in self.folders]

    def _folder(self, account: Account, *kinds: FolderKind) -> Folder:
        mine = [f for f in self.folders if f.account == account.id and f.kind in kinds]
        return self.rnd.choice(mine)

    # -- messages --------------------------------------------------------------------------

    def _conversations(self) -> None:
        titles = [f"{s} {f}" for s in SUBJECTS for f in FORMS]
        for i, title in enumerate(self.rnd.sample(titles, WORK_THREADS)):
            others = self.gone if i in (5, 20) else self.colleagues
            self._conversation(self.work, title, others, OPENINGS)
        for i, title in enumerate(self.rnd.sample(PRIVATE, HOME_THREADS)):
            account = self.old if i % 6 == 5 else self.home
            self._conversation(account, title, self.friends, FRIENDLY)

    def _conversation(
        self,
        account: Account,
        subject: str,
        others: list[Person],
        openings: tuple[str, ...],
    ) -> None:
        """A first message and up to four replies by turns; some have more people in copy."""
        rnd = self.rnd
        other, *copied = rnd.sample(others, rnd.choice((1, 1, 1, 2, 3)))
        thread, mine = self._thread(account, subject), rnd.random() < 0.35
        place = self._folder(account, "inbox", "inbox", "archive", "custom")
        when, parent, cc = self._long_ago(), "", tuple(p.email for p in copied)
        for i in range(rnd.choice((1, 1, 2, 2, 3, 4, 5))):
            text = self._text(rnd.choice(REPLIES if i else openings))
            title = f"Re: {subject}" if i else subject
            if mine:
                who, to, home = self._me(account), other.email, self._folder(account, "sent")
            else:
                who, to, home = (other.name, other.email), account.id, place
            row = self._message(account, thread, home, parent, who, (to,), cc, title, text, when)
            parent, mine = row.id, not mine
            when += timedelta(minutes=rnd.randrange(12, 2600))
            if when >= self.start:
                break

    def _me(self, account: Account) -> tuple[str, str]:
        return self.cast.user.name, account.id

    def _thread(self, account: Account, subject: str) -> str:
        row = Thread(self.id("thr"), account.id, subject)
        self.threads.append(row)
        return row.id

    def _message(
        self,
        account: Account,
        thread: str,
        folder: Folder,
        parent: str,
        who: tuple[str, str],
        to: tuple[str, ...],
        cc: tuple[str, ...],
        subject: str,
        body: str,
        when: datetime,
    ) -> Message:
        rnd, received = self.rnd, folder.kind != "sent"
        recent = when > self.start - timedelta(days=14)
        rate = 0.6 if recent or folder.kind == "spam" else 0.06
        few = rnd.sample(self.labels, rnd.choice((0, 0, 0, 1, 1, 2)))
        row = Message(
            *(self.id("msg"), account.id, thread, folder.id, parent, *who, to, cc, subject),
            *(body, when.isoformat()),
            is_read=not (received and rnd.random() < rate),
            is_starred=rnd.random() < 0.1,
            restricted=received and account.primary and rnd.random() < 0.1,
            labels=tuple(sorted(label.id for label in few)) if folder.kind != "spam" else (),
        )
        self.messages.append(row)
        if not parent and folder.kind != "spam" and rnd.random() < 0.45:
            self._files(row)
        return row

    def _files(self, message: Message) -> None:
        """One or two files; a few are larger than what the account sends, or are programs."""
        rnd = self.rnd
        name = "_".join(message.subject.lower().replace(".", "").split())
        for kind in rnd.sample(FILE_TYPES, rnd.choice((1, 1, 2))):
            size = rnd.randrange(7000, 24000) if kind == "zip" else rnd.randrange(24, 3600)
            self._file(f"{name}.{kind}", size, message=message.id)
        if len(self.attachments) % 11 == 3:
            self._file(rnd.choice(UNSAFE_FILES), rnd.randrange(200, 900), message=message.id)

    def _file(self, name: str, size: int, message: str = "", draft: str = "") -> None:
        self.attachments.append(Attachment(self.id("att"), message, draft, name, size))

    def _notices(self) -> None:
        """Mail of companies to either account; most of it cannot be answered."""
        rnd = self.rnd
        for i in range(NOTICE_MAILS):
            company = rnd.choice(self.cast.companies)
            title, text, desk = NOTICES[i % len(NOTICES)]
            account = (self.work, self.home)[i % 2]
            words = self._words(company)
            subject, body = title.format(**words), f"{text.format(**words)}."
            folder = self._folder(account, "inbox", "archive", "custom", "trash")
            thread, who = self._thread(account, subject), (company, f"{desk}@{domain(company)}")
            self._message(
                account, thread, folder, "", who, (account.id,), (), subject, body, self._ago()
            )

    def _spam(self) -> None:
        for i in range(SPAM_MAILS):
            title, text = SPAM[i % len(SPAM)]
            account, words = (self.work, self.home)[i % 2], self._words("")
            subject, body = title.format(**words), f"{text.format(**words)}."
            thread, who = self._thread(account, subject), ("Prize Desk", f"win{i}@bargain.example")
            folder = self._folder(account, "spam")
            self._message(
                account, thread, folder, "", who, (account.id,), (), subject, body, self._ago()
            )

    def _ago(self) -> datetime:
        """A moment of waking life before the start; recent ones are more frequent."""
        rnd = self.rnd
        days = 1 + int(HISTORY_DAYS * rnd.random() ** 2)
        return (self.start - timedelta(days=days)).replace(
            hour=rnd.randrange(7, 21), minute=rnd.randrange(60)
        )

    def _long_ago(self) -> datetime:
        """A moment that leaves some days for replies."""
        return self._ago() - timedelta(days=self.rnd.randrange(4))

    def _words(self, company: str) -> dict[str, str]:
        rnd = self.rnd
        return {
            "day": rnd.choice(DAYS),
            "amount": f"{rnd.randrange(18, 900)}.{rnd.choice(('00', '50', '90'))}",
            "company": company or rnd.choice(self.cast.companies),
            "city": rnd.choice(self.cast.people).city,
            "number": str(rnd.randrange(1000, 9999)),
        }

    def _text(self, template: str) -> str:
        return f"{template.format(**self._words(''))}."

    # -- drafts and people -----------------------------------------------------------------

    def _drafts(self) -> None:
        """Fifteen: ready ones, some without recipient, with files, and some that were sent."""
        subjects = self.rnd.sample(DRAFT_SUBJECTS, 12)
        people = self.rnd.sample([*self.colleagues, *self.friends], 12)
        for i, (subject, person) in enumerate(zip(subjects, people, strict=True)):
            to = () if i % 4 == 3 else (self.gone[0].email if i == 6 else person.email,)
            account = self.old if i == 9 else self.home if i % 3 == 2 else self.work
            draft = self._draft(account, to, subject, self.rnd.choice(NOTES) + ".")
            if i % 3 == 0:
                name = subject.lower().replace(" ", "_")
                size = account.max_kb - 60 if i == 0 else self.rnd.randrange(40, 4000)
                self._file(f"{name}.{self.rnd.choice(FILE_TYPES)}", size, draft=draft.id)
        self._reply_drafts()
        self._sent_drafts()

    def _draft(
        self, account: Account, to: tuple[str, ...], subject: str, body: str, parent: str = ""
    ) -> Draft:
        row = Draft(
            self.id("drf"), account.id, to, (), subject, body, self._ago().isoformat(), parent
        )
        self.drafts.append(row)
        return row

    def _reply_drafts(self) -> None:
        """Two answers that were begun; they go into the threads that they answer."""
        known = {p.email for p in self.colleagues}
        asked = [m for m in self.messages if m.sender_address in known and not m.reply_to_id]
        for message in self.rnd.sample(asked, 2):
            text, to = self._text(self.rnd.choice(REPLIES)), (message.sender_address,)
            self._draft(self.work, to, f"Re: {message.subject}", text, message.id)

    def _sent_drafts(self) -> None:
        """Three drafts as records of what was sent, named apart from all that is open."""
        sent = [m for m in self.messages if m.sender_address == self.work.id and not m.reply_to_id]
        for message in self.rnd.sample(sent, min(3, len(sent))):
            draft = self._draft(self.work, message.to, message.subject, message.body)
            self.drafts[-1] = replace(
                draft,
                cc=message.cc,
                updated_at=message.sent_at,
                status="sent",
                message_id=message.id,
            )

    def _contacts(self) -> list[Contact]:
        """Everyone who is written to, and a few who are not."""
        rnd, gone = self.rnd, {p.key for p in self.gone}
        known = [*self.colleagues, *self.friends, *self.gone]
        rest = [p for p in self.cast.others if p not in known]
        return [
            Contact(
                *(self.id("con"), p.name, p.email, p.company),
                origin="collected" if rnd.random() < 0.2 else "saved",
                status="bounced" if p.key in gone else "active",
            )
            for p in sorted([*known, *rnd.sample(rest, 14)], key=lambda p: p.name)
        ]

    # -- stories ---------------------------------------------------------------------------

    def _stories(self, contacts: list[Contact]) -> None:
        """The letters of the world's stories; their writers get into the address book."""
        self.rnd = self.cast.rng("stories", "email")
        known = {c.address for c in contacts}
        for letter in letters(self.cast, self.rnd):
            self._letter(letter)
            who = letter.person
            if who and who.email not in known:
                contacts.append(Contact(self.id("con"), who.name, who.email, who.company, "saved"))

    def _letter(self, letter: Letter) -> None:
        """In the inbox, in a thread of its own; about half of them are unread."""
        account = next(a for a in self.accounts if a.name == letter.account)
        row = Message(
            id=self.id("msg"),
            account=account.id,
            thread_id=self._thread(account, letter.subject),
            folder_id=self._folder(account, "inbox").id,
            reply_to_id="",
            sender=letter.sender,
            sender_address=letter.address,
            to=(account.id,),
            cc=(),
            subject=letter.subject,
            body=letter.body,
            sent_at=letter.when.isoformat(),
            is_read=self.rnd.random() < 0.5,
        )
        self.messages.append(row)
        if letter.filename:
            self._file(letter.filename, self.rnd.randrange(4, 60), message=row.id)
