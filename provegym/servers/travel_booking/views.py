"""What the tools answer: small records, amounts as decimal strings in US dollars, times in UTC."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from provegym.servers.travel_booking.rules import (
    FARES,
    FREE_DAYS,
    fare_left,
    is_active,
    is_international,
    passport_status,
    refund_of,
    room_left,
    status_of,
    stay_price,
)
from provegym.servers.travel_booking.state import (
    Basis,
    Booking,
    BookingId,
    BookingStatus,
    Cabin,
    Day,
    Fare,
    FareId,
    FareName,
    Flight,
    FlightId,
    Hotel,
    HotelId,
    Itinerary,
    ItineraryId,
    Passenger,
    PassengerId,
    PassportStatus,
    Position,
    Room,
    RoomId,
    SeatCode,
    Ticket,
    Travel,
    TravelCard,
    TravelCardId,
)
from provegym.world.fields import VOLATILE, Clock, Money, money


class FlightItem(Struct, frozen=True, omit_defaults=True):
    """A flight; `price_from` is its cheapest fare with seats left, absent when sold out."""

    id: FlightId
    number: str
    date: Day
    departs: Clock
    arrives: Clock
    price_from: str = ""


class FlightPage(Struct, frozen=True):
    """A page of flights by departure."""

    flights: list[FlightItem]
    total: int
    next_cursor: str


class FareItem(Struct, frozen=True):
    """A fare of a flight for one passenger, and what cancelling costs each."""

    id: FareId
    name: FareName
    flight: str
    price: Money
    seats_left: int
    cancellation: str


class FareList(Struct, frozen=True):
    """All fares of one flight, the cheapest first."""

    fares: list[FareItem]
    passport_needed: bool


class SeatItem(Struct, frozen=True):
    """A free seat."""

    seat: SeatCode
    cabin: Cabin
    position: Position


class SeatPage(Struct, frozen=True):
    """A page of free seats, front to back."""

    seats: list[SeatItem]
    total: int
    next_cursor: str


class HotelItem(Struct, frozen=True):
    """A hotel with free rooms, and the cheapest of them for the whole stay."""

    id: HotelId
    name: str
    stars: int
    rating: str
    price_from: Money


class HotelPage(Struct, frozen=True):
    """A page of hotels, the cheapest first."""

    hotels: list[HotelItem]
    total: int
    next_cursor: str


class RoomItem(Struct, frozen=True):
    """A kind of room, its price for the whole stay, and until when cancelling is free."""

    id: RoomId
    hotel: str
    kind: str
    sleeps: int
    price: Money
    rooms_left: int
    cancellation: str


class RoomList(Struct, frozen=True):
    """All kinds of room of one hotel, the cheapest first."""

    rooms: list[RoomItem]
    nights: int


class PassengerItem(Struct, frozen=True, omit_defaults=True):
    """A saved passenger and the state of the passport today; never its number."""

    id: PassengerId
    name: str
    born_on: Day
    passport: PassportStatus
    passport_expires: str = ""


class PassengerPage(Struct, frozen=True):
    """A page of saved passengers."""

    passengers: list[PassengerItem]
    total: int
    next_cursor: str


class ItineraryItem(Struct, frozen=True, omit_defaults=True):
    """A trip; its dates span its active bookings."""

    id: ItineraryId
    title: str
    bookings: int
    starts_on: str = ""
    ends_on: str = ""


class ItineraryPage(Struct, frozen=True):
    """A page of trips."""

    itineraries: list[ItineraryItem]
    total: int
    next_cursor: str


class BookingItem(Struct, frozen=True):
    """A booking with what it costs and what of that is still due."""

    id: BookingId
    title: str
    status: BookingStatus
    total: Money
    due: Money


class BookingPage(Struct, frozen=True):
    """A page of bookings, the latest trip first."""

    bookings: list[BookingItem]
    total: int
    next_cursor: str


class TicketItem(Struct, frozen=True):
    """A passenger on a booking; `seat` is empty until chosen."""

    passenger_id: PassengerId
    name: str
    seat: str
    checked_in: bool


class BookingDetails(Struct, frozen=True, omit_defaults=True):
    """A booking in full; `refund_now` is what cancelling would give back, absent if it cannot."""

    id: BookingId
    title: str
    itinerary_id: ItineraryId
    itinerary: str
    status: BookingStatus
    terms: str
    total: Money
    due: Money
    starts_at: str
    ends_at: str
    refund_now: Annotated[str, VOLATILE] = ""
    passengers: list[TicketItem] = []
    guests: int = 0


class PassengerOnBooking(Struct, frozen=True):
    """A passenger's seat or check-in on a booking."""

    booking_id: BookingId
    title: str
    passenger: TicketItem


class TravelCardItem(Struct, frozen=True):
    """A saved card; of its number only the last four digits."""

    id: TravelCardId
    network: str
    last4: str
    expires: Day
    expired: bool


class TravelCardPage(Struct, frozen=True):
    """A page of saved cards."""

    travel_cards: list[TravelCardItem]
    total: int
    next_cursor: str


class PaymentReceipt(Struct, frozen=True):
    """A charge, and the booking after it."""

    booking: BookingItem
    charged: Money
    card_last4: str


class CancellationReceipt(Struct, frozen=True):
    """A cancelled booking: what was refunded, what was kept, and on what basis."""

    booking: BookingItem
    basis: Basis
    refund: Money
    kept: Money


def flight_item(travel: Travel, flight: Flight) -> FlightItem:
    """A flight with its cheapest free fare."""
    fares = travel.fares.where(flight_id=flight.id)
    prices = [f.price for f in fares if fare_left(travel, f) > 0]
    return FlightItem(
        id=flight.id,
        number=flight.number,
        date=flight.date,
        departs=flight.departs_at[11:16],
        arrives=flight.arrives_at[11:16],
        price_from=money(min(prices)) if prices else "",
    )


def fare_item(travel: Travel, fare: Fare, flight: Flight) -> FareItem:
    """A fare with what is left of it."""
    return FareItem(
        id=fare.id,
        name=fare.name,
        flight=f"{flight.number} on {flight.date}",
        price=money(fare.price),
        seats_left=fare_left(travel, fare),
        cancellation=fare_terms(fare),
    )


def fare_terms(fare: Fare) -> str:
    """What cancelling costs each passenger, in words."""
    fee = FARES[fare.name].cancel_fee
    return "non-refundable" if fee is None else f"fee {money(fee)}" if fee else "free"


def fare_list(travel: Travel, flight: Flight) -> FareList:
    """The fares of a flight."""
    fares = sorted(travel.fares.where(flight_id=flight.id), key=lambda f: f.price)
    items = [fare_item(travel, fare, flight) for fare in fares]
    return FareList(items, is_international(travel, flight))


def hotel_item(hotel: Hotel, price: int) -> HotelItem:
    """A hotel with the price of its cheapest free room."""
    return HotelItem(hotel.id, hotel.name, hotel.stars, hotel.rating, money(price))


def room_item(travel: Travel, room: Room, hotel: Hotel, check_in: str, check_out: str) -> RoomItem:
    """A kind of room for one stay."""
    return RoomItem(
        id=room.id,
        hotel=hotel.name,
        kind=room.kind,
        sleeps=room.sleeps,
        price=money(stay_price(room, check_in, check_out)),
        rooms_left=room_left(travel, room, check_in, check_out),
        cancellation=room_terms(room),
    )


def room_terms(room: Room) -> str:
    """Until when a room can be cancelled for nothing, in words."""
    if room.policy == "non_refundable":
        return "non-refundable"
    days = FREE_DAYS[room.policy]
    return f"free until {days} days before"


def passenger_item(travel: Travel, passenger: Passenger) -> PassengerItem:
    """A passenger without the passport's number."""
    status = passport_status(passenger, travel.today)
    return PassengerItem(
        id=passenger.id,
        name=passenger.name,
        born_on=passenger.born_on,
        passport=status,
        passport_expires=passenger.passport_expires,
    )


def title_of(travel: Travel, booking: Booking) -> str:
    """How people name a booking."""
    if booking.kind == "hotel":
        hotel = travel.hotels[travel.rooms[booking.room_id].hotel_id]
        return f"{hotel.name} in {hotel.city} from {booking.check_in}"
    flight = travel.flights[booking.flight_id]
    city = travel.airports[flight.destination_id].city
    return f"flight {flight.number} to {city} on {flight.date}"


def due(travel: Travel, booking: Booking) -> int:
    """What is still to be paid; nothing once a booking has ended."""
    return booking.total - travel.paid(booking) if is_active(travel, booking) else 0


def booking_item(travel: Travel, booking: Booking) -> BookingItem:
    """A booking in short."""
    return BookingItem(
        id=booking.id,
        title=title_of(travel, booking),
        status=status_of(travel, booking),
        total=money(booking.total),
        due=money(due(travel, booking)),
    )


def begins(travel: Travel, booking: Booking) -> str:
    """When a booking begins: an instant of a flight, a day of a stay."""
    return booking.check_in or travel.flights[booking.flight_id].departs_at


def ends(travel: Travel, booking: Booking) -> str:
    """When a booking ends: an instant of a flight, a day of a stay."""
    return booking.check_out or travel.flights[booking.flight_id].arrives_at


def booking_details(travel: Travel, booking: Booking) -> BookingDetails:
    """A booking in full."""
    refund = refund_of(travel, booking) if is_active(travel, booking) else None
    return BookingDetails(
        id=booking.id,
        title=title_of(travel, booking),
        itinerary_id=booking.itinerary_id,
        itinerary=travel.itineraries[booking.itinerary_id].title,
        status=status_of(travel, booking),
        terms=_terms(travel, booking),
        total=money(booking.total),
        due=money(due(travel, booking)),
        starts_at=begins(travel, booking),
        ends_at=ends(travel, booking),
        refund_now=money(refund.amount) if refund else "",
        passengers=[ticket_item(travel, t) for t in travel.tickets_of(booking)],
        guests=booking.guests,
    )


def _terms(travel: Travel, booking: Booking) -> str:
    if booking.kind == "flight":
        fare = travel.fares[booking.fare_id]
        return f"{fare.name} fare; cancellation: {fare_terms(fare)}"
    room = travel.rooms[booking.room_id]
    return f"{room.kind}; cancellation: {room_terms(room)}"


def ticket_item(travel: Travel, ticket: Ticket) -> TicketItem:
    """A passenger's place on a flight."""
    seat = travel.seats[ticket.seat_id].code if ticket.seat_id else ""
    name = travel.passengers[ticket.passenger_id].name
    return TicketItem(ticket.passenger_id, name, seat, ticket.checked_in)


def on_booking(travel: Travel, booking: Booking, ticket: Ticket) -> PassengerOnBooking:
    """A ticket with the booking that it belongs to."""
    return PassengerOnBooking(booking.id, title_of(travel, booking), ticket_item(travel, ticket))


def itinerary_item(travel: Travel, trip: Itinerary) -> ItineraryItem:
    """A trip with the dates of its active bookings."""
    active = [b for b in travel.bookings.where(itinerary_id=trip.id) if is_active(travel, b)]
    return ItineraryItem(
        id=trip.id,
        title=trip.title,
        bookings=len(active),
        starts_on=min((begins(travel, b)[:10] for b in active), default=""),
        ends_on=max((ends(travel, b)[:10] for b in active), default=""),
    )


def card_item(travel: Travel, card: TravelCard) -> TravelCardItem:
    """A saved card."""
    return TravelCardItem(
        card.id, card.network, card.last4, card.expires, card.expires < travel.today
    )
