"""Video meetings: coming and going, hosting, recording, polls, and the worlds they live in."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from provegym.seeding import rng
from provegym.servers.video_meeting import SERVER
from provegym.servers.video_meeting.desk import talk
from provegym.servers.video_meeting.rules import violations
from provegym.servers.video_meeting.state import Meeting, overlap
from provegym.world.explore import Walk
from tests.servers.talk import agree
from tests.servers.video_meeting_lobby import Hall, hall

# -- planning and coming in --------------------------------------------------------------------


def _plan(h: Hall, minutes_ahead: int = 600, **given: Any) -> dict[str, Any]:
    start = h.lobby.now + timedelta(minutes=minutes_ahead)
    usual = {"topic": "Harvest plan", "starts_at": start.isoformat(), "minutes": 30}
    return {**usual, "emails": [p.email for p in h.lobby.cast.others[:2]], **given}


def test_a_meeting_without_a_room_gets_the_smallest_free_one() -> None:
    h = hall()
    guests = [p.email for p in h.lobby.cast.others[:4]]  # five people with the host
    start = h.lobby.now + timedelta(days=60)
    call = _plan(h, starts_at=start.isoformat(), emails=guests)
    assert h.ok("schedule_video_meeting", **call)["room"] == "Cobalt"  # the only one for five
    assert h.ok("schedule_video_meeting", **call)["room"] in ("Delta", "Ember", "Kestrel")


def test_a_planned_meeting_invites_each_person_once_and_its_host() -> None:
    h = hall()
    one, two = (p.email for p in h.lobby.cast.others[:2])
    made = h.ok("schedule_video_meeting", **_plan(h, emails=[one, two, one, h.lobby.me]))
    assert made["invited"] == 2
    shown = h.ok("get_video_meeting", meeting_id=made["id"])
    names = {p["name"] for p in shown["participants"]}
    assert names == {h.lobby.cast.user.name, *(p.name for p in h.lobby.cast.others[:2])}
    end = datetime.fromisoformat(shown["ends_at"]) - datetime.fromisoformat(shown["starts_at"])
    assert end == timedelta(minutes=30)


def test_meetings_that_only_touch_do_not_overlap() -> None:
    m = Meeting("m", "r", "T", "a@b.c", "2026-05-04T10:00:00+00:00", "2026-05-04T11:00:00+00:00")
    assert not overlap(m, "2026-05-04T11:00:00+00:00", "2026-05-04T12:00:00+00:00")
    assert not overlap(m, "2026-05-04T09:00:00+00:00", "2026-05-04T10:00:00+00:00")
    assert overlap(m, "2026-05-04T10:59:00+00:00", "2026-05-04T12:00:00+00:00")
    assert overlap(m, "2026-05-04T10:15:00+00:00", "2026-05-04T10:30:00+00:00")


def test_times_in_another_zone_are_kept_in_utc() -> None:
    h = hall()
    made = h.ok("schedule_video_meeting", **_plan(h, starts_at="2030-05-04T10:00:00+02:00"))
    assert made["starts_at"] == "2030-05-04T08:00:00+00:00"
    assert made["ends_at"] == "2030-05-04T08:30:00+00:00"


def test_a_host_starts_a_meeting_from_fifteen_minutes_before_it_on() -> None:
    h = hall()
    made = h.ok("schedule_video_meeting", **_plan(h, minutes_ahead=19))
    call = {"meeting_id": made["id"]}
    h.skip(2)  # planning took a minute: 16 are left
    assert h.refused("join_video_meeting", **call)["code"] == "too_early"
    h.skip(1)
    got = h.ok("join_video_meeting", **call)
    assert (got["status"], got["you"], got["present"]) == ("live", "joined", 1)


def test_a_meeting_of_another_host_starts_and_ends_by_the_clock() -> None:
    h = hall()
    other = h.lobby.cast.others[0]
    made = h.ok("schedule_video_meeting", **_plan(h, 10, minutes=10, emails=[other.email]))
    h.lobby.meetings.update(h.lobby.meetings[made["id"]], host=other.email)
    call = {"meeting_id": made["id"]}
    assert h.refused("join_video_meeting", **call)["code"] == "meeting_not_started"
    h.skip(8)
    h.ok("schedule_video_meeting", **_plan(h))  # its minute ends when the meeting starts
    assert h.ok("join_video_meeting", **call)["present"] == 2
    assert h.lobby.meetings[made["id"]].status == "live"
    h.skip(8)
    h.ok("schedule_video_meeting", **_plan(h))
    assert h.lobby.meetings[made["id"]].status == "ended"
    assert h.refused("join_video_meeting", **call)["code"] == "ended"
    assert list(violations(h.lobby)) == []


def test_leaving_frees_a_place_and_one_can_come_back() -> None:
    h = hall()
    meeting = h.meeting("live", host=False, me="joined")
    inside = len(h.lobby.present(meeting.id))
    got = h.ok("finish_video_meeting", meeting_id=meeting.id, action="leave")
    assert (got["you"], got["present"]) == ("left", inside - 1)
    assert h.ok("join_video_meeting", meeting_id=meeting.id)["present"] == inside


# -- hosting -------------------------------------------------------------------------------


def test_admitting_fills_the_room_until_it_is_full() -> None:
    h = hall()
    meeting = h.full(host=True)
    waiting = h.person(meeting, "waiting")
    call = {"participant_id": waiting.id, "action": "admit"}
    assert h.refused("manage_meeting_participant", **call)["code"] == "capacity"
    out = h.person(meeting, "joined")
    h.ok("manage_meeting_participant", participant_id=out.id, action="remove")
    assert h.ok("manage_meeting_participant", **call)["presence"] == "joined"


def test_a_host_hands_over_before_leaving() -> None:
    h = hall()
    meeting = h.full(host=True)
    call = {"meeting_id": meeting.id, "action": "leave"}
    assert h.refused("finish_video_meeting", **call)["code"] == "hand_over_first"
    heir = h.person(meeting, "joined")
    h.ok("manage_meeting_participant", participant_id=heir.id, action="promote")
    shown = h.ok("get_video_meeting", meeting_id=meeting.id)
    assert shown["host"] == heir.name
    assert h.ok("finish_video_meeting", **call)["you"] == "left"
    assert h.refused("finish_video_meeting", **{**call, "action": "end"})["code"] == "not_host"


def test_a_host_who_is_alone_ends_the_meeting_by_leaving() -> None:
    h = hall()
    made = h.ok("schedule_video_meeting", **_plan(h, minutes_ahead=5))
    h.ok("join_video_meeting", meeting_id=made["id"])
    got = h.ok("finish_video_meeting", meeting_id=made["id"], action="leave")
    assert (got["status"], got["you"]) == ("ended", "left")


def test_ending_a_meeting_stops_its_recording_closes_its_poll_and_empties_it() -> None:
    h = hall()
    meeting = h.full(host=True)
    assert meeting.recording_since
    assert h.lobby.polls.where(meeting_id=meeting.id, open=True)
    since = datetime.fromisoformat(meeting.recording_since)
    minutes = int((h.lobby.now - since).total_seconds()) // 60
    got = h.ok("finish_video_meeting", meeting_id=meeting.id, action="end")
    assert got["present"] == 0
    shown = h.ok("get_video_meeting", meeting_id=meeting.id)
    assert [r["minutes"] for r in shown["recordings"]] == [minutes]
    assert [p["open"] for p in shown["polls"]] == [False]
    assert {p["presence"] for p in shown["participants"]} <= {"left", "invited"}
    assert list(violations(h.lobby)) == []


# -- recordings and transcripts ----------------------------------------------------------------


def test_a_recording_is_made_between_start_and_stop_and_its_transcript_later() -> None:
    h = hall()
    meeting = h.recordable()
    call = {"meeting_id": meeting.id}
    assert h.ok("control_meeting_recording", **call, action="start")["recording_now"] is True
    h.skip(19)
    got = h.ok("control_meeting_recording", **call, action="stop")
    assert (got["recording_now"], got["recording"]["minutes"]) == (False, 20)
    read = {"recording_id": got["recording"]["id"]}
    error = h.refused("read_meeting_transcript", **read)
    assert (error["code"], error["details"]["ready_at"]) == (
        "transcript_not_ready",
        got["transcript_at"],
    )
    h.skip(9)
    first = h.ok("read_meeting_transcript", **read)["lines"][0]
    assert first["text"] == f"Welcome to the {meeting.topic}."


def test_a_transcript_is_searched_by_words_and_by_speaker() -> None:
    h = hall()
    mine = {m.id for m in h.lobby.mine()}
    recording = next(r for r in h.lobby.recordings if r.meeting_id in mine)
    lines = h.lobby.transcripts.where(recording_id=recording.id)
    call = {"recording_id": recording.id, "limit": 50}
    got = h.ok("read_meeting_transcript", **call, query=lines[1].speaker.upper())
    assert {x["speaker"] for x in got["lines"]} == {lines[1].speaker}
    got = h.ok("read_meeting_transcript", **call, query="welcome to")
    assert [x["at"] for x in got["lines"]] == ["00:00"]
    assert h.ok("read_meeting_transcript", **call)["total"] == len(lines)


def test_everyone_who_is_there_speaks_in_the_order_of_time() -> None:
    lines = talk("Budget review", ["Ann", "Ben", "Cal"], seed=4)
    assert [name for _, name, _ in lines] == ["Ann", "Ben", "Cal", "Ann", "Ann"]
    seconds = [second for second, _, _ in lines]
    assert seconds == sorted(set(seconds))
    assert lines == talk("Budget review", ["Ann", "Ben", "Cal"], seed=4)
    assert talk("Budget review", [], seed=4) == []


# -- polls ---------------------------------------------------------------------------------


def test_a_vote_counts_once_and_in_any_spelling() -> None:
    h = hall()
    poll = h.poll()
    option = poll.options[0]
    before = len(h.lobby.votes.where(poll_id=poll.id, option=option))
    got = h.ok("vote_in_meeting_poll", poll_id=poll.id, option=option.upper())
    assert got["votes"][0] == f"{option}: {before + 1}"
    error = h.refused("vote_in_meeting_poll", poll_id=poll.id, option=option)
    assert error["code"] == "already_voted"


def test_a_poll_is_launched_by_the_host_with_different_options() -> None:
    h = hall()
    made = h.ok("schedule_video_meeting", **_plan(h, minutes_ahead=5))
    h.ok("join_video_meeting", meeting_id=made["id"])
    call = {"meeting_id": made["id"], "question": "Tea or coffee?"}
    for options in (["Tea"], ["Tea", "tea"], list("abcdefg")):
        error = h.refused("launch_meeting_poll", **call, options=options)
        assert error["code"] == "invalid_options"
    got = h.ok("launch_meeting_poll", **call, options=["Tea", "Coffee"])
    assert got["votes"] == ["Tea: 0", "Coffee: 0"]
    assert h.ok("get_video_meeting", meeting_id=made["id"])["polls"] == [got]


# -- finding -------------------------------------------------------------------------------


def test_live_meetings_come_first_then_the_next_then_the_past() -> None:
    h = hall()
    got = h.ok("list_video_meetings", limit=50)
    assert got["total"] == len(h.lobby.mine())
    order = {"live": 0, "scheduled": 1, "ended": 2, "cancelled": 2}
    places = [order[m["status"]] for m in got["meetings"]]
    assert places == sorted(places)
    coming = [m["starts_at"] for m in got["meetings"] if m["status"] == "scheduled"]
    past = [m["starts_at"] for m in got["meetings"] if order[m["status"]] == 2]
    assert coming == sorted(coming)
    assert past == sorted(past, reverse=True)


def test_meetings_are_found_by_topic_day_state_and_role() -> None:
    h = hall()
    wanted = h.meeting("ended", host=False)
    day = wanted.starts_at[:10]
    call = {"query": wanted.topic.lower(), "status": "ended", "role": "guest"}
    got = h.ok("list_video_meetings", **call, since=day, until=day)
    assert [m["id"] for m in got["meetings"]] == [wanted.id]
    assert h.ok("list_video_meetings", query=wanted.topic, role="host")["total"] == 0


# -- what holds in every world -----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_a_seeded_world_is_varied(seed: int) -> None:
    h = hall(seed)
    assert {m.status for m in h.lobby.mine()} == {"live", "scheduled", "ended", "cancelled"}
    assert len({m.topic for m in h.lobby.meetings}) == len(h.lobby.meetings)
    assert h.full(host=True)
    assert h.full(host=False)
    assert {p.open for p in h.lobby.polls} == {True, False}


def test_only_meetings_that_the_user_hosts_stay_live_past_their_end() -> None:
    h = hall(4)
    list(Walk(SERVER, h.session, rng(4, "long")).steps(600))
    assert all(m.status != "live" or m.host == h.lobby.me for m in h.lobby.meetings
               if m.ends_at < h.lobby.stamp)  # fmt: skip


def test_independent_writes_in_either_order_give_the_same_changes() -> None:
    one, two = hall(), hall()
    guest, full = one.meeting("live", host=False, me="joined"), one.full(host=True)
    muted = one.person(full, "joined")
    writes: list[tuple[str, dict[str, Any]]] = [
        ("schedule_video_meeting", _plan(one)),
        ("schedule_video_meeting", _plan(one, 2000, topic="Other plan")),
        ("finish_video_meeting", {"meeting_id": guest.id, "action": "leave"}),
        (
            "manage_meeting_participant",
            {"participant_id": muted.id, "action": "unmute" if muted.muted else "mute"},
        ),
        ("control_meeting_recording", {"meeting_id": full.id, "action": "stop"}),
    ]
    agree(one, writes, two)
