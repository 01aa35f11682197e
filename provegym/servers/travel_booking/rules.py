"""What is left, what it costs, and what a cancellation gives back. Amounts are US cents.

Flights keep the 24-hour rule of the United States, 14 CFR 259.5(b)(4): whatever the fare, a booking
made at least seven days before departure is refunded in full for 24 hours.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import NamedTuple

from provegym.servers.travel_booking.state import (
    Basis,
    Booking,
    BookingStatus,
    Cabin,
    Fare,
    FareName,
    Flight,
    Passenger,
    PassportStatus,
    Room,
    RoomPolicy,
    Seat,
    Travel,
)

HOLD_HOURS = 24
"""How long a booking is kept unpaid."""
FREE_HOURS, FREE_DAYS_AHEAD = 24, 7
"""14 CFR 259.5(b)(4)."""
CHECK_IN_HOURS, CLOSE_HOURS = 24, 1
"""Check-in is open from so many hours before departure until so many."""
MAX_NIGHTS = 30
MAX_PASSENGERS = 4


class FareRule(NamedTuple):
    """The terms of a fare; fees are for each passenger, None where it cannot be done at all."""

    cabin: Cabin
    cancel_fee: int | None
    change_fee: int | None
    chooses_seat: bool


FARES: dict[FareName, FareRule] = {
    "basic": FareRule("economy", None, None, chooses_seat=False),
    "standard": FareRule("economy", 60_00, 45_00, chooses_seat=True),
    "flex": FareRule("economy", 0, 0, chooses_seat=True),
    "business": FareRule("business", 0, 0, chooses_seat=True),
}
FREE_DAYS: dict[RoomPolicy, int] = {"flexible": 2, "moderate": 7}
"""Until so many days before check-in a room is cancelled or moved for nothing."""


def status_of(travel: Travel, booking: Booking) -> BookingStatus:
    """The booking's status, with the end of a hold read off the clock."""
    if booking.status == "held" and booking.hold_until < travel.stamp:
        return "expired"
    return booking.status


def is_active(travel: Travel, booking: Booking) -> bool:
    """Whether the booking still takes up seats or rooms."""
    return status_of(travel, booking) in ("held", "confirmed")


def hours_to(travel: Travel, flight: Flight) -> float:
    """Hours until departure, below zero after it."""
    return (datetime.fromisoformat(flight.departs_at) - travel.now).total_seconds() / 3600


def fare_left(travel: Travel, fare: Fare) -> int:
    """Seats that can still be sold at a fare."""
    own = sum(
        is_active(travel, travel.bookings[t.booking_id])
        for t in travel.tickets.where(fare_id=fare.id)
    )
    return fare.allotment - fare.others - own


def free_seats(travel: Travel, flight: Flight) -> list[Seat]:
    """Seats of a flight that nobody has chosen, front to back."""
    return [s for s in travel.seats.where(flight_id=flight.id) if not s.taken]


def is_international(travel: Travel, flight: Flight) -> bool:
    """Whether the flight crosses a border, so that passports are needed."""
    one, two = travel.airports[flight.origin_id], travel.airports[flight.destination_id]
    return one.country != two.country


def passport_status(passenger: Passenger, day: str) -> PassportStatus:
    """Whether a passenger may cross a border on a day."""
    if not passenger.passport_number:
        return "missing"
    if passenger.passport_name.casefold() != passenger.name.casefold():
        return "name_mismatch"
    return "expired" if passenger.passport_expires < day else "valid"


def night_count(check_in: str, check_out: str) -> int:
    """How many nights lie between two days; below zero where the second comes first."""
    return (date.fromisoformat(check_out) - date.fromisoformat(check_in)).days


def nights(check_in: str, check_out: str) -> Iterator[str]:
    """The nights from one day to another, the last one excluded."""
    first = date.fromisoformat(check_in)
    return (
        (first + timedelta(days=i)).isoformat() for i in range(night_count(check_in, check_out))
    )


def room_left(
    travel: Travel, room: Room, check_in: str, check_out: str, *, without: str = ""
) -> int:
    """Rooms of that kind free on every night; the booking `without` does not count."""
    taken = dict.fromkeys(nights(check_in, check_out), 0)
    for held in travel.room_nights.where(room_id=room.id):
        if held.night in taken:
            taken[held.night] += held.others
    for stay in travel.bookings.where(room_id=room.id):
        if stay.id != without and stay.check_in < check_out and check_in < stay.check_out:
            for night in nights(stay.check_in, stay.check_out) if is_active(travel, stay) else ():
                if night in taken:
                    taken[night] += 1
    return room.count - max(taken.values(), default=0)


def stay_price(room: Room, check_in: str, check_out: str) -> int:
    """A room's price for all nights."""
    return room.price * night_count(check_in, check_out)


def days_until(travel: Travel, day: str) -> int:
    """Whole days from today."""
    return (date.fromisoformat(day) - travel.now.date()).days


class Refund(NamedTuple):
    """What a cancellation would give back of `charged`, and why."""

    basis: Basis
    charged: int
    fee: int

    @property
    def amount(self) -> int:
        """Cents that go back."""
        return max(0, self.charged - self.fee)


def refund_of(travel: Travel, booking: Booking) -> Refund | None:
    """What cancelling gives back now; None where the terms allow no cancellation."""
    charged = travel.paid(booking)
    if charged == 0:
        return Refund("unpaid", 0, 0)
    fee = _flight_fee(travel, booking) if booking.kind == "flight" else _stay_fee(travel, booking)
    if booking.kind == "flight" and _in_first_day(travel, booking):
        return Refund("within_24_hours", charged, 0)
    return None if fee is None else Refund("fee" if fee else "free", charged, fee)


def _in_first_day(travel: Travel, booking: Booking) -> bool:
    departs = datetime.fromisoformat(travel.flights[booking.flight_id].departs_at)
    booked = datetime.fromisoformat(booking.booked_at)
    recent = travel.now - booked <= timedelta(hours=FREE_HOURS)
    return recent and departs - booked >= timedelta(days=FREE_DAYS_AHEAD)


def _flight_fee(travel: Travel, booking: Booking) -> int | None:
    fee = FARES[travel.fares[booking.fare_id].name].cancel_fee
    return None if fee is None else fee * len(travel.tickets_of(booking))


def _stay_fee(travel: Travel, booking: Booking) -> int | None:
    room = travel.rooms[booking.room_id]
    if room.policy == "non_refundable":
        return None
    if days_until(travel, booking.check_in) >= FREE_DAYS[room.policy]:
        return 0
    return room.price if room.policy == "flexible" else booking.total // 2
