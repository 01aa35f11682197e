"""Each refusal of the mail server occurs; broken mail is noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from provegym.servers.email import SERVER
from provegym.servers.email.post import NO_REPLY
from provegym.servers.email.state import MAX_LABELS, UNSAFE, Attachment, Message, violations
from tests.servers.email_desk import Desk, desk
from tests.servers.talk import declared

Scenario = Callable[[Desk], dict[str, Any]]


def _note(d: Desk, **given: Any) -> dict[str, Any]:
    return {"to": [d.friend()], "subject": "Lamp", "body": "Which one", **given}


def _from_old(d: Desk) -> str:
    """A received message of the disconnected account."""
    old = d.account("Alumni").id
    return next(m.id for m in d.mail.messages.where(account=old) if m.sender_address != old)


def _carrier(d: Desk, *, program: bool) -> str:
    """An email that may be passed on but carries a program, or safe files that are too large."""
    old = d.account("Alumni").id
    return next(
        m.id
        for m in d.mail.messages
        if not m.restricted
        and m.account != old
        and (files := d.mail.files(message=m.id))
        and any(f.filename.endswith(UNSAFE) for f in files) == program
        and (program or sum(f.size_kb for f in files) > d.mail.accounts[m.account].max_kb)
    )


def _forward(d: Desk, **given: Any) -> dict[str, Any]:
    return {"email_id": d.received().id, "to": [d.friend()], **given}


def _no_reply(d: Desk) -> str:
    return next(m.id for m in d.mail.messages if m.sender_address.startswith(NO_REPLY))


def _from_bounced(d: Desk) -> str:
    bad = {c.address for c in d.mail.contacts.where(status="bounced")}
    home = d.account().id
    pairs = [m for m in d.mail.messages.where(account=home) if {m.sender_address, *m.to} & bad]
    return pairs[0].id


def _sent_draft(d: Desk) -> str:
    return d.mail.drafts.where(status="sent")[0].id


def _restricted(d: Desk) -> str:
    return d.mail.messages.where(restricted=True)[0].id


def _attach(d: Desk, file: Attachment, times: int = 1) -> dict[str, Any]:
    given = {"draft_id": d.draft().id, "attachment_id": file.id}
    for _ in range(times - 1):
        d.ok("attach_to_email_draft", **given)
    return given


def _move(d: Desk, account: str = "Work", kind: str = "archive") -> dict[str, Any]:
    folders = d.mail.folders.where(account=d.account(account).id, kind=kind)
    return {"email_id": d.received().id, "folder_id": folders[0].id}


def _full_of_labels(d: Desk) -> dict[str, Any]:
    for i in range(MAX_LABELS - len(d.mail.labels)):
        d.ok("create_mail_label", name=f"shelf {i}")
    return {"name": "one too many"}


def _label(d: Desk, action: str, *, has: bool) -> dict[str, Any]:
    message = next(m for m in d.mail.messages if m.labels)
    free = next(x.id for x in d.mail.labels if x.id not in message.labels)
    label = message.labels[0] if has else free
    return {"email_id": message.id, "label": label, "action": action}


def _marked(d: Desk) -> dict[str, Any]:
    message = d.received()
    return {"email_id": message.id, "mark": "read" if message.is_read else "unread"}


def _draft_where(d: Desk, ready: Callable[[Any], bool]) -> dict[str, Any]:
    return {"draft_id": next(x.id for x in d.mail.drafts.where(status="open") if ready(x))}


MISSING = "msg_none"
SCENARIOS: dict[tuple[str, str], Scenario] = {
    ("list_mail_folders", "unknown_account"): lambda d: {"account": "x@y.example"},
    ("search_emails", "not_found"): lambda d: {"folder_id": "fld_none"},
    ("search_emails", "unknown_label"): lambda d: {"label": "no such"},
    ("get_email", "not_found"): lambda d: {"email_id": MISSING},
    ("get_email_thread", "not_found"): lambda d: {"thread_id": "thr_none"},
    ("move_email", "not_found"): lambda d: {**_move(d), "folder_id": "fld_none"},
    ("move_email", "sent_email"): lambda d: {**_move(d), "email_id": d.sent().id},
    ("move_email", "not_a_destination"): lambda d: _move(d, kind="sent"),
    ("move_email", "other_account"): lambda d: _move(d, "Home"),
    ("move_email", "already_there"): lambda d: {
        "email_id": d.received().id,
        "folder_id": d.received().folder_id,
    },
    ("mark_email", "not_found"): lambda d: {"email_id": MISSING, "mark": "read"},
    ("mark_email", "sent_email"): lambda d: {"email_id": d.sent().id, "mark": "unread"},
    ("mark_email", "already_marked"): _marked,
    ("label_email", "not_found"): lambda d: {
        **_label(d, "add", has=False),
        "email_id": MISSING,
    },
    ("label_email", "unknown_label"): lambda d: {
        **_label(d, "add", has=False),
        "label": "no such",
    },
    ("label_email", "already_labelled"): lambda d: _label(d, "add", has=True),
    ("label_email", "not_labelled"): lambda d: _label(d, "remove", has=False),
    ("create_mail_label", "label_exists"): lambda d: {
        "name": next(iter(d.mail.labels)).id.upper()
    },
    ("create_mail_label", "label_limit"): _full_of_labels,
    ("send_email", "unknown_account"): lambda d: _note(d, from_address="x@y.example"),
    ("send_email", "account_disconnected"): lambda d: _note(
        d, from_address=d.account("Alumni").id
    ),
    ("send_email", "undeliverable_address"): lambda d: _note(d, cc=[d.bounced()]),
    ("reply_to_email", "not_found"): lambda d: {"email_id": MISSING, "body": "Hello"},
    ("reply_to_email", "no_reply_address"): lambda d: {
        "email_id": _no_reply(d),
        "body": "Hello",
    },
    ("reply_to_email", "account_disconnected"): lambda d: {
        "email_id": _from_old(d),
        "body": "Hello",
    },
    ("reply_to_email", "undeliverable_address"): lambda d: {
        "email_id": _from_bounced(d),
        "body": "Hello",
    },
    ("forward_email", "not_found"): lambda d: _forward(d, email_id=MISSING),
    ("forward_email", "forwarding_restricted"): lambda d: _forward(
        d, email_id=_restricted(d)
    ),
    ("forward_email", "account_disconnected"): lambda d: _forward(d, email_id=_from_old(d)),
    ("forward_email", "undeliverable_address"): lambda d: _forward(d, to=[d.bounced()]),
    ("forward_email", "attachment_too_large"): lambda d: _forward(
        d, email_id=_carrier(d, program=False)
    ),
    ("forward_email", "blocked_file_type"): lambda d: _forward(
        d, email_id=_carrier(d, program=True)
    ),
    ("create_email_draft", "unknown_account"): lambda d: {
        "subject": "Lamp",
        "body": "Hello",
        "from_address": "x@y.example",
    },
    ("update_email_draft", "not_found"): lambda d: {"draft_id": "drf_none", "body": "Hello"},
    ("update_email_draft", "draft_sent"): lambda d: {"draft_id": _sent_draft(d), "body": "Hello"},
    ("update_email_draft", "no_change"): lambda d: {"draft_id": d.draft().id},
    ("attach_to_email_draft", "not_found"): lambda d: {
        **_attach(d, d.file()),
        "attachment_id": "att_none",
    },
    ("attach_to_email_draft", "draft_sent"): lambda d: {
        **_attach(d, d.file()),
        "draft_id": _sent_draft(d),
    },
    ("attach_to_email_draft", "blocked_file_type"): lambda d: _attach(
        d, d.file(end=(".exe", ".js", ".bat"))  # type: ignore[arg-type]
    ),
    ("attach_to_email_draft", "already_attached"): lambda d: _attach(d, d.file(), times=2),
    ("attach_to_email_draft", "attachment_too_large"): lambda d: _attach(
        d, d.file(least=10 * 1024 + 1, most=24000)
    ),
    ("send_email_draft", "not_found"): lambda d: {"draft_id": "drf_none"},
    ("send_email_draft", "draft_sent"): lambda d: {"draft_id": _sent_draft(d)},
    ("send_email_draft", "no_recipient"): lambda d: _draft_where(d, lambda x: not x.to),
    ("send_email_draft", "account_disconnected"): lambda d: _draft_where(
        d, lambda x: x.to and x.account == d.account("Alumni").id
    ),
    ("send_email_draft", "undeliverable_address"): lambda d: _draft_where(
        d, lambda x: d.bounced() in x.to
    ),
}  # fmt: skip


@pytest.mark.parametrize(("tool", "code"), declared(SERVER))
@pytest.mark.parametrize("seed", [0, 1, 11])
def test_each_declared_refusal_occurs(tool: str, code: str, seed: int) -> None:
    d = desk(seed)
    assert d.refused(tool, **SCENARIOS[tool, code](d))["code"] == code


def test_nothing_is_sent_to_nobody() -> None:
    d = desk()
    assert d.refused("send_email", **_note(d, to=[]))["code"] == "no_recipient"
    assert d.refused("forward_email", **_forward(d, to=[]))["code"] == "no_recipient"


def _edited(d: Desk) -> None:
    d.mail.messages.update(d.sent(), body="Something else")


def _removed(d: Desk) -> None:
    d.mail.messages.delete(d.sent().id)


def _torn(d: Desk) -> None:
    answer = next(m for m in d.mail.messages if m.reply_to_id)
    d.mail.messages.update(answer, reply_to_id="")


def _uncounted(d: Desk) -> None:
    d.mail.messages.update(d.received(), is_read=not d.received().is_read)


def _unlabelled(d: Desk) -> None:
    message: Message = next(m for m in d.mail.messages if m.labels)
    d.mail.labels.delete(message.labels[0])


def _doubled(d: Desk) -> None:
    d.mail.attachments.update(d.file(), draft_id=d.draft().id)


def _unsent(d: Desk) -> None:
    d.mail.drafts.update(d.mail.drafts[_sent_draft(d)], status="open")


@pytest.mark.parametrize(
    "breaks", [_edited, _removed, _torn, _uncounted, _unlabelled, _doubled, _unsent]
)
def test_broken_mail_is_noticed(breaks: Callable[[Desk], None]) -> None:
    d = desk()
    breaks(d)
    assert list(violations(d.mail))
