"""Look-ups that refuse, and who or what is taken when."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from functools import lru_cache

from provegym.servers.calendar.recurrence import (
    MAX_DAYS,
    MAX_OCCURRENCES,
    Rule,
    Series,
    expand,
    local,
    zone,
)
from provegym.servers.calendar.state import Agenda, Attendee, Calendar, Event, Response, Room
from provegym.world.cast import Person, cast
from provegym.world.tool import refuse

MAX_EVENT_DAYS = 14
_YEARS = range(1990, 2100)


# -- times ---------------------------------------------------------------------------------


def moment(text: str) -> datetime:
    """An instant of this age in UTC; `invalid_range` for the others."""
    when = datetime.fromisoformat(text)
    if when.year not in _YEARS:
        refuse("invalid_range", f"{text} is too far away; years 1990 to 2099 are kept")
    return when.astimezone(UTC)


def day(text: str) -> date:
    """A date of this age; `invalid_range` for the others."""
    when = date.fromisoformat(text)
    if when.year not in _YEARS:
        refuse("invalid_range", f"{text} is too far away; years 1990 to 2099 are kept")
    return when


def span(start: str, end: str) -> tuple[datetime, datetime]:
    """Both ends in UTC; `invalid_range` unless the end is later, by two weeks at most."""
    first, last = moment(start), moment(end)
    if last <= first:
        refuse("invalid_range", f"the end {end} is not after the start {start}")
    if (last - first).days >= MAX_EVENT_DAYS:
        refuse("invalid_range", f"{start} to {end} is longer than {MAX_EVENT_DAYS} days")
    return first, last


def days(start_date: str, end_date: str, at_most: int) -> tuple[date, date]:
    """First and last day; no end means one day. `invalid_range` if reversed or too long."""
    first = day(start_date)
    last = day(end_date) if end_date else first
    if last < first:
        refuse("invalid_range", f"the last day {end_date} is before the first day {start_date}")
    if (last - first).days >= at_most:
        refuse("invalid_range", f"{start_date} to {end_date} is longer than {at_most} days")
    return first, last


def midnight(of: date, zone_name: str) -> int:
    """When the day begins in a zone, in Unix seconds."""
    return int(datetime(of.year, of.month, of.day, tzinfo=zone(zone_name)).timestamp())


# -- rows ----------------------------------------------------------------------------------


def the_calendar(state: Agenda, calendar_id: str) -> Calendar:
    """The calendar of that id, or `not_found`."""
    calendar = state.calendars.get(calendar_id)
    if calendar is None:
        refuse("not_found", f"there is no calendar {calendar_id!r}; list_calendars shows them all")
    return calendar


def writable(state: Agenda, calendar_id: str) -> Calendar:
    """A calendar that takes new events; the primary one for no id."""
    if not calendar_id:
        return state.calendars.where(primary=True)[0]
    calendar = the_calendar(state, calendar_id)
    if calendar.access == "reader":
        refuse(
            "read_only_calendar",
            f"you can only read {calendar.name}; choose a calendar you own or may edit",
            calendar=calendar.name,
            access=calendar.access,
        )
    return calendar


def the_room(state: Agenda, room_id: str) -> Room:
    """The room of that id, or `not_found`."""
    room = state.rooms.get(room_id)
    if room is None:
        refuse("not_found", f"there is no room {room_id!r}; list_meeting_rooms shows them all")
    return room


def the_event(state: Agenda, event_id: str) -> Event:
    """The event of that id, or `not_found`."""
    event = state.events.get(event_id)
    if event is None:
        refuse("not_found", f"there is no event {event_id!r}; search_events finds events")
    return event


def standing(state: Agenda, event_id: str) -> Event:
    """An event that is not cancelled."""
    event = the_event(state, event_id)
    if event.status == "cancelled":
        refuse("cancelled_event", f"{event.title!r} has been cancelled")
    return event


def upcoming(state: Agenda, event: Event) -> int:
    """Start of the next (or current) occurrence in Unix seconds, or `past_event`."""
    start = state.series(event).upcoming(state.seconds)
    if start is None:
        refuse("past_event", f"{event.title!r} is over; it is {state.stamp} now", now=state.stamp)
    return start


def organized(state: Agenda, event_id: str) -> Event:
    """A standing event of the user's own, or `not_organizer`."""
    event = standing(state, event_id)
    if event.organizer != state.cast.user.email:
        refuse(
            "not_organizer",
            f"only the organizer {event.organizer} may change {event.title!r}",
            organizer=event.organizer,
        )
    return event


def changeable(state: Agenda, event_id: str) -> Event:
    """A standing event of the user's own that is not over."""
    event = organized(state, event_id)
    upcoming(state, event)
    return event


# -- people --------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _directory(seed: int) -> dict[str, Person]:
    people = cast(seed).people
    return {p.email.lower(): p for p in people} | {p.name.lower(): p for p in people}


def person(state: Agenda, said: str) -> Person:
    """The member of the company directory of that e-mail address or full name."""
    found = _directory(state.cast.seed).get(" ".join(said.lower().split()))
    if found is None:
        refuse(
            "unknown_person",
            f"nobody in the directory is called {said[:80]!r}; give an e-mail or a full name",
        )
    return found


@lru_cache(maxsize=256)
def _spoken_names(seed: int) -> tuple[tuple[str, str], ...]:
    return tuple((p.name.lower(), p.email) for p in cast(seed).people)


def emails_of(state: Agenda, words: list[str]) -> list[str]:
    """Addresses of the people whose names hold all these lower-case words."""
    names = _spoken_names(state.cast.seed)
    for word in words:
        names = tuple(entry for entry in names if word in entry[0])
    return [email for _, email in names]


def part(state: Agenda, event: Event, email: str) -> Attendee | None:
    """That person's row in the event, if invited."""
    rows = state.attendees.where(event_id=event.id)
    return next((row for row in rows if row.email == email), None)


def add_attendee(
    state: Agenda, event: Event, who: Person, response: Response, *, optional: bool
) -> Attendee:
    """A new row for that person's part in the event."""
    new = state.attendees.new_id()
    return state.attendees.put(Attendee(new, event.id, who.email, who.name, response, optional))


# -- what is taken -------------------------------------------------------------------------


def commitments(state: Agenda, email: str, begin: int, end: int) -> Iterator[tuple[Event, Series]]:
    """Standing events that the person has not declined and that may touch that time."""
    event_of, series_of = state.events.get, state.series
    for row in state.attendees.where(email=email):
        if row.response != "declined":
            event = event_of(row.event_id)
            if event is not None and event.status == "confirmed":
                series = series_of(event)
                if series.begin < end and begin < series.end:
                    yield event, series


def conflict(state: Agenda, email: str, series: Series, but: str = "") -> tuple[Event, int] | None:
    """An event of that person, other than `but`, at the same time, and when that is."""
    now = state.seconds
    for event, busy in commitments(state, email, series.begin, series.end):
        if event.id != but:
            when = series.overlap(busy, now)
            if when is not None:
                return event, when
    return None


def ensure_free(state: Agenda, who: Attendee | Person, series: Series, but: str = "") -> None:
    """Refuse with `time_conflict` (the user) or `attendee_busy` (others) where they clash."""
    found = conflict(state, who.email, series, but)
    if found is None:
        return
    title, at = found[0].title, local(found[1], state.home)
    advice = f"at {at}; set force to go ahead all the same"
    if who.email == state.cast.user.email:
        refuse("time_conflict", f"you have {title!r} {advice}", event=title, busy_at=at)
    refuse("attendee_busy", f"{who.name} is busy {advice}", attendee=who.email, busy_at=at)


def room_clash(state: Agenda, room: Room, series: Series, but: str = "") -> int | None:
    """When the room is first taken by another event."""
    for event in state.events.where(room_id=room.id):
        if event.id != but and event.status == "confirmed":
            when = series.overlap(state.series(event))
            if when is not None:
                return when
    return None


def ensure_room(state: Agenda, room: Room, series: Series, but: str) -> None:
    """Refuse with `room_taken` or `booking_too_long` where the room does not take the series."""
    if series.seconds > room.max_minutes * 60:
        refuse(
            "booking_too_long",
            f"{room.name} is booked for {room.max_minutes} minutes at most, "
            f"not {series.seconds // 60}",
            max_minutes=room.max_minutes,
        )
    when = room_clash(state, room, series, but)
    if when is not None:
        text = local(when, state.home)
        refuse("room_taken", f"{room.name} is taken at {text}", room=room.name, taken_at=text)


def ensure_seats(room: Room, people: int) -> None:
    """Refuse with `room_too_small` where more people come than the room holds."""
    if people > room.capacity:
        refuse(
            "room_too_small",
            f"{room.name} seats {room.capacity}, the event has {people} people",
            capacity=room.capacity,
            people=people,
        )


def planned(start: str, zone_name: str, seconds: int, rule: Rule | None) -> Series:
    """The series that this rule would give; `invalid_recurrence` where it is too long or dense."""
    series = Series.of(expand(start, zone_name, rule), seconds)
    if rule is None:
        return series
    number = len(series.starts) + len(rule.excluded)
    if rule.count is not None and number < rule.count:
        refuse("invalid_recurrence", f"{rule.count} times reach over more than {MAX_DAYS} days")
    if rule.until is not None and number >= MAX_OCCURRENCES:
        refuse(
            "invalid_recurrence",
            f"{MAX_OCCURRENCES} times or more until {rule.until}; choose an earlier day",
        )
    gaps = [b - a for a, b in zip(series.starts, series.starts[1:], strict=False)]
    if min(gaps, default=seconds) < seconds:
        refuse("invalid_recurrence", f"an event of {seconds // 60} min runs into the next one")
    return series


def next_of(state: Agenda, event: Event) -> int:
    """Start of the occurrence to show: the next one, else the last."""
    series = state.series(event)
    start = series.upcoming(state.seconds)
    return start if start is not None else (series.starts or expand(event.start, "UTC", None))[-1]
