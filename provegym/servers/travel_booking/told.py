"""The agency's part of the world's stories: a flight that the traveller has booked."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from provegym.servers.travel_booking.state import FareName, Flight, Itinerary
from provegym.world.stories import Trip, stories

if TYPE_CHECKING:
    from provegym.servers.travel_booking.seed import Desk

FARES_TAKEN: tuple[FareName, ...] = ("standard", "flex")


def tell(desk: Desk) -> None:
    """Add the flight with its fares and seats, and the paid booking on a trip of its own."""
    told, desk.rnd = stories(desk.cast).trip, desk.cast.rng("stories", "travel_booking")
    flight = _flight(desk, told)
    trip = Itinerary(desk.id("trip"), f"Trip to {told.city}", told.booked.isoformat())
    desk.trips.append(trip)
    ago = (desk.start - told.booked) / timedelta(days=1)
    desk.fly(trip, flight, desk.rnd.choice(FARES_TAKEN), (0,), "confirmed", ago, (0,))


def _flight(desk: Desk, told: Trip) -> Flight:
    flight = Flight(
        id=desk.id("flt"),
        number=told.number,
        origin_id=desk.home.id,
        destination_id=next(a.id for a in desk.airports if a.city == told.city),
        date=told.departs.date().isoformat(),
        departs_at=told.departs.isoformat(),
        arrives_at=told.arrives.isoformat(),
    )
    minutes = (told.arrives - told.departs) // timedelta(minutes=1)
    # a dollar a minute is what the other flights cost beyond their fixed part
    desk.sell(flight, 5 + minutes + desk.rnd.randrange(60), own=True)
    return flight
