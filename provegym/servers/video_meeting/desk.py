"""Look-ups that refuse, and how meetings start, are recorded and end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from provegym.seeding import rng
from provegym.servers.video_meeting.state import Line, Lobby, Meeting, Recording
from provegym.servers.video_meeting.words import CLOSINGS, REMARKS
from provegym.world.fields import Email
from provegym.world.tool import refuse

TRANSCRIPT_MINUTES = 10
"""How long after a recording its transcript is ready."""
EARLY_MINUTES = 15
"""How long before the planned time a host may start."""


# -- look-ups ------------------------------------------------------------------------------


def the_meeting(lobby: Lobby, meeting_id: str) -> Meeting:
    """A meeting to which the asking person is invited, or `not_found`."""
    meeting = lobby.meetings.get(meeting_id)
    if meeting is None or all(p.email != lobby.me for p in lobby.people(meeting.id)):
        text = f"you have no meeting {meeting_id[:40]!r}; list_video_meetings shows yours"
        refuse("not_found", text)
    return meeting


def require_host(lobby: Lobby, meeting: Meeting) -> None:
    """`not_host` where someone else hosts."""
    if meeting.host != lobby.me:
        host = host_name(lobby, meeting)
        refuse("not_host", f"only the host, {host}, may do that in {meeting.topic!r}", host=host)


def require_not_over(meeting: Meeting) -> None:
    """`ended` or `cancelled` where nothing more can happen."""
    if meeting.status == "ended":
        refuse("ended", f"{meeting.topic!r} ended at {meeting.ended_at}", ended_at=meeting.ended_at)
    if meeting.status == "cancelled":
        refuse("cancelled", f"{meeting.topic!r} was cancelled")


def require_live(meeting: Meeting) -> None:
    """`ended`, `cancelled` or `meeting_not_started` unless it is going on."""
    require_not_over(meeting)
    if meeting.status == "scheduled":
        text = f"{meeting.topic!r} has not started; it is planned for {meeting.starts_at}"
        refuse("meeting_not_started", text, starts_at=meeting.starts_at)


def require_place(lobby: Lobby, meeting: Meeting) -> None:
    """`capacity` where the room is full."""
    room = lobby.rooms[meeting.room_id]
    if len(lobby.present(meeting.id)) >= room.capacity:
        text = f"{meeting.topic!r} is full: the {room.room} room holds {room.capacity}"
        refuse("capacity", text, capacity=room.capacity)


def host_name(lobby: Lobby, meeting: Meeting) -> str:
    """The host's name."""
    return next(p.name for p in lobby.people(meeting.id) if p.email == meeting.host)


def name_of(lobby: Lobby, email: Email) -> str:
    """The name of a known person; `unknown_person` for any other address."""
    for person in lobby.cast.people:
        if person.email == email:
            return person.name
    refuse("unknown_person", f"nobody in the directory has the address {email}", email=email)


def live_in(lobby: Lobby, room_id: str) -> Meeting | None:
    """The meeting that goes on in a room."""
    return next(iter(lobby.meetings.where(room_id=room_id, status="live")), None)


# -- what happens --------------------------------------------------------------------------


def start(lobby: Lobby, meeting: Meeting) -> Meeting:
    """Bring a meeting to life, with its host in it."""
    host = next(p for p in lobby.people(meeting.id) if p.email == meeting.host)
    lobby.participants.update(host, presence="joined", muted=False)
    return lobby.meetings.update(meeting, status="live", started_at=lobby.stamp)


def stop_recording(lobby: Lobby, meeting: Meeting) -> Recording:
    """Turn what has been recorded into a recording with its transcript."""
    since = datetime.fromisoformat(meeting.recording_since)
    row = Recording(
        id=lobby.recordings.new_id(),
        meeting_id=meeting.id,
        started_at=meeting.recording_since,
        minutes=int((lobby.now - since).total_seconds()) // 60,
        transcript_at=(lobby.now + timedelta(minutes=TRANSCRIPT_MINUTES)).isoformat(),
    )
    lobby.recordings.put(row)
    lobby.meetings.update(meeting, recording_since="")
    speakers = [p.name for p in lobby.present(meeting.id)]
    for second, speaker, text in talk(meeting.topic, speakers, lobby.cast.seed):
        lobby.transcripts.put(Line(lobby.transcripts.new_id(), row.id, second, speaker, text))
    return row


def talk(topic: str, speakers: list[str], seed: int) -> list[tuple[int, str, str]]:
    """What people in a meeting say: second, speaker, text. The same people say the same."""
    if not speakers:
        return []
    rnd = rng(seed, "talk", topic)
    lines = [(0, speakers[0], f"Welcome to the {topic}.")]
    for name in speakers[1:] + speakers[:1]:
        text = rng(seed, "talk", topic, name).choice(REMARKS)
        lines.append((30 * len(lines) + rnd.randrange(20), name, text))
    return [*lines, (30 * len(lines) + 60, speakers[0], rnd.choice(CLOSINGS))]


def end(lobby: Lobby, meeting: Meeting) -> None:
    """End a live meeting: recording stops, polls close, everyone leaves."""
    if meeting.recording_since:
        stop_recording(lobby, meeting)
    for poll in lobby.polls.where(meeting_id=meeting.id, open=True):
        lobby.polls.update(poll, open=False)
    for p in lobby.people(meeting.id):
        if p.presence in ("joined", "waiting"):
            lobby.participants.update(p, presence="left" if p.presence == "joined" else "invited")
    now = lobby.meetings[meeting.id]
    lobby.meetings.update(now, status="ended", ended_at=lobby.stamp)


# -- time ----------------------------------------------------------------------------------


def pass_minute(lobby: Lobby) -> None:
    """Let the meetings of other hosts that are due now end, and then start."""
    then = (lobby.now + timedelta(minutes=1)).isoformat()
    for meeting in lobby.meetings.where(ends_at=then, status="live"):
        if meeting.host != lobby.me:
            end(lobby, meeting)
    for meeting in lobby.meetings.where(starts_at=then, status="scheduled"):
        if meeting.host != lobby.me and live_in(lobby, meeting.room_id) is None:
            _open(lobby, start(lobby, meeting))


def _open(lobby: Lobby, meeting: Meeting) -> None:
    """The others come in, as many as the room holds; the asking person joins by themselves."""
    guests = [p for p in lobby.people(meeting.id) if p.email not in (meeting.host, lobby.me)]
    for p in guests[: lobby.rooms[meeting.room_id].capacity - 1]:
        lobby.participants.update(p, presence="joined")


def utc(text: str) -> str:
    """An instant as this service writes it; `invalid_time` where it cannot be said in UTC."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC).isoformat()
    except OverflowError:
        refuse("invalid_time", f"{text} lies outside of the calendar; give a time of this century")
