"""The travel agency: prices, refunds by the terms, seats and nights, what always holds."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from provegym.servers.travel_booking.rules import fare_left, is_international, room_left
from provegym.world.fields import cents, money
from tests.servers.travel_desk import Desk, desk


def _fly(d: Desk, name: str = "standard", people: int = 2) -> dict[str, Any]:
    """A paid booking of a domestic flight at least seven days ahead."""
    t = d.travel
    own = {b.flight_id for b in t.bookings}
    week = (t.now + timedelta(days=8)).date().isoformat()
    fare = next(
        f
        for f in t.fares.where(name=name)
        if fare_left(t, f) >= people
        and f.flight_id not in own
        and t.flights[f.flight_id].date >= week
        and not is_international(t, t.flights[f.flight_id])
    )
    who = [p.id for p in t.passengers][:people]
    got: dict[str, Any] = d.ok(
        "book_flight", fare_id=fare.id, passenger_ids=who, itinerary_id=d.trip().id
    )
    assert got["total"] == money(people * fare.price)
    d.ok("pay_travel_booking", booking_id=got["id"], travel_card_id=d.card())
    return got


def _later(d: Desk, hours: int) -> None:
    """Let time pass: a minute a write."""
    now = d.session.snapshot()
    d.session.restore(msgspec.structs.replace(now, writes=now.writes + 60 * hours))


# -- flights -----------------------------------------------------------------------------------


def test_booking_takes_seats_and_cancelling_gives_them_back() -> None:
    d = desk()
    _, fare = d.flight(left=2)
    before = fare_left(d.travel, fare)
    who = [p.id for p in d.travel.passengers][:2]
    got = d.ok("book_flight", fare_id=fare.id, passenger_ids=who, itinerary_id=d.trip().id)
    assert (got["status"], got["total"], got["due"]) == ("held",) + (money(2 * fare.price),) * 2
    assert fare_left(d.travel, fare) == before - 2
    end = d.ok("cancel_travel_booking", booking_id=got["id"])
    assert (end["basis"], end["refund"], end["kept"]) == ("unpaid", "0.00", "0.00")
    assert fare_left(d.travel, fare) == before


def test_any_fare_is_refunded_in_full_within_a_day_of_booking_a_week_ahead() -> None:
    d = desk()
    got = _fly(d, "basic")
    end = d.ok("cancel_travel_booking", booking_id=got["id"])
    assert (end["basis"], end["refund"], end["kept"]) == (
        "within_24_hours",
        got["total"],
        "0.00",
    )


def test_after_a_day_the_fare_decides_sixty_dollars_a_passenger_all_or_nothing() -> None:
    for name, basis, fee in (("standard", "fee", 120_00), ("flex", "free", 0)):
        d = desk()
        got = _fly(d, name)
        _later(d, 25)
        end = d.ok("cancel_travel_booking", booking_id=got["id"])
        assert (end["basis"], end["kept"]) == (basis, money(fee))
        assert end["refund"] == money(cents(got["total"]) - fee)
    d = desk()
    got = _fly(d, "basic")
    _later(d, 25)
    error = d.refused("cancel_travel_booking", booking_id=got["id"])
    assert (error["code"], error["details"]) == ("non_refundable", {"paid": got["total"]})


def test_a_refund_goes_to_the_card_that_paid() -> None:
    d = desk()
    got = _fly(d, "flex")
    paid = d.travel.payments.where(booking_id=got["id"])
    d.ok("cancel_travel_booking", booking_id=got["id"])
    new = d.travel.payments.where(booking_id=got["id"])
    assert [p.amount for p in new] == [paid[0].amount, -paid[0].amount]
    assert {p.travel_card_id for p in new} == {d.card()}


def test_a_hold_ends_after_a_day_and_sets_its_seats_free() -> None:
    d = desk()
    flight, fare = d.flight()
    who = [p.id for p in d.travel.passengers][:1]
    before = fare_left(d.travel, fare)
    got = d.ok("book_flight", fare_id=fare.id, passenger_ids=who, itinerary_id=d.trip().id)
    _later(d, 25)
    assert fare_left(d.travel, fare) == before
    error = d.refused("pay_travel_booking", booking_id=got["id"], travel_card_id=d.card())
    assert error["code"] == "hold_expired"
    shown = d.ok("list_travel_bookings", query=flight.number, status="expired")
    assert [b["id"] for b in shown["bookings"]] == [got["id"]]
    assert shown["bookings"][0]["due"] == "0.00"


def test_changing_a_paid_standard_flight_costs_45_a_passenger_and_any_higher_price() -> None:
    d = desk()
    b = d.booking(kind="flight", fare="standard", status="confirmed", to_come=True, today=False)
    old = d.travel.flights[b.flight_id]
    people = d.travel.tickets_of(b)
    twins = d.travel.flights.where(origin_id=old.origin_id, destination_id=old.destination_id)
    new = next(
        f
        for f in twins
        if f.id != old.id
        and f.departs_at > d.travel.stamp
        and fare_left(d.travel, d.fare(f, "standard")) >= len(people)
        and d.session.fork().call("change_flight", {"booking_id": b.id, "flight_id": f.id}).outcome
        == "ok"
    )
    price = d.fare(new, "standard").price * len(people)
    got = d.ok("change_flight", booking_id=b.id, flight_id=new.id)
    assert cents(got["total"]) == max(b.total, price) + 4500 * len(people)
    assert cents(got["due"]) == cents(got["total"]) - b.total
    assert all(not t.seat_id for t in d.travel.tickets.where(booking_id=b.id))
    d.ok("pay_travel_booking", booking_id=b.id, travel_card_id=d.card())
    assert d.ok("get_travel_booking", booking_id=b.id)["due"] == "0.00"


def test_a_seat_is_chosen_changed_and_checked_in() -> None:
    d = desk()
    b = d.booking(kind="flight", fare="standard", today=True, people=3)
    ticket = next(t for t in d.travel.tickets_of(b) if not t.seat_id)
    call = {"booking_id": b.id, "passenger_id": ticket.passenger_id}
    assert d.refused("check_in_passenger", **call)["code"] == "seat_missing"
    free = d.ok("list_flight_seats", flight_id=b.flight_id, cabin="economy")["seats"]
    for seat in free[:2]:
        got = d.ok("choose_flight_seat", **call, seat=seat["seat"])
        assert got["passenger"]["seat"] == seat["seat"]
    left = d.ok("list_flight_seats", flight_id=b.flight_id, cabin="economy", limit=20)["seats"]
    assert free[0] in left
    assert free[1] not in left
    assert d.ok("check_in_passenger", **call)["passenger"]["checked_in"] is True
    assert d.refused("check_in_passenger", **call)["code"] == "already_checked_in"


def test_a_passport_in_the_right_name_makes_a_passenger_fit_to_fly_abroad() -> None:
    for status in ("missing", "expired", "name_mismatch"):
        d = desk()
        _, fare = d.flight(abroad=True)
        person = d.travel.passengers[d.person(status)]
        trip = d.trip().id
        call = {"fare_id": fare.id, "passenger_ids": [person.id], "itinerary_id": trip}
        code = "name_mismatch" if status == "name_mismatch" else f"passport_{status}"
        assert d.refused("book_flight", **call)["code"] == code
        got = d.ok(
            "set_passenger_passport",
            passenger_id=person.id,
            full_name=person.name.upper(),
            passport_number="A10000001",
            expires_on="2035-06-30",
        )
        assert (got["passport"], got["passport_expires"]) == ("valid", "2035-06-30")
        d.ok("book_flight", **call)


def test_searches_accept_codes_and_give_the_cheapest_free_fare() -> None:
    d = desk()
    flight, _ = d.flight()
    one, two = d.travel.airports[flight.origin_id], d.travel.airports[flight.destination_id]
    found = d.ok(
        "search_flights",
        origin=one.code.lower(),
        destination=two.city,
        departs_on=flight.date,
        limit=50,
    )["flights"]
    shown = next(f for f in found if f["id"] == flight.id)
    fares = d.ok("list_flight_fares", flight_id=flight.id)["fares"]
    prices = [cents(f["price"]) for f in fares if f["seats_left"]]
    assert cents(shown["price_from"]) == min(prices)
    assert {f["date"] for f in found} == {flight.date}


# -- hotels ------------------------------------------------------------------------------------


def test_a_stay_costs_its_nights_and_takes_a_room_on_each_but_the_last_day() -> None:
    d = desk()
    room = d.room("flexible")
    days = ("2028-02-27", "2028-03-01")  # a leap year: the nights of 27, 28 and 29 February
    call = {"room_id": room.id, "itinerary_id": d.trip().id, "guests": 1}
    got = d.ok("book_hotel_room", **call, check_in=days[0], check_out=days[1])
    assert cents(got["total"]) == 3 * room.price
    assert room_left(d.travel, room, *days) == room.count - 1
    assert room_left(d.travel, room, "2028-03-01", "2028-03-02") == room.count
    assert room_left(d.travel, room, "2028-02-29", "2028-03-05") == room.count - 1


def test_a_room_is_sold_out_when_every_one_is_taken_on_one_of_the_nights() -> None:
    d = desk()
    room = d.room("moderate")
    for i in range(room.count):
        trip = d.ok("create_itinerary", title=f"Journey {'abcdef'[i]}")["id"]
        d.ok("book_hotel_room", room_id=room.id, itinerary_id=trip, guests=1,
             check_in="2028-05-01", check_out="2028-05-03")  # fmt: skip
    call = {"room_id": room.id, "itinerary_id": d.trip().id, "guests": 1}
    error = d.refused("book_hotel_room", **call, check_in="2028-05-02", check_out="2028-05-04")
    assert error["code"] == "sold_out"
    d.ok("book_hotel_room", **call, check_in="2028-05-03", check_out="2028-05-05")


@pytest.mark.parametrize(
    ("policy", "ahead", "kept_nights"),
    [("flexible", 2, 0), ("flexible", 1, 1), ("moderate", 7, 0), ("moderate", 6, 2)],
)
def test_a_paid_stay_is_refunded_as_its_terms_say(
    policy: str, ahead: int, kept_nights: int
) -> None:
    # four nights: late cancelling costs one night where flexible, half of them where moderate
    d = desk()
    room = d.room(policy)
    days = [(d.travel.now + timedelta(days=n)).date().isoformat() for n in (9, 13)]
    trip = d.trip().id
    got = d.ok("book_hotel_room", room_id=room.id, itinerary_id=trip, guests=1,
               check_in=days[0], check_out=days[1])  # fmt: skip
    d.ok("pay_travel_booking", booking_id=got["id"], travel_card_id=d.card())
    _later(d, 24 * (9 - ahead))
    end = d.ok("cancel_travel_booking", booking_id=got["id"])
    assert cents(end["kept"]) == kept_nights * room.price
    assert cents(end["refund"]) == (4 - kept_nights) * room.price


def test_a_shorter_stay_refunds_the_difference_and_a_longer_one_is_due() -> None:
    d = desk()
    room, trip = d.room("flexible"), d.trip().id
    got = d.ok("book_hotel_room", room_id=room.id, itinerary_id=trip, guests=1,
               check_in="2028-05-01", check_out="2028-05-04")  # fmt: skip
    d.ok("pay_travel_booking", booking_id=got["id"], travel_card_id=d.card())
    call = {"booking_id": got["id"], "check_in": "2028-05-10"}
    less = d.ok("change_hotel_dates", **call, check_out="2028-05-11")
    assert (cents(less["total"]), less["due"]) == (room.price, "0.00")
    booking = d.travel.bookings[got["id"]]
    assert d.travel.paid(booking) == room.price
    more = d.ok("change_hotel_dates", **call, check_out="2028-05-12")
    assert (cents(more["total"]), cents(more["due"])) == (2 * room.price, room.price)


def test_hotels_are_found_in_their_city_with_the_price_of_the_whole_stay() -> None:
    d = desk()
    room = d.room("flexible")
    hotel = d.travel.hotels[room.hotel_id]
    stay = {"check_in": "2028-05-01", "check_out": "2028-05-03"}
    found = d.ok("search_hotels", city=hotel.city, **stay)["hotels"]
    names = {h.name for h in d.travel.hotels.where(city=hotel.city)}
    assert {h["name"] for h in found} == names
    rooms = d.ok("list_hotel_rooms", hotel_id=hotel.id, **stay)["rooms"]
    shown = next(h for h in found if h["id"] == hotel.id)
    assert shown["price_from"] == rooms[0]["price"]
    assert min(cents(r["price"]) for r in rooms) == cents(rooms[0]["price"])


# -- what holds in every world -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_a_seeded_world_is_varied(seed: int) -> None:
    d = desk(seed)
    t = d.travel
    assert {b.status for b in t.bookings} == {"held", "confirmed", "cancelled"}
    assert len({h.name for h in t.hotels}) == len(t.hotels)
    assert len({a.code for a in t.airports}) == len(t.airports)
    assert any(f.others == f.allotment for f in t.fares)
    for status in ("valid", "missing", "expired", "name_mismatch"):
        assert d.person(status)
    assert any(c.expires < t.today for c in t.travel_cards)
