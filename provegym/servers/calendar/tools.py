"""The calendar's seventeen tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, NoReturn

from msgspec.structs import replace

from provegym.servers.calendar import samples
from provegym.servers.calendar.checks import (
    changeable,
    commitments,
    days,
    emails_of,
    ensure_free,
    ensure_room,
    ensure_seats,
    midnight,
    moment,
    organized,
    part,
    person,
    planned,
    room_clash,
    span,
    standing,
    the_calendar,
    the_event,
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
    CalendarItem,
    CalendarPage,
    EventDetails,
    EventItem,
    EventPage,
    GuestReceipt,
    Invitation,
    InvitationPage,
    ReminderReceipt,
    RoomItem,
    RoomPage,
    Slot,
    SlotPage,
    details,
    event_item,
    receipt,
)
from provegym.servers.calendar.state import (
    MAX_REMINDERS,
    Access,
    Agenda,
    Answer,
    Attendee,
    CalendarId,
    Equipment,
    Event,
    EventId,
    Method,
    Reminder,
    Response,
    Room,
    RoomId,
    length,
)
from provegym.world.cast import Person
from provegym.world.fields import Date, Instant, Limit, Range, Text
from provegym.world.page import page
from provegym.world.tool import refuse, tool

LIST_DAYS = 31
OPENS, CLOSES = 9, 17
"""Office hours on the wall clock of the user's zone, for proposals of free times."""
_GRID = 1800


# -- looking things up ---------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        "List my calendars[ that I have {access} access to]",
        "Which calendars do I have[ with {access} access]",
    ),
    sample=samples.list_calendars,
)
def list_calendars(
    state: Agenda, access: Access | None = None, limit: Limit = 5, cursor: str = ""
) -> CalendarPage:
    """List the calendars the user can see, with access rights and time zones.

    Args:
        access: Only calendars with this access.
        limit: Calendars per page.
        cursor: next_cursor of the page before.
    """
    rows = [c for c in state.calendars if access is None or c.access == access]
    shown, total, after = page(rows, limit, cursor)
    items = [CalendarItem(c.id, c.name, c.access, c.time_zone, c.primary) for c in shown]
    return CalendarPage(items, total, after)


@tool(
    "read",
    phrases=(
        "Show my events on {start_date}[ through {end_date}][ in {calendar_id}]",
        "What is on my calendar from {start_date}[ to {end_date}][ in {calendar_id}]",
    ),
    refuses=("not_found",),
    sample=samples.list_events,
)
def list_events(
    state: Agenda,
    start_date: Date,
    end_date: Date | None = None,
    calendar_id: CalendarId | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> EventPage:
    """List the events between two dates in order of time, each occurrence of a series by itself.
    Without calendar_id: those the user attends; with it: all in that calendar.

    Args:
        start_date: First day.
        end_date: Last day, included; by default the first day. At most 31 days.
        calendar_id: Only this calendar.
        limit: Events per page.
        cursor: next_cursor of the page before.
    """
    first, last = days(start_date, end_date or "", LIST_DAYS)
    window = midnight(first, state.home), midnight(last + timedelta(days=1), state.home)
    if calendar_id is None:
        events = commitments(state, state.cast.user.email, *window)
    else:
        events = _in_calendar(state, the_calendar(state, calendar_id).id)
    found = [(s, e.title, e) for e, series in events for s in series.within(*window)]
    shown, total, after = page(sorted(found, key=lambda f: f[:2]), limit, cursor)
    return EventPage([event_item(state, e, s) for s, _, e in shown], total, after)


def _in_calendar(state: Agenda, calendar_id: str) -> Iterator[tuple[Event, Series]]:
    for event in state.events.where(calendar_id=calendar_id, status="confirmed"):
        yield event, state.series(event)


@tool(
    "read",
    phrases=(
        'Search my calendar for events about "{query}"',
        'Find the events matching "{query}" in my calendar',
    ),
    sample=samples.search_events,
)
def search_events(
    state: Agenda,
    query: Text,
    organized_by_me: bool = False,
    include_past: bool = False,
    limit: Limit = 5,
    cursor: str = "",
) -> EventPage:
    """Search events by words in the title, location, description or an attendee's name. Shows the
    next occurrence of each; cancelled ones are left out.

    Args:
        query: Words to look for, in any case.
        organized_by_me: Only events that the user organizes.
        include_past: Also events that are over.
        limit: Events per page.
        cursor: next_cursor of the page before.
    """
    now, user = state.seconds, state.cast.user.email
    found = [
        (start, event.title, event)
        for event in _matching(state, query.lower().split())
        if not organized_by_me or event.organizer == user
        for start in _shown_start(state.series(event), now, include_past)
    ]
    shown, total, after = page(sorted(found, key=lambda f: f[:2]), limit, cursor)
    return EventPage([event_item(state, e, s) for s, _, e in shown], total, after)


def _shown_start(series: Series, now: int, include_past: bool) -> tuple[int, ...]:
    """Start of the next occurrence; of a past series its last one or, unless wanted, none."""
    start = series.upcoming(now)
    if start is not None:
        return (start,)
    return series.starts[-1:] if include_past else ()


def _matching(state: Agenda, words: list[str]) -> Iterator[Event]:
    rows = (a for email in emails_of(state, words) for a in state.attendees.where(email=email))
    named = {row.event_id for row in rows}
    for event in state.events.where(status="confirmed"):
        text = f"{event.title}\n{event.location}\n{event.description}".lower()
        if event.id in named or all(word in text for word in words):
            yield event


@tool(
    "read",
    phrases=(
        "Show me the details of {event_id}",
        "Who is coming to {event_id} and where is it",
        "Give me all details about {event_id}",
    ),
    refuses=("not_found",),
    sample=samples.get_event,
)
def get_event(state: Agenda, event_id: EventId) -> EventDetails:
    """Show one event: time of the next occurrence, place, attendees with responses, recurrence
    rule and reminders.

    Args:
        event_id: The event.
    """
    return details(state, the_event(state, event_id))


@tool(
    "read",
    phrases=(
        "List my calendar invitations[ with the response {response}]",
        "Which event invitations do I have[ with the response {response}]",
    ),
    sample=samples.list_invitations,
)
def list_invitations(
    state: Agenda, response: Response = "needs_action", limit: Limit = 5, cursor: str = ""
) -> InvitationPage:
    """List coming events of others to which the user is invited.

    Args:
        response: Which of the user's responses; needs_action means not answered yet.
        limit: Invitations per page.
        cursor: next_cursor of the page before.
    """
    found = sorted(_invited(state, response), key=lambda f: (f[0], f[1].title))
    shown, total, after = page(found, limit, cursor)
    items = [
        Invitation(e.id, e.title, local(s, e.time_zone), _name(state, e.organizer), response)
        for s, e in shown
    ]
    return InvitationPage(items, total, after)


def _invited(state: Agenda, response: Response) -> Iterator[tuple[int, Event]]:
    user, now = state.cast.user.email, state.seconds
    for row in state.attendees.where(email=user, response=response):
        event = state.events[row.event_id]
        start = state.series(event).upcoming(now)
        if event.organizer != user and event.status == "confirmed" and start is not None:
            yield start, event


def _name(state: Agenda, email: str) -> str:
    return person(state, email).name


# -- finding time and rooms ----------------------------------------------------------------


@tool(
    "read",
    phrases=(
        "Find a free {duration_minutes}-minute slot for me[ and {attendees}] "
        "from {start_date}[ to {end_date}]",
        "When am I[ and {attendees}] free for {duration_minutes} minutes "
        "on {start_date}[ through {end_date}]",
    ),
    refuses=("unknown_person",),
    sample=samples.find_free_slots,
)
def find_free_slots(
    state: Agenda,
    duration_minutes: Annotated[int, Range(15, 480)],
    start_date: Date,
    end_date: Date | None = None,
    attendees: tuple[Text, ...] = (),
    limit: Limit = 5,
    cursor: str = "",
) -> SlotPage:
    """Find times on weekdays from 09:00 to 17:00 when the user and all attendees are free.

    Args:
        duration_minutes: Length of the slot.
        start_date: First day to look at.
        end_date: Last day, included; by default the first day. At most 31 days.
        attendees: Others who must be free, by full name or e-mail.
        limit: Slots per page.
        cursor: next_cursor of the page before.
    """
    first, last = days(start_date, end_date or "", LIST_DAYS)
    people = [state.cast.user, *(person(state, said) for said in attendees)]
    window = midnight(first, state.home), midnight(last + timedelta(days=1), state.home)
    busy = _busy_spans(state, people, window)
    hours = _office_hours(first, last, state.home)
    starts = list(_free(hours, 60 * duration_minutes, busy, state.seconds))
    shown, total, after = page(starts, limit, cursor)
    seconds = duration_minutes * 60
    slots = [Slot(local(s, state.home), local(s + seconds, state.home)) for s in shown]
    return SlotPage(slots, total, after)


def _busy_spans(
    state: Agenda, people: list[Person], window: tuple[int, int]
) -> list[tuple[int, int]]:
    """When any of them is busy, in order and without overlaps."""
    busy = (series for p in people for _, series in commitments(state, p.email, *window))
    merged: list[tuple[int, int]] = []
    for begin, end in sorted((s, s + x.seconds) for x in busy for s in x.within(*window)):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged


def _free(
    hours: Iterable[tuple[int, int]], seconds: int, busy: list[tuple[int, int]], now: int
) -> Iterator[int]:
    """Starts on the half-hour grid after `now`, none overlapping the one before."""
    at = 0
    for opens, closes in hours:
        start = max(opens, _on_grid(now + 1))
        while start + seconds <= closes:
            while at < len(busy) and busy[at][1] <= start:
                at += 1
            if at < len(busy) and busy[at][0] < start + seconds:
                start = _on_grid(busy[at][1])
            else:
                yield start
                start = _on_grid(start + seconds)


def _office_hours(first: date, last: date, zone_name: str) -> Iterator[tuple[int, int]]:
    for i in range((last - first).days + 1):
        of = first + timedelta(days=i)
        if of.weekday() < 5:
            opens = datetime(of.year, of.month, of.day, OPENS, tzinfo=zone(zone_name))
            begin = int(opens.timestamp())
            yield begin, begin + (CLOSES - OPENS) * 3600


def _on_grid(moment: int) -> int:
    return -(-moment // _GRID) * _GRID


@tool(
    "read",
    phrases=(
        "List the meeting rooms[ for at least {min_capacity} people][ with a {equipment}]"
        "[ that are free from {free_from}][ until {free_until}]",
        "Which meeting rooms are there[ for {min_capacity} or more people]"
        "[ with {equipment}][ free from {free_from}][ to {free_until}]",
    ),
    sample=samples.list_meeting_rooms,
)
def list_meeting_rooms(
    state: Agenda,
    min_capacity: Annotated[int, Range(1, 100)] = 1,
    equipment: Equipment | None = None,
    free_from: Instant | None = None,
    free_until: Instant | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> RoomPage:
    """List meeting rooms, the smallest first; with free_from and free_until only those in service
    and free for all of that time.

    Args:
        min_capacity: Least number of seats.
        equipment: Equipment the room must have.
        free_from: Begin of the time it must be free; needs free_until.
        free_until: End of the time it must be free; needs free_from.
        limit: Rooms per page.
        cursor: next_cursor of the page before.
    """
    if (free_from is None) != (free_until is None):
        refuse("invalid_range", "give both free_from and free_until, or neither")
    rooms = [
        room
        for room in state.rooms
        if room.capacity >= min_capacity and (equipment is None or equipment in room.equipment)
    ]
    if free_from is not None and free_until is not None:
        rooms = _free_rooms(state, rooms, *span(free_from, free_until))
    rooms.sort(key=lambda room: (room.capacity, room.name))
    shown, total, after = page(rooms, limit, cursor)
    return RoomPage([_room_item(room) for room in shown], total, after)


def _free_rooms(state: Agenda, rooms: list[Room], start: datetime, end: datetime) -> list[Room]:
    begin = int(start.timestamp())
    wanted = Series.of((begin,), int(end.timestamp()) - begin)
    return [r for r in rooms if r.in_service and room_clash(state, r, wanted) is None]


def _room_item(room: Room) -> RoomItem:
    kit = list(room.equipment)
    return RoomItem(room.id, room.name, room.building, room.capacity, kit, room.in_service)


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


# -- making and changing events ------------------------------------------------------------


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
    _add_attendee(state, event, user, "accepted", optional=False)
    return receipt(state, event)


def _ensure_future(state: Agenda, start: datetime) -> None:
    if start <= state.now:
        refuse(
            "time_in_past",
            f"{start.isoformat()} is not in the future; it is {state.stamp} now",
            now=state.stamp,
        )


def _add_attendee(
    state: Agenda, event: Event, who: Person, response: Response, *, optional: bool
) -> Attendee:
    new = state.attendees.new_id()
    return state.attendees.put(Attendee(new, event.id, who.email, who.name, response, optional))


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
        *("no_change", "not_in_pattern", "room_taken", "booking_too_long"),
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
    count: Annotated[int | None, Range(2, 100)] = None,
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


# -- people --------------------------------------------------------------------------------


@tool(
    "write",
    phrases=(
        "Invite {attendee} to {event_id}",
        "Add {attendee} as a guest to {event_id}",
        "Send {attendee} an invitation to {event_id}",
    ),
    refuses=(
        *("not_found", "cancelled_event", "not_organizer", "past_event", "unknown_person"),
        *("already_invited", "room_too_small", "attendee_busy"),
    ),
    sample=samples.invite_attendee,
)
def invite_attendee(
    state: Agenda, event_id: EventId, attendee: Text, optional: bool = False, force: bool = False
) -> GuestReceipt:
    """Invite someone to an event that the user organizes.

    Args:
        event_id: The event.
        attendee: Full name or e-mail of the person.
        optional: Whether they need not come.
        force: Invite them even if they are busy then.
    """
    event, who = changeable(state, event_id), person(state, attendee)
    if part(state, event, who.email) is not None:
        refuse("already_invited", f"{who.name} is already invited to {event.title!r}")
    if event.room_id:
        people = len(state.attendees.where(event_id=event.id)) + 1
        ensure_seats(state.rooms[event.room_id], people)
    if not force:
        ensure_free(state, who, state.series(event))
    row = _add_attendee(state, event, who, "needs_action", optional=optional)
    return GuestReceipt(event.id, event.title, row.name, row.email, row.response)


@tool(
    "write",
    phrases=(
        "Remove {attendee} from {event_id}",
        "Uninvite {attendee} from {event_id}",
        "Take {attendee} off the guest list of {event_id}",
    ),
    refuses=(
        *("not_found", "cancelled_event", "not_organizer", "past_event", "unknown_person"),
        *("not_invited", "own_event"),
    ),
    sample=samples.remove_attendee,
)
def remove_attendee(state: Agenda, event_id: EventId, attendee: Text) -> GuestReceipt:
    """Take someone off an event that the user organizes.

    Args:
        event_id: The event.
        attendee: Full name or e-mail of the person.
    """
    event, who = changeable(state, event_id), person(state, attendee)
    if who.email == event.organizer:
        refuse("own_event", f"you organize {event.title!r}; cancel_event calls it off")
    row = part(state, event, who.email)
    if row is None:
        refuse("not_invited", f"{who.name} is not invited to {event.title!r}")
    state.attendees.delete(row.id)
    return GuestReceipt(event.id, event.title, row.name, row.email, "removed")


@tool(
    "write",
    phrases=(
        "RSVP {response} to {event_id}",
        "Set my response to {event_id} to {response}",
        "Answer the invitation to {event_id} with {response}",
    ),
    refuses=(
        *("not_found", "cancelled_event", "past_event", "own_event", "not_invited", "no_change"),
    ),
    sample=samples.respond_to_invitation,
)
def respond_to_invitation(state: Agenda, event_id: EventId, response: Answer) -> GuestReceipt:
    """Accept or decline an invitation to someone else's event, or say maybe (tentative).

    Args:
        event_id: The event.
        response: The answer.
    """
    event, user = standing(state, event_id), state.cast.user
    upcoming(state, event)
    if event.organizer == user.email:
        refuse("own_event", f"you organize {event.title!r}; only guests respond")
    row = part(state, event, user.email)
    if row is None:
        refuse("not_invited", f"you are not invited to {event.title!r}")
    if row.response == response:
        refuse("no_change", f"your response to {event.title!r} is {response} already")
    row = state.attendees.update(row, response=response)
    return GuestReceipt(event.id, event.title, row.name, row.email, row.response)


@tool(
    "write",
    phrases=(
        "Remind me {minutes_before} minutes before {event_id}[ by {method}]",
        "Add a reminder {minutes_before} minutes before {event_id}[ by {method}]",
        "Set a[ {method}] reminder for {event_id}, {minutes_before} minutes ahead",
    ),
    refuses=(
        *("not_found", "cancelled_event", "past_event", "duplicate_reminder"),
        *("too_many_reminders", "time_in_past"),
    ),
    sample=samples.add_event_reminder,
)
def add_event_reminder(
    state: Agenda,
    event_id: EventId,
    minutes_before: Annotated[int, Range(0, 40320)],
    method: Method = "popup",
) -> ReminderReceipt:
    """Remind the user before an event; an event has at most five reminders.

    Args:
        event_id: The event.
        minutes_before: Minutes before the start; a day is 1440.
        method: How to remind.
    """
    event = standing(state, event_id)
    upcoming(state, event)
    rows = state.reminders.where(event_id=event.id)
    if any((r.minutes_before, r.method) == (minutes_before, method) for r in rows):
        refuse("duplicate_reminder", f"{event.title!r} has this reminder already")
    if len(rows) >= MAX_REMINDERS:
        refuse("too_many_reminders", f"{event.title!r} has {len(rows)} reminders, the most allowed")
    at = _goes_off(state, event, minutes_before)
    row = Reminder(state.reminders.new_id(), event.id, minutes_before, method)
    state.reminders.put(row)
    return ReminderReceipt(row.id, event.id, event.title, minutes_before, method, at)


def _goes_off(state: Agenda, event: Event, minutes_before: int) -> str:
    """When the reminder first goes off, or `time_in_past` if it never would."""
    moments = (start - minutes_before * 60 for start in state.series(event).starts)
    at = next((moment for moment in moments if moment > state.seconds), None)
    if at is None:
        refuse("time_in_past", f"{minutes_before} minutes before {event.title!r} is already past")
    return local(at, event.time_zone)
