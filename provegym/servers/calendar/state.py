"""Rows of the calendar and what must always hold of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from provegym.servers.calendar.recurrence import (
    MAX_OCCURRENCES,
    Rule,
    RuleId,
    Series,
    expand,
    zone,
)
from provegym.world.fields import Email, Instant, Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, table

CalendarId = Annotated[str, Ref("calendar.calendars")]
EventId = Annotated[str, Ref("calendar.events")]
RoomId = Annotated[str, Ref("calendar.rooms")]
AttendeeId = Annotated[str, Ref("calendar.attendees")]
ReminderId = Annotated[str, Ref("calendar.reminders")]

Access = Literal["owner", "editor", "reader"]
Response = Literal["needs_action", "accepted", "tentative", "declined"]
Answer = Literal["accepted", "tentative", "declined"]
Equipment = Literal["projector", "whiteboard", "video"]
Method = Literal["popup", "email"]

MAX_REMINDERS = 5


class Calendar(Row, frozen=True):
    """A calendar that the user sees; `access` is what the user may do in it."""

    label: ClassVar[str] = "the {name} calendar"

    id: CalendarId
    name: str
    access: Access
    owner: Email
    time_zone: str
    primary: bool


class Event(Row, frozen=True):
    """An event, or the first occurrence of a series where `rule_id` is set.

    `start` and `end` are written in `time_zone` (an IANA name). The organizer is always one of
    the attendees. A cancelled event keeps its row and gives its room back.
    """

    label: ClassVar[str] = 'the "{title}" event'

    id: EventId
    calendar_id: CalendarId
    title: str
    description: str
    location: str
    organizer: Email
    start: Instant
    end: Instant
    time_zone: str
    status: Literal["confirmed", "cancelled"]
    room_id: RoomId | None
    rule_id: RuleId | None
    updated: Stamp


class Attendee(Row, frozen=True):
    """One person's part in an event."""

    id: AttendeeId
    event_id: EventId
    email: Email
    name: str
    response: Response
    optional: bool


class Reminder(Row, frozen=True):
    """The user's reminder of an event."""

    id: ReminderId
    event_id: EventId
    minutes_before: int
    method: Method


class Room(Row, frozen=True):
    """A meeting room; `max_minutes` is the longest booking it takes."""

    label: ClassVar[str] = "the {name} room"

    id: RoomId
    name: str
    building: str
    capacity: int
    equipment: tuple[Equipment, ...]
    max_minutes: int
    in_service: bool


_known: dict[int, tuple[Event, Rule | None, Series]] = {}
"""Series by the identity of the seed's frozen rows, which sessions share: hashing them would cost
more than all else. An entry holds its row, so that no other can come to have the same identity;
rows that a session wrote are left out, or they would stay after it."""
_MOST_KNOWN = 20_000


class Agenda(State):
    """The tables of the calendar."""

    server = "calendar"
    calendars = table(Calendar, "cal")
    events = table(Event, "evt")
    attendees = table(Attendee, "att")
    reminders = table(Reminder, "rem")
    rooms = table(Room, "room")
    rules = table(Rule, "rule")

    @property
    def seconds(self) -> int:
        """The session's time in Unix seconds."""
        return int(self.now.timestamp())

    @property
    def home(self) -> str:
        """The user's time zone: that of the primary calendar."""
        return self.calendars.where(primary=True)[0].time_zone

    def series(self, event: Event) -> Series:
        """The occurrences of an event."""
        rule = self.rules[event.rule_id] if event.rule_id else None
        known = _known.get(id(event))
        if known is not None and known[0] is event and known[1] is rule:
            return known[2]
        series = Series.of(expand(event.start, event.time_zone, rule), length(event))
        if self.events.is_seeded(event) and (rule is None or self.rules.is_seeded(rule)):
            if len(_known) >= _MOST_KNOWN:
                _known.clear()
            _known[id(event)] = event, rule, series
        return series


def length(event: Event) -> int:
    """How long one occurrence takes, in seconds."""
    start, end = datetime.fromisoformat(event.start), datetime.fromisoformat(event.end)
    return int((end - start).total_seconds())


def violations(state: Agenda) -> Iterator[str]:
    """A sentence for each broken invariant."""
    yield from _broken_events(state)
    yield from _broken_rules(state)
    yield from _broken_guests(state)
    yield from _double_bookings(state)


def _broken_events(state: Agenda) -> Iterator[str]:
    for event in state.events:
        if length(event) <= 0:
            yield f"event {event.id} ends at {event.end}, not after its start {event.start}"
        for text in (event.start, event.end):
            moment = datetime.fromisoformat(text)
            if moment.utcoffset() != moment.astimezone(zone(event.time_zone)).utcoffset():
                yield f"event {event.id}: {text} is not written in {event.time_zone}"
        if event.calendar_id not in state.calendars:
            yield f"event {event.id} is in unknown calendar {event.calendar_id}"
        if not state.attendees.where(event_id=event.id, email=event.organizer):
            yield f"event {event.id}: organizer {event.organizer} does not attend"


def _broken_rules(state: Agenda) -> Iterator[str]:
    users = [event.rule_id for event in state.events if event.rule_id]
    if sorted(users) != sorted(rule.id for rule in state.rules):
        yield "rules and recurring events are not one to one"
    for event in state.events:
        if event.rule_id is None or event.status == "cancelled":
            continue
        rule, starts = state.rules[event.rule_id], state.series(event).starts
        if (rule.count is None) == (rule.until is None):
            yield f"rule {rule.id} needs exactly one of count and until"
        if not 0 < len(starts) <= MAX_OCCURRENCES:
            yield f"event {event.id} has {len(starts)} occurrences"
        if any(a >= b for a, b in itertools.pairwise(starts)):
            yield f"event {event.id}: occurrences do not rise"


def _broken_guests(state: Agenda) -> Iterator[str]:
    for name, rows, key in (
        ("attendee", state.attendees, lambda a: (a.event_id, a.email)),
        ("reminder", state.reminders, lambda r: (r.event_id, r.minutes_before, r.method)),
    ):
        keys = [key(row) for row in rows]
        if len(set(keys)) != len(keys):
            yield f"the same {name} occurs twice"
        yield from (f"{name} of unknown event {k[0]}" for k in keys if k[0] not in state.events)
    for event in state.events:
        if len(state.reminders.where(event_id=event.id)) > MAX_REMINDERS:
            yield f"event {event.id} has more than {MAX_REMINDERS} reminders"


def _double_bookings(state: Agenda) -> Iterator[str]:
    for room in state.rooms:
        booked = [e for e in state.events.where(room_id=room.id) if e.status == "confirmed"]
        spans = sorted(
            (start, start + series.seconds)
            for series in map(state.series, booked)
            for start in series.starts
        )
        for (_, end), (start, _) in itertools.pairwise(spans):
            if start < end:
                yield f"room {room.name} is booked twice at {start}"
