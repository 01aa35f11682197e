from __future__ import annotations

from collections import Counter
from typing import Any

from provegym.servers.calendar import SERVER
from provegym.servers.calendar.seed import FORMS, SUBJECTS
from provegym.servers.calendar.state import (
    Agenda,
)
from provegym.world.session import Session
from provegym.world.stories import TOPICS, stories
from provegym.world.world import World


def agenda(session: Session) -> Agenda:
    state = session.state("calendar")
    assert isinstance(state, Agenda)
    return state


def test_the_events_of_a_seeded_world_have_distinct_titles() -> None:
    for seed in range(20):
        world = World(seed, [SERVER])
        state = agenda(world.open())
        titles = Counter(event.title for event in state.events)
        assert max(titles.values()) == 1


def found(session: Session, query: str) -> dict[str, Any]:
    """The only coming event of the user's that the words find, in full."""
    result = session.call("search_events", {"query": query, "organized_by_me": True})
    (event,) = result.builtins()["events"]
    shown: dict[str, Any] = session.call("get_event", {"event_id": event["id"]}).builtins()
    return shown


def test_each_meeting_of_the_stories_is_in_the_calendar_with_its_guests() -> None:
    for seed in range(6):
        session = World(seed, [SERVER]).open()
        for meeting in stories(session.world.cast).meetings:
            event = found(session, meeting.topic)
            assert event["title"] == meeting.topic
            assert event["start"] == meeting.starts.isoformat()
            assert event["end"] == meeting.ends.isoformat()
            people = [session.world.cast.user, *meeting.guests]
            assert [a["email"] for a in event["attendees"]] == [p.email for p in people]


def test_the_flight_of_the_stories_is_in_the_calendar_when_it_leaves() -> None:
    for seed in range(6):
        session = World(seed, [SERVER]).open()
        trip = stories(session.world.cast).trip
        event = found(session, trip.number)
        assert event["title"] == f"Flight {trip.number} to {trip.city}"
        assert (event["start"], event["end"]) == (
            trip.departs.isoformat(),
            trip.arrives.isoformat(),
        )
        assert event["calendar"] == "Personal"


def test_no_other_event_has_the_topic_of_a_story() -> None:
    pairs = {f"{subject} {form}" for subject in SUBJECTS for form in FORMS}
    shared, clashes = pairs & set(TOPICS), 0
    assert shared  # else there is nothing to test
    for seed in range(30):
        world = World(seed, [SERVER])
        topics = {m.topic for m in stories(world.cast).meetings}
        titles = Counter(event.title for event in agenda(world.open()).events)
        assert all(titles[topic] == 1 for topic in topics)
        clashes += bool(topics & shared)
    assert clashes
