from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from provegym.servers.calendar import SERVER
from provegym.servers.calendar.recurrence import (
    Rule,
    Weekday,
)
from provegym.servers.calendar.state import (
    Agenda,
    Attendee,
    Calendar,
    Event,
    Reminder,
    Response,
    Room,
    violations,
)
from provegym.world.cast import Cast, cast
from provegym.world.server import Seeds
from provegym.world.session import Session
from provegym.world.world import World

SEED = 11
BERLIN = ZoneInfo("Europe/Berlin")
START = cast(SEED).start
"""A weekday at 09:00 UTC."""
ADA, BOB, CLEO, DAN, EVE = cast(SEED).others[:5]
USER = cast(SEED).user


def at(days: int, hour: int, minute: int = 0) -> str:
    """That time in Berlin, so many days after the world's first day."""
    day = START.astimezone(BERLIN).replace(hour=hour, minute=minute) + timedelta(days=days)
    return day.isoformat()


def on(days: int) -> str:
    return at(days, 12)[:10]


def make_event(name: str, start: str, end: str, organizer: str, **more: Any) -> Event:
    fields: dict[str, Any] = {
        "calendar_id": "cal_work",
        "title": name,
        "description": "",
        "location": "",
        "time_zone": "Europe/Berlin",
        "status": "confirmed",
        "room_id": None,
        "rule_id": None,
        "updated": START.isoformat(),
    }
    return Event(f"evt_{name}", organizer=organizer, start=start, end=end, **(fields | more))


def office(_: Cast, __: Random) -> Seeds:
    """A calendar small enough to reckon with by hand."""
    me, ada = USER.email, ADA.email
    events = [
        make_event("budget", at(2, 10), at(2, 11), me, room_id="room_cedar"),
        make_event("launch", at(2, 12), at(2, 13), ada, room_id="room_oak"),
        make_event("old", at(-3, 10), at(-3, 11), me),
        make_event("gone", at(4, 10), at(4, 11), me, status="cancelled"),
        make_event("series", at(-7, 15), at(-7, 16), me, rule_id="rule_weekly"),
        make_event("pair", at(8, 9), at(8, 9, 30), me, rule_id="rule_pair"),
        make_event("foreign", at(5, 9), at(5, 10), ada),
        make_event("long", at(6, 9), at(6, 12), me),
        make_event("soon", at(0, 18), at(0, 19), me),
    ]
    first_pair: Weekday = DAYS[datetime.fromisoformat(at(8, 9)).weekday()]
    second_pair: Weekday = DAYS[(DAYS.index(first_pair) + 1) % 7]
    weekly: Weekday = DAYS[datetime.fromisoformat(at(-7, 15)).weekday()]
    pair = (first_pair, second_pair)
    return {
        "calendars": [
            Calendar("cal_work", "Work", "owner", me, "Europe/Berlin", True),
            Calendar("cal_tokyo", "Tokyo office", "reader", ada, "Asia/Tokyo", False),
            Calendar("cal_team", "Product team", "editor", ada, "America/New_York", False),
        ],
        "events": events,
        "attendees": [
            *(guest(e.title, e.organizer, "accepted") for e in events),
            guest("budget", ada, "accepted"),
            guest("budget", BOB.email, "declined"),
            guest("launch", me, "needs_action"),
            guest("launch", BOB.email, "declined"),
        ],
        "reminders": [Reminder(f"rem_{m}", "evt_launch", m, "popup") for m in (5, 10, 15, 30, 60)],
        "rooms": [
            Room("room_cedar", "Cedar", "Tower", 4, ("video",), 60, True),
            Room("room_oak", "Oak", "Tower", 10, ("projector",), 480, True),
            Room("room_booth", "Booth", "Tower", 2, (), 60, True),
            Room("room_elm", "Elm", "Tower", 10, (), 480, False),
        ],
        "rules": [
            Rule("rule_weekly", "weekly", 1, (weekly,), 4, None),
            Rule("rule_pair", "weekly", 1, pair, 4, None),
        ],
    }


DAYS: tuple[Weekday, ...] = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def guest(event: str, email: str, response: Response) -> Attendee:
    name = next(p.name for p in cast(SEED).people if p.email == email)
    return Attendee(f"att_{event}_{name}", f"evt_{event}", email, name, response, False)


SMALL = World(SEED, [replace(SERVER, seed=office)])


def ok(session: Session, tool: str, **arguments: Any) -> dict[str, Any]:
    result = session.call(tool, arguments)
    assert result.outcome == "ok", result.json()
    value: dict[str, Any] = result.builtins()
    return value


def code(session: Session, tool: str, **arguments: Any) -> str:
    result = session.call(tool, arguments)
    assert result.outcome == "tool_error", result.json()
    return str(result.builtins()["error"]["code"])


def agenda(session: Session) -> Agenda:
    state = session.state("calendar")
    assert isinstance(state, Agenda)
    return state


# -- looking things up ---------------------------------------------------------------------


def test_the_agenda_of_a_day_holds_what_one_attends_in_order_of_time() -> None:
    day = ok(SMALL.open(), "list_events", start_date=on(2))
    assert [e["title"] for e in day["events"]] == ["budget", "launch"]
    assert day["events"][0]["start"] == at(2, 10)


def test_each_occurrence_of_a_series_is_listed_on_its_own_day() -> None:
    session = SMALL.open()
    for days in (-7, 0, 7, 14):
        listed = ok(session, "list_events", start_date=on(days))["events"]
        assert [e["start"] for e in listed if e["title"] == "series"] == [at(days, 15)]
    after = ok(session, "list_events", start_date=on(21))["events"]
    assert [e for e in after if e["title"] == "series"] == []


def test_a_search_finds_titles_and_attendees_but_no_past_or_cancelled_event() -> None:
    session = SMALL.open()

    def titles(**arguments: Any) -> set[str]:
        return {e["title"] for e in ok(session, "search_events", **arguments)["events"]}

    assert titles(query="BUDG") == {"budget"}
    assert titles(query=ADA.name) == {"budget", "launch", "foreign"}
    assert titles(query=ADA.name, organized_by_me=True) == {"budget"}
    assert titles(query="old") == titles(query="gone") == set()
    assert titles(query="old", include_past=True) == {"old"}


def test_long_lists_come_in_pages() -> None:
    session = SMALL.open()
    first = ok(session, "list_meeting_rooms", limit=3)
    rest = ok(session, "list_meeting_rooms", limit=3, cursor=first["next_cursor"])
    names = [r["name"] for r in first["rooms"] + rest["rooms"]]
    assert names == ["Booth", "Cedar", "Elm", "Oak"]
    assert (first["total"], rest["next_cursor"]) == (4, "")


def test_rooms_are_filtered_by_seats_equipment_and_time() -> None:
    session = SMALL.open()

    def names(**arguments: Any) -> list[str]:
        return [r["name"] for r in ok(session, "list_meeting_rooms", **arguments)["rooms"]]

    assert names(min_capacity=5) == ["Elm", "Oak"]
    assert names(equipment="video") == ["Cedar"]
    assert names(free_from=at(2, 10, 30), free_until=at(2, 11, 30)) == ["Booth", "Oak"]
    assert names(free_from=at(2, 11), free_until=at(2, 12)) == ["Booth", "Cedar", "Oak"]


def test_free_slots_avoid_the_busy_hours_of_all() -> None:
    session, day = SMALL.open(), 2
    while datetime.fromisoformat(at(day, 9)).weekday() > 4:
        day += 1
    ok(session, "create_event", title="a", start=at(day, 9), end=at(day, 13, 15), force=True)
    ok(session, "create_event", title="b", start=at(day, 15), end=at(day, 16), force=True)
    slots = ok(session, "find_free_slots", duration_minutes=60, start_date=on(day))["slots"]
    # 13:15 rounds up to the half hour; the day ends at 17:00. On other days the seed adds nothing.
    assert [s["start"] for s in slots] == [at(day, 13, 30), at(day, 16)]
    assert slots[0]["end"] == at(day, 14, 30)


def test_a_free_slot_is_free_for_the_attendees_too() -> None:
    session = SMALL.open()  # day 5 is a Wednesday; Ada alone is busy, from nine to ten
    whole_day: dict[str, Any] = {"duration_minutes": 480, "start_date": on(5)}
    slots = ok(session, "find_free_slots", **whole_day)["slots"]
    assert slots == [{"start": at(5, 9), "end": at(5, 17)}]
    assert ok(session, "find_free_slots", **whole_day, attendees=[ADA.name])["slots"] == []
    assert ok(session, "find_free_slots", **whole_day, attendees=[BOB.email])["slots"] == slots


def test_invitations_show_what_others_organize() -> None:
    session = SMALL.open()
    waiting = ok(session, "list_invitations")["invitations"]
    assert [(i["title"], i["organizer"]) for i in waiting] == [("launch", ADA.name)]
    ok(session, "respond_to_invitation", event_id="evt_launch", response="accepted")
    assert ok(session, "list_invitations")["total"] == 0
    assert ok(session, "list_invitations", response="accepted")["total"] == 1


# -- changing things -----------------------------------------------------------------------


def test_an_event_is_kept_in_the_zone_of_its_calendar() -> None:
    session = SMALL.open()
    made = ok(
        session,
        "create_event",
        title="Call",
        start="2026-12-01T15:00:00Z",
        end="2026-12-01T16:00:00+00:00",
        calendar_id="cal_team",
    )
    assert made["start"] == "2026-12-01T10:00:00-05:00"
    same = "2026-12-01T16:00:00+01:00"
    assert code(session, "reschedule_event", event_id=made["id"], start=same) == "no_change"


def test_moving_an_event_keeps_its_length_and_asks_the_guests_again() -> None:
    session = SMALL.open()
    moved = ok(session, "reschedule_event", event_id="evt_budget", start=at(3, 14))
    assert (moved["start"], moved["end"]) == (at(3, 14), at(3, 15))
    guests = {g["name"]: g["response"] for g in _guests(session, "evt_budget")}
    expected = {USER.name: "accepted", ADA.name: "needs_action", BOB.name: "needs_action"}
    assert guests == expected


def _guests(session: Session, event_id: str) -> list[dict[str, Any]]:
    guests: list[dict[str, Any]] = ok(session, "get_event", event_id=event_id)["attendees"]
    return guests


def test_moving_a_series_moves_all_its_occurrences() -> None:
    session = SMALL.open()
    # The next occurrence is today at 15:00; it goes to tomorrow at 16:30.
    ok(session, "reschedule_event", event_id="evt_series", start=at(1, 16, 30))
    event = agenda(session).events["evt_series"]
    starts = agenda(session).series(event).starts
    expected = [datetime.fromisoformat(at(d, 16, 30)) for d in (-6, 1, 8, 15)]
    assert starts == tuple(int(e.timestamp()) for e in expected)


def test_one_occurrence_can_be_cancelled_alone() -> None:
    session = SMALL.open()
    ok(session, "cancel_event", event_id="evt_series", occurrence=on(7))
    listed = ok(session, "list_events", start_date=on(7))["events"]
    assert "series" not in [e["title"] for e in listed]
    assert "series" in [e["title"] for e in ok(session, "list_events", start_date=on(14))["events"]]


def test_cancelling_gives_the_room_back() -> None:
    session = SMALL.open()
    mine = ok(session, "create_event", title="x", start=at(2, 10), end=at(2, 11), force=True)
    booking = {"event_id": mine["id"], "room_id": "room_cedar"}
    assert code(session, "book_meeting_room", **booking) == "room_taken"
    ok(session, "cancel_event", event_id="evt_budget")
    assert ok(session, "book_meeting_room", **booking)["room"] == "Cedar"


def test_a_room_may_be_booked_from_the_minute_it_becomes_free() -> None:
    session = SMALL.open()
    mine = ok(session, "create_event", title="x", start=at(2, 11), end=at(2, 12))
    ok(session, "book_meeting_room", event_id=mine["id"], room_id="room_cedar")


def test_an_event_becomes_a_series_that_counts_from_its_start() -> None:
    session = SMALL.open()
    made = ok(session, "set_recurrence", event_id="evt_long", frequency="daily", count=3)
    assert made["repeats"] == "FREQ=DAILY;COUNT=3"
    event = agenda(session).events["evt_long"]
    days = [datetime.fromisoformat(at(d, 9)).timestamp() for d in (6, 7, 8)]
    assert agenda(session).series(event).starts == tuple(map(int, days))


def test_a_reminder_says_when_it_goes_off() -> None:
    made = ok(SMALL.open(), "add_event_reminder", event_id="evt_budget", minutes_before=90)
    assert made["at"] == at(2, 8, 30)


def test_people_are_named_in_full_or_by_address_in_any_case() -> None:
    session = SMALL.open()
    ok(session, "invite_attendee", event_id="evt_long", attendee=CLEO.name.upper())
    ok(session, "remove_attendee", event_id="evt_long", attendee=CLEO.email)
    assert [g["name"] for g in _guests(session, "evt_long")] == [USER.name]


def test_a_busy_guest_can_be_invited_by_force() -> None:
    session = SMALL.open()
    ok(session, "create_event", title="x", start=at(5, 9), end=at(5, 10))
    made = ok(session, "search_events", query="x")["events"][0]["id"]
    assert code(session, "invite_attendee", event_id=made, attendee=ADA.name) == "attendee_busy"
    ok(session, "invite_attendee", event_id=made, attendee=ADA.name, force=True)


# -- refusals ------------------------------------------------------------------------------

PAIR_NEXT = {"event_id": "evt_pair", "start": at(10, 9)}
REFUSALS: list[tuple[str, str, dict[str, Any]]] = [
    ("not_found", "list_events", {"start_date": on(0), "calendar_id": "cal_none"}),
    ("not_found", "get_event", {"event_id": "evt_none"}),
    (
        "unknown_person",
        "find_free_slots",
        {"duration_minutes": 30, "start_date": on(1), "attendees": ["Nobody Atall"]},
    ),
    *(
        (wanted, tool, {"event_id": f"evt_{event}", **more})
        for tool, more in (
            ("book_meeting_room", {"room_id": "room_oak"}),
            ("reschedule_event", {"start": at(3, 9)}),
            ("cancel_event", {}),
            ("set_recurrence", {"frequency": "daily", "count": 3}),
            ("invite_attendee", {"attendee": EVE.name}),
            ("remove_attendee", {"attendee": ADA.name}),
        )
        for event, wanted in (
            ("none", "not_found"),
            ("gone", "cancelled_event"),
            ("launch", "not_organizer"),
            ("old", "past_event"),
        )
    ),
    ("no_change", "book_meeting_room", {"event_id": "evt_budget", "room_id": "room_cedar"}),
    ("not_found", "book_meeting_room", {"event_id": "evt_budget", "room_id": "room_none"}),
    ("room_out_of_service", "book_meeting_room", {"event_id": "evt_long", "room_id": "room_elm"}),
    ("room_too_small", "book_meeting_room", {"event_id": "evt_budget", "room_id": "room_booth"}),
    ("booking_too_long", "book_meeting_room", {"event_id": "evt_long", "room_id": "room_cedar"}),
    (
        "read_only_calendar",
        "create_event",
        {"title": "x", "start": at(3, 9), "end": at(3, 10), "calendar_id": "cal_tokyo"},
    ),
    (
        "not_found",
        "create_event",
        {"title": "x", "start": at(3, 9), "end": at(3, 10), "calendar_id": "cal_none"},
    ),
    ("time_in_past", "create_event", {"title": "x", "start": at(-1, 9), "end": at(-1, 10)}),
    ("time_conflict", "create_event", {"title": "x", "start": at(2, 10, 59), "end": at(2, 11, 30)}),
    ("invalid_range", "create_event", {"title": "x", "start": at(3, 10), "end": at(3, 10)}),
    ("not_found", "update_event", {"event_id": "evt_none", "title": "x"}),
    ("cancelled_event", "update_event", {"event_id": "evt_gone", "title": "x"}),
    ("not_organizer", "update_event", {"event_id": "evt_launch", "title": "x"}),
    ("no_change", "update_event", {"event_id": "evt_budget", "title": "budget"}),
    ("read_only_calendar", "update_event", {"event_id": "evt_long", "calendar_id": "cal_tokyo"}),
    ("time_in_past", "reschedule_event", {"event_id": "evt_budget", "start": at(-1, 9)}),
    ("no_change", "reschedule_event", {"event_id": "evt_budget", "start": at(2, 10)}),
    ("not_in_pattern", "reschedule_event", PAIR_NEXT),
    ("time_conflict", "reschedule_event", {"event_id": "evt_budget", "start": at(6, 9)}),
    ("attendee_busy", "reschedule_event", {"event_id": "evt_budget", "start": at(5, 9)}),
    (
        "invalid_recurrence",  # a weekly series of eight days each
        "reschedule_event",
        {"event_id": "evt_series", "start": at(1, 16), "end": at(9, 16)},
    ),
    (
        "booking_too_long",
        "reschedule_event",
        {"event_id": "evt_budget", "start": at(3, 9), "end": at(3, 11)},
    ),
    ("no_such_occurrence", "cancel_event", {"event_id": "evt_series", "occurrence": on(8)}),
    ("past_event", "cancel_event", {"event_id": "evt_series", "occurrence": on(-7)}),
    (
        "invalid_recurrence",
        "set_recurrence",
        {"event_id": "evt_long", "frequency": "daily", "until": on(6)},
    ),
    ("invalid_recurrence", "set_recurrence", {"event_id": "evt_long", "frequency": "daily"}),
    (
        "invalid_recurrence",  # sixty days and one
        "set_recurrence",
        {"event_id": "evt_long", "frequency": "daily", "until": on(66)},
    ),
    (
        "invalid_recurrence",  # every 12 months within two years: three times at most
        "set_recurrence",
        {"event_id": "evt_long", "frequency": "monthly", "interval": 12, "count": 4},
    ),
    (
        "not_in_pattern",
        "set_recurrence",
        {
            "event_id": "evt_long",
            "frequency": "weekly",
            "weekdays": [DAYS[datetime.fromisoformat(at(7, 9)).weekday()]],
            "count": 3,
        },
    ),
    (
        "no_change",
        "set_recurrence",
        {"event_id": "evt_series", "frequency": "weekly", "count": 4},
    ),
    ("unknown_person", "invite_attendee", {"event_id": "evt_budget", "attendee": "Nobody Atall"}),
    ("already_invited", "invite_attendee", {"event_id": "evt_budget", "attendee": ADA.name}),
    ("unknown_person", "remove_attendee", {"event_id": "evt_budget", "attendee": "Nobody Atall"}),
    ("not_invited", "remove_attendee", {"event_id": "evt_budget", "attendee": EVE.name}),
    ("own_event", "remove_attendee", {"event_id": "evt_budget", "attendee": USER.name}),
    ("not_found", "respond_to_invitation", {"event_id": "evt_none", "response": "accepted"}),
    ("cancelled_event", "respond_to_invitation", {"event_id": "evt_gone", "response": "accepted"}),
    ("past_event", "respond_to_invitation", {"event_id": "evt_old", "response": "accepted"}),
    ("own_event", "respond_to_invitation", {"event_id": "evt_budget", "response": "accepted"}),
    ("not_invited", "respond_to_invitation", {"event_id": "evt_foreign", "response": "accepted"}),
    ("not_found", "add_event_reminder", {"event_id": "evt_none", "minutes_before": 5}),
    ("cancelled_event", "add_event_reminder", {"event_id": "evt_gone", "minutes_before": 5}),
    ("past_event", "add_event_reminder", {"event_id": "evt_old", "minutes_before": 5}),
    ("duplicate_reminder", "add_event_reminder", {"event_id": "evt_launch", "minutes_before": 5}),
    ("too_many_reminders", "add_event_reminder", {"event_id": "evt_launch", "minutes_before": 45}),
    ("time_in_past", "add_event_reminder", {"event_id": "evt_soon", "minutes_before": 1440}),
]
LATER_REFUSALS = {
    ("book_meeting_room", "room_taken"),
    ("reschedule_event", "room_taken"),
    ("set_recurrence", "room_taken"),
    ("invite_attendee", "room_too_small"),
    ("invite_attendee", "attendee_busy"),
    ("respond_to_invitation", "no_change"),
}
"""Those that need a call before; each has a test of its own."""


@pytest.mark.parametrize(("wanted", "tool", "arguments"), REFUSALS)
def test_a_refusal_has_its_code_and_changes_nothing(
    wanted: str, tool: str, arguments: dict[str, Any]
) -> None:
    session = SMALL.open()
    before = session.digest()
    assert code(session, tool, **arguments) == wanted
    assert session.digest() == before


def test_every_declared_refusal_is_reached() -> None:
    declared = {(t.name, c) for t in SERVER.tools.values() for c in t.refuses}
    assert declared <= {(tool, wanted) for wanted, tool, _ in REFUSALS} | LATER_REFUSALS


def test_a_room_that_is_taken_stops_a_move_and_a_series() -> None:
    session = SMALL.open()
    made = ok(session, "create_event", title="x", start=at(3, 10), end=at(3, 11))["id"]
    ok(session, "book_meeting_room", event_id=made, room_id="room_cedar")
    move = {"event_id": "evt_budget", "start": at(3, 10, 30), "force": True}
    assert code(session, "reschedule_event", **move) == "room_taken"
    daily = {"event_id": "evt_budget", "frequency": "daily", "count": 2}
    assert code(session, "set_recurrence", **daily) == "room_taken"
    assert not list(violations(agenda(session)))


def test_no_more_guests_are_invited_than_the_room_holds() -> None:
    session = SMALL.open()
    invite = {"event_id": "evt_budget", "attendee": CLEO.name}
    ok(session, "invite_attendee", **invite)
    assert code(session, "invite_attendee", **(invite | {"attendee": DAN.name})) == "room_too_small"


def test_the_same_response_twice_is_refused() -> None:
    session = SMALL.open()
    answer = {"event_id": "evt_launch", "response": "declined"}
    ok(session, "respond_to_invitation", **answer)
    assert code(session, "respond_to_invitation", **answer) == "no_change"


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:00-12:00"])
def test_times_at_the_end_of_the_calendar_are_refused(text: str) -> None:
    session = SMALL.open()
    move = {"event_id": "evt_budget", "start": text}
    assert code(session, "reschedule_event", **move) == "invalid_range"
    assert code(session, "list_events", start_date=text[:10]) == "invalid_range"
