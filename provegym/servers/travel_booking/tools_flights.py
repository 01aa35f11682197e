"""Flights: search, fares and seats, booking, changing, check-in."""

from __future__ import annotations

from datetime import timedelta

from provegym.servers.travel_booking import samples
from provegym.servers.travel_booking.checks import (
    DOCUMENTS,
    change_fee,
    found,
    live_flight,
    place,
    require_departing,
    require_fare_left,
    require_free_leg,
    require_future,
    require_not_aboard,
    require_not_checked_in,
    require_passport,
    ticket_for,
    travellers,
)
from provegym.servers.travel_booking.rules import (
    CHECK_IN_HOURS,
    CLOSE_HOURS,
    FARES,
    HOLD_HOURS,
    free_seats,
    hours_to,
    is_international,
)
from provegym.servers.travel_booking.state import (
    Booking,
    BookingId,
    Cabin,
    Fare,
    FareId,
    Flight,
    FlightId,
    ItineraryId,
    PassengerId,
    Position,
    Seat,
    SeatCode,
    Ticket,
    Travel,
)
from provegym.servers.travel_booking.tools_trips import release_seat
from provegym.servers.travel_booking.views import (
    BookingItem,
    FareList,
    FlightPage,
    PassengerOnBooking,
    SeatItem,
    SeatPage,
    booking_item,
    due,
    fare_list,
    flight_item,
    on_booking,
)
from provegym.world.fields import Date, Limit, Text, money
from provegym.world.page import page
from provegym.world.tool import refuse, tool


@tool(
    "read",
    phrases=(
        "Find flights from {origin} to {destination}[ on {departs_on}]",
        "Search for a flight to {destination} leaving {origin}[ on {departs_on}]",
        "Which flights go from {origin} to {destination}[ on {departs_on}]? List them",
    ),
    refuses=("unknown_city", "past_date"),
    sample=samples.flights,
)
def search_flights(
    travel: Travel,
    origin: Text,
    destination: Text,
    departs_on: Date | None = None,
    limit: Limit = 4,
    cursor: str = "",
) -> FlightPage:
    """Find direct flights that have not left, the earliest first. Times are UTC.

    Args:
        origin: City or airport code.
        destination: City or airport code.
        departs_on: Only on this day.
        limit: Flights per page.
        cursor: next_cursor of the page before.
    """
    start, end = place(travel, origin), place(travel, destination)
    if departs_on is not None:
        require_future(travel, departs_on)
    now = travel.stamp
    flights = [
        f
        for f in travel.flights.where(origin_id=start.id, destination_id=end.id)
        if f.departs_at > now and (departs_on is None or f.date == departs_on)
    ]
    flights.sort(key=lambda f: f.departs_at)
    rows, total, after = page(flights, limit, cursor)
    return FlightPage([flight_item(travel, f) for f in rows], total, after)


@tool(
    "read",
    phrases=(
        "Show the fares of {flight_id}",
        "What does {flight_id} cost at each fare? Show me",
        "List prices and fare rules for {flight_id}",
    ),
    refuses=("not_found",),
)
def list_flight_fares(travel: Travel, flight_id: FlightId) -> FareList:
    """List a flight's fares: price for one passenger, seats left, cost of cancelling.

    Args:
        flight_id: The flight.
    """
    return fare_list(travel, found(travel.flights, flight_id, "flight"))


@tool(
    "read",
    phrases=(
        "Show the free[ {position}] seats on {flight_id}[ in {cabin}]",
        "Which[ {cabin}][ {position}] seats are still free on {flight_id}? List them",
        "List the open[ {position}] seats[ in {cabin} class] of {flight_id}",
    ),
    refuses=("not_found",),
    sample=samples.seats,
)
def list_flight_seats(
    travel: Travel,
    flight_id: FlightId,
    cabin: Cabin | None = None,
    position: Position | None = None,
    limit: Limit = 8,
    cursor: str = "",
) -> SeatPage:
    """List the seats of a flight that nobody has chosen, front to back.

    Args:
        flight_id: The flight.
        cabin: Only in this cabin.
        position: Only window or aisle seats.
        limit: Seats per page.
        cursor: next_cursor of the page before.
    """
    flight = found(travel.flights, flight_id, "flight")
    free = [
        s
        for s in free_seats(travel, flight)
        if cabin in (None, s.cabin) and position in (None, s.position)
    ]
    rows, total, after = page(free, limit, cursor)
    return SeatPage([SeatItem(s.code, s.cabin, s.position) for s in rows], total, after)


@tool(
    "write",
    phrases=(
        "Book {fare_id} for {passenger_ids} as part of {itinerary_id}",
        "On {itinerary_id}, reserve {fare_id} for {passenger_ids}",
        "Hold seats for {passenger_ids} at {fare_id} and add them to {itinerary_id}",
    ),
    refuses=(
        "not_found",
        "past_departure",
        "sold_out",
        *DOCUMENTS,
        "already_booked",
        "overlapping_leg",
    ),
    sample=samples.new_flight,
)
def book_flight(
    travel: Travel, fare_id: FareId, passenger_ids: list[PassengerId], itinerary_id: ItineraryId
) -> BookingItem:
    """Book seats on a flight at a fare. They are held unpaid for 24 hours.

    Args:
        fare_id: The flight's fare.
        passenger_ids: One to four saved passengers.
        itinerary_id: The trip that it belongs to.
    """
    fare = found(travel.fares, fare_id, "fare")
    trip = found(travel.itineraries, itinerary_id, "itinerary")
    flight = travel.flights[fare.flight_id]
    require_departing(travel, flight)
    people = travellers(travel, passenger_ids, flight)
    require_fare_left(travel, fare, len(people))
    require_free_leg(travel, trip, "flight", flight.departs_at, flight.arrives_at)
    booking = Booking(
        id=travel.bookings.new_id(),
        itinerary_id=trip.id,
        kind="flight",
        status="held",
        total=fare.price * len(people),
        booked_at=travel.stamp,
        hold_until=(travel.now + timedelta(hours=HOLD_HOURS)).isoformat(),
        fare_id=fare.id,
        flight_id=flight.id,
    )
    travel.bookings.put(booking)
    for person in people:
        travel.tickets.put(Ticket(travel.tickets.new_id(), booking.id, person.id, fare.id))
    return booking_item(travel, booking)


@tool(
    "write",
    phrases=(
        "Move {booking_id} to {flight_id}",
        "Change {booking_id} so that we take {flight_id} instead",
        "Rebook {booking_id} onto {flight_id}",
    ),
    refuses=(
        "not_found",
        "not_a_flight",
        "booking_cancelled",
        "hold_expired",
        "past_departure",
        "already_checked_in",
        "non_changeable",
        "no_change",
        "different_route",
        "sold_out",
        "already_booked",
        "overlapping_leg",
    ),
    sample=samples.other_flight,
)
def change_flight(travel: Travel, booking_id: BookingId, flight_id: FlightId) -> BookingItem:
    """Move a flight booking to another flight on the same route at the same kind of fare.

    A change fee may apply, a higher price is due, chosen seats are given up.

    Args:
        booking_id: The flight booking.
        flight_id: The new flight.
    """
    booking, old = live_flight(travel, booking_id)
    new = found(travel.flights, flight_id, "flight")
    require_not_checked_in(travel, booking)
    fee = change_fee(travel, booking)
    _require_same_route(travel, old, new)
    tickets = travel.tickets_of(booking)
    name = travel.fares[booking.fare_id].name
    fare = travel.fares.where(flight_id=new.id, name=name)[0]
    people = [travel.passengers[t.passenger_id] for t in tickets]
    require_not_aboard(travel, people, new)
    require_fare_left(travel, fare, len(tickets))
    trip = travel.itineraries[booking.itinerary_id]
    require_free_leg(travel, trip, "flight", new.departs_at, new.arrives_at, booking.id)
    for ticket in tickets:
        release_seat(travel, ticket)
        travel.tickets.update(ticket, fare_id=fare.id, seat_id="")
    return booking_item(travel, _moved(travel, booking, fare, len(tickets), fee))


def _require_same_route(travel: Travel, old: Flight, new: Flight) -> None:
    if old.id == new.id:
        refuse("no_change", f"the booking is of flight {new.number} on {new.date} already")
    if (old.origin_id, old.destination_id) != (new.origin_id, new.destination_id):
        one, two = travel.airports[old.origin_id].city, travel.airports[old.destination_id].city
        refuse("different_route", f"the new flight must go from {one} to {two} too")
    require_departing(travel, new)


def _moved(travel: Travel, booking: Booking, fare: Fare, people: int, fee: int) -> Booking:
    """The booking on its new flight; once confirmed, a lower price gives nothing back."""
    price = fare.price * people
    total = price if booking.status == "held" else max(booking.total, price) + fee
    return travel.bookings.update(booking, fare_id=fare.id, flight_id=fare.flight_id, total=total)


@tool(
    "write",
    phrases=(
        "Put {passenger_id} in seat {seat} on {booking_id}",
        "Choose seat {seat} for {passenger_id} on {booking_id}",
        "On {booking_id}, give {passenger_id} seat {seat}",
    ),
    refuses=(
        "not_found",
        "not_a_flight",
        "booking_cancelled",
        "hold_expired",
        "past_departure",
        "not_on_booking",
        "already_checked_in",
        "seat_not_included",
        "unknown_seat",
        "wrong_cabin",
        "seat_taken",
        "no_change",
    ),
    sample=samples.choose_seat,
)
def choose_flight_seat(
    travel: Travel, booking_id: BookingId, passenger_id: PassengerId, seat: SeatCode
) -> PassengerOnBooking:
    """Choose or change a passenger's seat. Basic fares get theirs at the gate.

    Args:
        booking_id: The flight booking.
        passenger_id: A passenger on it.
        seat: A free seat of the fare's cabin.
    """
    booking, flight = live_flight(travel, booking_id)
    ticket = ticket_for(travel, booking, passenger_id)
    fare = travel.fares[booking.fare_id]
    if not FARES[fare.name].chooses_seat:
        refuse("seat_not_included", f"the {fare.name} fare includes no choice of seat")
    wanted = _free_seat(travel, flight, ticket, fare, seat)
    release_seat(travel, ticket)
    travel.seats.update(wanted, taken=True)
    return on_booking(travel, booking, travel.tickets.update(ticket, seat_id=wanted.id))


def _free_seat(travel: Travel, flight: Flight, ticket: Ticket, fare: Fare, code: str) -> Seat:
    seats = travel.seats.where(flight_id=flight.id, code=code)
    if not seats:
        refuse("unknown_seat", f"flight {flight.number} has no seat {code}", seat=code)
    seat = seats[0]
    if seat.cabin != fare.cabin:
        text = f"seat {code} is in {seat.cabin}, the {fare.name} fare is for {fare.cabin}"
        refuse("wrong_cabin", text, cabin=fare.cabin)
    if seat.id == ticket.seat_id:
        refuse("no_change", f"the passenger has seat {code} already")
    if seat.taken:
        refuse("seat_taken", f"seat {code} is taken; list the free seats", seat=code)
    return seat


@tool(
    "write",
    phrases=(
        "Check {passenger_id} in for {booking_id}",
        "Carry out the check-in of {passenger_id} on {booking_id}",
        "Complete check-in on {booking_id} for {passenger_id}",
    ),
    refuses=(
        "not_found",
        "not_a_flight",
        "booking_cancelled",
        "hold_expired",
        "past_departure",
        "not_on_booking",
        "already_checked_in",
        "payment_due",
        "check_in_not_open",
        *DOCUMENTS,
        "seat_missing",
    ),
    sample=samples.check_in,
)
def check_in_passenger(
    travel: Travel, booking_id: BookingId, passenger_id: PassengerId
) -> PassengerOnBooking:
    """Check a passenger in, from 24 hours until 1 hour before departure.

    The booking must be paid and, but for basic fares, a seat chosen.

    Args:
        booking_id: The flight booking.
        passenger_id: A passenger on it.
    """
    booking, flight = live_flight(travel, booking_id)
    ticket = ticket_for(travel, booking, passenger_id)
    owed = due(travel, booking)
    if owed:
        refuse("payment_due", f"{money(owed)} of the booking are unpaid", due=money(owed))
    hours = hours_to(travel, flight)
    if not CLOSE_HOURS <= hours <= CHECK_IN_HOURS:
        text = f"check-in is open from 24 hours until 1 hour before {flight.departs_at}"
        refuse("check_in_not_open", text, departs_at=flight.departs_at)
    if is_international(travel, flight):
        require_passport(travel.passengers[passenger_id], flight)
    if FARES[travel.fares[booking.fare_id].name].chooses_seat and not ticket.seat_id:
        refuse("seat_missing", "choose a seat before check-in")
    return on_booking(travel, booking, travel.tickets.update(ticket, checked_in=True))
