"""The rows of a travel agency. Amounts are integer US cents, times are UTC.

What is left of a fare or a room is never stored: it is the allotment, less what others hold, less
the asking traveller's own active bookings.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Annotated, ClassVar, Literal

from provegym.world.fields import DATE, SENSITIVE, Format, Instant, Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, table

AirportId = Annotated[str, Ref("travel_booking.airports")]
FlightId = Annotated[str, Ref("travel_booking.flights")]
FareId = Annotated[str, Ref("travel_booking.fares")]
SeatId = Annotated[str, Ref("travel_booking.seats")]
HotelId = Annotated[str, Ref("travel_booking.hotels")]
RoomId = Annotated[str, Ref("travel_booking.rooms")]
RoomNightId = Annotated[str, Ref("travel_booking.room_nights")]
PassengerId = Annotated[str, Ref("travel_booking.passengers")]
ItineraryId = Annotated[str, Ref("travel_booking.itineraries")]
BookingId = Annotated[str, Ref("travel_booking.bookings")]
TicketId = Annotated[str, Ref("travel_booking.tickets")]
TravelCardId = Annotated[str, Ref("travel_booking.travel_cards")]
PaymentId = Annotated[str, Ref("travel_booking.payments")]
CancellationId = Annotated[str, Ref("travel_booking.cancellations")]
Day = Annotated[str, DATE]

PASSPORT = Format(
    "passport", "A letter and eight digits.", re.compile(r"[A-Z][0-9]{8}", re.ASCII).fullmatch
)
"""At most nine characters, as ICAO Doc 9303 part 4 has room for in the machine-readable zone."""
SEAT = Format(
    "seat", 'Row and letter, e.g. "4C".', re.compile(r"[1-9][0-9]?[A-K]", re.ASCII).fullmatch
)
PassportNumber = Annotated[str, PASSPORT, SENSITIVE]
SeatCode = Annotated[str, SEAT]

Cabin = Literal["economy", "business"]
FareName = Literal["basic", "standard", "flex", "business"]
Position = Literal["window", "aisle"]
RoomPolicy = Literal["flexible", "moderate", "non_refundable"]
BookingKind = Literal["flight", "hotel"]
BookingStatus = Literal["held", "confirmed", "cancelled", "expired"]
Basis = Literal["unpaid", "within_24_hours", "free", "fee"]
PassportStatus = Literal["valid", "missing", "expired", "name_mismatch"]


class Airport(Row, frozen=True):
    """Where flights start and end; `x` and `y` are kilometres on the map."""

    label: ClassVar[str] = "{city}"
    id: AirportId
    code: str
    city: str
    country: str
    x: int
    y: int


class Flight(Row, frozen=True):
    """A flight on one day; `date` is the day on which it leaves."""

    label: ClassVar[str] = "flight {number} on {date}"
    id: FlightId
    number: str
    origin_id: AirportId
    destination_id: AirportId
    date: Day
    departs_at: Instant
    arrives_at: Instant


class Fare(Row, frozen=True):
    """What seats of a flight are sold at: `allotment` in all, `others` sold to other people."""

    label: ClassVar[str] = "the {name} fare on {flight}"
    id: FareId
    flight_id: FlightId
    name: FareName
    cabin: Cabin
    price: int
    allotment: int
    others: int


class Seat(Row, frozen=True):
    """A place on one flight."""

    id: SeatId
    flight_id: FlightId
    code: SeatCode
    cabin: Cabin
    position: Position
    taken: bool


class Hotel(Row, frozen=True):
    """A hotel; `rating` is of ten."""

    label: ClassVar[str] = "{name}"
    id: HotelId
    name: str
    city: str
    stars: int
    rating: str


class Room(Row, frozen=True):
    """A kind of room at a hotel: `count` of them, each sleeps so many guests."""

    label: ClassVar[str] = "the {kind} at {hotel}"
    id: RoomId
    hotel_id: HotelId
    kind: str
    sleeps: int
    price: int
    """Cents a night."""
    count: int
    policy: RoomPolicy


class RoomNight(Row, frozen=True):
    """Rooms of a kind that other guests have on one night; no row: none."""

    id: RoomNightId
    room_id: RoomId
    night: Day
    others: int


class Passenger(Row, frozen=True):
    """A person for whom the traveller books; without a passport its three fields are empty."""

    label: ClassVar[str] = "{name}"
    id: PassengerId
    name: str
    email: str
    born_on: Day
    passport_name: str = ""
    passport_number: Annotated[str, SENSITIVE] = ""
    passport_expires: str = ""


class Itinerary(Row, frozen=True):
    """A trip, to which bookings belong."""

    label: ClassVar[str] = 'the "{title}" trip'
    id: ItineraryId
    title: str
    created_at: Stamp


class Booking(Row, frozen=True):
    """A flight for some passengers or a hotel stay.

    It is held unpaid until `hold_until`; its people on a flight are the tickets. `total` is what
    it costs, what has been paid is the sum of its payments.
    """

    label: ClassVar[str] = "the booking of {title}"
    id: BookingId
    itinerary_id: ItineraryId
    kind: BookingKind
    status: Literal["held", "confirmed", "cancelled"]
    total: int
    booked_at: Stamp
    hold_until: Stamp
    fare_id: FareId = ""
    flight_id: FlightId = ""
    room_id: RoomId = ""
    check_in: str = ""
    check_out: str = ""
    guests: int = 0


class Ticket(Row, frozen=True):
    """One passenger on a flight booking; `seat_id` once a seat is chosen."""

    id: TicketId
    booking_id: BookingId
    passenger_id: PassengerId
    fare_id: FareId
    seat_id: SeatId = ""
    checked_in: bool = False


class TravelCard(Row, frozen=True):
    """A saved payment card; `credit` is what could be charged when the world began."""

    label: ClassVar[str] = "the {network} card ending {last4}"
    id: TravelCardId
    network: Literal["Visa", "Mastercard", "Amex"]
    last4: str
    expires: Day
    credit: int


class Payment(Row, frozen=True):
    """Money of a booking: above zero a charge of the card, below a refund to it."""

    id: PaymentId
    booking_id: BookingId
    travel_card_id: TravelCardId
    amount: int
    paid_at: Stamp


class Cancellation(Row, frozen=True):
    """The end of a booking: of `charged`, `refund` went back, on what `basis`."""

    id: CancellationId
    booking_id: BookingId
    basis: Basis
    charged: int
    fee: int
    refund: int
    cancelled_at: Stamp


class Travel(State):
    """One session's view of the agency, for the traveller who is asking."""

    server = "travel_booking"
    airports = table(Airport, "apt")
    flights = table(Flight, "flt")
    fares = table(Fare, "fare")
    seats = table(Seat, "seat")
    hotels = table(Hotel, "htl")
    rooms = table(Room, "room")
    room_nights = table(RoomNight, "rnt")
    passengers = table(Passenger, "pax")
    itineraries = table(Itinerary, "trip")
    bookings = table(Booking, "bkg")
    tickets = table(Ticket, "tkt")
    travel_cards = table(TravelCard, "tcd")
    payments = table(Payment, "pmt")
    cancellations = table(Cancellation, "ccl")

    @property
    def today(self) -> str:
        """The session's date."""
        return self.now.date().isoformat()

    @cached_property
    def places(self) -> dict[str, Airport]:
        """Airports by lower-case code and city; they never change."""
        found = {a.code.casefold(): a for a in self.airports}
        return {**found, **{a.city.casefold(): a for a in self.airports}}

    def tickets_of(self, booking: Booking) -> list[Ticket]:
        """The tickets of a booking; none for a hotel."""
        return self.tickets.where(booking_id=booking.id) if booking.kind == "flight" else []

    def paid(self, booking: Booking) -> int:
        """What has been charged for a booking less what was refunded."""
        return sum(p.amount for p in self.payments.where(booking_id=booking.id))
