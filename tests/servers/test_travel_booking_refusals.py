"""Each refusal of the travel agency occurs in its worlds as seeded; broken rows are noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from provegym.servers.travel_booking import SERVER
from provegym.servers.travel_booking.invariants import violations
from provegym.servers.travel_booking.rules import is_active
from tests.servers.talk import agree
from tests.servers.travel_desk import Desk, desk

Scenario = Callable[[Desk], dict[str, Any]]


def _seat(d: Desk, **given: Any) -> dict[str, Any]:
    b = d.booking(kind="flight", fare="standard", today=True)
    ticket = next(t for t in d.travel.tickets_of(b) if not t.checked_in)
    return {"booking_id": b.id, "passenger_id": ticket.passenger_id, "seat": "5F", **given}


def _check_in(d: Desk, index: int) -> dict[str, Any]:
    b = d.booking(kind="flight", today=True, abroad=True)
    return {"booking_id": b.id, "passenger_id": d.travel.tickets_of(b)[index].passenger_id}


def _first_ticket(d: Desk, **equal: Any) -> dict[str, Any]:
    b = d.booking(kind="flight", **equal)
    return {"booking_id": b.id, "passenger_id": d.travel.tickets_of(b)[0].passenger_id}


def _move(d: Desk, **equal: Any) -> dict[str, Any]:
    b = d.booking(kind="flight", **equal)
    old = d.travel.flights[b.flight_id]
    route = d.travel.flights.where(origin_id=old.origin_id, destination_id=old.destination_id)
    return {"booking_id": b.id, "flight_id": next(f.id for f in route if f.id != old.id)}


def _days(d: Desk, **equal: Any) -> dict[str, Any]:
    stay = {"check_in": "2028-05-01", "check_out": "2028-05-03"}
    return {"booking_id": d.booking(kind="hotel", **equal).id, **stay}


def _hotel(d: Desk, **given: Any) -> dict[str, Any]:
    stay = {"check_in": "2028-05-01", "check_out": "2028-05-03", "guests": 1}
    ids = {"room_id": d.room("flexible").id, "itinerary_id": d.trip().id}
    return {**ids, **stay, **given}


def _fly(d: Desk, **given: Any) -> dict[str, Any]:
    people = [d.person("valid")]
    ids = {"fare_id": d.flight()[1].id, "itinerary_id": d.trip().id}
    return {**ids, "passenger_ids": people, **given}


def _held(d: Desk) -> str:
    return next(b.id for b in d.travel.bookings if b.status == "held" and is_active(d.travel, b))


TODAY = {"fare": "standard", "today": True}
COMING = {"status": "confirmed", "to_come": True, "today": False}
SCENARIOS: dict[tuple[str, str], Scenario] = {
    ("search_flights", "unknown_city"): lambda d: {"origin": "Atlantis", "destination": "Mu"},
    ("search_flights", "past_date"): lambda d: {
        "origin": d.travel.cast.user.city,
        "destination": d.travel.cast.user.city,
        "departs_on": "2026-01-01",
    },
    ("list_flight_fares", "not_found"): lambda d: {"flight_id": "flt_none"},
    ("book_flight", "past_departure"): lambda d: _fly(
        d, fare_id=d.booking(kind="flight", to_come=False).fare_id
    ),
    ("book_flight", "sold_out"): lambda d: _fly(
        d,
        fare_id=next(
            f.id
            for f in d.travel.fares
            if f.others == f.allotment and d.travel.flights[f.flight_id].departs_at > d.travel.stamp
        ),
    ),
    ("book_flight", "already_booked"): lambda d: _fly(
        d,
        fare_id=d.booking(**COMING, kind="flight").fare_id,
        passenger_ids=[_first_ticket(d, **COMING)["passenger_id"]],
    ),
    ("book_flight", "overlapping_leg"): lambda d: _fly(
        d,
        fare_id=d.booking(**TODAY).fare_id,
        itinerary_id=d.booking(**TODAY).itinerary_id,
    ),
    ("change_flight", "not_a_flight"): lambda d: {
        "booking_id": d.booking(kind="hotel", active=True).id,
        "flight_id": d.flight()[0].id,
    },
    ("change_flight", "booking_cancelled"): lambda d: _move(d, status="cancelled"),
    ("change_flight", "hold_expired"): lambda d: _move(d, status="held", active=False),
    ("change_flight", "past_departure"): lambda d: _move(d, to_come=False, status="confirmed"),
    ("change_flight", "already_checked_in"): lambda d: _move(d, **TODAY),
    ("change_flight", "non_changeable"): lambda d: _move(d, fare="basic", **COMING),
    ("change_flight", "no_change"): lambda d: {
        "booking_id": d.booking(kind="flight", fare="flex", **COMING).id,
        "flight_id": d.booking(kind="flight", fare="flex", **COMING).flight_id,
    },
    ("change_flight", "different_route"): lambda d: {
        "booking_id": d.booking(kind="flight", fare="flex", **COMING).id,
        "flight_id": d.booking(kind="flight", fare="standard", today=True).flight_id,
    },
    ("choose_flight_seat", "seat_not_included"): lambda d: {
        **_first_ticket(d, fare="basic", **COMING),
        "seat": "4A",
    },
    ("choose_flight_seat", "unknown_seat"): lambda d: _seat(d, seat="9F"),
    ("choose_flight_seat", "wrong_cabin"): lambda d: _seat(d, seat="1A"),
    ("choose_flight_seat", "seat_taken"): lambda d: _seat(
        d,
        seat=next(
            s.code
            for s in d.travel.seats.where(
                flight_id=d.booking(kind="flight", **TODAY).flight_id, taken=True, cabin="economy"
            )
            if s.id not in {t.seat_id for t in d.travel.tickets if not t.checked_in}
        ),
    ),
    ("choose_flight_seat", "not_on_booking"): lambda d: _seat(
        d, passenger_id=list(d.travel.passengers)[8].id
    ),
    ("check_in_passenger", "passport_missing"): lambda d: _check_in(d, 1),
    ("check_in_passenger", "passport_expired"): lambda d: _check_in(d, 2),
    ("check_in_passenger", "name_mismatch"): lambda d: _check_in(d, 3),
    ("check_in_passenger", "payment_due"): lambda d: _first_ticket(d, status="held", active=True),
    ("check_in_passenger", "check_in_not_open"): lambda d: _first_ticket(d, **COMING),
    ("check_in_passenger", "past_departure"): lambda d: _first_ticket(d, to_come=False),
    ("search_hotels", "unknown_city"): lambda d: {
        "city": "Atlantis",
        "check_in": "2028-05-01",
        "check_out": "2028-05-02",
    },
    ("list_hotel_rooms", "past_date"): lambda d: {
        "hotel_id": next(iter(d.travel.hotels)).id,
        "check_in": "2026-01-01",
        "check_out": "2026-01-02",
    },
    ("book_hotel_room", "past_date"): lambda d: _hotel(
        d, check_in="2026-01-01", check_out="2026-01-03"
    ),
    ("book_hotel_room", "too_many_guests"): lambda d: _hotel(
        d, room_id=d.room("non_refundable").id, guests=3
    ),
    ("book_hotel_room", "overlapping_leg"): lambda d: _hotel(
        d,
        itinerary_id=d.booking(kind="hotel", **COMING).itinerary_id,
        check_in=d.booking(kind="hotel", **COMING).check_in,
        check_out=d.booking(kind="hotel", **COMING).check_out,
    ),
    ("change_hotel_dates", "not_a_stay"): lambda d: {
        **_days(d),
        "booking_id": d.booking(kind="flight", active=True).id,
    },
    ("change_hotel_dates", "stay_started"): lambda d: _days(d, status="confirmed", to_come=False),
    ("change_hotel_dates", "non_changeable"): lambda d: _days(d, policy="non_refundable", **COMING),
    ("change_hotel_dates", "change_deadline_passed"): lambda d: _days(
        d, policy="moderate", **COMING
    ),
    ("change_hotel_dates", "booking_cancelled"): lambda d: _days(d, status="cancelled"),
    ("change_hotel_dates", "hold_expired"): lambda d: _days(d, status="held", active=False),
    ("change_hotel_dates", "no_change"): lambda d: {
        "booking_id": d.booking(kind="hotel", status="held", active=True).id,
        "check_in": d.booking(kind="hotel", status="held", active=True).check_in,
        "check_out": d.booking(kind="hotel", status="held", active=True).check_out,
    },
    ("set_passenger_passport", "name_mismatch"): lambda d: {
        "passenger_id": d.person("missing"),
        "full_name": "Ada Lovelace",
        "passport_number": "A10000001",
        "expires_on": "2035-06-30",
    },
    ("set_passenger_passport", "passport_in_use"): lambda d: {
        "passenger_id": d.person("missing"),
        "full_name": d.travel.passengers[d.person("missing")].name,
        "passport_number": d.travel.passengers[d.person("valid")].passport_number,
        "expires_on": "2035-06-30",
    },
    ("create_itinerary", "itinerary_exists"): lambda d: {"title": d.trip().title.upper()},
    ("pay_travel_booking", "nothing_due"): lambda d: {
        "booking_id": d.booking(**COMING).id,
        "travel_card_id": d.card(),
    },
    ("pay_travel_booking", "card_expired"): lambda d: {
        "booking_id": _held(d),
        "travel_card_id": d.card(4),
    },
    ("pay_travel_booking", "card_declined"): lambda d: {
        "booking_id": _held(d),
        "travel_card_id": d.card(3),
    },
    ("cancel_travel_booking", "non_refundable"): lambda d: {
        "booking_id": d.booking(policy="non_refundable", **COMING).id
    },
    ("cancel_travel_booking", "past_departure"): lambda d: {
        "booking_id": d.booking(kind="flight", to_come=False).id
    },
    ("cancel_travel_booking", "already_checked_in"): lambda d: {
        "booking_id": d.booking(kind="flight", **TODAY).id
    },
}


@pytest.mark.parametrize(("tool", "code"), list(SCENARIOS))
@pytest.mark.parametrize("seed", [0, 11])
def test_a_refusal_occurs_in_a_seeded_world(tool: str, code: str, seed: int) -> None:
    d = desk(seed)
    assert d.refused(tool, **SCENARIOS[tool, code](d))["code"] == code
    assert code in SERVER.tools[tool].refuses


def test_bad_stays_and_groups_are_refused_by_their_arguments_alone() -> None:
    d = desk()
    for days in (("2028-05-03", "2028-05-03"), ("2028-05-03", "2028-05-01")):
        call = _hotel(d, check_in=days[0], check_out=days[1])
        assert d.refused("book_hotel_room", **call)["code"] == "invalid_dates"
    call = _hotel(d, check_in="2028-05-01", check_out="2028-06-01")
    assert d.refused("book_hotel_room", **call)["details"] == {"nights": 31}
    one = d.person("valid")
    for people in ([], [one, one], ["a", "b", "c", "d", "e"]):
        assert d.refused("book_flight", **_fly(d, passenger_ids=people))["code"] == (
            "invalid_passengers"
        )
    number = {**SCENARIOS["set_passenger_passport", "name_mismatch"](d), "passport_number": "12"}
    assert d.refused("set_passenger_passport", **number)["code"] == "invalid_value"


def test_independent_writes_in_either_order_give_the_same_changes() -> None:
    d = desk()
    coming = d.booking(kind="flight", fare="flex", **COMING)
    free = next(
        s for s in d.travel.seats.where(flight_id=coming.flight_id, cabin="economy", taken=False)
    )
    writes = [
        ("book_flight", _fly(d)),
        ("book_hotel_room", _hotel(d)),
        ("create_itinerary", {"title": "Sailing week"}),
        ("pay_travel_booking", {"booking_id": _held(d), "travel_card_id": d.card()}),
        ("choose_flight_seat", {**_first_ticket(d, fare="flex", **COMING), "seat": free.code}),
        ("cancel_travel_booking", {"booking_id": d.booking(policy="moderate", **COMING).id}),
        ("check_in_passenger", _check_in(d, 0)),
    ]
    one, two = desk(), desk()
    agree(one, writes, two)
    assert len(one.session.changes()["travel_booking.payments"]) == 2


# -- the invariants themselves -----------------------------------------------------------------


def _oversell_fare(d: Desk) -> None:
    b = d.booking(kind="flight", **COMING)
    fare = d.travel.fares[b.fare_id]
    d.travel.fares.update(fare, others=fare.allotment)


def _share_a_seat(d: Desk) -> None:
    one, two = [t for t in d.travel.tickets if t.seat_id and not t.checked_in][:2]
    d.travel.tickets.update(two, seat_id=one.seat_id)


def _oversell_room(d: Desk) -> None:
    b = d.booking(kind="hotel", **COMING)
    d.travel.rooms.update(d.travel.rooms[b.room_id], count=0)


def _overlap(d: Desk) -> None:
    b = d.booking(kind="hotel", **COMING)
    d.travel.bookings.put(type(b)(**{**_fields(b), "id": "bkg_twin"}))


def _keep_too_much(d: Desk) -> None:
    end = next(c for c in d.travel.cancellations if c.basis == "fee")
    d.travel.cancellations.update(end, refund=end.refund - 1)


def _forget_cancellation(d: Desk) -> None:
    d.travel.cancellations.delete(next(iter(d.travel.cancellations)).id)


def _overcharge(d: Desk) -> None:
    payment = next(iter(d.travel.payments))
    d.travel.payments.update(payment, amount=payment.amount + 1)


def _empty_booking(d: Desk) -> None:
    b = d.booking(kind="flight", people=1)
    d.travel.tickets.delete(d.travel.tickets_of(b)[0].id)


def _fields(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__struct_fields__}


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (_oversell_fare, "is oversold"),
        (_share_a_seat, "is held by 2"),
        (_oversell_room, "is oversold on"),
        (_overlap, "overlap"),
        (_keep_too_much, "does not follow its terms"),
        (_forget_cancellation, "does not say"),
        (_overcharge, "costs"),
        (_empty_booking, "no passenger"),
    ],
)
def test_broken_rows_are_noticed(harm: Callable[[Desk], None], said: str) -> None:
    d = desk()
    harm(d)
    assert any(said in line for line in violations(d.travel))
