"""What is looked at before anything is written, and the refusals that follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from provegym.servers.travel_booking.invariants import span_of
from provegym.servers.travel_booking.rules import (
    FARES,
    MAX_NIGHTS,
    MAX_PASSENGERS,
    days_until,
    fare_left,
    hours_to,
    is_active,
    is_international,
    night_count,
    passport_status,
    room_left,
    status_of,
)
from provegym.servers.travel_booking.state import (
    Airport,
    Booking,
    BookingKind,
    Fare,
    Flight,
    Itinerary,
    Passenger,
    Room,
    Ticket,
    Travel,
)
from provegym.servers.travel_booking.views import title_of
from provegym.world.table import Row, Table
from provegym.world.tool import refuse

DOCUMENTS = ("passport_missing", "passport_expired", "name_mismatch")
"""Refusals of `require_passport`."""


R = TypeVar("R", bound=Row)


def found(table: Table[R], row_id: str, noun: str) -> R:
    """The row of that id, else `not_found`."""
    row = table.get(row_id)
    if row is None:
        refuse("not_found", f"there is no {noun} {row_id[:40]!r}", id=row_id)
    return row


def place(travel: Travel, text: str) -> Airport:
    """The airport of a city or a code, else `unknown_city`."""
    airport = travel.places.get(text.strip().casefold())
    if airport is None:
        cities = sorted(a.city for a in travel.airports)
        refuse("unknown_city", f"there is no airport at {text[:40]!r}", cities=cities)
    return airport


def require_future(travel: Travel, day: str) -> None:
    """`past_date` for a day before today."""
    if day < travel.today:
        refuse("past_date", f"{day} is before today, {travel.today}", today=travel.today)


def require_stay(travel: Travel, check_in: str, check_out: str) -> None:
    """`past_date`, or `invalid_dates` unless there are 1 to 30 nights between the days."""
    count = night_count(check_in, check_out)
    if not 1 <= count <= MAX_NIGHTS:
        text = f"from {check_in} to {check_out} are {count} nights; book 1 to {MAX_NIGHTS}"
        refuse("invalid_dates", text, nights=count)
    require_future(travel, check_in)


def require_departing(travel: Travel, flight: Flight) -> None:
    """`past_departure` for a flight that has left."""
    if hours_to(travel, flight) <= 0:
        text = f"flight {flight.number} left at {flight.departs_at}"
        refuse("past_departure", text, departed_at=flight.departs_at)


def require_fare_left(travel: Travel, fare: Fare, wanted: int) -> None:
    """`sold_out` where fewer seats are left than wanted."""
    left = fare_left(travel, fare)
    if left < wanted:
        text = f"{left} seats are left at the {fare.name} fare, {wanted} are wanted"
        refuse("sold_out", text, seats_left=left)


def require_room_left(
    travel: Travel, room: Room, check_in: str, check_out: str, without: str = ""
) -> None:
    """`sold_out` where no room of that kind is free on every night."""
    if room_left(travel, room, check_in, check_out, without=without) < 1:
        hotel = travel.hotels[room.hotel_id].name
        text = f"no {room.kind} at {hotel} is free from {check_in} to {check_out}"
        refuse("sold_out", text, check_in=check_in, check_out=check_out)


def require_passport(passenger: Passenger, flight: Flight) -> None:
    """`passport_missing`, `passport_expired` or `name_mismatch` for a flight abroad."""
    status = passport_status(passenger, flight.date)
    if status == "missing":
        refuse("passport_missing", f"{passenger.name} has no passport on file for a flight abroad")
    if status == "expired":
        text = f"the passport of {passenger.name} expired on {passenger.passport_expires}"
        refuse("passport_expired", text, expires_on=passenger.passport_expires)
    if status == "name_mismatch":
        text = f"the passport of {passenger.name} is in the name {passenger.passport_name}"
        refuse("name_mismatch", text, passport_name=passenger.passport_name)


def travellers(travel: Travel, ids: Sequence[str], flight: Flight) -> list[Passenger]:
    """One to four passengers, each once, who may fly and are not aboard already."""
    if not 1 <= len(ids) <= MAX_PASSENGERS:
        refuse("invalid_passengers", f"book 1 to {MAX_PASSENGERS} passengers, got {len(ids)}")
    if len(set(ids)) < len(ids):
        refuse("invalid_passengers", "each passenger can be booked once only")
    people = [found(travel.passengers, i, "passenger") for i in ids]
    if is_international(travel, flight):
        for passenger in people:
            require_passport(passenger, flight)
    require_not_aboard(travel, people, flight)
    return people


def require_not_aboard(travel: Travel, people: Iterable[Passenger], flight: Flight) -> None:
    """`already_booked` where a passenger has an active booking on the flight."""
    active = [b for b in travel.bookings.where(flight_id=flight.id) if is_active(travel, b)]
    aboard = {t.passenger_id for b in active for t in travel.tickets_of(b)}
    for passenger in people:
        if passenger.id in aboard:
            text = f"{passenger.name} is booked on flight {flight.number} already"
            refuse("already_booked", text, passenger=passenger.name)


def require_free_leg(
    travel: Travel,
    trip: Itinerary,
    kind: BookingKind,
    begins: str,
    ends: str,
    without: str = "",
) -> None:
    """`overlapping_leg` where the trip has a flight, or a stay, in that time."""
    for other in travel.bookings.where(itinerary_id=trip.id, kind=kind):
        if other.id == without or not is_active(travel, other):
            continue
        first, last = span_of(travel, other)
        if first < ends and begins < last:
            text = f"the {trip.title} trip has {title_of(travel, other)} at that time"
            refuse("overlapping_leg", text, begins=first, ends=last)


def live(travel: Travel, booking_id: str) -> Booking:
    """A booking that is held or confirmed; else `booking_cancelled` or `hold_expired`."""
    booking = found(travel.bookings, booking_id, "booking")
    status = status_of(travel, booking)
    if status == "cancelled":
        refuse("booking_cancelled", f"the booking of {title_of(travel, booking)} is cancelled")
    if status == "expired":
        text = f"the hold on {title_of(travel, booking)} ended unpaid; book it again"
        refuse("hold_expired", text, hold_until=booking.hold_until)
    return booking


def live_flight(travel: Travel, booking_id: str) -> tuple[Booking, Flight]:
    """A live booking of a flight that has not left."""
    booking = live(travel, booking_id)
    if booking.kind != "flight":
        refuse("not_a_flight", f"{title_of(travel, booking)} is a hotel stay")
    flight = travel.flights[booking.flight_id]
    require_departing(travel, flight)
    return booking, flight


def live_stay(travel: Travel, booking_id: str) -> Booking:
    """A live booking of a stay that has not begun."""
    booking = live(travel, booking_id)
    if booking.kind != "hotel":
        refuse("not_a_stay", f"{title_of(travel, booking)} is no hotel stay")
    require_not_begun(travel, booking)
    return booking


def require_not_begun(travel: Travel, booking: Booking) -> None:
    """`stay_started` on and after the day of check-in."""
    if days_until(travel, booking.check_in) <= 0:
        text = f"the stay at {title_of(travel, booking)} has begun"
        refuse("stay_started", text, check_in=booking.check_in)


def ticket_for(travel: Travel, booking: Booking, passenger_id: str) -> Ticket:
    """The passenger's ticket that is not checked in."""
    passenger = found(travel.passengers, passenger_id, "passenger")
    tickets = travel.tickets.where(booking_id=booking.id, passenger_id=passenger.id)
    if not tickets:
        text = f"{passenger.name} is not on {title_of(travel, booking)}"
        refuse("not_on_booking", text, passenger=passenger.name)
    if tickets[0].checked_in:
        refuse("already_checked_in", f"{passenger.name} is checked in already")
    return tickets[0]


def require_not_checked_in(travel: Travel, booking: Booking) -> None:
    """`already_checked_in` where anyone on the booking is."""
    for ticket in travel.tickets_of(booking):
        if ticket.checked_in:
            name = travel.passengers[ticket.passenger_id].name
            refuse("already_checked_in", f"{name} is checked in already", passenger=name)


def change_fee(travel: Travel, booking: Booking) -> int:
    """What moving a flight booking costs; `non_changeable` where the fare allows none."""
    fare = travel.fares[booking.fare_id]
    fee = FARES[fare.name].change_fee
    if fee is None:
        refuse("non_changeable", f"the {fare.name} fare allows no changes", fare=fare.name)
    return 0 if booking.status == "held" else fee * len(travel.tickets_of(booking))
