"""Drafts: written over several calls, with files, then sent."""

from __future__ import annotations

from provegym.servers.email import samples
from provegym.servers.email.post import (
    addresses,
    copy_files,
    ensure_fits,
    ensure_safe,
    own_account,
    post,
    the_draft,
    the_file,
)
from provegym.servers.email.state import (
    Address,
    AttachmentId,
    Draft,
    DraftId,
    DraftStatus,
    Mail,
)
from provegym.servers.email.tools_send import Subject
from provegym.servers.email.views import (
    DraftPage,
    DraftReceipt,
    SentReceipt,
    draft_item,
    draft_receipt,
    sent_receipt,
)
from provegym.world.fields import Email, Limit, Text
from provegym.world.page import page
from provegym.world.tool import refuse, tool


@tool(
    "read",
    phrases=(
        "List my[ {status}] email drafts[ about {query}]",
        "Which[ {status}] drafts do I have in my mail[ that mention {query}]",
        "Show me the[ {status}] mail drafts[ on {query}]",
    ),
    sample=samples.drafts,
)
def list_email_drafts(
    mail: Mail,
    query: str = "",
    status: DraftStatus | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> DraftPage:
    """List email drafts, the latest first; a sent draft stays as a record.

    Args:
        query: Words in subject, text or addressees.
        status: Only open or only sent ones.
        limit: Drafts per page.
        cursor: next_cursor of the page before.
    """
    words = query.lower().split()
    found = [
        d
        for d in mail.drafts
        if status in (None, d.status)
        and all(w in f"{d.subject}\n{d.body}\n{' '.join(d.to)}".lower() for w in words)
    ]
    found.sort(key=lambda d: d.updated_at, reverse=True)
    shown, total, after = page(found, limit, cursor)
    return DraftPage([draft_item(mail, d) for d in shown], total, after)


@tool(
    "write",
    phrases=(
        "Draft an email[ to {to}][ from my account {from_address}] with the subject {subject} "
        "and the text {body}, but do not send it",
        "Prepare a draft[ for {to}][ in {from_address}] under the subject {subject} that says "
        "{body}",
        "Save an email draft[ addressed to {to}][ from {from_address}]: subject {subject}, text "
        "{body}",
    ),
    refuses=("unknown_account",),
    sample=samples.new_draft,
)
def create_email_draft(
    mail: Mail,
    subject: Subject,
    body: Text,
    to: list[Email] | None = None,
    from_address: Address | None = None,
) -> DraftReceipt:
    """Write an email draft without sending it; files and addressees can be added later.

    Args:
        subject: Subject line.
        body: Text.
        to: Addressees, if known yet.
        from_address: Own address to send from; by default the primary one.
    """
    account = own_account(mail, from_address)
    draft = Draft(
        *(mail.drafts.new_id(), account.id, addresses(to or ()), (), subject, body, mail.stamp)
    )
    return draft_receipt(mail, mail.drafts.put(draft))


@tool(
    "write",
    phrases=(
        "Change {draft_id}[ so that it goes to {to}][ with {cc} in copy][; make the subject "
        "{subject}][; make the text {body}]",
        "Edit {draft_id}[: address it to {to}][, cc {cc}][, retitle it {subject}]"
        "[, let it say {body}]",
    ),
    refuses=("not_found", "draft_sent", "no_change"),
    sample=samples.change_draft,
)
def update_email_draft(
    mail: Mail,
    draft_id: DraftId,
    to: list[Email] | None = None,
    cc: list[Email] | None = None,
    subject: Subject | None = None,
    body: Text | None = None,
) -> DraftReceipt:
    """Change an open draft; what is not given stays.

    Args:
        draft_id: The draft.
        to: New addressees, instead of those before.
        cc: New people in copy, instead of those before.
        subject: New subject line.
        body: New text.
    """
    draft = the_draft(mail, draft_id)
    primary = draft.to if to is None else addresses(to)
    copied = addresses(draft.cc if cc is None else cc, leave_out=primary)
    terms = (primary, copied, subject or draft.subject, body or draft.body)
    if terms == (draft.to, draft.cc, draft.subject, draft.body):
        refuse("no_change", "give addressees, a subject or a text that differ from the present")
    changed = mail.drafts.update(
        draft, to=terms[0], cc=terms[1], subject=terms[2], body=terms[3], updated_at=mail.stamp
    )
    return draft_receipt(mail, changed)


@tool(
    "write",
    phrases=(
        "Attach {attachment_id} to {draft_id}",
        "Add {attachment_id} as an attachment to {draft_id}",
        "Put {attachment_id} on {draft_id}",
    ),
    refuses=(
        *("not_found", "draft_sent", "blocked_file_type", "already_attached"),
        "attachment_too_large",
    ),
    sample=samples.attach,
)
def attach_to_email_draft(
    mail: Mail, draft_id: DraftId, attachment_id: AttachmentId
) -> DraftReceipt:
    """Attach a copy of a file from any email to an open draft.

    Args:
        draft_id: The draft.
        attachment_id: The file, an attachment as get_email shows it.
    """
    draft, file = the_draft(mail, draft_id), the_file(mail, attachment_id)
    ensure_safe([file])
    files = mail.files(draft=draft.id)
    if any(f.filename == file.filename for f in files):
        refuse("already_attached", f"{file.filename} is on {draft.subject!r} already")
    ensure_fits(mail.accounts[draft.account], [*files, file])
    copy_files(mail, [file], draft=draft.id)
    return draft_receipt(mail, mail.drafts.update(draft, updated_at=mail.stamp))


@tool(
    "write",
    phrases=(
        "Send {draft_id}",
        "Send off {draft_id} now",
        "Let {draft_id} go out to its addressees",
    ),
    refuses=(
        *("not_found", "draft_sent", "no_recipient", "account_disconnected"),
        "undeliverable_address",
    ),
    sample=samples.ready_draft,
)
def send_email_draft(mail: Mail, draft_id: DraftId) -> SentReceipt:
    """Send an open draft with its attachments; it cannot be changed afterwards.

    Args:
        draft_id: The draft.
    """
    draft = the_draft(mail, draft_id)
    account, parent = mail.accounts[draft.account], mail.messages.get(draft.reply_to_id)
    sent = post(mail, account, draft.to, draft.cc, draft.subject, draft.body, parent)
    for file in mail.files(draft=draft.id):
        mail.attachments.update(file, message_id=sent.id, draft_id="")
    mail.drafts.update(draft, status="sent", message_id=sent.id, updated_at=mail.stamp)
    return sent_receipt(mail, sent)
