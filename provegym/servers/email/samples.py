"""Plausible arguments for each tool, read off the rows of a session. An empty dict: none found."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

from provegym.servers.email.post import NO_REPLY
from provegym.servers.email.state import Draft, Mail, Message
from provegym.servers.email.words import COLOURS, DRAFT_SUBJECTS, MORE_LABELS, NOTES

Arguments = dict[str, Any]
T = TypeVar("T")

SLIP = 0.06
"""How often a row is chosen without a look at its state."""


def _maybe(rnd: Random, rate: float = 0.3, **fields: Any) -> Arguments:
    return {name: value for name, value in fields.items() if rnd.random() < rate}


def _pick(rnd: Random, good: Sequence[T], every: Sequence[T]) -> T:
    """One of the good rows, now and then any."""
    return rnd.choice(good if good and rnd.random() >= SLIP else every)


def _message(mail: Mail, rnd: Random) -> Message:
    """A recent message more often than an old one, not from spam or trash."""
    hidden = {f.id for f in mail.folders if f.kind in ("spam", "trash")}
    rows = [m for m in mail.messages if m.folder_id not in hidden]
    return rows[-1 - int(len(rows) * rnd.random() ** 1.5)]


def _received(mail: Mail, rnd: Random) -> Message:
    """A received message of a connected account."""
    old = {a.id for a in mail.accounts if a.status == "disconnected"}
    rows = [m for m in mail.messages if m.sender_address != m.account and m.account not in old]
    return _pick(rnd, rows, list(mail.messages))


def _people(mail: Mail, rnd: Random, most: int = 2) -> list[str]:
    """One or two addresses of the address book that work."""
    every = list(mail.contacts)
    good = [c for c in every if c.status == "active"]
    found = [_pick(rnd, good, every) for _ in range(rnd.choice((1, 1, most)))]
    return list(dict.fromkeys(c.address for c in found))


def _address(mail: Mail, rnd: Random) -> str:
    every = list(mail.accounts)
    return _pick(rnd, [a for a in every if a.status == "connected"], every).id


def folders(mail: Mail, rnd: Random) -> Arguments:
    """An account or part of a folder's name."""
    folder = rnd.choice(list(mail.folders))
    return _maybe(rnd, account=folder.account, query=folder.name)


def search(mail: Mail, rnd: Random) -> Arguments:
    """Filters that one existing message meets."""
    m = _message(mail, rnd)
    status = "starred" if m.is_starred else "read" if m.is_read else "unread"
    word = m.subject.removeprefix("Re: ").removeprefix("Fwd: ")
    main: Arguments = rnd.choice(
        ({"query": word}, {"query": word}, {"sender": m.sender}, {"folder_id": m.folder_id})
    )
    if m.labels and rnd.random() < 0.25:
        main = {"label": rnd.choice(m.labels)}
    days = {"since": m.sent_at[:10], "until": m.sent_at[:10]}
    name = rnd.choice(list(days))
    return {**main, **_maybe(rnd, 0.2, status=status, **{name: days[name]})}


def one_email(mail: Mail, rnd: Random) -> Arguments:
    """A message."""
    return {"email_id": _message(mail, rnd).id}


def one_thread(mail: Mail, rnd: Random) -> Arguments:
    """A conversation, rather one with answers."""
    m = _message(mail, rnd)
    for _ in range(3):
        if m.reply_to_id:
            break
        m = _message(mail, rnd)
    return {"thread_id": m.thread_id}


def contacts(mail: Mail, rnd: Random) -> Arguments:
    """A name, a first name or a company."""
    contact = rnd.choice(list(mail.contacts))
    words = (contact.name, contact.name, contact.name.split()[0], contact.company or contact.name)
    return {"query": rnd.choice(words)}


def move(mail: Mail, rnd: Random) -> Arguments:
    """A received message and another folder of its account."""
    m, every = _received(mail, rnd), list(mail.folders)
    good = [f for f in every if f.account == m.account and f.kind != "sent" and f.id != m.folder_id]
    return {"email_id": m.id, "folder_id": _pick(rnd, good, every).id}


def mark(mail: Mail, rnd: Random) -> Arguments:
    """A mark that a received message does not have."""
    m = _received(mail, rnd)
    marks = ("unread" if m.is_read else "read", "unstarred" if m.is_starred else "starred")
    return {"email_id": m.id, "mark": rnd.choice(marks)}


def label(mail: Mail, rnd: Random) -> Arguments:
    """A label that a message lacks, or one that it has."""
    m, every = _message(mail, rnd), [row.id for row in mail.labels]
    if m.labels and rnd.random() < 0.5:
        return {"email_id": m.id, "label": rnd.choice(m.labels), "action": "remove"}
    free = [name for name in every if name not in m.labels]
    return {"email_id": m.id, "label": _pick(rnd, free, every), "action": "add"}


def new_label(mail: Mail, rnd: Random) -> Arguments:
    """A name that is not taken."""
    good = [name for name in MORE_LABELS if name not in mail.labels]
    name = _pick(rnd, good, [row.id for row in mail.labels])
    return {"name": name, **_maybe(rnd, colour=rnd.choice(COLOURS))}


def new_email(mail: Mail, rnd: Random) -> Arguments:
    """A short note to someone in the address book."""
    to = _people(mail, rnd)
    return {
        "to": to,
        "subject": rnd.choice(DRAFT_SUBJECTS),
        "body": rnd.choice(NOTES),
        **_maybe(rnd, 0.2, cc=_people(mail, rnd, 1), from_address=_address(mail, rnd)),
    }


def reply(mail: Mail, rnd: Random) -> Arguments:
    """A message of someone who takes answers."""
    m = _received(mail, rnd)
    for _ in range(6):
        if not m.sender_address.startswith(NO_REPLY):
            break
        m = _received(mail, rnd)
    body = {"email_id": m.id, "body": rnd.choice(NOTES)}
    return {**body, **_maybe(rnd, 0.2, cc=_people(mail, rnd, 1))}


def forward(mail: Mail, rnd: Random) -> Arguments:
    """A message that may be passed on."""
    m = _received(mail, rnd)
    for _ in range(3):
        if not m.restricted:
            break
        m = _received(mail, rnd)
    said = _maybe(rnd, comment=rnd.choice(NOTES))
    return {"email_id": m.id, "to": _people(mail, rnd), **said}


def drafts(mail: Mail, rnd: Random) -> Arguments:
    """Words of a draft's subject, or a status."""
    draft = rnd.choice(list(mail.drafts))
    if rnd.random() < 0.5:
        return {"query": draft.subject}
    return _maybe(rnd, 0.6, status=draft.status)


def new_draft(mail: Mail, rnd: Random) -> Arguments:
    """A short note, mostly with an addressee."""
    return {
        "subject": rnd.choice(DRAFT_SUBJECTS),
        "body": rnd.choice(NOTES),
        **_maybe(rnd, 0.7, to=_people(mail, rnd, 1)),
        **_maybe(rnd, 0.2, from_address=_address(mail, rnd)),
    }


def _draft(mail: Mail, rnd: Random) -> Draft:
    every = list(mail.drafts)
    return _pick(rnd, [d for d in every if d.status == "open"], every)


def change_draft(mail: Mail, rnd: Random) -> Arguments:
    """One or two new terms of an open draft; an addressee for one that has none."""
    draft = _draft(mail, rnd)
    subjects = [s for s in DRAFT_SUBJECTS if s != draft.subject]
    terms = {
        "to": _people(mail, rnd, 1),
        "cc": _people(mail, rnd, 1),
        "subject": rnd.choice(subjects),
        "body": f"{rnd.choice(NOTES)}, best regards",
    }
    picked = rnd.sample(list(terms), rnd.choice((1, 1, 2))) if draft.to else ["to"]
    return {"draft_id": draft.id, **{name: terms[name] for name in picked}}


def attach(mail: Mail, rnd: Random) -> Arguments:
    """A file of a message that fits onto an open draft."""
    draft = _draft(mail, rnd)
    held = mail.files(draft=draft.id)
    room = mail.accounts[draft.account].max_kb - sum(f.size_kb for f in held)
    every, names = list(mail.attachments), {f.filename for f in held}
    good = [
        f
        for f in every
        if f.size_kb <= room and f.filename not in names and not f.filename.endswith(".exe")
    ]
    return {"draft_id": draft.id, "attachment_id": _pick(rnd, good, every).id}


def ready_draft(mail: Mail, rnd: Random) -> Arguments:
    """A draft that can go out, now and then one that cannot."""
    every = list(mail.drafts)
    bad = {c.address for c in mail.contacts if c.status == "bounced"}
    off = {a.id for a in mail.accounts if a.status == "disconnected"}
    good = [
        d
        for d in every
        if d.status == "open" and d.to and d.account not in off and not bad & {*d.to, *d.cc}
    ]
    return {"draft_id": _pick(rnd, good, every).id}
