"""The rows of one person's mail over several accounts, and what must always hold.

Mail follows RFC 5322: a reply names the message that it answers, and a thread is the closure of
that relation. What was sent is append-only: it stays in the Sent folder and its content never
changes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from provegym.world.fields import Email, Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, table

Address = Annotated[str, Ref("email.accounts")]
"""An own account; its address is its id."""
FolderId = Annotated[str, Ref("email.folders")]
LabelName = Annotated[str, Ref("email.labels")]
"""A label; its name in lower case is its id."""
EmailId = Annotated[str, Ref("email.messages")]
ThreadId = Annotated[str, Ref("email.threads")]
DraftId = Annotated[str, Ref("email.drafts")]
AttachmentId = Annotated[str, Ref("email.attachments")]

FolderKind = Literal["inbox", "sent", "archive", "spam", "trash", "custom"]
DraftStatus = Literal["open", "sent"]
Colour = Literal["red", "orange", "yellow", "green", "blue", "purple", "grey"]

MAX_LABELS = 16
SUBJECT_LENGTH = 200
UNSAFE = (".exe", ".js", ".bat", ".scr")
"""File types that no mail may carry out."""


class Account(Row, frozen=True):
    """An own account. `max_kb` is the most that the attachments of one sent mail may come to."""

    id: Address
    name: str
    status: Literal["connected", "disconnected"]
    max_kb: int
    primary: bool


class Folder(Row, frozen=True):
    """A folder of an account; `unread` counts its unread messages."""

    label: ClassVar[str] = "the {name} folder of {account}"
    id: FolderId
    account: Address
    name: str
    kind: FolderKind
    unread: int


class Label(Row, frozen=True):
    """A tag that messages of every account can carry; `search_key` finds them: "label:travel"."""

    id: LabelName
    search_key: str
    colour: Colour


class Thread(Row, frozen=True):
    """A conversation: one first message and all replies to it and to each other."""

    label: ClassVar[str] = 'the conversation "{subject}"'
    id: ThreadId
    account: Address
    subject: str


class Message(Row, frozen=True):
    """A received or sent message. `reply_to_id` is the message that it answers, "" for none.

    `restricted` mail must not be forwarded; `labels` are in alphabetical order.
    """

    label: ClassVar[str] = 'the email "{subject}" from {sender}'
    id: EmailId
    account: Address
    thread_id: ThreadId
    folder_id: FolderId
    reply_to_id: EmailId
    sender: str
    sender_address: Email
    to: tuple[Email, ...]
    cc: tuple[Email, ...]
    subject: str
    body: str
    sent_at: Stamp
    is_read: bool = True
    is_starred: bool = False
    restricted: bool = False
    labels: tuple[LabelName, ...] = ()


class Draft(Row, frozen=True):
    """A message being written; once sent it stays as the record of `message_id`."""

    label: ClassVar[str] = 'the draft "{subject}"'
    id: DraftId
    account: Address
    to: tuple[Email, ...]
    cc: tuple[Email, ...]
    subject: str
    body: str
    updated_at: Stamp
    reply_to_id: EmailId = ""
    status: DraftStatus = "open"
    message_id: EmailId = ""


class Attachment(Row, frozen=True):
    """A file on a message or, until that is sent, on a draft."""

    label: ClassVar[str] = "the file {filename}"
    id: AttachmentId
    message_id: EmailId
    draft_id: DraftId
    filename: str
    size_kb: int


class Contact(Row, frozen=True):
    """Someone in the address book. Mail to a `bounced` address came back, so none is sent there.

    Addressees that are new are `collected` when mail to them is sent.
    """

    id: str
    name: str
    address: Email
    company: str
    origin: Literal["saved", "collected"]
    status: Literal["active", "bounced"] = "active"


class Mail(State):
    """One session's view of the user's mail."""

    server = "email"
    accounts = table(Account, "mac")
    folders = table(Folder, "fld")
    labels = table(Label, "lab")
    threads = table(Thread, "thr")
    messages = table(Message, "msg")
    drafts = table(Draft, "drf")
    attachments = table(Attachment, "att")
    contacts = table(Contact, "con")

    def folder(self, account: str, kind: FolderKind) -> Folder:
        """A system folder of an account."""
        return self.folders.where(account=account, kind=kind)[0]

    def files(self, *, message: str = "", draft: str = "") -> list[Attachment]:
        """The attachments of a message or of a draft, in their order."""
        if message:
            return self.attachments.where(message_id=message)
        return self.attachments.where(draft_id=draft)


def violations(mail: Mail) -> Iterator[str]:
    """Every broken invariant, one sentence each."""
    yield from _unread(mail)
    yield from _threads(mail)
    yield from _sent(mail)
    yield from _messages(mail)
    yield from _drafts(mail)
    yield from _attachments(mail)
    addresses = Counter(c.address for c in mail.contacts)
    yield from (f"{a} is in the address book twice" for a, n in addresses.items() if n > 1)


def _unread(mail: Mail) -> Iterator[str]:
    counts = Counter(m.folder_id for m in mail.messages if not m.is_read)
    for folder in mail.folders:
        if folder.unread != counts[folder.id]:
            yield f"folder {folder.id} says {folder.unread} unread, holds {counts[folder.id]}"


def _threads(mail: Mail) -> Iterator[str]:
    """A thread is the closure of replies: one first message, all others answer one in it."""
    firsts: dict[str, int] = defaultdict(int)
    for message in mail.messages:
        firsts[message.thread_id] += not message.reply_to_id
        if message.reply_to_id:
            parent = mail.messages.get(message.reply_to_id)
            if parent is None or parent.thread_id != message.thread_id:
                yield f"message {message.id} answers one that is not in its thread"
            elif parent.sent_at > message.sent_at:
                yield f"message {message.id} answers one that is later than itself"
    for thread in mail.threads:
        if firsts.pop(thread.id, 0) != 1:
            yield f"thread {thread.id} has not exactly one first message"
    yield from (f"messages name thread {thread}, which is none" for thread in firsts)


_FLAGS = frozenset(("is_starred", "labels"))
"""What may change on a sent message."""


def _sent(mail: Mail) -> Iterator[str]:
    """Nothing is ever removed, and the content of what was sent stays as it was."""
    before = mail.messages.template.rows
    for key, message in mail.messages.own.items():
        if message is None:
            yield f"message {key} was removed"
        elif key in before:
            old = before[key]
            ours = old.sender_address in mail.accounts
            yield from (
                f"{name} of message {key} changed"
                for name in message.__struct_fields__
                if getattr(message, name) != getattr(old, name)
                and name not in _FLAGS
                and (ours or name not in ("is_read", "folder_id"))
            )


def _messages(mail: Mail) -> Iterator[str]:
    for m in mail.messages:
        folder = mail.folders.get(m.folder_id)
        if folder is None or folder.account != m.account:
            yield f"message {m.id} is in no folder of its account"
            continue
        if (folder.kind == "sent") != (m.sender_address == m.account):
            yield f"message {m.id} from {m.sender_address} is in the {folder.kind} folder"
        if not m.to or (folder.kind == "sent" and not m.is_read):
            yield f"message {m.id} has no recipient, or is sent and unread"
        if any(name not in mail.labels for name in m.labels) or list(m.labels) != sorted(
            set(m.labels)
        ):
            yield f"message {m.id} has the labels {m.labels}"


def _drafts(mail: Mail) -> Iterator[str]:
    for draft in mail.drafts:
        message = mail.messages.get(draft.message_id) if draft.message_id else None
        if (draft.status == "sent") != (message is not None):
            yield f"draft {draft.id} is {draft.status} but its message is {draft.message_id!r}"
        elif message is not None and (message.subject, message.body, message.to) != (
            draft.subject,
            draft.body,
            draft.to,
        ):
            yield f"draft {draft.id} differs from what was sent"


def _attachments(mail: Mail) -> Iterator[str]:
    sums: dict[str, int] = defaultdict(int)
    for file in mail.attachments:
        sums[file.draft_id] += file.size_kb
        if bool(file.draft_id) == bool(file.message_id) or file.size_kb <= 0:
            yield f"attachment {file.id} is on a message and a draft, or on neither"
        elif file.message_id and file.message_id not in mail.messages:
            yield f"attachment {file.id} is on a message that there is not"
        elif file.draft_id and mail.drafts[file.draft_id].status == "sent":
            yield f"attachment {file.id} was left behind on a sent draft"
    for draft_id, size in sums.items():
        if draft_id and size > mail.accounts[mail.drafts[draft_id].account].max_kb:
            yield f"draft {draft_id} carries {size} kB"
