"""What the tools answer."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from msgspec import Struct

from provegym.servers.video_meeting.desk import host_name
from provegym.servers.video_meeting.state import (
    Lobby,
    Meeting,
    MeetingId,
    Participant,
    ParticipantId,
    Poll,
    PollId,
    Presence,
    Recording,
    RecordingId,
    RoomId,
    Status,
)
from provegym.world.fields import VOLATILE, Email, Instant, Stamp


class MeetingItem(Struct, frozen=True):
    """A meeting in a list; `you` is the asking person's own presence."""

    id: MeetingId
    topic: str
    host: str
    starts_at: Instant
    status: Status
    you: Presence


class MeetingPage(Struct, frozen=True):
    """A page of meetings."""

    meetings: list[MeetingItem]
    total: int
    next_cursor: str


class ParticipantItem(Struct, frozen=True, omit_defaults=True):
    """Someone invited; `muted` is shown of those who are muted."""

    id: ParticipantId
    name: str
    email: Email
    presence: Presence
    muted: bool = False


class RecordingItem(Struct, frozen=True):
    """A recording of a meeting."""

    id: RecordingId
    topic: str
    minutes: Annotated[int, VOLATILE]


class PollItem(Struct, frozen=True):
    """A poll with its votes so far, by option."""

    id: PollId
    question: str
    open: bool
    votes: tuple[str, ...]


class RoomItem(Struct, frozen=True):
    """The room of a meeting."""

    id: RoomId
    room: str
    capacity: int
    records: bool


class MeetingDetail(Struct, frozen=True, omit_defaults=True):
    """A meeting with its room, a page of its people, and what came out of it."""

    id: MeetingId
    topic: str
    host: str
    starts_at: Instant
    ends_at: Instant
    status: Status
    recording_now: bool
    room: RoomItem
    participants: list[ParticipantItem]
    total: int
    next_cursor: str
    recordings: tuple[RecordingItem, ...] = ()
    polls: tuple[PollItem, ...] = ()


class Scheduled(Struct, frozen=True):
    """A new meeting and where it will be held."""

    id: MeetingId
    topic: str
    starts_at: Instant
    ends_at: Instant
    room_id: RoomId
    room: str
    invited: int


class Attendance(Struct, frozen=True):
    """A meeting after the asking person came or went."""

    id: MeetingId
    topic: str
    status: Status
    you: Presence
    present: int


class Control(Struct, frozen=True, omit_defaults=True):
    """Whether a meeting is being recorded; the recording that was just finished."""

    id: MeetingId
    topic: str
    recording_now: bool
    recording: RecordingItem | None = None
    transcript_at: Stamp = ""


class LineItem(Struct, frozen=True):
    """A line of a transcript; `at` is minutes and seconds into the recording."""

    at: str
    speaker: str
    text: str


class Transcript(Struct, frozen=True):
    """A page of a transcript."""

    recording_id: RecordingId
    topic: str
    lines: list[LineItem]
    total: int
    next_cursor: str


def meeting_item(lobby: Lobby, m: Meeting) -> MeetingItem:
    """A meeting as lists show it."""
    you = lobby.myself(m.id).presence
    return MeetingItem(m.id, m.topic, host_name(lobby, m), m.starts_at, m.status, you)


def participant_item(p: Participant) -> ParticipantItem:
    """Someone at a meeting."""
    return ParticipantItem(p.id, p.name, p.email, p.presence, p.muted)


def recording_item(lobby: Lobby, r: Recording) -> RecordingItem:
    """A recording with its meeting's topic."""
    return RecordingItem(r.id, lobby.meetings[r.meeting_id].topic, r.minutes)


def poll_item(lobby: Lobby, poll: Poll) -> PollItem:
    """A poll with its votes."""
    count = Counter(v.option for v in lobby.votes.where(poll_id=poll.id))
    votes = tuple(f"{option}: {count[option]}" for option in poll.options)
    return PollItem(poll.id, poll.question, poll.open, votes)


def room_item(lobby: Lobby, m: Meeting) -> RoomItem:
    """The room a meeting is held in."""
    r = lobby.rooms[m.room_id]
    return RoomItem(r.id, r.room, r.capacity, r.records)


def attendance(lobby: Lobby, meeting_id: str) -> Attendance:
    """The meeting as it stands for the asking person."""
    m, you = lobby.meetings[meeting_id], lobby.myself(meeting_id).presence
    return Attendance(m.id, m.topic, m.status, you, len(lobby.present(m.id)))
