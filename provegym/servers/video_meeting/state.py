"""The rows of a video meeting service.

A meeting is held in a virtual room, whose capacity bounds who is in it at once. Its host starts,
records and ends it. Those of other hosts start and end by the clock.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from provegym.world.fields import VOLATILE, Email, Instant, Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, table

RoomId = Annotated[str, Ref("video_meeting.rooms")]
MeetingId = Annotated[str, Ref("video_meeting.meetings")]
ParticipantId = Annotated[str, Ref("video_meeting.participants")]
RecordingId = Annotated[str, Ref("video_meeting.recordings")]
PollId = Annotated[str, Ref("video_meeting.polls")]

Status = Literal["scheduled", "live", "ended", "cancelled"]
Presence = Literal["invited", "waiting", "joined", "left", "removed"]


class Room(Row, frozen=True):
    """A virtual room; `records` says whether its plan includes recordings."""

    label: ClassVar[str] = "the {room} room"
    id: RoomId
    room: str
    capacity: int
    records: bool


class Meeting(Row, frozen=True):
    """A meeting. `recording_since` is set while it is being recorded, `recorded` ever after."""

    label: ClassVar[str] = 'the "{topic}" meeting'
    id: MeetingId
    room_id: RoomId
    topic: str
    host: Email
    starts_at: Instant
    ends_at: Instant
    status: Status = "scheduled"
    recorded: bool = False
    recording_since: Stamp = ""
    started_at: Stamp = ""
    ended_at: Stamp = ""


class Participant(Row, frozen=True):
    """Someone who is invited to a meeting, its host included."""

    label: ClassVar[str] = "{name}"
    id: ParticipantId
    meeting_id: MeetingId
    name: str
    email: Email
    presence: Presence = "invited"
    muted: bool = False


class Recording(Row, frozen=True):
    """A stretch of a meeting that was recorded; its transcript takes a while."""

    label: ClassVar[str] = 'the recording of "{topic}"'
    id: RecordingId
    meeting_id: MeetingId
    started_at: Stamp
    minutes: Annotated[int, VOLATILE]
    transcript_at: Stamp
    """When the transcript is ready."""


class Line(Row, frozen=True):
    """A line of a recording's transcript."""

    id: str
    recording_id: RecordingId
    second: int
    speaker: str
    text: str


class Poll(Row, frozen=True):
    """A question with options; open until its meeting ends."""

    label: ClassVar[str] = 'the poll "{question}"'
    id: PollId
    meeting_id: MeetingId
    question: str
    options: tuple[str, ...]
    open: bool = True


class Vote(Row, frozen=True):
    """One person's vote."""

    id: str
    poll_id: PollId
    email: Email
    option: str


class Lobby(State):
    """One session's view of the service, as the asking person sees it."""

    server = "video_meeting"
    rooms = table(Room, "vroom")
    meetings = table(Meeting, "vmt")
    participants = table(Participant, "par")
    recordings = table(Recording, "rec")
    transcripts = table(Line, "line")
    polls = table(Poll, "poll")
    votes = table(Vote, "vote")

    @property
    def me(self) -> str:
        """The e-mail address of the person who is asking."""
        return self.cast.user.email

    def mine(self) -> list[Meeting]:
        """The meetings to which the asking person is invited."""
        return [self.meetings[p.meeting_id] for p in self.participants.where(email=self.me)]

    def people(self, meeting_id: str) -> list[Participant]:
        """Everyone invited to a meeting."""
        return self.participants.where(meeting_id=meeting_id)

    def present(self, meeting_id: str) -> list[Participant]:
        """Everyone who is in a meeting now."""
        return [p for p in self.people(meeting_id) if p.presence == "joined"]

    def myself(self, meeting_id: str) -> Participant:
        """The asking person's own row in a meeting of theirs."""
        return next(p for p in self.people(meeting_id) if p.email == self.me)


def overlap(one: Meeting, starts_at: str, ends_at: str) -> bool:
    """Whether a meeting's planned time meets a span; both in UTC, so texts compare as times."""
    return one.starts_at < ends_at and starts_at < one.ends_at
