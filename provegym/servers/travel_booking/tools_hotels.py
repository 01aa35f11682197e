"""Hotels: search, rooms, booking a stay and moving it."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from provegym.servers.travel_booking import samples
from provegym.servers.travel_booking.checks import (
    found,
    live_stay,
    place,
    require_free_leg,
    require_room_left,
    require_stay,
)
from provegym.servers.travel_booking.rules import (
    FREE_DAYS,
    HOLD_HOURS,
    days_until,
    night_count,
    room_left,
    stay_price,
)
from provegym.servers.travel_booking.state import (
    Booking,
    BookingId,
    Hotel,
    HotelId,
    ItineraryId,
    Room,
    RoomId,
    Travel,
)
from provegym.servers.travel_booking.tools_trips import give_back
from provegym.servers.travel_booking.views import (
    BookingItem,
    HotelPage,
    RoomList,
    booking_item,
    hotel_item,
    room_item,
)
from provegym.world.fields import Date, Limit, Range, Text
from provegym.world.page import page
from provegym.world.tool import refuse, tool

Guests = Annotated[int, Range(1, 4)]
Stars = Annotated[int, Range(1, 5)]


@tool(
    "read",
    phrases=(
        "Find a hotel in {city} from {check_in} to {check_out}[ with at least {min_stars} stars]"
        "[ for {guests} guests]",
        "Search for hotels in {city} between {check_in} and {check_out}"
        "[, {min_stars} stars or better][, sleeping {guests}]",
        "Which hotels in {city} have rooms from {check_in} until {check_out}"
        "[ for {guests} people][ and {min_stars} or more stars]? Show me",
    ),
    refuses=("unknown_city", "past_date"),
    sample=samples.hotels,
)
def search_hotels(
    travel: Travel,
    city: Text,
    check_in: Date,
    check_out: Date,
    guests: Guests = 1,
    min_stars: Stars = 1,
    limit: Limit = 5,
    cursor: str = "",
) -> HotelPage:
    """Find hotels with a room free for a whole stay, the cheapest first.

    Args:
        city: City or airport code.
        check_in: Day of arrival.
        check_out: Day of departure.
        guests: Guests in the room.
        min_stars: At least so many stars.
        limit: Hotels per page.
        cursor: next_cursor of the page before.
    """
    where = place(travel, city)
    require_stay(travel, check_in, check_out)
    offers = [
        (price, hotel)
        for hotel in travel.hotels.where(city=where.city)
        if hotel.stars >= min_stars
        and (price := _cheapest(travel, hotel, check_in, check_out, guests))
    ]
    offers.sort(key=lambda offer: (offer[0], offer[1].name))
    rows, total, after = page(offers, limit, cursor)
    return HotelPage([hotel_item(hotel, price) for price, hotel in rows], total, after)


def _cheapest(travel: Travel, hotel: Hotel, check_in: str, check_out: str, guests: int) -> int:
    """The lowest price of a free room for the whole stay; 0 if there is none."""
    prices = (
        stay_price(room, check_in, check_out)
        for room in travel.rooms.where(hotel_id=hotel.id)
        if room.sleeps >= guests and room_left(travel, room, check_in, check_out) > 0
    )
    return min(prices, default=0)


@tool(
    "read",
    phrases=(
        "Show the rooms at {hotel_id} from {check_in} to {check_out}",
        "What rooms does {hotel_id} offer between {check_in} and {check_out}? List them",
        "List room prices at {hotel_id} for {check_in} until {check_out}",
    ),
    refuses=("not_found", "past_date"),
    sample=samples.rooms,
)
def list_hotel_rooms(
    travel: Travel, hotel_id: HotelId, check_in: Date, check_out: Date
) -> RoomList:
    """List a hotel's kinds of room for a stay: price, rooms left, cancellation terms.

    Args:
        hotel_id: The hotel.
        check_in: Day of arrival.
        check_out: Day of departure.
    """
    hotel = found(travel.hotels, hotel_id, "hotel")
    require_stay(travel, check_in, check_out)
    rooms = sorted(travel.rooms.where(hotel_id=hotel.id), key=lambda r: r.price)
    items = [room_item(travel, room, hotel, check_in, check_out) for room in rooms]
    return RoomList(items, night_count(check_in, check_out))


@tool(
    "write",
    phrases=(
        "Book {room_id} for {guests} from {check_in} to {check_out} as part of {itinerary_id}",
        "On {itinerary_id}, reserve {room_id} from {check_in} until {check_out}, guests: {guests}",
        "Hold {room_id} between {check_in} and {check_out} for {guests} on {itinerary_id}",
    ),
    refuses=("not_found", "past_date", "too_many_guests", "sold_out", "overlapping_leg"),
    sample=samples.new_stay,
)
def book_hotel_room(
    travel: Travel,
    room_id: RoomId,
    itinerary_id: ItineraryId,
    check_in: Date,
    check_out: Date,
    guests: Guests,
) -> BookingItem:
    """Book one room for a stay. It is held unpaid for 24 hours.

    Args:
        room_id: The kind of room.
        itinerary_id: The trip that it belongs to.
        check_in: Day of arrival.
        check_out: Day of departure.
        guests: How many sleep in it.
    """
    room = found(travel.rooms, room_id, "room")
    trip = found(travel.itineraries, itinerary_id, "itinerary")
    require_stay(travel, check_in, check_out)
    if guests > room.sleeps:
        text = f"the {room.kind} sleeps {room.sleeps}, not {guests}"
        refuse("too_many_guests", text, sleeps=room.sleeps)
    require_room_left(travel, room, check_in, check_out)
    require_free_leg(travel, trip, "hotel", check_in, check_out)
    booking = Booking(
        id=travel.bookings.new_id(),
        itinerary_id=trip.id,
        kind="hotel",
        status="held",
        total=stay_price(room, check_in, check_out),
        booked_at=travel.stamp,
        hold_until=(travel.now + timedelta(hours=HOLD_HOURS)).isoformat(),
        room_id=room.id,
        check_in=check_in,
        check_out=check_out,
        guests=guests,
    )
    return booking_item(travel, travel.bookings.put(booking))


@tool(
    "write",
    phrases=(
        "Move {booking_id} to {check_in} until {check_out}",
        "Change the dates of {booking_id}: arrive {check_in}, leave {check_out}",
        "Shift {booking_id} so that we stay from {check_in} to {check_out}",
    ),
    refuses=(
        "not_found",
        "not_a_stay",
        "booking_cancelled",
        "hold_expired",
        "stay_started",
        "non_changeable",
        "change_deadline_passed",
        "past_date",
        "no_change",
        "sold_out",
        "overlapping_leg",
    ),
    sample=samples.other_dates,
)
def change_hotel_dates(
    travel: Travel, booking_id: BookingId, check_in: Date, check_out: Date
) -> BookingItem:
    """Move a hotel stay to other days in the same kind of room.

    It is priced anew: more becomes due, less is refunded to the card that paid.

    Args:
        booking_id: The hotel booking.
        check_in: New day of arrival.
        check_out: New day of departure.
    """
    booking = live_stay(travel, booking_id)
    room = travel.rooms[booking.room_id]
    _require_movable(travel, booking, room)
    require_stay(travel, check_in, check_out)
    if (check_in, check_out) == (booking.check_in, booking.check_out):
        refuse("no_change", f"the stay is from {check_in} to {check_out} already")
    require_room_left(travel, room, check_in, check_out, booking.id)
    trip = travel.itineraries[booking.itinerary_id]
    require_free_leg(travel, trip, "hotel", check_in, check_out, booking.id)
    total = stay_price(room, check_in, check_out)
    give_back(travel, booking, max(0, travel.paid(booking) - total))
    moved = travel.bookings.update(booking, check_in=check_in, check_out=check_out, total=total)
    return booking_item(travel, moved)


def _require_movable(travel: Travel, booking: Booking, room: Room) -> None:
    if room.policy == "non_refundable":
        refuse("non_changeable", f"the {room.kind} was booked without changes")
    days, free = days_until(travel, booking.check_in), FREE_DAYS[room.policy]
    if days < free:
        text = f"dates change until {free} days before arrival, which is in {days} days"
        refuse("change_deadline_passed", text, check_in=booking.check_in)
