"""Tools that make and change the user's own events."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Annotated, NoReturn

from msgspec.structs import replace

from provegym.servers.calendar import samples
from provegym.servers.calendar.checks import (
    add_attendee,
    changeable,
    days,
    ensure_free,
    ensure_room,
    ensure_seats,
    midnight,
    moment,
    organized,
    planned,
    span,
    the_room,
    upcoming,
    writable,
)
from provegym.servers.calendar.recurrence import (
    WEEKDAYS,
    Frequency,
    Rule,
    Series,
    Weekday,
    local,
    zone,
)
from provegym.servers.calendar.results import (
    EventItem,
    event_item,
    receipt,
)
from provegym.servers.calendar.state import (
    Agenda,
    CalendarId,
    Event,
    EventId,
    RoomId,
    length,
)
from provegym.world.fields import Date, Instant, Range, Text
from provegym.world.tool import refuse, tool


@tool(
    "write",
    phrases=(
        "Book {room_id} for {event_id}",
        "Reserve {room_id} for {event_id}",
        "Put {event_id} in {room_id}",
    ),
    refuses=(
        *("not_found", "cancelled_event", "not_organizer", "past_event", "no_change"),
        *("room_out_of_service", "room_too_small", "booking_too_long", "room_taken"),
    ),
    sample=samples.book_meeting_room,
)
def book_meeting_room(state: Agenda, event_id: EventId, room_id: RoomId) -> EventItem:
    """Book a meeting room for all occurrences of an event that the user organizes. Gives back the
    room it had before.

    Args:
        event_id: The event.
        room_id: The room to book.
    """
    event, room = changeable(state, event_id), the_room(state, room_id)
    if event.room_id == room.id:
        refuse("no_change", f"{event.title!r} is in {room.name} already")
    if not room.in_service:
        refuse("room_out_of_service", f"{room.name} is out of service; choose another room")
    ensure_seats(room, len(state.attendees.where(event_id=event.id)))
    ensure_room(state, room, state.series(event), event.id)
    return receipt(state, _change(state, event, room_id=room.id))


def _change(state: Agenda, event: Event, **fields: object) -> Event:
    return state.events.update(event, updated=state.stamp, **fields)


@tool(
    "write",
    phrases=(
        'Create an event "{title}" from {start} to {end}[ in {calendar_id}][ at {location}]',
        'Put "{title}" on my calendar from {start} until {end}[ in {calendar_id}][ at {location}]',
        'Schedule a new event called "{title}", {start} to {end}[, in {calendar_id}]'
        "[, location {location}]",
    ),
    refuses=("not_found", "read_only_calendar", "time_in_past", "time_conflict"),
    sample=samples.create_event,
)
def create_event(
    state: Agenda,
    title: Text,
    start: Instant,
    end: Instant,
    calendar_id: CalendarId | None = None,
    location: str = "",
    description: str = "",
    force: bool = False,
) -> EventItem:
    """Create an event with the user as organizer and only attendee.

    Args:
        title: What it is called.
        start: When it begins.
        end: When it ends.
        calendar_id: Calendar to put it in; by default the primary one.
        location: Where it takes place.
        description: Notes for the attendees.
        force: Create it even if the user is busy then.
    """
    first, last = span(start, end)
    calendar, user = writable(state, calendar_id or ""), state.cast.user
    _ensure_future(state, first)
    begin = int(first.timestamp())
    if not force:
        ensure_free(state, user, Series.of((begin,), int((last - first).total_seconds())))
    event = Event(
        id=state.events.new_id(),
        calendar_id=calendar.id,
        title=title,
        description=description,
        location=location,
        organizer=user.email,
        start=first.astimezone(zone(calendar.time_zone)).isoformat(),
        end=last.astimezone(zone(calendar.time_zone)).isoformat(),
        time_zone=calendar.time_zone,
        status="confirmed",
        room_id=None,
        rule_id=None,
        updated=state.stamp,
    )
    state.events.put(event)
    add_attendee(state, event, user, "accepted", optional=False)
    return receipt(state, event)


def _ensure_future(state: Agenda, start: datetime) -> None:
    if start <= state.now:
        refuse(
            "time_in_past",
            f"{start.isoformat()} is not in the future; it is {state.stamp} now",
            now=state.stamp,
        )


@tool(
    "write",
    phrases=(
        'Edit {event_id}[: rename it to "{title}"][, change the location to {location}]'
        '[, set the description to "{description}"][, move it to {calendar_id}]',
        'Update {event_id}[ with the new title "{title}"][ with the location {location}]'
        '[ with the note "{description}"][ and put it in {calendar_id}]',
    ),
    refuses=("not_found", "cancelled_event", "not_organizer", "read_only_calendar", "no_change"),
    sample=samples.update_event,
)
def update_event(
    state: Agenda,
    event_id: EventId,
    title: Text | None = None,
    location: str | None = None,
    description: str | None = None,
    calendar_id: CalendarId | None = None,
) -> EventItem:
    """Change the title, location, description or calendar of an event that the user organizes;
    its time stays.

    Args:
        event_id: The event.
        title: New title.
        location: New location.
        description: New notes for the attendees.
        calendar_id: Calendar to move it to.
    """
    event = organized(state, event_id)
    given = {"title": title, "location": location, "description": description}
    changed = {k: v for k, v in given.items() if v is not None and v != getattr(event, k)}
    if calendar_id is not None and calendar_id != event.calendar_id:
        changed["calendar_id"] = writable(state, calendar_id).id
    if not changed:
        refuse("no_change", f"{event.title!r} has these values already; give a different one")
    return receipt(state, _change(state, event, **changed))


@tool(
    "write",
    phrases=(
        "Reschedule {event_id} to {start}[, ending at {end}]",
        "Move {event_id} to {start}[ until {end}]",
        "Change the time of {event_id} to start at {start}[ and end at {end}]",
    ),
    refuses=(
        *("not_found", "cancelled_event", "not_organizer", "past_event", "time_in_past"),
        *("no_change", "not_in_pattern", "invalid_recurrence", "room_taken", "booking_too_long"),
        *("time_conflict", "attendee_busy"),
    ),
    sample=samples.reschedule_event,
)
def reschedule_event(
    state: Agenda,
    event_id: EventId,
    start: Instant,
    end: Instant | None = None,
    force: bool = False,
) -> EventItem:
    """Move an event that the user organizes; its room must be free. Of a series, the next
    occurrence moves to start and all others by as much. Attendees are asked again.

    Args:
        event_id: The event.
        start: New start.
        end: New end; by default the length stays.
        force: Move it even if someone is busy then.
    """
    event = changeable(state, event_id)
    first = moment(start)
    last = span(start, end)[1] if end else first + timedelta(seconds=length(event))
    _ensure_future(state, first)
    moved, rule = _moved(state, event, first, last)
    if (moved.start, moved.end) == (event.start, event.end):
        refuse("no_change", f"{event.title!r} is at that time already")
    series = planned(moved.start, moved.time_zone, length(moved), rule)
    if int(first.timestamp()) not in series.starts:
        _off_pattern(event, f"no occurrence would fall on {start}")
    _ensure_possible(state, moved, series, force=force)
    if rule:
        state.rules.put(rule)
    _ask_again(state, event)
    return receipt(state, _change(state, event, start=moved.start, end=moved.end))


def _moved(
    state: Agenda, event: Event, first: datetime, last: datetime
) -> tuple[Event, Rule | None]:
    """The event and its rule after the next occurrence went to `first`..`last` (UTC)."""
    where = zone(event.time_zone)
    begin = datetime.fromisoformat(event.start)
    rule = state.rules[event.rule_id] if event.rule_id else None
    new = first.astimezone(where)
    if rule is not None:
        old = datetime.fromtimestamp(upcoming(state, event), where)
        shift = (new.date() - old.date()).days
        rule = _shifted(event, rule, shift)
        wall = begin.replace(tzinfo=None) + (new.replace(tzinfo=None) - old.replace(tzinfo=None))
        # Through UTC, so that a wall time which the clocks skip becomes one that exists.
        new = wall.replace(tzinfo=where).astimezone(UTC).astimezone(where)
    end = (new.astimezone(first.tzinfo) + (last - first)).astimezone(where)
    return replace(event, start=new.isoformat(), end=end.isoformat()), rule


def _shifted(event: Event, rule: Rule, shift: int) -> Rule:
    """The rule, all its days later by `shift`."""
    if not shift:
        return rule
    if rule.frequency == "daily" or len(rule.weekdays) > 1:
        _off_pattern(event, "only its time of day can move; set_recurrence changes the days")
    weekdays = tuple(WEEKDAYS[(WEEKDAYS.index(d) + shift) % 7] for d in rule.weekdays)
    until = _later(rule.until, shift) if rule.until else None
    excluded = tuple(_later(d, shift) for d in rule.excluded)
    return replace(rule, weekdays=weekdays, until=until, excluded=excluded)


def _later(of: str, shift: int) -> str:
    return (date.fromisoformat(of) + timedelta(days=shift)).isoformat()


def _off_pattern(event: Event, why: str) -> NoReturn:
    refuse("not_in_pattern", f"{event.title!r} is on another pattern: {why}")


def _ensure_possible(state: Agenda, event: Event, series: Series, *, force: bool) -> None:
    """The event's room takes it and, unless forced, everyone is free."""
    if event.room_id:
        ensure_room(state, state.rooms[event.room_id], series, event.id)
    for who in () if force else state.attendees.where(event_id=event.id):
        if who.response != "declined":
            ensure_free(state, who, series, event.id)


def _ask_again(state: Agenda, event: Event) -> None:
    for row in state.attendees.where(event_id=event.id):
        if row.email != event.organizer and row.response != "needs_action":
            state.attendees.update(row, response="needs_action")


@tool(
    "write",
    phrases=(
        "Cancel {event_id}[, only the one on {occurrence}]",
        "Call off {event_id}[, just on {occurrence}]",
    ),
    refuses=("not_found", "cancelled_event", "not_organizer", "past_event", "no_such_occurrence"),
    sample=samples.cancel_event,
)
def cancel_event(state: Agenda, event_id: EventId, occurrence: Date | None = None) -> EventItem:
    """Cancel an event that the user organizes, with all its occurrences or only one.

    Args:
        event_id: The event.
        occurrence: Day of the one occurrence to cancel; by default all.
    """
    event = changeable(state, event_id)
    if occurrence is not None:
        _ensure_occurs(state, event, occurrence)
        if event.rule_id and len(state.series(event).starts) > 1:
            rule = state.rules[event.rule_id]
            excluded = tuple(sorted((*rule.excluded, occurrence)))
            state.rules.update(rule, excluded=excluded)
            return receipt(state, _change(state, event))
    return event_item(state, _change(state, event, status="cancelled"))


def _ensure_occurs(state: Agenda, event: Event, occurrence: str) -> None:
    """There is a coming occurrence on that day of the event's zone."""
    of, last = days(occurrence, "", 1)
    begin = midnight(of, event.time_zone)
    end = midnight(last + timedelta(days=1), event.time_zone)
    series = state.series(event)
    found = [s for s in series.starts if begin <= s < end]
    if not found:
        text = local(upcoming(state, event), event.time_zone)
        refuse(
            "no_such_occurrence",
            f"{event.title!r} does not take place on {occurrence}; the next is {text}",
            next=text,
        )
    if found[0] + series.seconds <= state.seconds:
        refuse("past_event", f"the occurrence on {occurrence} is over", now=state.stamp)


@tool(
    "write",
    phrases=(
        "Make {event_id} repeat {frequency}[ with an interval of {interval}][ on {weekdays}]"
        "[, {count} times in all][ until {until}]",
        "Set {event_id} to recur {frequency}[ with an interval of {interval}][ on {weekdays}]"
        "[ for {count} occurrences][ until {until}]",
    ),
    refuses=(
        *("not_found", "cancelled_event", "not_organizer", "past_event", "no_change"),
        *("not_in_pattern", "invalid_recurrence", "room_taken"),
    ),
    sample=samples.set_recurrence,
)
def set_recurrence(
    state: Agenda,
    event_id: EventId,
    frequency: Frequency,
    interval: Annotated[int, Range(1, 12)] = 1,
    weekdays: tuple[Weekday, ...] = (),
    count: Annotated[int | None, Range(2, 60)] = None,
    until: Date | None = None,
) -> EventItem:
    """Make an event that the user organizes recur, or change how it does. Give exactly one of
    count and until.

    Args:
        event_id: The event; its start is the first occurrence.
        frequency: How often it repeats.
        interval: Every how many days, weeks or months.
        weekdays: Days of a weekly series; by default the start's.
        count: Number of occurrences.
        until: Last day on which it may occur.
    """
    event = changeable(state, event_id)
    rule = _wanted(event, frequency, interval, weekdays, count, until)
    if event.rule_id and state.rules[event.rule_id] == rule:
        refuse("no_change", f"{event.title!r} recurs like that already")
    series = planned(event.start, event.time_zone, length(event), rule)
    if series.upcoming(state.seconds) is None or len(series.starts) < 2:
        refuse("invalid_recurrence", "no second occurrence to come; choose a later end")
    if event.room_id:
        ensure_room(state, state.rooms[event.room_id], series, event.id)
    kept = state.rules.put(replace(rule, id=event.rule_id or state.rules.new_id()))
    return receipt(state, _change(state, event, rule_id=kept.id))


def _wanted(
    event: Event,
    frequency: Frequency,
    interval: int,
    weekdays: tuple[Weekday, ...],
    count: int | None,
    until: str | None,
) -> Rule:
    """The rule asked for, checked by itself."""
    if (count is None) == (until is None):
        refuse("invalid_recurrence", "give exactly one of count and until (RFC 5545, 3.3.10)")
    if weekdays and frequency != "weekly":
        refuse("invalid_recurrence", f"weekdays belong to a weekly series, not a {frequency} one")
    if until is not None:
        days(event.start[:10], until, 731)
    starts_on = WEEKDAYS[datetime.fromisoformat(event.start).weekday()]
    if weekdays and starts_on not in weekdays:
        _off_pattern(event, f"it starts on {starts_on}, so weekdays must hold {starts_on}")
    chosen = tuple(d for d in WEEKDAYS if d in (weekdays or (starts_on,)))
    return Rule(
        id=event.rule_id or "",
        frequency=frequency,
        interval=interval,
        weekdays=chosen if frequency == "weekly" else (),
        count=count,
        until=until,
    )
