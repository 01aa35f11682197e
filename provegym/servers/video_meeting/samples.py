"""Plausible arguments for each tool, read off the rows of a session. An empty dict: none found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any, TypeVar

from provegym.servers.video_meeting.desk import EARLY_MINUTES, live_in
from provegym.servers.video_meeting.state import Lobby, Meeting, Participant
from provegym.servers.video_meeting.words import FORMS, POLLS, SUBJECTS

Arguments = dict[str, Any]
T = TypeVar("T")

SLIP = 0.08
"""How often a row is chosen without a look at its state."""
GROUPS = (1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 5, 11)
"""How many guests people invite; the largest group fits into one room only."""


def _maybe(rnd: Random, **fields: Any) -> Arguments:
    """Each of the fields with a chance of 30 %."""
    return {name: value for name, value in fields.items() if rnd.random() < 0.3}


def _pick(rnd: Random, good: Sequence[T], every: Sequence[T]) -> T:
    """One of the good rows, now and then any, as people forget what is over or not theirs."""
    return rnd.choice(good if good and rnd.random() >= SLIP else every)


def _hosted(lobby: Lobby, *statuses: str) -> list[Meeting]:
    return [m for m in lobby.mine() if m.host == lobby.me and m.status in statuses]


def _full(lobby: Lobby, meeting: Meeting) -> bool:
    return len(lobby.present(meeting.id)) >= lobby.rooms[meeting.room_id].capacity


def meetings(lobby: Lobby, rnd: Random) -> Arguments:
    """What finds a meeting that is there."""
    wanted = rnd.choice(lobby.mine())
    role = "host" if wanted.host == lobby.me else "guest"
    day = wanted.starts_at[:10]
    given = {"query": wanted.topic} if rnd.random() < 0.4 else {}
    return {**given, **_maybe(rnd, status=wanted.status, role=role, since=day, until=day)}


def meeting(lobby: Lobby, rnd: Random) -> Arguments:
    """Any own meeting."""
    return {"meeting_id": rnd.choice(lobby.mine()).id}


def schedule(lobby: Lobby, rnd: Random) -> Arguments:
    """A free time in the next weeks, people of the directory, perhaps a room that holds them."""
    start = lobby.now.replace(hour=9, minute=0, second=0)
    start += timedelta(days=rnd.randrange(1, 20), minutes=15 * rnd.randrange(32))
    people = rnd.sample(lobby.cast.others, rnd.choice(GROUPS))
    rooms = [r for r in lobby.rooms if r.capacity > len(people)]
    return {
        "topic": f"{rnd.choice(SUBJECTS)} {rnd.choice(FORMS)}",
        "starts_at": start.isoformat(),
        "minutes": rnd.choice((30, 45, 60)),
        "emails": [p.email for p in people],
        **_maybe(rnd, room_id=_pick(rnd, rooms, list(lobby.rooms)).id),
    }


def _joinable(lobby: Lobby, m: Meeting) -> bool:
    if m.status == "live":
        out = lobby.myself(m.id).presence in ("invited", "left")
        return out and not _full(lobby, m)
    if m.status != "scheduled" or m.host != lobby.me or live_in(lobby, m.room_id):
        return False
    opens = datetime.fromisoformat(m.starts_at) - timedelta(minutes=EARLY_MINUTES)
    return opens <= lobby.now


def join(lobby: Lobby, rnd: Random) -> Arguments:
    """A live meeting with a place left, or an own one that is due."""
    every = lobby.mine()
    return {"meeting_id": _pick(rnd, [m for m in every if _joinable(lobby, m)], every).id}


def finish(lobby: Lobby, rnd: Random) -> Arguments:
    """A live meeting to leave or to end, or a planned one to cancel."""
    every = lobby.mine()
    mine, planned = _hosted(lobby, "live"), _hosted(lobby, "scheduled")
    inside = [
        m
        for m in every
        if m.status == "live" and m.host != lobby.me and lobby.myself(m.id).presence == "joined"
    ]
    choices = {"leave": inside, "end": mine, "cancel": planned}
    action = rnd.choice([a for a, found in choices.items() if found] or ["leave"])
    return {"meeting_id": _pick(rnd, choices[action], every).id, "action": action}


def _wish(lobby: Lobby, p: Participant, rnd: Random) -> str:
    if p.presence == "waiting":
        return "admit"
    toggle = "unmute" if p.muted else "mute"
    return toggle if p.email == lobby.me else rnd.choice((toggle, toggle, "remove", "promote"))


def manage(lobby: Lobby, rnd: Random) -> Arguments:
    """Someone who waits or is in a live meeting of the user's, and what can be done to them."""
    good = [
        p
        for m in _hosted(lobby, "live")
        for p in lobby.people(m.id)
        if p.presence == "joined" or (p.presence == "waiting" and not _full(lobby, m))
    ]
    waiting = [p for p in lobby.participants.where(presence="waiting") if rnd.random() < SLIP]
    chosen = _pick(rnd, waiting or good, list(lobby.participants))
    return {"participant_id": chosen.id, "action": _wish(lobby, chosen, rnd)}


def record(lobby: Lobby, rnd: Random) -> Arguments:
    """An own live meeting that can be recorded, or is."""
    every = lobby.mine()
    good = [m for m in _hosted(lobby, "live") if lobby.rooms[m.room_id].records]
    chosen = _pick(rnd, good, every)
    return {"meeting_id": chosen.id, "action": "stop" if chosen.recording_since else "start"}


def transcript(lobby: Lobby, rnd: Random) -> Arguments:
    """A recording of an own meeting, perhaps with a word that was said."""
    mine = {m.id for m in lobby.mine()}
    every = [r for r in lobby.recordings if r.meeting_id in mine]
    ready = [r for r in every if r.transcript_at <= lobby.stamp]
    if not every:
        return {}
    chosen = _pick(rnd, ready, every)
    lines = lobby.transcripts.where(recording_id=chosen.id)
    if not lines or rnd.random() < 0.5:
        return {"recording_id": chosen.id}
    line = rnd.choice(lines)
    long_words = [w.strip(".?,").lower() for w in line.text.split() if len(w) > 5]
    return {"recording_id": chosen.id, "query": rnd.choice([line.speaker, *long_words])}


def poll(lobby: Lobby, rnd: Random) -> Arguments:
    """An own live meeting without an open poll, a question and its options."""
    good = [
        m for m in _hosted(lobby, "live") if not lobby.polls.where(meeting_id=m.id, open=True)
    ]  # fmt: skip
    question, options = rnd.choice(POLLS)
    chosen = _pick(rnd, good, lobby.mine())
    return {"meeting_id": chosen.id, "question": question, "options": list(options)}


def vote(lobby: Lobby, rnd: Random) -> Arguments:
    """An open poll in which the user has not voted, and one of its options."""
    mine = {m.id for m in lobby.mine()}
    every = [p for p in lobby.polls if p.meeting_id in mine]
    good = [
        p
        for p in every
        if p.open
        and lobby.myself(p.meeting_id).presence == "joined"
        and not lobby.votes.where(poll_id=p.id, email=lobby.me)
    ]
    chosen = _pick(rnd, good, every)
    option = rnd.choice(chosen.options) if rnd.random() >= SLIP / 2 else "Something else"
    return {"poll_id": chosen.id, "option": option}
