"""What several tools do: find a row or refuse, check who is written to, send."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from provegym.servers.email.state import (
    UNSAFE,
    Account,
    Attachment,
    Contact,
    Draft,
    Folder,
    Mail,
    Message,
    Thread,
)
from provegym.world.tool import refuse

NO_REPLY = ("no-reply@", "noreply@")


def the_message(mail: Mail, email_id: str) -> Message:
    """The message of that id, or `not_found`."""
    found = mail.messages.get(email_id)
    return found if found is not None else _missing("email", email_id, "search_emails")


def the_draft(mail: Mail, draft_id: str) -> Draft:
    """A draft that can still be changed: else `not_found` or `draft_sent`."""
    found = mail.drafts.get(draft_id)
    if found is None:
        _missing("draft", draft_id, "list_email_drafts")
    if found.status == "sent":
        refuse("draft_sent", f"the draft {found.subject!r} was sent already and cannot change")
    return found


def the_folder(mail: Mail, folder_id: str) -> Folder:
    """The folder of that id, or `not_found`."""
    found = mail.folders.get(folder_id)
    return found if found is not None else _missing("folder", folder_id, "list_mail_folders")


def the_file(mail: Mail, attachment_id: str) -> Attachment:
    """The attachment of that id, or `not_found`."""
    found = mail.attachments.get(attachment_id)
    return found if found is not None else _missing("attachment", attachment_id, "get_email")


def _missing(noun: str, row_id: str, tool: str) -> NoReturn:
    refuse("not_found", f"there is no {noun} {row_id[:40]!r}; {tool} shows ids", id=row_id[:80])


def the_label(mail: Mail, name: str) -> str:
    """The label's name as it is kept, or `unknown_label` with those that there are."""
    key = name.strip().lower()
    if key not in mail.labels:
        known = sorted(label.id for label in mail.labels)
        refuse("unknown_label", f"there is no label {name[:40]!r}", labels=known)
    return key


def own_account(mail: Mail, address: str | None) -> Account:
    """The account of that address, by default the primary one; else `unknown_account`."""
    if address is None:
        return mail.accounts.where(primary=True)[0]
    found = mail.accounts.get(address.strip().lower())
    if found is None:
        known = [a.id for a in mail.accounts]
        refuse("unknown_account", f"you have no account {address[:80]!r}", accounts=known)
    return found


def ensure_connected(account: Account) -> None:
    """Refuse `account_disconnected` where nothing can be sent."""
    if account.status == "disconnected":
        text = f"{account.id} is disconnected, it needs a new sign-in; use another account"
        refuse("account_disconnected", text)


def addresses(given: Sequence[str], leave_out: Sequence[str] = ()) -> tuple[str, ...]:
    """Addresses in lower case (RFC 5321 domains have no case), each once, without some."""
    return tuple(a for a in dict.fromkeys(g.lower() for g in given) if a not in leave_out)


def ensure_deliverable(mail: Mail, to: Sequence[str], cc: Sequence[str]) -> None:
    """Refuse `no_recipient`, or `undeliverable_address` for one that bounced before."""
    if not to:
        refuse("no_recipient", "nobody is addressed; give at least one address in `to`")
    for address in (*to, *cc):
        if any(c.status == "bounced" for c in mail.contacts.where(address=address)):
            text = f"mail to {address} bounced before, so nothing is sent there; leave it out"
            refuse("undeliverable_address", text, address=address)


def ensure_fits(account: Account, files: Sequence[Attachment]) -> None:
    """Refuse `attachment_too_large` where the files exceed what the account sends."""
    size = sum(f.size_kb for f in files)
    if size > account.max_kb:
        text = f"the files come to {size} kB; {account.id} sends at most {account.max_kb} kB"
        refuse("attachment_too_large", text, size_kb=size, max_kb=account.max_kb)


def ensure_safe(files: Sequence[Attachment]) -> None:
    """Refuse `blocked_file_type` for programs."""
    for file in files:
        if file.filename.endswith(UNSAFE):
            refuse("blocked_file_type", f"{file.filename} is a program; no mail may carry it")


def post(
    mail: Mail,
    account: Account,
    to: tuple[str, ...],
    cc: tuple[str, ...],
    subject: str,
    body: str,
    parent: Message | None = None,
) -> Message:
    """Send: into the Sent folder, into the thread of what it answers, else a new one."""
    ensure_connected(account)
    ensure_deliverable(mail, to, cc)
    if parent is None:
        thread = mail.threads.put(Thread(mail.threads.new_id(), account.id, subject)).id
    else:
        thread = parent.thread_id
    _collect(mail, (*to, *cc))
    row = Message(
        id=mail.messages.new_id(),
        account=account.id,
        thread_id=thread,
        folder_id=mail.folder(account.id, "sent").id,
        reply_to_id=parent.id if parent else "",
        sender=mail.cast.user.name,
        sender_address=account.id,
        to=to,
        cc=cc,
        subject=subject,
        body=body,
        sent_at=mail.stamp,
    )
    return mail.messages.put(row)


def _collect(mail: Mail, to: Sequence[str]) -> None:
    """Put new addressees into the address book."""
    for address in to:
        if address not in mail.accounts and not mail.contacts.where(address=address):
            name = address.split("@")[0].replace(".", " ").title()
            mail.contacts.put(Contact(mail.contacts.new_id(), name, address, "", "collected"))


def copy_files(mail: Mail, files: Sequence[Attachment], message: str = "", draft: str = "") -> None:
    """Copies of files for a message or a draft."""
    for f in files:
        new = mail.attachments.new_id()
        mail.attachments.put(Attachment(new, message, draft, f.filename, f.size_kb))


def recount(mail: Mail, folder_id: str, more: int) -> None:
    """Add to a folder's unread count."""
    if more:
        folder = mail.folders[folder_id]
        mail.folders.update(folder, unread=folder.unread + more)


def prefixed(prefix: str, subject: str) -> str:
    """The subject with "Re:" or the like before it, once."""
    return subject if subject.lower().startswith(prefix.lower()) else f"{prefix} {subject}"


def searched(m: Message) -> str:
    """What a search looks at in a message, in lower case."""
    return f"{m.subject}\n{m.sender}\n{m.sender_address}\n{m.body}".lower()
