"""Plausible arguments for each tool, read off the rows of a session. An empty dict: none found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any, TypeVar

from provegym.servers.travel_booking.checks import require_free_leg
from provegym.servers.travel_booking.rules import (
    CHECK_IN_HOURS,
    CLOSE_HOURS,
    FARES,
    FREE_DAYS,
    days_until,
    fare_left,
    hours_to,
    is_active,
    is_international,
    night_count,
    passport_status,
    refund_of,
    room_left,
)
from provegym.servers.travel_booking.seed import NEW_TITLES, TITLES, passport_number
from provegym.servers.travel_booking.state import (
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
from provegym.servers.travel_booking.views import due
from provegym.world.tool import Refused

Arguments = dict[str, Any]
T = TypeVar("T")

SLIP = 0.08
"""How often a row is chosen without a look at its state."""


def _maybe(rnd: Random, **fields: Any) -> Arguments:
    """Each of the fields with a chance of 30 %."""
    return {name: value for name, value in fields.items() if rnd.random() < 0.3}


def _pick(rnd: Random, good: Sequence[T], every: Sequence[T]) -> T:
    """One of the good rows, now and then any row."""
    return rnd.choice(every if not good or rnd.random() < SLIP else good)


def _day(travel: Travel, days: int) -> str:
    return (travel.now + timedelta(days=days)).date().isoformat()


def _coming(travel: Travel) -> list[Flight]:
    now = travel.stamp
    return [f for f in travel.flights if f.departs_at > now]


def flights(travel: Travel, rnd: Random) -> Arguments:
    """The route, and at times the day, of a flight that is still to come."""
    flight = rnd.choice(_coming(travel) or list(travel.flights))
    origin, end = travel.airports[flight.origin_id], travel.airports[flight.destination_id]
    day = {"departs_on": flight.date} if rnd.random() < 0.6 else {}
    return {"origin": origin.city, "destination": end.city, **day}


def seats(travel: Travel, rnd: Random) -> Arguments:
    """A flight to come; at times a cabin or a position."""
    flight = rnd.choice(_coming(travel) or list(travel.flights))
    cabin = rnd.choice(("economy", "economy", "business"))
    return {
        "flight_id": flight.id,
        **_maybe(rnd, cabin=cabin, position=rnd.choice(("window", "aisle"))),
    }


def _is_free(
    travel: Travel, trip: Itinerary, kind: BookingKind, begins: str, ends: str, without: str = ""
) -> bool:
    try:
        require_free_leg(travel, trip, kind, begins, ends, without)
    except Refused:
        return False
    return True


def _aboard(travel: Travel, flight: Flight) -> set[str]:
    active = [b for b in travel.bookings.where(flight_id=flight.id) if is_active(travel, b)]
    return {t.passenger_id for b in active for t in travel.tickets_of(b)}


def _fit(travel: Travel, flight: Flight) -> list[Passenger]:
    """Who can be booked on a flight."""
    aboard, abroad = _aboard(travel, flight), is_international(travel, flight)
    return [
        p
        for p in travel.passengers
        if p.id not in aboard and (not abroad or passport_status(p, flight.date) == "valid")
    ]


def _some_fare(travel: Travel, flight: Flight, rnd: Random) -> Fare:
    fares = travel.fares.where(flight_id=flight.id)
    return _pick(rnd, [f for f in fares if fare_left(travel, f) >= 2], fares)


def new_flight(travel: Travel, rnd: Random) -> Arguments:
    """A fare with seats left, passengers who may fly, a trip that is free then."""
    flight = _pick(rnd, _coming(travel), list(travel.flights))
    if rnd.random() < SLIP:
        booked = {b.flight_id for b in travel.bookings if b.flight_id}
        flight = travel.flights[rnd.choice(sorted(booked))]
    people = list(travel.passengers) if rnd.random() < 3 * SLIP else _fit(travel, flight)
    trips = list(travel.itineraries)
    times = flight.departs_at, flight.arrives_at
    free = [t for t in trips if _is_free(travel, t, "flight", *times)]
    if not people:
        return {}
    who = rnd.sample(people, min(len(people), rnd.choice((1, 1, 2))))
    return {
        "fare_id": _some_fare(travel, flight, rnd).id,
        "passenger_ids": [p.id for p in who],
        "itinerary_id": _pick(rnd, free, trips).id,
    }


def _flight_bookings(travel: Travel) -> list[Booking]:
    """Active bookings of flights that have not left."""
    return [
        b
        for b in travel.bookings.where(kind="flight")
        if is_active(travel, b) and hours_to(travel, travel.flights[b.flight_id]) > 0
    ]


def _twins(travel: Travel, booking: Booking) -> list[Flight]:
    """Other flights on a booking's route."""
    old = travel.flights[booking.flight_id]
    route = travel.flights.where(origin_id=old.origin_id, destination_id=old.destination_id)
    return [f for f in route if f.id != old.id]


def _can_take(travel: Travel, booking: Booking, flight: Flight) -> bool:
    """Whether a booking could be moved to a flight."""
    name, tickets = travel.fares[booking.fare_id].name, travel.tickets_of(booking)
    fare = travel.fares.where(flight_id=flight.id, name=name)[0]
    trip = travel.itineraries[booking.itinerary_id]
    times = flight.departs_at, flight.arrives_at
    return (
        hours_to(travel, flight) > 0
        and fare_left(travel, fare) >= len(tickets)
        and _aboard(travel, flight).isdisjoint(t.passenger_id for t in tickets)
        and _is_free(travel, trip, "flight", *times, booking.id)
    )


def _is_changeable(travel: Travel, booking: Booking) -> bool:
    fee = FARES[travel.fares[booking.fare_id].name].change_fee
    return fee is not None and not any(t.checked_in for t in travel.tickets_of(booking))


def other_flight(travel: Travel, rnd: Random) -> Arguments:
    """A booking that may be changed, and another flight on its route."""
    good = [b for b in _flight_bookings(travel) if _is_changeable(travel, b)]
    good = [b for b in good if any(_can_take(travel, b, f) for f in _twins(travel, b))]
    booking = _pick(rnd, good, travel.bookings.where(kind="flight"))
    twins = _twins(travel, booking)
    found = (
        twins if rnd.random() < 2 * SLIP else [f for f in twins if _can_take(travel, booking, f)]
    )
    return {"booking_id": booking.id, "flight_id": _pick(rnd, found, list(travel.flights)).id}


def choose_seat(travel: Travel, rnd: Random) -> Arguments:
    """A passenger who may choose, and a free seat of the cabin."""
    good = [b for b in _flight_bookings(travel) if FARES[travel.fares[b.fare_id].name].chooses_seat]
    booking = _pick(rnd, good, travel.bookings.where(kind="flight"))
    tickets = travel.tickets_of(booking)
    ticket = _pick(rnd, [t for t in tickets if not t.checked_in], tickets)
    every = travel.seats.where(flight_id=booking.flight_id)
    cabin = travel.fares[booking.fare_id].cabin
    seat = _pick(rnd, [s for s in every if s.cabin == cabin and not s.taken], every)
    code = "9F" if rnd.random() < SLIP / 4 else seat.code
    return {"booking_id": booking.id, "passenger_id": ticket.passenger_id, "seat": code}


def _may_check_in(travel: Travel, booking: Booking, ticket: Ticket) -> bool:
    flight, fare = travel.flights[booking.flight_id], travel.fares[booking.fare_id]
    passenger = travel.passengers[ticket.passenger_id]
    return (
        CLOSE_HOURS <= hours_to(travel, flight) <= CHECK_IN_HOURS
        and not ticket.checked_in
        and due(travel, booking) == 0
        and (bool(ticket.seat_id) or not FARES[fare.name].chooses_seat)
        and (
            not is_international(travel, flight)
            or passport_status(passenger, flight.date) == "valid"
        )
    )


def check_in(travel: Travel, rnd: Random) -> Arguments:
    """Someone whose flight is open for check-in."""
    pairs = [
        (b, t)
        for b in travel.bookings.where(kind="flight")
        if is_active(travel, b)
        for t in travel.tickets_of(b)
    ]
    booking, ticket = _pick(rnd, [p for p in pairs if _may_check_in(travel, *p)], pairs)
    return {"booking_id": booking.id, "passenger_id": ticket.passenger_id}


def _stay_days(travel: Travel, rnd: Random) -> tuple[str, str]:
    first = rnd.randrange(1, 40)
    return _day(travel, first), _day(travel, first + rnd.randrange(1, 6))


def hotels(travel: Travel, rnd: Random) -> Arguments:
    """A city and some nights to come."""
    check_in, check_out = _stay_days(travel, rnd)
    return {
        "city": rnd.choice(list(travel.airports)).city,
        "check_in": check_in,
        "check_out": check_out,
        **_maybe(rnd, min_stars=rnd.choice((2, 3)), guests=rnd.choice((2, 2, 3))),
    }


def rooms(travel: Travel, rnd: Random) -> Arguments:
    """A hotel and some nights to come."""
    check_in, check_out = _stay_days(travel, rnd)
    hotel = rnd.choice(list(travel.hotels))
    return {"hotel_id": hotel.id, "check_in": check_in, "check_out": check_out}


def new_stay(travel: Travel, rnd: Random) -> Arguments:
    """A free room, guests whom it sleeps, a trip without a stay then."""
    check_in, check_out = _stay_days(travel, rnd)
    room = rnd.choice(list(travel.rooms))
    if room_left(travel, room, check_in, check_out) < 1 and rnd.random() > 3 * SLIP:
        room = rnd.choice(list(travel.rooms))
    trips = list(travel.itineraries)
    free = [t for t in trips if _is_free(travel, t, "hotel", check_in, check_out)]
    return {
        "room_id": room.id,
        "itinerary_id": _pick(rnd, free, trips).id,
        "check_in": check_in,
        "check_out": check_out,
        "guests": rnd.randint(1, room.sleeps),
    }


def _is_movable(travel: Travel, booking: Booking) -> bool:
    policy = travel.rooms[booking.room_id].policy
    if not is_active(travel, booking) or policy == "non_refundable":
        return False
    return days_until(travel, booking.check_in) >= FREE_DAYS[policy]


def _fits(travel: Travel, booking: Booking, room: Room, first: str, last: str) -> bool:
    trip = travel.itineraries[booking.itinerary_id]
    return room_left(travel, room, first, last, without=booking.id) > 0 and _is_free(
        travel, trip, "hotel", first, last, booking.id
    )


def other_dates(travel: Travel, rnd: Random) -> Arguments:
    """A stay that can be moved, and days near the old ones on which it fits."""
    stays = travel.bookings.where(kind="hotel")
    booking = _pick(rnd, [b for b in stays if _is_movable(travel, b)], stays)
    room, length = travel.rooms[booking.room_id], night_count(booking.check_in, booking.check_out)
    start = max(1, days_until(travel, booking.check_in))
    days = [(start + s, start + s + length + n) for s in range(-3, 8) for n in (0, 1) if s or n]
    spans = [(_day(travel, a), _day(travel, b)) for a, b in days if a > 0]
    good = [s for s in spans if _fits(travel, booking, room, *s)]
    check_in, check_out = _pick(rnd, good, spans)
    return {"booking_id": booking.id, "check_in": check_in, "check_out": check_out}


def passengers(travel: Travel, rnd: Random) -> Arguments:
    """A passenger's name to look for."""
    return {"query": rnd.choice(list(travel.passengers)).name} if rnd.random() < 0.6 else {}


def passport(travel: Travel, rnd: Random) -> Arguments:
    """A new passport, most often for someone who needs one."""
    every = list(travel.passengers)
    need = [p for p in every if passport_status(p, travel.today) != "valid"]
    person = rnd.choice(need) if need and rnd.random() < 0.7 else rnd.choice(every)
    name = person.passport_name if rnd.random() < SLIP else person.name
    return {
        "passenger_id": person.id,
        "full_name": name or person.name,
        "passport_number": passport_number(rnd),
        "expires_on": _day(travel, rnd.randrange(400, 3500)),
    }


def itineraries(travel: Travel, rnd: Random) -> Arguments:
    """A trip's title to look for."""
    return {"query": rnd.choice(list(travel.itineraries)).title} if rnd.random() < 0.6 else {}


def new_itinerary(travel: Travel, rnd: Random) -> Arguments:
    """A title that no trip has."""
    taken = {t.title for t in travel.itineraries}
    free = [t for t in (*NEW_TITLES, *TITLES) if t not in taken]
    return {"title": _pick(rnd, free, (*NEW_TITLES, *TITLES))}


def bookings(travel: Travel, rnd: Random) -> Arguments:
    """What one existing booking meets."""
    wanted = rnd.choice(list(travel.bookings))
    active = is_active(travel, wanted)
    filters = {"itinerary_id": wanted.itinerary_id, "kind": wanted.kind}
    if active:
        filters["status"] = wanted.status
    if wanted.kind == "flight":
        filters["query"] = travel.flights[wanted.flight_id].number
    else:
        filters["query"] = travel.hotels[travel.rooms[wanted.room_id].hotel_id].name
    picked = rnd.sample(sorted(filters), rnd.choice((0, 1, 1, 2)))
    return {name: filters[name] for name in picked}


def cards(travel: Travel, rnd: Random) -> Arguments:
    """At times the end of a card's number."""
    return _maybe(rnd, last4=rnd.choice(list(travel.travel_cards)).last4)


def pay(travel: Travel, rnd: Random) -> Arguments:
    """A booking with something due and a card that can bear it."""
    every = list(travel.bookings)
    booking = _pick(rnd, [b for b in every if due(travel, b) > 0], every)
    owed = due(travel, booking)
    cards = list(travel.travel_cards)
    good = [
        c
        for c in cards
        if c.expires >= travel.today
        and owed + sum(p.amount for p in travel.payments.where(travel_card_id=c.id)) <= c.credit
    ]
    return {"booking_id": booking.id, "travel_card_id": _pick(rnd, good, cards).id}


def _is_cancellable(travel: Travel, booking: Booking) -> bool:
    if not is_active(travel, booking) or refund_of(travel, booking) is None:
        return False
    if booking.kind == "hotel":
        return days_until(travel, booking.check_in) > 0
    started = hours_to(travel, travel.flights[booking.flight_id]) <= 0
    return not started and not any(t.checked_in for t in travel.tickets_of(booking))


def cancel(travel: Travel, rnd: Random) -> Arguments:
    """A booking that can be cancelled."""
    every = list(travel.bookings)
    good = [b for b in every if _is_cancellable(travel, b)]
    return {"booking_id": _pick(rnd, good, every).id}
