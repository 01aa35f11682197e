"""Tools about who comes, and the user's reminders."""

from __future__ import annotations

from typing import Annotated

from provegym.servers.calendar import samples
from provegym.servers.calendar.checks import (
    add_attendee,
    changeable,
    ensure_free,
    ensure_seats,
    part,
    person,
    standing,
    upcoming,
)
from provegym.servers.calendar.recurrence import (
    local,
)
from provegym.servers.calendar.results import (
    GuestReceipt,
    ReminderReceipt,
)
from provegym.servers.calendar.state import (
    MAX_REMINDERS,
    Agenda,
    Answer,
    Event,
    EventId,
    Method,
    Reminder,
)
from provegym.world.fields import Range, Text
from provegym.world.tool import refuse, tool


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
    row = add_attendee(state, event, who, "needs_action", optional=optional)
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
