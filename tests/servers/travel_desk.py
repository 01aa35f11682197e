"""A session of the travel agency and how tests talk to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from provegym.servers.travel_booking import SERVER
from provegym.servers.travel_booking.rules import is_active, is_international, passport_status
from provegym.servers.travel_booking.state import Booking, Fare, Flight, Itinerary, Room, Travel
from provegym.world.world import World
from tests.servers.talk import Talk


@lru_cache
def world(seed: int) -> World:
    return World(seed, [SERVER])


@dataclass(frozen=True)
class Desk(Talk):
    """One session and the typed view of it."""

    travel: Travel

    def booking(self, **equal: Any) -> Booking:
        """The first booking whose fields, or whose fare's name, room's policy, are these."""
        return next(b for b in self.travel.bookings if self._is(b, equal))

    def _is(self, b: Booking, wanted: dict[str, Any]) -> bool:
        t = self.travel
        flight = t.flights.get(b.flight_id)
        known = {
            "active": is_active(t, b),
            "fare": t.fares[b.fare_id].name if b.fare_id else "",
            "policy": t.rooms[b.room_id].policy if b.room_id else "",
            "to_come": (flight.departs_at if flight else b.check_in) > t.stamp,
            "today": bool(flight and flight.date == t.today),
            "abroad": bool(flight and is_international(t, flight)),
            "people": len(t.tickets_of(b)),
        }
        return all(known.get(k, getattr(b, k, None)) == v for k, v in wanted.items())

    def flight(self, *, abroad: bool = False, left: int = 2) -> tuple[Flight, Fare]:
        """A flight to come, with nothing booked on it, and a standard fare with seats left."""
        t = self.travel
        own = {b.flight_id for b in t.bookings}
        for flight in t.flights:
            fare = self.fare(flight, "standard")
            free = fare.allotment - fare.others >= left and flight.id not in own
            if flight.departs_at > t.stamp and free and is_international(t, flight) == abroad:
                return flight, fare
        raise AssertionError("no such flight")

    def fare(self, flight: Flight, name: str) -> Fare:
        return self.travel.fares.where(flight_id=flight.id, name=name)[0]

    def trip(self) -> Itinerary:
        """A trip with nothing booked."""
        t = self.travel
        return next(x for x in t.itineraries if not t.bookings.where(itinerary_id=x.id))

    def person(self, status: str) -> str:
        """A passenger whose passport is so."""
        people = self.travel.passengers
        return next(p.id for p in people if passport_status(p, self.travel.today) == status)

    def room(self, policy: str) -> Room:
        """A kind of room that the traveller has not booked."""
        own = {b.room_id for b in self.travel.bookings}
        return next(r for r in self.travel.rooms.where(policy=policy) if r.id not in own)

    def card(self, index: int = 0) -> str:
        return list(self.travel.travel_cards)[index].id


def desk(seed: int = 11) -> Desk:
    session = world(seed).open()
    travel = session.state("travel_booking")
    assert isinstance(travel, Travel)
    return Desk(session, travel)
