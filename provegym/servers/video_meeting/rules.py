"""What always holds of video meetings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from provegym.servers.video_meeting.state import Lobby, Meeting, overlap


def violations(lobby: Lobby) -> Iterator[str]:
    """Every broken invariant, one sentence each."""
    for meeting in lobby.meetings:
        yield from _meeting(lobby, meeting)
    yield from _rooms(lobby)
    for p in lobby.participants:
        held = lobby.meetings.get(p.meeting_id)
        live = held is not None and held.status == "live"
        if p.presence in ("joined", "waiting") and not live:
            yield f"{p.id} is {p.presence} at a meeting that is not live"
    yield from _recordings(lobby)
    yield from _polls(lobby)


def _meeting(lobby: Lobby, m: Meeting) -> Iterator[str]:
    emails = [p.email for p in lobby.people(m.id)]
    if m.host not in emails or len(set(emails)) < len(emails):
        yield f"meeting {m.id} lacks its host, or invites someone twice"
    if m.ends_at <= m.starts_at:
        yield f"meeting {m.id} ends before it starts"
    if bool(m.started_at) != (m.status in ("live", "ended")) or bool(m.ended_at) != (
        m.status == "ended"
    ):
        yield f"meeting {m.id} is {m.status}, started {m.started_at!r}, ended {m.ended_at!r}"
    room = lobby.rooms[m.room_id]
    if m.recording_since and (m.status != "live" or not m.recorded or not room.records):
        yield f"meeting {m.id} records while it is {m.status} in the {room.room} room"
    if len(lobby.present(m.id)) > room.capacity:
        yield f"meeting {m.id} holds more than the {room.capacity} of its room"


def _rooms(lobby: Lobby) -> Iterator[str]:
    for room in lobby.rooms:
        held = lobby.meetings.where(room_id=room.id)
        if sum(m.status == "live" for m in held) > 1:
            yield f"two meetings are live in the {room.room} room"
        planned = [m for m in held if m.status == "scheduled"]
        for one, two in combinations(planned, 2):
            if overlap(one, two.starts_at, two.ends_at):
                yield f"meetings {one.id} and {two.id} are planned at once in one room"


def _recordings(lobby: Lobby) -> Iterator[str]:
    for r in lobby.recordings:
        meeting = lobby.meetings.get(r.meeting_id)
        if meeting is None or not meeting.recorded or not meeting.started_at or r.minutes < 0:
            yield f"recording {r.id} is of no meeting that was held with recording on"
        elif r.started_at < meeting.started_at:
            yield f"recording {r.id} begins before its meeting"
        if meeting and not {x.speaker for x in lobby.transcripts.where(recording_id=r.id)} <= {
            p.name for p in lobby.people(meeting.id)
        }:
            yield f"a stranger speaks in recording {r.id}"
    for line in lobby.transcripts:
        if line.recording_id not in lobby.recordings:
            yield f"line {line.id} is of no recording"


def _polls(lobby: Lobby) -> Iterator[str]:
    cast = Counter((v.poll_id, v.email) for v in lobby.votes)
    for v in lobby.votes:
        poll = lobby.polls.get(v.poll_id)
        if poll is None or v.option not in poll.options or cast[v.poll_id, v.email] > 1:
            yield f"vote {v.id} is double, or for nothing that was asked"
        elif v.email not in {p.email for p in lobby.people(poll.meeting_id)}:
            yield f"vote {v.id} is a stranger's"
    asked = Counter(p.meeting_id for p in lobby.polls if p.open)
    for meeting_id, count in asked.items():
        if count > 1 or lobby.meetings[meeting_id].status != "live":
            yield f"meeting {meeting_id} has {count} open polls and is not live or has too many"
