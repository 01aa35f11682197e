"""What is done in a video meeting: coming and going, hosting, recording, polls."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from provegym.servers.video_meeting import samples
from provegym.servers.video_meeting.desk import (
    EARLY_MINUTES,
    end,
    live_in,
    pass_minute,
    require_host,
    require_live,
    require_not_over,
    require_place,
    start,
    stop_recording,
    the_meeting,
)
from provegym.servers.video_meeting.state import (
    Lobby,
    Meeting,
    MeetingId,
    Participant,
    ParticipantId,
    Poll,
    PollId,
    Vote,
)
from provegym.servers.video_meeting.views import (
    Attendance,
    Control,
    ParticipantItem,
    PollItem,
    attendance,
    participant_item,
    poll_item,
    recording_item,
)
from provegym.world.fields import Text
from provegym.world.tool import refuse, tool

MAX_OPTIONS = 6


@tool(
    "write",
    phrases=(
        "Join {meeting_id}",
        "Let me into {meeting_id} now",
        "Connect me to {meeting_id}",
    ),
    refuses=(
        *("not_found", "ended", "cancelled", "meeting_not_started", "too_early"),
        *("room_busy", "already_joined", "removed", "capacity"),
    ),
    sample=samples.join,
)
def join_video_meeting(lobby: Lobby, meeting_id: MeetingId) -> Attendance:
    """Join a video meeting; as its host you start it, up to 15 minutes early.

    Args:
        meeting_id: The meeting.
    """
    meeting = the_meeting(lobby, meeting_id)
    require_not_over(meeting)
    if meeting.host == lobby.me and meeting.status == "scheduled":
        _start_own(lobby, meeting)
    else:
        _enter(lobby, meeting)
    pass_minute(lobby)
    return attendance(lobby, meeting.id)


def _start_own(lobby: Lobby, meeting: Meeting) -> None:
    opens = datetime.fromisoformat(meeting.starts_at) - timedelta(minutes=EARLY_MINUTES)
    if lobby.now < opens:
        text = f"{meeting.topic!r} can be started from {opens.isoformat()} on"
        refuse("too_early", text, opens_at=opens.isoformat())
    other = live_in(lobby, meeting.room_id)
    if other is not None:
        text = f"{other.topic!r} is still going on in the same room"
        refuse("room_busy", text, topic=other.topic)
    start(lobby, meeting)


def _enter(lobby: Lobby, meeting: Meeting) -> None:
    require_live(meeting)
    me = lobby.myself(meeting.id)
    if me.presence == "joined":
        refuse("already_joined", f"you are in {meeting.topic!r} already")
    if me.presence == "removed":
        refuse("removed", f"the host has removed you from {meeting.topic!r}")
    require_place(lobby, meeting)
    lobby.participants.update(me, presence="joined")


@tool(
    "write",
    phrases=(
        "Please {action} {meeting_id} for me",
        "I want to {action} {meeting_id}",
        "Go ahead and {action} {meeting_id}",
    ),
    refuses=(
        *("not_found", "ended", "cancelled", "meeting_not_started", "not_joined"),
        *("not_host", "hand_over_first", "already_started"),
    ),
    sample=samples.finish,
)
def finish_video_meeting(
    lobby: Lobby, meeting_id: MeetingId, action: Literal["leave", "end", "cancel"]
) -> Attendance:
    """Leave a live video meeting, end it for all, or cancel one that has not started.

    Only hosts end and cancel; a host hands over before leaving others behind.

    Args:
        meeting_id: The meeting.
        action: What to do.
    """
    meeting = the_meeting(lobby, meeting_id)
    require_not_over(meeting)
    if action == "cancel":
        _cancel(lobby, meeting)
    else:
        require_live(meeting)
        (_leave if action == "leave" else _end_own)(lobby, meeting)
    pass_minute(lobby)
    return attendance(lobby, meeting.id)


def _cancel(lobby: Lobby, meeting: Meeting) -> None:
    require_host(lobby, meeting)
    if meeting.status == "live":
        refuse("already_started", f"{meeting.topic!r} is going on; end it instead")
    lobby.meetings.update(meeting, status="cancelled")


def _end_own(lobby: Lobby, meeting: Meeting) -> None:
    require_host(lobby, meeting)
    end(lobby, meeting)


def _leave(lobby: Lobby, meeting: Meeting) -> None:
    me = lobby.myself(meeting.id)
    if me.presence != "joined":
        refuse("not_joined", f"you are not in {meeting.topic!r}")
    if meeting.host != lobby.me:
        lobby.participants.update(me, presence="left")
    elif len(lobby.present(meeting.id)) > 1:
        text = f"others are still in {meeting.topic!r}; promote one of them, or end it for all"
        refuse("hand_over_first", text)
    else:
        end(lobby, meeting)


@tool(
    "write",
    phrases=(
        "Please {action} {participant_id} in my video meeting",
        "As the host, {action} {participant_id}",
        "I need you to {action} {participant_id} in the call",
    ),
    refuses=(
        *("not_found", "not_host", "meeting_not_started", "ended", "cancelled", "not_waiting"),
        *("not_in_meeting", "already_muted", "not_muted", "capacity"),
    ),
    sample=samples.manage,
)
def manage_meeting_participant(
    lobby: Lobby,
    participant_id: ParticipantId,
    action: Literal["admit", "mute", "unmute", "remove", "promote"],
) -> ParticipantItem:
    """Admit someone who waits, mute, unmute or remove a participant, or promote them to host.

    Args:
        participant_id: Who, in a live meeting that you host.
        action: What to do; promote hands the host role over.
    """
    p = lobby.participants.get(participant_id)
    if p is None:
        text = f"there is no participant {participant_id[:40]!r}; get_video_meeting shows them"
        refuse("not_found", text)
    meeting = the_meeting(lobby, p.meeting_id)
    require_live(meeting)
    require_host(lobby, meeting)
    if p.email == lobby.me and action in ("remove", "promote"):
        refuse("own_participant", f"you cannot {action} yourself")
    if action == "admit":
        _admit(lobby, meeting, p)
    elif p.presence != "joined":
        refuse("not_in_meeting", f"{p.name} is not in {meeting.topic!r} but {p.presence}")
    elif action in ("mute", "unmute"):
        _mute(lobby, p, action == "mute")
    elif action == "remove":
        lobby.participants.update(p, presence="removed")
    else:
        lobby.meetings.update(meeting, host=p.email)
    pass_minute(lobby)
    return participant_item(lobby.participants[p.id])


def _admit(lobby: Lobby, meeting: Meeting, p: Participant) -> None:
    if p.presence != "waiting":
        refuse("not_waiting", f"{p.name} is not waiting to come in but {p.presence}")
    require_place(lobby, meeting)
    lobby.participants.update(p, presence="joined")


def _mute(lobby: Lobby, p: Participant, muted: bool) -> None:
    if p.muted == muted:
        code, text = ("already_muted", "muted already") if muted else ("not_muted", "not muted")
        refuse(code, f"{p.name} is {text}")
    lobby.participants.update(p, muted=muted)


@tool(
    "write",
    phrases=(
        "Please {action} the recording of {meeting_id}",
        "I want you to {action} recording {meeting_id}",
        "Go and {action} the cloud recording in {meeting_id}",
    ),
    refuses=(
        *("not_found", "not_host", "meeting_not_started", "ended", "cancelled"),
        *("already_recording", "not_recording", "recording_unavailable"),
    ),
    sample=samples.record,
)
def control_meeting_recording(
    lobby: Lobby, meeting_id: MeetingId, action: Literal["start", "stop"]
) -> Control:
    """Start or stop recording a live video meeting that you host.

    Args:
        meeting_id: The meeting.
        action: Start or stop.
    """
    meeting = the_meeting(lobby, meeting_id)
    require_live(meeting)
    require_host(lobby, meeting)
    if action == "start":
        return _start_recording(lobby, meeting)
    if not meeting.recording_since:
        refuse("not_recording", f"{meeting.topic!r} is not being recorded")
    made = stop_recording(lobby, meeting)
    pass_minute(lobby)
    item = recording_item(lobby, made)
    return Control(meeting.id, meeting.topic, False, item, made.transcript_at)


def _start_recording(lobby: Lobby, meeting: Meeting) -> Control:
    room = lobby.rooms[meeting.room_id]
    if meeting.recording_since:
        refuse("already_recording", f"{meeting.topic!r} is being recorded already")
    if not room.records:
        text = f"the plan of the {room.room} room includes no recordings"
        refuse("recording_unavailable", text, room=room.room)
    lobby.meetings.update(meeting, recorded=True, recording_since=lobby.stamp)
    pass_minute(lobby)
    return Control(meeting.id, meeting.topic, True)


@tool(
    "write",
    phrases=(
        'Launch a poll in {meeting_id}: "{question}" with the options {options}',
        'Ask everyone in {meeting_id} "{question}"; they can choose from {options}',
        'Start a poll "{question}" with the answers {options} in {meeting_id}',
    ),
    refuses=("not_found", "not_host", "meeting_not_started", "ended", "cancelled", "poll_open"),
    sample=samples.poll,
)
def launch_meeting_poll(
    lobby: Lobby, meeting_id: MeetingId, question: Text, options: list[Text]
) -> PollItem:
    """Ask a question in a live video meeting that you host, one at a time.

    Args:
        meeting_id: The meeting.
        question: What to ask.
        options: Two to six different answers.
    """
    meeting = the_meeting(lobby, meeting_id)
    require_live(meeting)
    require_host(lobby, meeting)
    if len({o.casefold() for o in options}) < len(options) or not 2 <= len(options) <= MAX_OPTIONS:
        refuse(
            "invalid_options",
            f"give two to {MAX_OPTIONS} different options, not: {', '.join(options)}",
        )
    asked = lobby.polls.where(meeting_id=meeting.id, open=True)
    if asked:
        refuse("poll_open", f"the poll {asked[0].question!r} is still open until the meeting ends")
    row = Poll(lobby.polls.new_id(), meeting.id, question, tuple(options))
    lobby.polls.put(row)
    pass_minute(lobby)
    return poll_item(lobby, lobby.polls[row.id])


@tool(
    "write",
    phrases=(
        'Vote "{option}" in {poll_id}',
        'In {poll_id}, my answer is "{option}"',
        'Cast my vote for "{option}" in {poll_id}',
    ),
    refuses=("not_found", "poll_closed", "not_joined", "already_voted", "unknown_option"),
    sample=samples.vote,
)
def vote_in_meeting_poll(lobby: Lobby, poll_id: PollId, option: Text) -> PollItem:
    """Vote once in an open poll of a video meeting that you are in.

    Args:
        poll_id: The poll.
        option: One of its options.
    """
    poll = lobby.polls.get(poll_id)
    if poll is None:
        refuse("not_found", f"there is no poll {poll_id[:40]!r}; get_video_meeting shows them")
    meeting = the_meeting(lobby, poll.meeting_id)
    if not poll.open:
        refuse("poll_closed", f"the poll {poll.question!r} is closed")
    if lobby.myself(meeting.id).presence != "joined":
        refuse("not_joined", f"join {meeting.topic!r} to vote in its polls")
    chosen = next((o for o in poll.options if o.casefold() == option.casefold()), None)
    if chosen is None:
        text = f"{option[:60]!r} is no option; choose from {', '.join(poll.options)}"
        refuse("unknown_option", text, options=list(poll.options))
    if lobby.votes.where(poll_id=poll.id, email=lobby.me):
        refuse("already_voted", f"you have voted in {poll.question!r} already")
    lobby.votes.put(Vote(lobby.votes.new_id(), poll.id, lobby.me, chosen))
    pass_minute(lobby)
    return poll_item(lobby, lobby.polls[poll.id])
