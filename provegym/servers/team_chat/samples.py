"""Plausible arguments for each tool, read off the rows of a session. An empty dict: none found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any, TypeVar, get_args

from provegym.servers.team_chat.access import can_read
from provegym.servers.team_chat.state import Channel, Chat, Emoji, Message
from provegym.servers.team_chat.words import EDITS, NEW_CHANNELS, POSTS, THINGS, TOPICS

Arguments = dict[str, Any]
T = TypeVar("T")

SLIP = 0.07
"""How often a row is chosen without a look at its state."""


def _maybe(rnd: Random, rate: float = 0.3, **fields: Any) -> Arguments:
    return {name: value for name, value in fields.items() if rnd.random() < rate}


def _pick(rnd: Random, good: Sequence[T], every: Sequence[T]) -> T:
    """One of the good rows, now and then any."""
    return rnd.choice(good if good and rnd.random() >= SLIP else every)


def _open(chat: Chat) -> list[Channel]:
    """Channels in which the user can write replies."""
    mine = chat.joined()
    return [c for c in chat.channels if c.id in mine and not c.archived]


def _message(chat: Chat, rnd: Random, *, write: bool = False) -> Message:
    """A message that the user can read, or answer; the later ones more often."""
    every = list(chat.messages)
    if rnd.random() < SLIP:
        return rnd.choice(every)
    seen = {c.id for c in _open(chat)} if write else chat.readable()
    rows = [m for m in every if m.channel_id in seen] or every
    return rows[-1 - int(len(rows) * rnd.random() ** 1.3)]


def channels(chat: Chat, rnd: Random) -> Arguments:
    """A part of a channel's name, or a status."""
    channel = rnd.choice(list(chat.channels))
    if rnd.random() < 0.4:
        status = "archived" if channel.archived else rnd.choice(("joined", "unjoined"))
        return {"status": status, **_maybe(rnd, workspace=channel.workspace)}
    word = {} if channel.archived else {"query": channel.name}
    return {**word, **_maybe(rnd, workspace=channel.workspace)}


def members(chat: Chat, rnd: Random) -> Arguments:
    """A channel, and sometimes a title or name in it; or a name in a workspace."""
    if rnd.random() < 0.4:
        member = rnd.choice(list(chat.members))
        where = _maybe(rnd, 0.5, workspace=member.workspace)
        return {"query": rnd.choice((member.name, member.title)), **where}
    every = list(chat.channels)
    channel = _pick(rnd, [c for c in every if can_read(chat, c)], every)
    rows = chat.memberships.where(channel_id=channel.id)
    if not rows:
        return {"channel_id": channel.id}
    member = chat.members[rnd.choice(rows).member_id]
    word = rnd.choice((member.name, member.title))
    return {"channel_id": channel.id, **_maybe(rnd, query=word)}


def new_channel(chat: Chat, rnd: Random) -> Arguments:
    """A name that is not taken, in a workspace where the user is no guest."""
    every = list(chat.workspaces)
    home = _pick(rnd, [w for w in every if chat.me(w.id).role != "guest"], every).id
    taken = [c.name for c in chat.channels.where(workspace=home)]
    good = [name for name in NEW_CHANNELS if name not in taken]
    name = _pick(rnd, good, taken or NEW_CHANNELS)
    where = {} if chat.workspaces[home].primary else {"workspace": home}
    more = _maybe(rnd, visibility=rnd.choice(("public", "private")), topic=rnd.choice(TOPICS))
    return {"name": name, **where, **more}


def manage(chat: Chat, rnd: Random) -> Arguments:
    """Something that the user can do with a channel."""
    mine, every = chat.joined(), list(chat.channels)
    can: list[tuple[str, Channel]] = []
    for channel in every:
        owns = channel.owner_id == chat.me(channel.workspace).id
        if channel.id in mine and not channel.archived and not channel.required:
            can.append(("leave", channel))
        if channel.id not in mine and not channel.archived and can_read(chat, channel):
            can += [("join", channel)] * 3
        if owns and not channel.required:
            can += [("unarchive" if channel.archived else "archive", channel)] * 2
    if not can or rnd.random() < SLIP:
        action = rnd.choice(("join", "leave", "archive", "unarchive"))
        return {"channel_id": rnd.choice(every).id, "action": action}
    action, channel = rnd.choice(can)
    return {"channel_id": channel.id, "action": action}


def invite(chat: Chat, rnd: Random) -> Arguments:
    """Someone of the workspace who is not in a channel of the user's yet."""
    usable = [c for c in _open(chat) if chat.me(c.workspace).role != "guest"]
    channel = _pick(rnd, [c for c in usable if not c.required], list(chat.channels))
    there = {s.member_id for s in chat.memberships.where(channel_id=channel.id)}
    rows = chat.members.where(workspace=channel.workspace, status="active")
    good = [m for m in rows if m.id not in there]
    return {"channel_id": channel.id, "member_id": _pick(rnd, good, list(chat.members)).id}


def search(chat: Chat, rnd: Random) -> Arguments:
    """Filters that one existing message meets."""
    m = _message(chat, rnd)
    topic = next((thing for thing in THINGS if thing in m.text), m.text)
    main: Arguments = rnd.choice(({"query": topic}, {"query": m.text}, {"sender": m.sender}))
    day = rnd.choice(("since", "until"))
    return {**main, **_maybe(rnd, 0.25, channel_id=m.channel_id, **{day: m.posted_at[:10]})}


def thread(chat: Chat, rnd: Random) -> Arguments:
    """A message, rather one with replies."""
    m = _message(chat, rnd)
    for _ in range(3):
        if chat.thread_of(m) or m.edits:
            break
        m = _message(chat, rnd)
    return {"message_id": m.id}


def post(chat: Chat, rnd: Random) -> Arguments:
    """A channel in which the user may post, sometimes with a file of its workspace."""
    every = list(chat.channels)
    channel = _pick(rnd, [c for c in _open(chat) if not c.restricted], every)
    files = [
        m.file_id
        for m in chat.messages
        if m.file_id and can_read(chat, c := chat.channels[m.channel_id])
        if c.workspace == channel.workspace
    ]
    file = _maybe(rnd, 0.25, file_id=rnd.choice(files)) if files else {}
    return {"channel_id": channel.id, "text": rnd.choice(POSTS), **file}


def reply(chat: Chat, rnd: Random) -> Arguments:
    """A message in a channel of the user's."""
    return {"message_id": _message(chat, rnd, write=True).id, "text": rnd.choice(POSTS)}


def edit(chat: Chat, rnd: Random) -> Arguments:
    """An own message that can still be edited."""
    mine = {m.id for m in chat.members.where(email=chat.cast.user.email)}
    every = [m for m in chat.messages if m.author_id in mine]
    open_ids = {c.id: c.workspace for c in _open(chat)}
    good = [m for m in every if m.channel_id in open_ids and _in_time(chat, m)]
    row = _pick(rnd, good, every or list(chat.messages))
    return {"message_id": row.id, "text": rnd.choice([t for t in EDITS if t != row.text])}


def _in_time(chat: Chat, m: Message) -> bool:
    hours = chat.workspaces[chat.channels[m.channel_id].workspace].edit_hours
    return datetime.fromisoformat(m.posted_at) + timedelta(hours=hours) > chat.now


def react(chat: Chat, rnd: Random) -> Arguments:
    """An emoji that the user has not given yet, or one to take back."""
    mine = [
        r
        for member in chat.members.where(email=chat.cast.user.email)
        for r in chat.reactions.where(member_id=member.id)
    ]
    if mine and rnd.random() < 0.25:
        row = rnd.choice(mine)
        return {"message_id": row.message_id, "emoji": row.emoji, "action": "remove"}
    m = _message(chat, rnd, write=True)
    return {"message_id": m.id, "emoji": rnd.choice(get_args(Emoji)), "action": "add"}
