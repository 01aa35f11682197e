"""Tools that read: calendars, events, invitations, free times and rooms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from typing import Annotated

from provegym.servers.calendar import samples
from provegym.servers.calendar.checks import (
    commitments,
    days,
    emails_of,
    midnight,
    person,
    room_clash,
    span,
    the_calendar,
    the_event,
)
from provegym.servers.calendar.recurrence import (
    Series,
    local,
    zone,
)
from provegym.servers.calendar.results import (
    CalendarItem,
    CalendarPage,
    EventDetails,
    EventPage,
    Invitation,
    InvitationPage,
    RoomItem,
    RoomPage,
    Slot,
    SlotPage,
    details,
    event_item,
)
from provegym.servers.calendar.state import (
    Access,
    Agenda,
    CalendarId,
    Equipment,
    Event,
    EventId,
    Response,
    Room,
)
from provegym.world.cast import Person
from provegym.world.fields import Date, Instant, Limit, Range, Text
from provegym.world.page import page
from provegym.world.tool import refuse, tool

LIST_DAYS = 31
OPENS, CLOSES = 9, 17
"""Office hours on the wall clock of the user's zone, for proposals of free times."""
_GRID = 1800


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
