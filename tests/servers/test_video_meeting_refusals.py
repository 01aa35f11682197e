"""Each refusal of the video meeting service occurs in its worlds; broken rows are noticed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from provegym.servers.video_meeting import SERVER
from provegym.servers.video_meeting.rules import violations
from provegym.servers.video_meeting.state import Meeting, Recording, Vote
from tests.servers.talk import declared
from tests.servers.video_meeting_lobby import Hall, hall

Scenario = Callable[[Hall], dict[str, Any]]

HOSTING: dict[str, dict[str, Any]] = {
    "finish_video_meeting": {"action": "end"},
    "control_meeting_recording": {"action": "start"},
    "launch_meeting_poll": {"question": "Tea?", "options": ["Yes", "No"]},
}
"""Tools for the host of a live meeting, and what else they take."""


def _of(tool: str, status: str, *, host: bool = True) -> Scenario:
    return lambda h: {"meeting_id": h.meeting(status, host=host).id, **HOSTING[tool]}


def _join(status: str, *, host: bool, me: Any = None) -> Scenario:
    return lambda h: {"meeting_id": h.meeting(status, host=host, me=me).id}


def _plan(h: Hall, **given: Any) -> dict[str, Any]:
    start = h.lobby.now + timedelta(days=50)
    usual = {"topic": "New plan", "starts_at": start.isoformat(), "minutes": 30}
    return {**usual, "emails": [p.email for p in h.lobby.cast.others[:2]], **given}


def _room(h: Hall, name: str) -> str:
    return h.lobby.rooms.where(room=name)[0].id


def _busy(h: Hall) -> dict[str, Any]:
    h.ok("schedule_video_meeting", **_plan(h, room_id=_room(h, "Delta")))
    return _plan(h, room_id=_room(h, "Delta"))


def _all_taken(h: Hall) -> dict[str, Any]:
    guests = [p.email for p in h.lobby.cast.others[:11]]  # only one room holds them
    h.ok("schedule_video_meeting", **_plan(h, emails=guests))
    return _plan(h, emails=guests)


def _crowd(h: Hall) -> dict[str, Any]:
    guests = [p.email for p in h.lobby.cast.others[:4]]
    return _plan(h, emails=guests, room_id=_room(h, "Aurora"))


def _too_early(h: Hall) -> dict[str, Any]:
    return {"meeting_id": h.ok("schedule_video_meeting", **_plan(h))["id"]}


def _room_in_use(h: Hall) -> dict[str, Any]:
    live = h.meeting("live", host=False)
    start = h.lobby.now + timedelta(minutes=9)
    made = h.ok("schedule_video_meeting", **_plan(h, starts_at=start.isoformat()))
    row = h.lobby.meetings[made["id"]]
    h.lobby.meetings.update(row, room_id=live.room_id)
    return {"meeting_id": row.id}


def _at(action: str, presence: Any, **state: Any) -> Scenario:
    """The action on someone so present at a live meeting that the user hosts."""

    def make(h: Hall) -> dict[str, Any]:
        meeting = h.full(host=True)
        person = h.person(meeting, presence, **state)
        return {"participant_id": person.id, "action": action}

    return make


def _anyone(status: str, *, host: bool) -> Scenario:
    def make(h: Hall) -> dict[str, Any]:
        people = h.lobby.people(h.meeting(status, host=host).id)
        other = next(p for p in people if p.email != h.lobby.me)
        return {"participant_id": other.id, "action": "mute"}

    return make


def _unknown(tool: str) -> Scenario:
    return lambda h: {"meeting_id": "vmt_none", **HOSTING[tool]}


def _called_off(tool: str) -> Scenario:
    return lambda h: {"meeting_id": _cancelled(h).id, **HOSTING[tool]}


def _recording(h: Hall) -> dict[str, Any]:
    return {"meeting_id": h.full(host=True).id, "action": "start"}


def _not_recording(h: Hall) -> dict[str, Any]:
    return {"meeting_id": h.recordable().id, "action": "stop"}


def _no_plan(h: Hall) -> dict[str, Any]:
    plain = {r.id for r in h.lobby.rooms if not r.records}
    mine = [m for m in h.lobby.mine() if m.status == "live" and m.host == h.lobby.me]
    return {"meeting_id": next(m.id for m in mine if m.room_id in plain), "action": "start"}


def _fresh_recording(h: Hall) -> dict[str, Any]:
    got = h.ok("control_meeting_recording", meeting_id=h.full(host=True).id, action="stop")
    return {"recording_id": got["recording"]["id"]}


def _closed_poll(h: Hall) -> dict[str, Any]:
    poll = h.poll()
    h.lobby.polls.update(poll, open=False)
    return {"poll_id": poll.id, "option": poll.options[0]}


def _outside(h: Hall) -> dict[str, Any]:
    poll = h.poll()
    me = h.lobby.myself(poll.meeting_id)
    h.lobby.participants.update(me, presence="left")
    return {"poll_id": poll.id, "option": poll.options[0]}


def _voted(h: Hall) -> dict[str, Any]:
    poll = h.poll()
    call = {"poll_id": poll.id, "option": poll.options[0]}
    h.ok("vote_in_meeting_poll", **call)
    return call


SCENARIOS: dict[tuple[str, str], Scenario] = {
    ("get_video_meeting", "not_found"): lambda h: {"meeting_id": "vmt_none"},
    ("schedule_video_meeting", "not_found"): lambda h: _plan(h, room_id="vroom_none"),
    ("schedule_video_meeting", "capacity"): _crowd,
    ("schedule_video_meeting", "room_busy"): _busy,
    ("schedule_video_meeting", "no_room_free"): _all_taken,
    ("schedule_video_meeting", "time_in_past"): lambda h: _plan(h, starts_at=h.lobby.stamp),
    ("read_meeting_transcript", "not_found"): lambda h: {"recording_id": "rec_none"},
    ("read_meeting_transcript", "transcript_not_ready"): _fresh_recording,
    ("join_video_meeting", "not_found"): lambda h: {"meeting_id": "vmt_none"},
    ("join_video_meeting", "ended"): _join("ended", host=False),
    ("join_video_meeting", "cancelled"): lambda h: {
        "meeting_id": next(m.id for m in h.lobby.mine() if m.status == "cancelled")
    },
    ("join_video_meeting", "meeting_not_started"): _join("scheduled", host=False),
    ("join_video_meeting", "too_early"): _too_early,
    ("join_video_meeting", "room_busy"): _room_in_use,
    ("join_video_meeting", "already_joined"): _join("live", host=False, me="joined"),
    ("join_video_meeting", "removed"): _join("live", host=False, me="removed"),
    ("join_video_meeting", "capacity"): lambda h: {"meeting_id": h.full(host=False).id},
    ("finish_video_meeting", "not_joined"): lambda h: {
        "meeting_id": h.meeting("live", host=False, me="invited").id,
        "action": "leave",
    },
    ("finish_video_meeting", "hand_over_first"): lambda h: {
        "meeting_id": h.full(host=True).id,
        "action": "leave",
    },
    ("finish_video_meeting", "already_started"): lambda h: {
        "meeting_id": h.full(host=True).id,
        "action": "cancel",
    },
    ("manage_meeting_participant", "not_found"): lambda h: {
        "participant_id": "par_none",
        "action": "mute",
    },
    ("manage_meeting_participant", "not_host"): _anyone("live", host=False),
    ("manage_meeting_participant", "meeting_not_started"): _anyone("scheduled", host=True),
    ("manage_meeting_participant", "ended"): _anyone("ended", host=True),
    ("manage_meeting_participant", "cancelled"): lambda h: {
        "participant_id": h.lobby.people(_cancelled(h).id)[-1].id,
        "action": "admit",
    },
    ("manage_meeting_participant", "not_waiting"): _at("admit", "joined"),
    ("manage_meeting_participant", "not_in_meeting"): _at("mute", "waiting"),
    ("manage_meeting_participant", "already_muted"): _at("mute", "joined", muted=True),
    ("manage_meeting_participant", "not_muted"): _at("unmute", "joined", muted=False),
    ("manage_meeting_participant", "capacity"): _at("admit", "waiting"),
    ("control_meeting_recording", "already_recording"): _recording,
    ("control_meeting_recording", "not_recording"): _not_recording,
    ("control_meeting_recording", "recording_unavailable"): _no_plan,
    ("launch_meeting_poll", "poll_open"): lambda h: {
        "meeting_id": h.full(host=True).id,
        **HOSTING["launch_meeting_poll"],
    },
    ("vote_in_meeting_poll", "not_found"): lambda h: {"poll_id": "poll_none", "option": "Yes"},
    ("vote_in_meeting_poll", "poll_closed"): _closed_poll,
    ("vote_in_meeting_poll", "not_joined"): _outside,
    ("vote_in_meeting_poll", "already_voted"): _voted,
    ("vote_in_meeting_poll", "unknown_option"): lambda h: {
        "poll_id": h.poll().id,
        "option": "Neither",
    },
    **{(tool, "not_found"): _unknown(tool) for tool in HOSTING},
    **{(tool, "not_host"): _of(tool, "live", host=False) for tool in HOSTING},
    **{(tool, "meeting_not_started"): _of(tool, "scheduled") for tool in HOSTING},
    **{(tool, "ended"): _of(tool, "ended") for tool in HOSTING},
    **{(tool, "cancelled"): _called_off(tool) for tool in HOSTING},
}


def _cancelled(h: Hall) -> Meeting:
    return next(m for m in h.lobby.mine() if m.status == "cancelled")


@pytest.mark.parametrize(("tool", "code"), declared(SERVER))
@pytest.mark.parametrize("seed", [1, 5])
def test_each_declared_refusal_occurs(tool: str, code: str, seed: int) -> None:
    h = hall(seed)
    assert h.refused(tool, **SCENARIOS[tool, code](h))["code"] == code


def test_nothing_of_a_meeting_one_is_not_invited_to_can_be_reached() -> None:
    h = hall()
    meeting = h.full(host=False)
    me = h.lobby.myself(meeting.id)
    h.lobby.participants.delete(me.id)
    assert h.refused("get_video_meeting", meeting_id=meeting.id)["code"] == "not_found"
    assert h.refused("join_video_meeting", meeting_id=meeting.id)["code"] == "not_found"
    other = h.lobby.people(meeting.id)[0]
    call = {"participant_id": other.id, "action": "mute"}
    assert h.refused("manage_meeting_participant", **call)["code"] == "not_found"


def test_hosts_neither_remove_nor_promote_themselves() -> None:
    h = hall()
    me = h.lobby.myself(h.full(host=True).id)
    for action in ("remove", "promote"):
        call = {"participant_id": me.id, "action": action}
        assert h.refused("manage_meeting_participant", **call)["code"] == "own_participant"


def test_a_stranger_and_a_time_beyond_the_calendar_are_refused() -> None:
    h = hall()
    call = _plan(h, emails=["nobody@nowhere.example"])
    assert h.refused("schedule_video_meeting", **call)["code"] == "unknown_person"
    for when in ("9999-12-31T23:55:00+00:00", "9999-12-31T23:55:00-05:00"):
        error = h.refused("schedule_video_meeting", **_plan(h, starts_at=when))
        assert error["code"] == "invalid_time"


# -- the invariants themselves -----------------------------------------------------------------


def _unheld_recording(h: Hall) -> None:
    meeting = h.meeting("scheduled", host=False)
    h.lobby.recordings.put(Recording("rec_x", meeting.id, h.lobby.stamp, 5, h.lobby.stamp))


def _never_recorded(h: Hall) -> None:
    row = next(iter(h.lobby.recordings))
    h.lobby.meetings.update(h.lobby.meetings[row.meeting_id], recorded=False)


def _overfull(h: Hall) -> None:
    h.person(h.full(host=True), "waiting", presence="joined")


def _ghost(h: Hall) -> None:
    h.person(h.meeting("scheduled", host=True), "invited", presence="joined")


def _hostless(h: Hall) -> None:
    h.lobby.meetings.update(h.full(host=True), host="nobody@nowhere.example")


def _two_live(h: Hall) -> None:
    h.lobby.meetings.update(h.full(host=True), room_id=h.full(host=False).room_id)


def _double_booked(h: Hall) -> None:
    h.lobby.meetings.put(_copy(h.meeting("scheduled", host=True)))


def _copy(m: Meeting) -> Meeting:
    return Meeting("vmt_x", m.room_id, "Twin", m.host, m.starts_at, m.ends_at)


def _second_vote(h: Hall) -> None:
    vote = next(iter(h.lobby.votes))
    h.lobby.votes.put(Vote("vote_x", vote.poll_id, vote.email, vote.option))


def _late_poll(h: Hall) -> None:
    poll = h.lobby.polls.where(open=False)[0]
    h.lobby.polls.update(poll, open=True)


def _stranger_speaks(h: Hall) -> None:
    h.lobby.transcripts.update(next(iter(h.lobby.transcripts)), speaker="A Stranger")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (_unheld_recording, "held with recording on"),
        (_never_recorded, "held with recording on"),
        (_overfull, "holds more than"),
        (_ghost, "that is not live"),
        (_hostless, "lacks its host"),
        (_two_live, "two meetings are live"),
        (_double_booked, "planned at once"),
        (_second_vote, "is double"),
        (_late_poll, "open polls"),
        (_stranger_speaks, "a stranger speaks"),
    ],
)
def test_broken_rows_are_noticed(harm: Callable[[Hall], None], said: str) -> None:
    h = hall()
    assert list(violations(h.lobby)) == []
    harm(h)
    assert any(said in line for line in violations(h.lobby))
