from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from provegym.seeding import rng
from provegym.servers.calendar import SERVER
from provegym.servers.calendar.seed import FORMS, SUBJECTS
from provegym.servers.calendar.state import (
    Agenda,
    violations,
)
from provegym.world.session import Session
from provegym.world.stories import TOPICS, stories
from provegym.world.world import World
from tests.servers.elsewhere import digests_elsewhere


def agenda(session: Session) -> Agenda:
    state = session.state("calendar")
    assert isinstance(state, Agenda)
    return state


def test_there_are_exactly_seventeen_tools() -> None:
    assert len(SERVER.tools) == 17


def test_seeded_worlds_are_large_sound_and_full_of_distinct_titles() -> None:
    for seed in range(20):
        world = World(seed, [SERVER])
        state = agenda(world.open())
        assert sum(len(t.rows) for t in world.templates.values()) >= 300
        assert not list(violations(state))
        titles = Counter(event.title for event in state.events)
        assert max(titles.values()) == 1


def test_every_sample_mostly_succeeds() -> None:
    for name, tool in SERVER.tools.items():
        assert tool.sample is not None
        good = 0
        for seed in range(40):
            session = World(seed, [SERVER]).open()
            arguments = tool.sample(session.state("calendar"), rng(seed, "sample", name))
            good += session.call(name, arguments).outcome == "ok"
        assert good >= 30, name


def test_long_walks_keep_the_invariants() -> None:
    for seed in range(4):
        session, rnd = World(seed, [SERVER]).open(), rng(seed, "walk")
        for step in range(500):
            name = rnd.choice(list(SERVER.tools))
            before = session.snapshot()
            result = session.call(name, _sampled(session, name, rnd))
            wrote = result.outcome == "ok" and SERVER.tools[name].effect == "write"
            assert (session.snapshot() != before) == wrote
            if step % 25 == 24:
                assert not list(violations(agenda(session)))


def _sampled(session: Session, name: str, rnd: Random) -> dict[str, Any]:
    """A sample; in one call of three its entities are drawn blindly."""
    sample = SERVER.tools[name].sample
    assert sample is not None
    state = agenda(session)
    arguments = sample(state, rnd)
    if rnd.random() < 0.33:
        if "event_id" in arguments:
            arguments["event_id"] = rnd.choice(list(state.events)).id
        if "room_id" in arguments:
            arguments["room_id"] = rnd.choice(list(state.rooms)).id
        if "force" in {p.name for p in SERVER.tools[name].parameters}:
            arguments["force"] = rnd.random() < 0.5
    return arguments


def test_the_same_seed_gives_the_same_world_in_another_process() -> None:
    assert digests_elsewhere("calendar", 5) == {World(5, [SERVER]).digest}


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
