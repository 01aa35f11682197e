"""Finding and planning video meetings, and reading what was said in them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Literal

from provegym.servers.video_meeting import samples
from provegym.servers.video_meeting.desk import host_name, name_of, pass_minute, the_meeting, utc
from provegym.servers.video_meeting.state import (
    Lobby,
    Meeting,
    MeetingId,
    Participant,
    RecordingId,
    Room,
    RoomId,
    Status,
    overlap,
)
from provegym.servers.video_meeting.views import (
    LineItem,
    MeetingDetail,
    MeetingPage,
    Scheduled,
    Transcript,
    meeting_item,
    participant_item,
    poll_item,
    recording_item,
    room_item,
)
from provegym.world.fields import Date, Email, Instant, Limit, Range, Text
from provegym.world.page import page
from provegym.world.period import period
from provegym.world.tool import refuse, tool

Minutes = Annotated[int, Range(10, 480)]


@tool(
    "read",
    phrases=(
        'List my[ {status}] video meetings[ about "{query}"][ where I am {role}]'
        "[ since {since}][ until {until}]",
        "Which[ {status}] video meetings do I have[ on {query}][ as {role}][ from {since} on]"
        "[ up to {until}]",
        "Show the[ {status}] video meetings[ called {query}][ in my role as {role}]"
        "[ from {since}][ to {until}]",
    ),
    sample=samples.meetings,
)
def list_video_meetings(
    lobby: Lobby,
    query: str = "",
    status: Status | None = None,
    role: Literal["host", "guest"] | None = None,
    since: Date | None = None,
    until: Date | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> MeetingPage:
    """List your video meetings: live ones first, then the next, then the past ones.

    Args:
        query: Part of the topic.
        status: Only meetings in this state.
        role: Only meetings where you are host or guest.
        since: First day.
        until: Last day.
        limit: Meetings per page.
        cursor: next_cursor of the page before.
    """
    words, (first, last) = query.casefold(), period(since, until)
    found = [
        m
        for m in lobby.mine()
        if first <= m.starts_at < last
        and words in m.topic.casefold()
        and (status is None or m.status == status)
        and (role is None or (m.host == lobby.me) == (role == "host"))
    ]
    found.sort(key=lambda m: m.starts_at, reverse=True)
    coming = sorted((m for m in found if m.status == "scheduled"), key=lambda m: m.starts_at)
    found = [m for m in found if m.status == "live"] + coming + [m for m in found if _over(m)]
    rows, total, after = page(found, limit, cursor)
    return MeetingPage([meeting_item(lobby, m) for m in rows], total, after)


def _over(meeting: Meeting) -> bool:
    return meeting.status in ("ended", "cancelled")


@tool(
    "read",
    phrases=(
        "Show me the details of {meeting_id}: room, people, recordings and polls",
        "Who is in {meeting_id}, and what was recorded or asked there",
        "Tell me everything about {meeting_id}",
    ),
    refuses=("not_found",),
    sample=samples.meeting,
)
def get_video_meeting(
    lobby: Lobby, meeting_id: MeetingId, limit: Limit = 5, cursor: str = ""
) -> MeetingDetail:
    """Show a video meeting with its room, participants, recordings and polls.

    Args:
        meeting_id: The meeting.
        limit: Participants per page.
        cursor: next_cursor of the page before.
    """
    m = the_meeting(lobby, meeting_id)
    people = sorted(lobby.people(m.id), key=_nearness)
    rows, total, after = page(people, limit, cursor)
    recordings = lobby.recordings.where(meeting_id=m.id)
    return MeetingDetail(
        id=m.id,
        topic=m.topic,
        host=host_name(lobby, m),
        starts_at=m.starts_at,
        ends_at=m.ends_at,
        status=m.status,
        recording_now=bool(m.recording_since),
        room=room_item(lobby, m),
        participants=[participant_item(p) for p in rows],
        total=total,
        next_cursor=after,
        recordings=tuple(recording_item(lobby, r) for r in recordings),
        polls=tuple(poll_item(lobby, p) for p in lobby.polls.where(meeting_id=m.id)),
    )


def _nearness(p: Participant) -> int:
    """Those who wait come first, then those who are in."""
    return {"waiting": 0, "joined": 1}.get(p.presence, 2)


@tool(
    "write",
    phrases=(
        'Schedule a video meeting "{topic}" with {emails} at {starts_at} for {minutes} minutes'
        "[ in {room_id}]",
        'Plan a {minutes} minute video call about "{topic}" on {starts_at}; invite {emails}'
        "[; hold it in {room_id}]",
        'Set up the video meeting "{topic}"[ in {room_id}] starting {starts_at}, {minutes} minutes '
        "long, and invite {emails}",
    ),
    refuses=("not_found", "capacity", "room_busy", "no_room_free", "time_in_past"),
    sample=samples.schedule,
)
def schedule_video_meeting(
    lobby: Lobby,
    topic: Text,
    starts_at: Instant,
    minutes: Minutes,
    emails: list[Email],
    room_id: RoomId | None = None,
) -> Scheduled:
    """Plan a video meeting that you host; without a room the smallest free one is taken.

    Args:
        topic: What it is about.
        starts_at: When it starts.
        minutes: How long it lasts.
        emails: Whom to invite.
        room_id: The virtual room.
    """
    first = utc(starts_at)
    if first <= lobby.stamp:
        refuse("time_in_past", f"{starts_at} is past; it is {lobby.stamp}", now=lobby.stamp)
    last = _end(first, minutes)
    invited = [e for e in dict.fromkeys(emails) if e != lobby.me]
    names = [name_of(lobby, e) for e in invited]
    room = _room(lobby, room_id, len(invited) + 1, (first, last))
    row = Meeting(lobby.meetings.new_id(), room.id, topic, lobby.me, first, last)
    lobby.meetings.put(row)
    guests = [(lobby.cast.user.name, lobby.me), *zip(names, invited, strict=True)]
    for name, email in guests:
        lobby.participants.put(Participant(lobby.participants.new_id(), row.id, name, email))
    pass_minute(lobby)
    return Scheduled(row.id, topic, first, last, room.id, room.room, len(invited))


def _end(first: str, minutes: int) -> str:
    try:
        return (datetime.fromisoformat(first) + timedelta(minutes=minutes)).isoformat()
    except OverflowError:
        refuse("invalid_time", f"{first} is the end of the calendar; give a time of this century")


def _room(lobby: Lobby, room_id: str | None, people: int, span: tuple[str, str]) -> Room:
    """The room asked for, or the smallest that holds the people and is free then."""
    if room_id is None:
        rooms = sorted((r for r in lobby.rooms if r.capacity >= people), key=lambda r: r.capacity)
        free = next((r for r in rooms if _taken(lobby, r, span) is None), None)
        if free is None:
            refuse("no_room_free", f"no room for {people} people is free at {span[0]}; try later")
        return free
    room = lobby.rooms.get(room_id)
    if room is None:
        refuse("not_found", f"there is no room {room_id[:40]!r}; get_video_meeting shows rooms")
    if people > room.capacity:
        text = f"{people} people do not fit into the {room.room} room, which holds {room.capacity}"
        refuse("capacity", text, capacity=room.capacity)
    taken = _taken(lobby, room, span)
    if taken is not None:
        text = f"the {room.room} room is taken from {taken.starts_at} to {taken.ends_at}"
        refuse("room_busy", text, starts_at=taken.starts_at, ends_at=taken.ends_at)
    return room


def _taken(lobby: Lobby, room: Room, span: tuple[str, str]) -> Meeting | None:
    for m in lobby.meetings.where(room_id=room.id):
        if m.status in ("scheduled", "live") and overlap(m, *span):
            return m
    return None


@tool(
    "read",
    phrases=(
        'Read me the transcript of {recording_id}[; only what mentions "{query}"]',
        "What was said in {recording_id}[ about {query}]",
        "Look through the transcript of {recording_id}[ for {query}]",
    ),
    refuses=("not_found", "transcript_not_ready"),
    sample=samples.transcript,
)
def read_meeting_transcript(
    lobby: Lobby, recording_id: RecordingId, query: str = "", limit: Limit = 5, cursor: str = ""
) -> Transcript:
    """Read a recording's transcript, or the lines of it that hold some words or a speaker.

    Args:
        recording_id: The recording.
        query: Words, or part of a speaker's name.
        limit: Lines per page.
        cursor: next_cursor of the page before.
    """
    recording = lobby.recordings.get(recording_id)
    if recording is None:
        text = f"there is no recording {recording_id[:40]!r}; get_video_meeting shows them"
        refuse("not_found", text)
    meeting = the_meeting(lobby, recording.meeting_id)
    if recording.transcript_at > lobby.stamp:
        text = f"the transcript of {meeting.topic!r} is ready at {recording.transcript_at}"
        refuse("transcript_not_ready", text, ready_at=recording.transcript_at)
    words = query.casefold()
    found = [
        LineItem(f"{x.second // 60:02d}:{x.second % 60:02d}", x.speaker, x.text)
        for x in lobby.transcripts.where(recording_id=recording.id)
        if words in x.text.casefold() or words in x.speaker.casefold()
    ]
    rows, total, after = page(found, limit, cursor)
    return Transcript(recording.id, meeting.topic, rows, total, after)
