"""What must hold in every state of the agency."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

from provegym.servers.travel_booking.rules import (
    FARES,
    MAX_NIGHTS,
    fare_left,
    is_active,
    night_count,
    nights,
)
from provegym.servers.travel_booking.state import Booking, Cancellation, Travel


def violations(travel: Travel) -> Iterator[str]:
    """Every broken invariant, one sentence each."""
    active = [b for b in travel.bookings if is_active(travel, b)]
    yield from _fares(travel)
    yield from _seats(travel)
    yield from _rooms(travel, active)
    yield from _legs(travel, active)
    yield from _money(travel)
    yield from _people(travel)


def _fares(travel: Travel) -> Iterator[str]:
    for fare_id in {t.fare_id for t in travel.tickets}:
        fare = travel.fares[fare_id]
        if fare_left(travel, fare) < 0:
            yield f"fare {fare.id} is oversold"
    for fare in travel.fares:
        if fare.others > fare.allotment:
            yield f"fare {fare.id} is oversold to others"


def _seats(travel: Travel) -> Iterator[str]:
    held = Counter(t.seat_id for t in travel.tickets if t.seat_id)
    yield from (f"seat {seat} is held by {n} passengers" for seat, n in held.items() if n > 1)
    for ticket in travel.tickets:
        booking = travel.bookings[ticket.booking_id]
        if ticket.fare_id != booking.fare_id:
            yield f"ticket {ticket.id} is of another fare than its booking"
        if booking.status == "cancelled" and (ticket.seat_id or ticket.checked_in):
            yield f"ticket {ticket.id} is cancelled and keeps a seat"
        seat = travel.seats[ticket.seat_id] if ticket.seat_id else None
        if seat and (seat.flight_id != booking.flight_id or not seat.taken):
            yield f"ticket {ticket.id} has a seat of another flight, or a free one"
        if seat and seat.cabin != travel.fares[ticket.fare_id].cabin:
            yield f"ticket {ticket.id} has a seat in the wrong cabin"


def _rooms(travel: Travel, active: list[Booking]) -> Iterator[str]:
    taken: dict[tuple[str, str], int] = defaultdict(int)
    for row in travel.room_nights:
        taken[row.room_id, row.night] += row.others
    for b in active:
        for night in nights(b.check_in, b.check_out) if b.kind == "hotel" else ():
            taken[b.room_id, night] += 1
        if b.kind == "hotel" and not 0 < night_count(b.check_in, b.check_out) <= MAX_NIGHTS:
            yield f"stay {b.id} has a bad number of nights"
        if b.kind == "hotel" and not 0 < b.guests <= travel.rooms[b.room_id].sleeps:
            yield f"stay {b.id} has too many guests"
    for (room, night), count in taken.items():
        if count > travel.rooms[room].count:
            yield f"room {room} is oversold on {night}"


def _legs(travel: Travel, active: list[Booking]) -> Iterator[str]:
    spans: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for b in active:
        spans[b.itinerary_id, b.kind].append(span_of(travel, b))
    for (trip, kind), found in spans.items():
        if any(two[0] < one[1] for one, two in pairwise(sorted(found))):
            yield f"{kind} legs of itinerary {trip} overlap"


def span_of(travel: Travel, booking: Booking) -> tuple[str, str]:
    """When a booking begins and ends: instants of a flight, days of a stay."""
    if booking.kind == "hotel":
        return booking.check_in, booking.check_out
    flight = travel.flights[booking.flight_id]
    return flight.departs_at, flight.arrives_at


def _money(travel: Travel) -> Iterator[str]:
    ended = {c.booking_id: c for c in travel.cancellations}
    for b in travel.bookings:
        paid, end = travel.paid(b), ended.get(b.id)
        if (b.status == "cancelled") != (end is not None):
            yield f"booking {b.id} is {b.status}, which its cancellation does not say"
        if end and (paid != end.charged - end.refund or end.refund != _due_back(travel, end)):
            yield f"the refund of booking {b.id} does not follow its terms"
        if not 0 <= paid <= b.total or (b.status == "held" and paid) or b.total <= 0:
            yield f"booking {b.id} costs {b.total}, of which {paid} are paid, and is {b.status}"
    for card in travel.travel_cards:
        if sum(p.amount for p in travel.payments.where(travel_card_id=card.id)) > card.credit:
            yield f"card {card.id} is charged beyond its credit"


def _due_back(travel: Travel, end: Cancellation) -> int:
    """What goes back of a cancelled booking; a fare's fee is as many times as passengers."""
    booking = travel.bookings[end.booking_id]
    if end.basis != "fee":
        return end.charged
    if booking.kind == "flight":
        each = FARES[travel.fares[booking.fare_id].name].cancel_fee or 0
        return max(0, end.charged - each * len(travel.tickets_of(booking)))
    return max(0, end.charged - end.fee)


def _people(travel: Travel) -> Iterator[str]:
    aboard: set[tuple[str, str]] = set()
    for b in travel.bookings:
        tickets = travel.tickets_of(b)
        if b.kind == "flight" and not tickets:
            yield f"booking {b.id} has no passenger"
        if b.kind == "flight" and travel.fares[b.fare_id].flight_id != b.flight_id:
            yield f"booking {b.id} has a fare of another flight"
        for t in tickets if is_active(travel, b) else ():
            if (b.flight_id, t.passenger_id) in aboard:
                yield f"passenger {t.passenger_id} is twice on flight {b.flight_id}"
            aboard.add((b.flight_id, t.passenger_id))
    for fare in travel.fares:
        if fare.cabin != FARES[fare.name].cabin:
            yield f"fare {fare.id} is in the wrong cabin"
