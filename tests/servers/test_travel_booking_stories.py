"""The flight of which other servers of a world know too."""

from __future__ import annotations

import pytest

from provegym.world.stories import stories
from tests.servers.travel_desk import desk


@pytest.mark.parametrize("seed", range(6))
def test_the_flight_of_the_stories_is_on_sale_from_home(seed: int) -> None:
    d = desk(seed)
    trip, home = stories(d.travel.cast).trip, d.travel.cast.user.city
    day = trip.departs.date().isoformat()
    got = d.ok("search_flights", origin=home, destination=trip.city, departs_on=day, limit=50)
    (flight,) = [f for f in got["flights"] if f["number"] == trip.number]
    assert flight["date"] == day
    assert flight["departs"] == f"{trip.departs:%H:%M}"
    assert flight["arrives"] == f"{trip.arrives:%H:%M}"
    fares = d.ok("list_flight_fares", flight_id=flight["id"])["fares"]
    assert [f["name"] for f in fares] == ["basic", "standard", "flex", "business"]
    assert all(f["seats_left"] > 0 for f in fares)
    assert d.ok("list_flight_seats", flight_id=flight["id"])["total"] > 0


@pytest.mark.parametrize("seed", range(6))
def test_the_flight_of_the_stories_is_booked_and_paid_for_the_user_alone(seed: int) -> None:
    d = desk(seed)
    trip = stories(d.travel.cast).trip
    (item,) = d.ok("list_travel_bookings", query=trip.number)["bookings"]
    got = d.ok("get_travel_booking", booking_id=item["id"])
    assert (got["starts_at"], got["ends_at"]) == (
        trip.departs.isoformat(),
        trip.arrives.isoformat(),
    )
    assert (got["status"], got["due"]) == ("confirmed", "0.00")
    (passenger,) = got["passengers"]
    assert passenger["name"] == d.travel.cast.user.name
    assert passenger["seat"]
    booking = d.travel.bookings[item["id"]]
    assert booking.booked_at == trip.booked.isoformat()
    assert d.travel.paid(booking) == booking.total


@pytest.mark.parametrize("seed", range(6))
def test_the_flight_of_the_stories_has_a_trip_of_its_own(seed: int) -> None:
    d = desk(seed)
    trip = stories(d.travel.cast).trip
    got = d.ok("list_itineraries", query=f"Trip to {trip.city}")
    (found,) = got["itineraries"]
    assert (found["bookings"], found["starts_on"]) == (1, trip.departs.date().isoformat())
