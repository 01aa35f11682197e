"""What the calendar's tools give back."""

from __future__ import annotations

from msgspec import Struct

from provegym.servers.calendar.checks import next_of
from provegym.servers.calendar.recurrence import local, rule_text
from provegym.servers.calendar.state import (
    Access,
    Agenda,
    CalendarId,
    Equipment,
    Event,
    EventId,
    Method,
    ReminderId,
    Response,
    RoomId,
)
from provegym.world.fields import Email, Instant


class CalendarItem(Struct, frozen=True, omit_defaults=True):
    """A calendar in a list."""

    id: CalendarId
    name: str
    access: Access
    time_zone: str
    primary: bool = False


class CalendarPage(Struct, frozen=True):
    """A page of calendars."""

    calendars: list[CalendarItem]
    total: int
    next_cursor: str


class EventItem(Struct, frozen=True, omit_defaults=True):
    """An occurrence of an event in a list, or the receipt of a change."""

    id: EventId
    title: str
    start: Instant
    end: Instant
    repeats: str = ""
    calendar: str = ""
    location: str = ""
    room: str = ""


class EventPage(Struct, frozen=True):
    """A page of events."""

    events: list[EventItem]
    total: int
    next_cursor: str


class Guest(Struct, frozen=True, omit_defaults=True):
    """An attendee as an event shows it."""

    name: str
    email: Email
    response: Response
    optional: bool = False


class EventDetails(Struct, frozen=True, omit_defaults=True):
    """Everything about one event."""

    id: EventId
    title: str
    start: Instant
    end: Instant
    time_zone: str
    status: str
    calendar: str
    organizer: Email
    attendees: list[Guest]
    reminders: list[str]
    location: str = ""
    description: str = ""
    room: str = ""
    recurrence: str = ""


class Invitation(Struct, frozen=True):
    """An event to which the user is invited."""

    id: EventId
    title: str
    start: Instant
    organizer: str
    response: Response


class InvitationPage(Struct, frozen=True):
    """A page of invitations."""

    invitations: list[Invitation]
    total: int
    next_cursor: str


class GuestReceipt(Struct, frozen=True, omit_defaults=True):
    """What became of one person's part in an event."""

    id: EventId
    title: str
    attendee: str
    email: Email
    response: str


class ReminderReceipt(Struct, frozen=True):
    """A reminder that was set; `at` is when it next goes off."""

    reminder_id: ReminderId
    id: EventId
    title: str
    minutes_before: int
    method: Method
    at: Instant


class RoomItem(Struct, frozen=True, omit_defaults=True):
    """A meeting room in a list."""

    id: RoomId
    name: str
    building: str
    capacity: int
    equipment: list[Equipment]
    in_service: bool = True


class RoomPage(Struct, frozen=True):
    """A page of meeting rooms."""

    rooms: list[RoomItem]
    total: int
    next_cursor: str


class Slot(Struct, frozen=True):
    """A time at which everyone is free."""

    start: Instant
    end: Instant


class SlotPage(Struct, frozen=True):
    """A page of free times."""

    slots: list[Slot]
    total: int
    next_cursor: str


def event_item(state: Agenda, event: Event, start: int | None = None) -> EventItem:
    """One occurrence, by default the next one, in the event's own zone."""
    begin = next_of(state, event) if start is None else start
    seconds = state.series(event).seconds
    return EventItem(
        id=event.id,
        title=event.title,
        start=local(begin, event.time_zone),
        end=local(begin + seconds, event.time_zone),
        repeats=state.rules[event.rule_id].frequency if event.rule_id else "",
    )


def receipt(state: Agenda, event: Event) -> EventItem:
    """The event after a change, with where it takes place."""
    item = event_item(state, event)
    room = state.rooms[event.room_id].name if event.room_id else ""
    return EventItem(
        item.id,
        item.title,
        item.start,
        item.end,
        recurrence(state, event),
        state.calendars[event.calendar_id].name,
        event.location,
        room,
    )


def recurrence(state: Agenda, event: Event) -> str:
    """The event's rule as RFC 5545 writes it, "" for a single event."""
    return rule_text(state.rules[event.rule_id], event.time_zone) if event.rule_id else ""


def details(state: Agenda, event: Event) -> EventDetails:
    """Everything about an event; the times are those of its next occurrence."""
    item = receipt(state, event)
    people = state.attendees.where(event_id=event.id)
    reminders = state.reminders.where(event_id=event.id)
    return EventDetails(
        id=event.id,
        title=event.title,
        start=item.start,
        end=item.end,
        time_zone=event.time_zone,
        status=event.status,
        calendar=item.calendar,
        organizer=event.organizer,
        attendees=[Guest(a.name, a.email, a.response, a.optional) for a in people],
        reminders=[f"{r.method} {r.minutes_before} minutes before" for r in reminders],
        location=event.location,
        description=event.description,
        room=item.room,
        recurrence=item.repeats,
    )
