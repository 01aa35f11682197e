"""Looking through mail, and keeping it in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from provegym.servers.email import samples
from provegym.servers.email.post import (
    own_account,
    recount,
    searched,
    the_folder,
    the_label,
    the_message,
)
from provegym.servers.email.state import (
    MAX_LABELS,
    Address,
    Colour,
    EmailId,
    FolderId,
    Label,
    LabelName,
    Mail,
    Message,
    ThreadId,
)
from provegym.servers.email.views import (
    ContactItem,
    ContactPage,
    EmailDetails,
    EmailPage,
    EmailReceipt,
    FolderPage,
    LabelReceipt,
    ThreadPage,
    email_details,
    email_item,
    email_receipt,
    folder_item,
    thread_entry,
)
from provegym.world.fields import Date, Format, Limit
from provegym.world.page import page
from provegym.world.period import period
from provegym.world.tool import refuse, tool

EmailStatus = Literal["unread", "read", "starred"]
LABEL = Format("label_name", "1 to 30 characters.", lambda text: 0 < len(text.strip()) <= 30)


@tool(
    "read",
    phrases=(
        "List my mail folders[ of the account {account}][ with {query} in the name]",
        "Show how much unread mail is in my folders[ of {account}][ named {query}]",
        "Give me an overview of the mail folders[ in {account}][ called {query}]",
    ),
    refuses=("unknown_account",),
    sample=samples.folders,
)
def list_mail_folders(
    mail: Mail,
    account: Address | None = None,
    query: str = "",
    limit: Limit = 5,
    cursor: str = "",
) -> FolderPage:
    """List mail folders with unread and total counts, and the names of all labels.

    Args:
        account: Only folders of this own address.
        query: Part of the folder's name.
        limit: Folders per page.
        cursor: next_cursor of the page before.
    """
    rows = list(mail.folders)
    if account is not None:
        rows = mail.folders.where(account=own_account(mail, account).id)
    word = query.lower()
    shown, total, after = page([f for f in rows if word in f.name.lower()], limit, cursor)
    names = sorted(label.id for label in mail.labels)
    return FolderPage([folder_item(mail, f) for f in shown], total, after, names)


@tool(
    "read",
    phrases=(
        "Find my[ {status}] emails[ about {query}][ from {sender}][ in {folder_id}]"
        "[ labelled {label}][ since {since}][ until {until}]",
        "Search my mailbox for[ {status}] messages[ that mention {query}][ sent by {sender}]"
        "[ in {folder_id}][ with the label {label}][ from {since} on][ up to {until}]",
        "Show me the latest[ {status}] emails[ on {query}][ by {sender}][ inside {folder_id}]"
        "[ under the label {label}][ after {since}][ not later than {until}]",
    ),
    refuses=("not_found", "unknown_label"),
    sample=samples.search,
)
def search_emails(
    mail: Mail,
    query: str = "",
    sender: str = "",
    folder_id: FolderId | None = None,
    label: LabelName | None = None,
    status: EmailStatus | None = None,
    since: Date | None = None,
    until: Date | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> EmailPage:
    """Search emails of all accounts, newest first. Spam and trash are left out unless their folder
    is given.

    Args:
        query: Words in subject, text, sender or a file's name.
        sender: Part of the sender's name or address.
        folder_id: Only this folder.
        label: Only emails with this label.
        status: Only unread, read or starred ones.
        since: First day.
        until: Last day.
        limit: Emails per page.
        cursor: next_cursor of the page before.
    """
    tag = the_label(mail, label) if label is not None else ""
    first, last = period(since, until)
    found = [
        m
        for m in _matching(mail, query.lower().split(), folder_id)
        if first <= m.sent_at <= last
        and (not tag or tag in m.labels)
        and (status is None or _has(m, status))
        and (not sender or sender.lower() in f"{m.sender} {m.sender_address}".lower())
    ]
    found.sort(key=lambda m: m.sent_at, reverse=True)
    shown, total, after = page(found, limit, cursor)
    return EmailPage([email_item(m) for m in shown], total, after)


def _matching(mail: Mail, words: list[str], folder_id: str | None) -> Iterator[Message]:
    """Messages with all the words, in one folder or in all but spam and trash."""
    if folder_id is not None:
        rows = mail.messages.where(folder_id=the_folder(mail, folder_id).id)
    else:
        hidden = {f.id for f in mail.folders if f.kind in ("spam", "trash")}
        rows = [m for m in mail.messages if m.folder_id not in hidden]
    named = {a.message_id for a in mail.attachments if words and _all(words, a.filename.lower())}
    return (m for m in rows if m.id in named or _all(words, searched(m)))


def _all(words: list[str], text: str) -> bool:
    return all(word in text for word in words)


def _has(m: Message, status: EmailStatus) -> bool:
    return m.is_starred if status == "starred" else m.is_read == (status == "read")


@tool(
    "read",
    phrases=(
        "Open {email_id}",
        "Show me {email_id} in full with its attachments",
        "What does {email_id} say",
    ),
    refuses=("not_found",),
    sample=samples.one_email,
)
def get_email(mail: Mail, email_id: EmailId) -> EmailDetails:
    """Show one email in full: text, addressees, folder, labels and attachments. It stays unread
    if it was.

    Args:
        email_id: The email.
    """
    return email_details(mail, the_message(mail, email_id))


@tool(
    "read",
    phrases=(
        "Show me the whole exchange in {thread_id}",
        "Go through all messages of {thread_id}",
        "Who wrote what in {thread_id}",
    ),
    refuses=("not_found",),
    sample=samples.one_thread,
)
def get_email_thread(
    mail: Mail, thread_id: ThreadId, limit: Limit = 5, cursor: str = ""
) -> ThreadPage:
    """Show the emails of a conversation, oldest first, each with the beginning of its text.

    Args:
        thread_id: The conversation.
        limit: Emails per page.
        cursor: next_cursor of the page before.
    """
    thread = mail.threads.get(thread_id)
    if thread is None:
        text = f"there is no conversation {thread_id[:40]!r}; get_email shows ids"
        refuse("not_found", text, id=thread_id[:80])
    rows = sorted(mail.messages.where(thread_id=thread_id), key=lambda m: m.sent_at)
    shown, total, after = page(rows, limit, cursor)
    return ThreadPage(thread.id, thread.subject, [thread_entry(m) for m in shown], total, after)


@tool(
    "read",
    phrases=(
        "Show the people in my e-mail address book[ that match {query}]",
        "List my mail contacts[, only those called {query}]",
        "Who is in my mail contacts[ under {query}]",
    ),
    sample=samples.contacts,
)
def search_mail_contacts(
    mail: Mail, query: str = "", limit: Limit = 5, cursor: str = ""
) -> ContactPage:
    """Search the address book by name, address or company.

    Args:
        query: Words to look for; all contacts without.
        limit: Contacts per page.
        cursor: next_cursor of the page before.
    """
    words = query.lower().split()
    found = [c for c in mail.contacts if _all(words, f"{c.name} {c.address} {c.company}".lower())]
    found.sort(key=lambda c: (c.name, c.address))
    shown, total, after = page(found, limit, cursor)
    items = [ContactItem(c.name, c.address, c.company, c.status == "bounced") for c in shown]
    return ContactPage(items, total, after)


# -- keeping order -----------------------------------------------------------------------------


@tool(
    "write",
    phrases=(
        "Move {email_id} to {folder_id}",
        "Put {email_id} into {folder_id}",
        "File {email_id} in {folder_id}",
    ),
    refuses=("not_found", "sent_email", "not_a_destination", "other_account", "already_there"),
    sample=samples.move,
)
def move_email(mail: Mail, email_id: EmailId, folder_id: FolderId) -> EmailReceipt:
    """Move a received email to another folder of the same account, e.g. its archive or trash.

    Args:
        email_id: The email.
        folder_id: Where it goes.
    """
    message, folder = the_message(mail, email_id), the_folder(mail, folder_id)
    if message.sender_address == message.account:
        refuse("sent_email", f"you sent {message.subject!r}; sent mail stays in the Sent folder")
    if folder.account != message.account:
        text = f"the email is in {message.account}, the folder in {folder.account}"
        refuse("other_account", text, account=message.account)
    if folder.kind == "sent":
        refuse("not_a_destination", "the Sent folder holds only what you sent")
    if folder.id == message.folder_id:
        refuse("already_there", f"{message.subject!r} is in {folder.name} already")
    recount(mail, message.folder_id, -(not message.is_read))
    recount(mail, folder.id, not message.is_read)
    return email_receipt(mail, mail.messages.update(message, folder_id=folder.id))


@tool(
    "write",
    phrases=(
        "Mark {email_id} as {mark}",
        "I want {email_id} marked as {mark}",
        "Flag {email_id} as {mark}",
    ),
    refuses=("not_found", "sent_email", "already_marked"),
    sample=samples.mark,
)
def mark_email(
    mail: Mail, email_id: EmailId, mark: Literal["read", "unread", "starred", "unstarred"]
) -> EmailReceipt:
    """Mark an email as read or unread, or give or take its star.

    Args:
        email_id: The email.
        mark: What it shall be.
    """
    message, on = the_message(mail, email_id), not mark.startswith("un")
    flag = "is_read" if mark.endswith("read") else "is_starred"
    if mark == "unread" and message.sender_address == message.account:
        refuse("sent_email", f"you sent {message.subject!r}; sent mail counts as read")
    if getattr(message, flag) == on:
        refuse("already_marked", f"{message.subject!r} is {mark} already")
    if flag == "is_read":
        recount(mail, message.folder_id, -1 if on else 1)
    return email_receipt(mail, mail.messages.update(message, **{flag: on}))


@tool(
    "write",
    phrases=(
        "For {email_id}, {action} the label {label}",
        "Please {action} the label {label} on {email_id}",
        "I want you to {action} the {label} label on {email_id}",
    ),
    refuses=("not_found", "unknown_label", "already_labelled", "not_labelled"),
    sample=samples.label,
)
def label_email(
    mail: Mail, email_id: EmailId, label: LabelName, action: Literal["add", "remove"]
) -> EmailReceipt:
    """Put an existing label on an email, or take it off.

    Args:
        email_id: The email.
        label: The label's name.
        action: Whether to add or remove it.
    """
    message, name = the_message(mail, email_id), the_label(mail, label)
    has = name in message.labels
    if has and action == "add":
        refuse("already_labelled", f"{message.subject!r} carries the label {name!r} already")
    if not has and action == "remove":
        has_now = list(message.labels)
        refuse("not_labelled", f"{message.subject!r} has no label {name!r}", labels=has_now)
    kept = {*message.labels, name} if action == "add" else {*message.labels} - {name}
    return email_receipt(mail, mail.messages.update(message, labels=tuple(sorted(kept))))


@tool(
    "write",
    phrases=(
        "Create a[ {colour}] mail label called {name}",
        "Add a new[ {colour}] label {name} for my emails",
        "Set up the[ {colour}] email label {name}",
    ),
    refuses=("label_exists", "label_limit"),
    sample=samples.new_label,
)
def create_mail_label(
    mail: Mail, name: Annotated[str, LABEL], colour: Colour = "grey"
) -> LabelReceipt:
    """Create a label for emails; its name is kept in lower case.

    Args:
        name: The label's name.
        colour: Its colour.
    """
    key, there_are = name.strip().lower(), len(mail.labels)
    if key in mail.labels:
        refuse("label_exists", f"there is a label {key!r} already")
    if there_are >= MAX_LABELS:
        refuse("label_limit", f"there are {there_are} labels, the most allowed", limit=MAX_LABELS)
    mail.labels.put(Label(key, f"label:{key}", colour))
    return LabelReceipt(key, colour, there_are + 1)
