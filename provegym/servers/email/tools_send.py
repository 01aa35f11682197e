"""Sending at once: a new email, a reply, a forward."""

from __future__ import annotations

from typing import Annotated

from provegym.servers.email import samples
from provegym.servers.email.post import (
    NO_REPLY,
    addresses,
    copy_files,
    ensure_connected,
    ensure_deliverable,
    ensure_fits,
    ensure_safe,
    own_account,
    post,
    prefixed,
    the_message,
)
from provegym.servers.email.state import SUBJECT_LENGTH, Address, EmailId, Mail, Message
from provegym.servers.email.views import SentReceipt, sent_receipt
from provegym.world.fields import Email, Format, Text
from provegym.world.tool import refuse, tool

SUBJECT = Format("text", "", lambda text: len(text) <= SUBJECT_LENGTH and text.strip())
Subject = Annotated[str, SUBJECT]


@tool(
    "write",
    phrases=(
        "Send an email to {to}[ with {cc} in copy][ from my account {from_address}]"
        " with the subject {subject} and the text {body}",
        "Email {to}[, cc {cc},][ from {from_address}]: subject {subject}, text {body}",
        "Write to {to}[ and copy {cc}][ from my address {from_address}] under the subject "
        "{subject} and say {body}",
    ),
    refuses=("unknown_account", "account_disconnected", "undeliverable_address"),
    sample=samples.new_email,
)
def send_email(
    mail: Mail,
    to: list[Email],
    subject: Subject,
    body: Text,
    cc: list[Email] | None = None,
    from_address: Address | None = None,
) -> SentReceipt:
    """Send a new email at once. To attach files, create a draft instead.

    Args:
        to: Addressees.
        subject: Subject line.
        body: Text.
        cc: Who gets a copy.
        from_address: Own address to send from; by default the primary one.
    """
    account, primary = own_account(mail, from_address), addresses(to)
    copied = addresses(cc or (), leave_out=primary)
    return sent_receipt(mail, post(mail, account, primary, copied, subject, body))


@tool(
    "write",
    phrases=(
        "Reply to {email_id} with {body}[ and copy {cc}]",
        "Answer {email_id} and say {body}[, with {cc} in copy]",
        "Write back to {email_id}: {body}[, cc {cc}]",
    ),
    refuses=("not_found", "no_reply_address", "account_disconnected", "undeliverable_address"),
    sample=samples.reply,
)
def reply_to_email(
    mail: Mail,
    email_id: EmailId,
    body: Text,
    cc: list[Email] | None = None,
    reply_all: bool = False,
) -> SentReceipt:
    """Answer an email at once, from the account that has it; the answer joins its conversation.

    Args:
        email_id: The email to answer.
        body: Text.
        cc: Who else gets a copy.
        reply_all: Whether all of its other addressees get a copy.
    """
    message = the_message(mail, email_id)
    if message.sender_address.startswith(NO_REPLY):
        refuse("no_reply_address", f"{message.sender_address} takes no answers")
    ours = message.sender_address == message.account
    to = message.to if ours else (message.sender_address,)
    others = (*message.to, *message.cc) if reply_all else ()
    copied = addresses((*(cc or ()), *others), leave_out=(*to, message.account))
    account = mail.accounts[message.account]
    sent = post(mail, account, to, copied, prefixed("Re:", message.subject), body, message)
    return sent_receipt(mail, sent)


@tool(
    "write",
    phrases=(
        "Forward {email_id} to {to}[ with the comment {comment}]",
        "Pass {email_id} on to {to}[ and add {comment}]",
        "Send {email_id} along to {to}[, saying {comment}]",
    ),
    refuses=(
        *("not_found", "forwarding_restricted", "account_disconnected"),
        *("undeliverable_address", "attachment_too_large", "blocked_file_type"),
    ),
    sample=samples.forward,
)
def forward_email(
    mail: Mail, email_id: EmailId, to: list[Email], comment: Text | None = None
) -> SentReceipt:
    """Forward an email with its attachments, from the account that has it, as a new conversation.

    Args:
        email_id: The email to forward.
        to: Addressees.
        comment: Text above it.
    """
    message, primary = the_message(mail, email_id), addresses(to)
    if message.restricted:
        text = f"{message.sender} does not allow {message.subject!r} to be forwarded"
        refuse("forwarding_restricted", text)
    account, files = mail.accounts[message.account], mail.files(message=message.id)
    ensure_connected(account)
    ensure_deliverable(mail, primary, ())
    ensure_safe(files)
    ensure_fits(account, files)
    body = _quoted(message, comment or "")
    sent = post(mail, account, primary, (), prefixed("Fwd:", message.subject), body)
    copy_files(mail, files, message=sent.id)
    return sent_receipt(mail, sent)


def _quoted(message: Message, comment: str) -> str:
    """The forwarded text below its heading, which has no time: that is not part of the content."""
    above = f"{comment}\n\n" if comment else ""
    head = f"From: {message.sender} <{message.sender_address}>\nSubject: {message.subject}"
    return f"{above}---- Forwarded message ----\n{head}\n\n{message.body}"
