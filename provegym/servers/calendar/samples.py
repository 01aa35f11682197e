"""Plausible arguments for each tool in the present state of a session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from random import Random
from typing import Any, TypeVar

from provegym.servers.calendar.checks import conflict, room_clash
from provegym.servers.calendar.recurrence import WEEKDAYS, Series, local, zone
from provegym.servers.calendar.seed import FORMS, LENGTHS, PERSONAL, PLACES, REMIND, SUBJECTS
from provegym.servers.calendar.state import MAX_REMINDERS, Agenda, Attendee, Event, Room

Arguments = dict[str, Any]
T = TypeVar("T")
_TRIES = 8
_NOTES = ("Bring the latest figures", "Please read the draft first", "Agenda to follow")


def list_calendars(state: Agenda, rnd: Random) -> Arguments:
    """Sometimes one kind of access."""
    return _maybe(rnd, access=lambda: rnd.choice(("owner", "editor", "reader")))


def list_events(state: Agenda, rnd: Random) -> Arguments:
    """A day or a few of the coming two weeks."""
    first = _today(state) + timedelta(days=rnd.randrange(8))
    last = (first + timedelta(days=rnd.randrange(1, 7))).isoformat()
    more = _maybe(rnd, calendar_id=lambda: _any(rnd, list(state.calendars)).id)
    ends = {"end_date": last} if rnd.random() < 0.6 else {}
    return {"start_date": first.isoformat(), **ends, **more}


def search_events(state: Agenda, rnd: Random) -> Arguments:
    """A title, its first word, or an attendee."""
    event = _any(rnd, _coming(state))
    people = [a.name for a in state.attendees.where(event_id=event.id)]
    words = (event.title, event.title, event.title.split()[0], rnd.choice(people))
    return {"query": rnd.choice(words)}


def get_event(state: Agenda, rnd: Random) -> Arguments:
    """A coming event."""
    return {"event_id": _any(rnd, _coming(state)).id}


def list_invitations(state: Agenda, rnd: Random) -> Arguments:
    """Mostly those not answered."""
    return _maybe(rnd, response=lambda: rnd.choice(("accepted", "tentative", "declined")))


def find_free_slots(state: Agenda, rnd: Random) -> Arguments:
    """Some days ahead, often with one or two colleagues."""
    first = _weekday(_today(state) + timedelta(days=rnd.randrange(1, 12)))
    found: Arguments = {
        "duration_minutes": rnd.choice((30, 45, 60, 90)),
        "start_date": first.isoformat(),
    }
    if rnd.random() < 0.6:
        found["end_date"] = (first + timedelta(days=rnd.randrange(1, 5))).isoformat()
    if rnd.random() < 0.5:
        people = sorted({a.name for a in state.attendees} - {state.cast.user.name})
        found["attendees"] = rnd.sample(people, rnd.choice((1, 1, 2)))
    return found


def list_meeting_rooms(state: Agenda, rnd: Random) -> Arguments:
    """Any of seats, equipment and a free time."""
    found = _maybe(
        rnd,
        min_capacity=lambda: rnd.choice((4, 6, 8, 10)),
        equipment=lambda: rnd.choice(("projector", "whiteboard", "video")),
    )
    if rnd.random() < 0.5:
        start = _some_time(state, rnd)
        minutes = rnd.choice(LENGTHS)
        found |= {"free_from": local(start, state.home)}
        found |= {"free_until": local(start + 60 * minutes, state.home)}
    return found


def book_meeting_room(state: Agenda, rnd: Random) -> Arguments:
    """A room that takes one of the user's events."""
    event = _any(rnd, _meetings(state))
    people = len(state.attendees.where(event_id=event.id))
    rooms = rnd.sample(list(state.rooms), len(state.rooms))
    good = (r for r in rooms if _takes(state, r, event, people))
    return {"event_id": event.id, "room_id": next(good, rooms[0]).id}


def _takes(state: Agenda, room: Room, event: Event, people: int) -> bool:
    series = state.series(event)
    fits = room.in_service and room.capacity >= people and event.room_id != room.id
    short = series.seconds <= room.max_minutes * 60
    return fits and short and room_clash(state, room, series, event.id) is None


def create_event(state: Agenda, rnd: Random) -> Arguments:
    """A free time of the user's next weeks."""
    seconds = 60 * rnd.choice(LENGTHS)
    user = state.cast.user.email

    def free(series: Series) -> bool:
        return conflict(state, user, series) is None

    start = _try(lambda: _some_time(state, rnd), lambda s: free(Series.of((s,), seconds)))
    title = f"{rnd.choice(SUBJECTS)} {rnd.choice(FORMS)}"
    writable = [c.id for c in state.calendars if c.access != "reader"]
    more = _maybe(
        rnd,
        calendar_id=lambda: rnd.choice(writable),
        location=lambda: rnd.choice(PLACES),
    )
    return {
        "title": rnd.choice((title, title, rnd.choice(PERSONAL))),
        "start": local(start, state.home),
        "end": local(start + seconds, state.home),
        **more,
    }


def update_event(state: Agenda, rnd: Random) -> Arguments:
    """One or two new values."""
    event = _any(rnd, _mine(state))
    places = [p for p in PLACES if p != event.location]
    homes = [c.id for c in state.calendars if c.access != "reader" and c.id != event.calendar_id]
    new = {
        "title": f"{rnd.choice(SUBJECTS)} {rnd.choice(FORMS)}",
        "location": rnd.choice(places),
        "description": rnd.choice([n for n in _NOTES if n != event.description]),
        "calendar_id": rnd.choice(homes),
    }
    chosen = rnd.sample(sorted(new), 1 if rnd.random() < 0.7 else 2)
    return {"event_id": event.id, **{k: new[k] for k in sorted(chosen)}}


def reschedule_event(state: Agenda, rnd: Random) -> Arguments:
    """A time that suits all, of a series on the same day."""
    event = _any(rnd, _mine(state))
    series = state.series(event)
    old = series.upcoming(state.seconds) or state.seconds
    start = _try(lambda: _another_time(state, rnd, event, old), lambda s: _fits(state, event, s))
    found = {"event_id": event.id, "start": local(start, state.home)}
    return found | _maybe(rnd, end=lambda: local(start + series.seconds, state.home))


def _another_time(state: Agenda, rnd: Random, event: Event, old: int) -> int:
    """A series goes to another hour of its day, a single event anywhere."""
    if event.rule_id is None:
        return _some_time(state, rnd)
    day = datetime.fromtimestamp(old, zone(event.time_zone))
    return int(day.replace(hour=rnd.randrange(8, 20)).timestamp())


def _fits(state: Agenda, event: Event, start: int) -> bool:
    """Whether the next occurrence can go there, the others as far."""
    series = state.series(event)
    shift = start - (series.upcoming(state.seconds) or start)
    moved = Series.of(tuple(s + shift for s in series.starts), series.seconds)
    room = state.rooms[event.room_id] if event.room_id else None
    if start <= state.seconds or not shift:
        return False
    if room and room_clash(state, room, moved, event.id) is not None:
        return False
    guests = state.attendees.where(event_id=event.id)
    people = [a.email for a in guests if a.response != "declined"]
    return all(conflict(state, email, moved, event.id) is None for email in people)


def cancel_event(state: Agenda, rnd: Random) -> Arguments:
    """An event or one occurrence of a series."""
    event = _any(rnd, _mine(state))
    found = {"event_id": event.id}
    if event.rule_id and rnd.random() < 0.7:
        series = state.series(event)
        coming = [s for s in series.starts if s > state.seconds] or [series.starts[-1]]
        found["occurrence"] = local(rnd.choice(coming[:4]), event.time_zone)[:10]
    return found


def set_recurrence(state: Agenda, rnd: Random) -> Arguments:
    """A single event, if possible without a room."""
    single = [e for e in _meetings(state) if e.rule_id is None]
    event = _any(rnd, [e for e in single if e.room_id is None] or single or _meetings(state))
    frequency = rnd.choice(("daily", "weekly", "weekly", "monthly"))
    found: Arguments = {"event_id": event.id, "frequency": frequency}
    found |= {"interval": 2} if rnd.random() < 0.3 else {}
    if frequency == "weekly" and rnd.random() < 0.3:
        starts_on = date.fromisoformat(event.start[:10]).weekday()
        found["weekdays"] = [WEEKDAYS[i] for i in sorted({starts_on, (starts_on + 2) % 7})]
    if rnd.random() < 0.5:
        return found | {"count": rnd.randrange(3, 11)}
    start = date.fromisoformat(event.start[:10])
    reach = {"daily": 14, "weekly": 60, "monthly": 180}[frequency]
    return found | {"until": (start + timedelta(days=reach + rnd.randrange(30))).isoformat()}


def invite_attendee(state: Agenda, rnd: Random) -> Arguments:
    """Someone free who is not yet invited."""
    event = _any(rnd, [e for e in _meetings(state) if _has_seat(state, e)] or _mine(state))
    invited = {a.email for a in state.attendees.where(event_id=event.id)}
    others = [p for p in state.cast.others if p.email not in invited]
    series = state.series(event)
    who = _try(lambda: rnd.choice(others), lambda p: conflict(state, p.email, series) is None)
    return {"event_id": event.id, "attendee": rnd.choice((who.name, who.name, who.email))}


def _has_seat(state: Agenda, event: Event) -> bool:
    people = len(state.attendees.where(event_id=event.id))
    return event.room_id is None or people < state.rooms[event.room_id].capacity


def remove_attendee(state: Agenda, rnd: Random) -> Arguments:
    """A guest of one of the user's events."""
    guests = {e.id: state.attendees.where(event_id=e.id) for e in _mine(state)}
    event_id = _any(rnd, [k for k, v in guests.items() if len(v) > 1] or list(guests))
    user = state.cast.user.email
    who = _any(rnd, [a for a in guests[event_id] if a.email != user] or guests[event_id])
    return {"event_id": event_id, "attendee": rnd.choice((who.name, who.name, who.email))}


def respond_to_invitation(state: Agenda, rnd: Random) -> Arguments:
    """Another answer than the present one."""
    user = state.cast.user.email
    coming = {e.id for e in _coming(state) if e.organizer != user}
    rows = [a for a in state.attendees.where(email=user) if a.event_id in coming]
    row = _any(rnd, rows or state.attendees.where(email=user))
    answers = [r for r in ("accepted", "tentative", "declined") if r != row.response]
    return {"event_id": row.event_id, "response": rnd.choice(answers)}


def add_event_reminder(state: Agenda, rnd: Random) -> Arguments:
    """A reminder that is not there yet."""
    coming, mine = _coming(state), {a.event_id for a in _invitations(state)}
    free = [e for e in coming if e.id in mine and _reminders(state, e) < MAX_REMINDERS]
    event = _any(rnd, free or coming)
    used = {r.minutes_before for r in state.reminders.where(event_id=event.id)}
    last = state.series(event).starts[-1]
    good = [m for m in REMIND if m not in used and last - 60 * m > state.seconds] or [5]
    more = _maybe(rnd, method=lambda: rnd.choice(("popup", "email")))
    return {"event_id": event.id, "minutes_before": rnd.choice(good), **more}


def _reminders(state: Agenda, event: Event) -> int:
    return len(state.reminders.where(event_id=event.id))


def _invitations(state: Agenda) -> list[Attendee]:
    return state.attendees.where(email=state.cast.user.email)


# -- parts ---------------------------------------------------------------------------------


def _any(rnd: Random, rows: Sequence[T]) -> T:
    return rows[rnd.randrange(len(rows))]


def _maybe(rnd: Random, **values: Callable[[], Any]) -> Arguments:
    """Each value with three chances in ten."""
    return {name: value() for name, value in values.items() if rnd.random() < 0.3}


def _try(make: Callable[[], T], good: Callable[[T], bool]) -> T:
    """The first good one of a few, else the last."""
    made = make()
    for _ in range(_TRIES):
        if good(made):
            break
        made = make()
    return made


def _coming(state: Agenda) -> list[Event]:
    """Standing events that are not over; all events where there is none."""
    now = state.seconds
    standing = state.events.where(status="confirmed")
    return [e for e in standing if state.series(e).end > now] or list(state.events)


def _mine(state: Agenda) -> list[Event]:
    user = state.cast.user.email
    return [e for e in _coming(state) if e.organizer == user] or _coming(state)


def _meetings(state: Agenda) -> list[Event]:
    """Those of the user's events that are not private ones, where there are any."""
    private = {c.id for c in state.calendars.where(name="Personal")}
    return [e for e in _mine(state) if e.calendar_id not in private] or _mine(state)


def _today(state: Agenda) -> date:
    return state.now.astimezone(zone(state.home)).date()


def _weekday(of: date) -> date:
    return of + timedelta(days=7 - of.weekday()) if of.weekday() > 4 else of


def _some_time(state: Agenda, rnd: Random) -> int:
    """A half hour of the office day within three weeks."""
    of = _weekday(_today(state) + timedelta(days=rnd.randrange(1, 21)))
    half = rnd.randrange(18, 33)
    at = datetime(of.year, of.month, of.day, half // 2, half % 2 * 30, tzinfo=zone(state.home))
    return int(at.timestamp())
