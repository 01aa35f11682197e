"""What the tools answer: small records."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from provegym.servers.email.state import (
    Address,
    Attachment,
    AttachmentId,
    Draft,
    DraftId,
    DraftStatus,
    EmailId,
    Folder,
    FolderId,
    LabelName,
    Mail,
    Message,
    ThreadId,
)
from provegym.world.fields import DATE, VOLATILE, Email, Stamp

Day = Annotated[str, DATE, VOLATILE]
SNIPPET = 60


class FolderItem(Struct, frozen=True):
    """A folder with its counts."""

    id: FolderId
    name: str
    account: Address
    unread: int
    total: int


class FolderPage(Struct, frozen=True):
    """A page of folders, and the labels that there are."""

    folders: list[FolderItem]
    total: int
    next_cursor: str
    labels: list[LabelName]


class EmailItem(Struct, frozen=True):
    """A message in a list."""

    id: EmailId
    subject: str
    sender: str
    date: Day
    is_read: bool


class EmailPage(Struct, frozen=True):
    """A page of messages, newest first."""

    emails: list[EmailItem]
    total: int
    next_cursor: str


class FileItem(Struct, frozen=True):
    """An attachment."""

    id: AttachmentId
    filename: str
    size_kb: int


class EmailDetails(Struct, frozen=True):
    """A whole message."""

    id: EmailId
    thread_id: ThreadId
    subject: str
    sender: str
    sender_address: Email
    to: list[Email]
    cc: list[Email]
    sent_at: Stamp
    body: str
    folder: str
    is_read: bool
    is_starred: bool
    labels: list[LabelName]
    attachments: list[FileItem]


class ThreadEntry(Struct, frozen=True):
    """A message of a thread: `text` is how it begins."""

    id: EmailId
    subject: str
    sender: str
    date: Day
    text: str


class ThreadPage(Struct, frozen=True):
    """A conversation, oldest message first."""

    id: ThreadId
    subject: str
    emails: list[ThreadEntry]
    total: int
    next_cursor: str


class DraftItem(Struct, frozen=True):
    """A draft in a list."""

    id: DraftId
    subject: str
    to: list[Email]
    status: DraftStatus
    attachments: int


class DraftPage(Struct, frozen=True):
    """A page of drafts, the latest first."""

    drafts: list[DraftItem]
    total: int
    next_cursor: str


class DraftReceipt(Struct, frozen=True):
    """A draft as it is now."""

    id: DraftId
    subject: str
    account: Address
    to: list[Email]
    cc: list[Email]
    status: DraftStatus
    attachments: list[FileItem]


class ContactItem(Struct, frozen=True):
    """A person in the address book; `bounced`: mail to them comes back."""

    name: str
    address: Email
    company: str
    bounced: bool


class ContactPage(Struct, frozen=True):
    """A page of contacts by name."""

    contacts: list[ContactItem]
    total: int
    next_cursor: str


class SentReceipt(Struct, frozen=True):
    """A message that was sent."""

    id: EmailId
    thread_id: ThreadId
    subject: str
    sender: str
    from_address: Address
    to: list[Email]
    cc: list[Email]
    attachments: int


class EmailReceipt(Struct, frozen=True):
    """A message after a change of its folder, flags or labels."""

    id: EmailId
    subject: str
    sender: str
    folder: str
    is_read: bool
    is_starred: bool
    labels: list[LabelName]


class LabelReceipt(Struct, frozen=True):
    """A new label, and how many there are."""

    label: LabelName
    colour: str
    labels_in_all: int


def folder_item(mail: Mail, f: Folder) -> FolderItem:
    """A folder with its counts."""
    total = len(mail.messages.where(folder_id=f.id))
    return FolderItem(f.id, f.name, f.account, f.unread, total)


def email_item(m: Message) -> EmailItem:
    """A message in a list."""
    return EmailItem(m.id, m.subject, m.sender, m.sent_at[:10], m.is_read)


def file_items(files: list[Attachment]) -> list[FileItem]:
    """Attachments in the order of their names."""
    return [FileItem(a.id, a.filename, a.size_kb) for a in sorted(files, key=lambda a: a.filename)]


def email_details(mail: Mail, m: Message) -> EmailDetails:
    """A whole message."""
    return EmailDetails(
        *(m.id, m.thread_id, m.subject, m.sender, m.sender_address, list(m.to), list(m.cc)),
        *(m.sent_at, m.body, mail.folders[m.folder_id].name, m.is_read, m.is_starred),
        *(list(m.labels), file_items(mail.files(message=m.id))),
    )


def thread_entry(m: Message) -> ThreadEntry:
    """A message of a thread with the beginning of its text."""
    text = m.body if len(m.body) <= SNIPPET else m.body[: SNIPPET - 3].rstrip() + "..."
    return ThreadEntry(m.id, m.subject, m.sender, m.sent_at[:10], text)


def draft_item(mail: Mail, d: Draft) -> DraftItem:
    """A draft in a list."""
    files = mail.files(message=d.message_id) if d.message_id else mail.files(draft=d.id)
    return DraftItem(d.id, d.subject, list(d.to), d.status, len(files))


def draft_receipt(mail: Mail, d: Draft) -> DraftReceipt:
    """A draft as it is now."""
    files = file_items(mail.files(draft=d.id))
    return DraftReceipt(d.id, d.subject, d.account, list(d.to), list(d.cc), d.status, files)


def sent_receipt(mail: Mail, m: Message) -> SentReceipt:
    """A message that was sent."""
    files = len(mail.files(message=m.id))
    address = m.sender_address
    return SentReceipt(
        m.id, m.thread_id, m.subject, m.sender, address, list(m.to), list(m.cc), files
    )


def email_receipt(mail: Mail, m: Message) -> EmailReceipt:
    """A message after a change."""
    folder = mail.folders[m.folder_id].name
    return EmailReceipt(m.id, m.subject, m.sender, folder, m.is_read, m.is_starred, list(m.labels))
