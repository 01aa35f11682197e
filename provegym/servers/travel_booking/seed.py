"""The agency at the start of an episode: a season of flights and hotels, one traveller's trips."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from math import hypot
from random import Random
from typing import Literal

from msgspec.structs import replace

from provegym.servers.travel_booking.rules import FARES, HOLD_HOURS, nights, stay_price
from provegym.servers.travel_booking.state import (
    Airport,
    Basis,
    Booking,
    Cabin,
    Cancellation,
    Fare,
    FareName,
    Flight,
    Hotel,
    Itinerary,
    Passenger,
    Payment,
    Position,
    Room,
    RoomNight,
    RoomPolicy,
    Seat,
    Ticket,
    TravelCard,
)
from provegym.servers.travel_booking.told import tell
from provegym.world.cast import Cast
from provegym.world.server import Seeds

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = tuple(LETTERS[n & 31] + LETTERS[n >> 5] for n in range(1024))
ABROAD = ("Canada", "Mexico", "Canada", "Mexico")
AIRLINES = ("NS", "BW", "CA", "TR")
SIDES: tuple[Position, ...] = ("window", "aisle", "aisle", "window")
MULTIPLES: dict[FareName, tuple[float, int]] = {
    "basic": (1.0, 6),
    "standard": (1.25, 6),
    "flex": (1.6, 4),
    "business": (2.8, 4),
}
"""A fare's price relative to the cheapest, and its allotment of seats."""
LAYOUT: tuple[tuple[str, Cabin, Position], ...] = tuple(
    (f"{row}{letter}", "business" if row == 1 else "economy", position)
    for row in range(1, 6)
    for letter, position in zip("ACDF", SIDES, strict=True)
)
"""Seats of every plane: a row of business class and four of economy."""
OWN_FREE = 4
"""Seats that are left at each fare of a flight on which the traveller may be."""
ROOMS: tuple[tuple[str, int, float, RoomPolicy], ...] = (
    ("standard double", 2, 1.0, "flexible"),
    ("twin room", 2, 1.05, "moderate"),
    ("family room", 4, 1.6, "moderate"),
    ("junior suite", 3, 2.1, "flexible"),
)
SAVER: tuple[str, int, float, RoomPolicy] = ("saver double", 2, 0.8, "non_refundable")
HOTELS = (
    *("Harbour", "Linden", "Meridian", "Copper", "Juniper", "Lantern", "Saffron", "Bluebell"),
    *("Marble", "Orchard", "Falcon", "Willow", "Granite", "Sapphire", "Cedar", "Amber"),
    *("Beacon", "Clover", "Pebble", "Thistle", "Velvet", "Walnut", "Crescent", "Summit"),
)
HOUSES = ("Hotel", "Inn", "House", "Lodge", "Suites", "Plaza")
TITLES = (
    *("Summer break", "Client visit", "Family reunion", "Design conference", "Weekend away"),
    *("Anniversary", "Trade fair", "Hiking week", "Wedding weekend", "City break"),
    *("Sales kickoff", "Museum tour", "Coast holiday", "Team offsite", "Spring getaway"),
)
NEW_TITLES = ("Autumn escape", "Board meeting", "Surfing trip", "Food festival", "Ski holiday")
Paid = Literal["held", "confirmed", "cancelled", "expired"]


class Desk:
    """Collects rows while the world is made."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd, self.start = cast, rnd, cast.start
        self._used: set[str] = set()
        self._numbers: set[tuple[str, str]] = set()
        self.flights: list[Flight] = []
        self.fares: dict[str, Fare] = {}
        self.by_flight: dict[str, dict[str, Fare]] = {}
        self.seats: dict[str, Seat] = {}
        self.seats_of: defaultdict[str, list[str]] = defaultdict(list)
        self.hotels: list[Hotel] = []
        self.rooms: list[Room] = []
        self.room_nights: list[RoomNight] = []
        self.full: list[tuple[Room, str]] = []
        self.trips: list[Itinerary] = []
        self.bookings: list[Booking] = []
        self.tickets: list[Ticket] = []
        self.payments: list[Payment] = []
        self.cancellations: list[Cancellation] = []
        self.airports = self._airports()
        self.home, *self.away = self.airports
        self.passengers = self._passengers()
        self.cards = self._cards()
        self.titles = rnd.sample(TITLES, len(TITLES))

    def id(self, prefix: str) -> str:
        """A fresh id."""
        while True:
            n = self.rnd.getrandbits(30)
            new = f"{prefix}_{_PAIRS[n & 1023]}{_PAIRS[n >> 10 & 1023]}{_PAIRS[n >> 20]}"
            if new not in self._used:
                self._used.add(new)
                return new

    def at(self, days: float, hours: float = 0) -> datetime:
        """A moment that far from the start."""
        return self.start + timedelta(days=days, hours=hours)

    def day(self, days: int) -> str:
        """A date that many days from the start."""
        return self.at(days).date().isoformat()

    def _airports(self) -> list[Airport]:
        """The traveller's home first, then cities of the same country, then those abroad."""
        rnd, home = self.rnd, self.cast.user.city
        cities = sorted({p.city for p in self.cast.people} - {home})
        rnd.shuffle(cities)
        near = len(cities) - len(ABROAD)
        codes: list[str] = []
        found = []
        for i, city in enumerate((home, *cities)):
            codes.append(_code(city, codes))
            country = "United States" if i <= near else ABROAD[i - near - 1]
            x, y = rnd.randrange(2500), rnd.randrange(2500)
            found.append(Airport(self.id("apt"), codes[-1], city, country, x, y))
        return found

    def _passengers(self) -> list[Passenger]:
        """The traveller and companions: one has no passport, one an old one, one another name."""
        rnd, people = self.rnd, self.cast.people
        found = []
        for i, person in enumerate(people[:9]):
            years = -rnd.randrange(1, 4) if i == 3 else rnd.randrange(2, 9)
            first, other = person.name.split(" ")[0], people[20 + i].name.split(" ")[-1]
            passenger = Passenger(
                id=self.id("pax"),
                name=person.name,
                email=person.email,
                born_on=person.birthday.isoformat(),
                passport_name=f"{first} {other}" if i == 4 else person.name,
                passport_number=passport_number(rnd),
                passport_expires=self.day(365 * years + rnd.randrange(300)),
            )
            if i in (2, 6):
                passenger = replace(
                    passenger, passport_name="", passport_number="", passport_expires=""
                )
            found.append(passenger)
        return found

    def _cards(self) -> list[TravelCard]:
        """Five cards: three good ones, one nearly used up, one expired. Credit is added later."""
        rnd = self.rnd
        tails = rnd.sample(range(1000, 10000), 5)
        networks = ("Visa", "Mastercard", "Amex", "Visa", "Mastercard")
        months = (20, 31, 9, 14, -4)
        return [
            TravelCard(
                id=self.id("tcd"),
                network=network,  # type: ignore[arg-type]
                last4=str(tail),
                expires=_month_end(self.at(30 * later)),
                credit=0,
            )
            for network, tail, later in zip(networks, tails, months, strict=True)
        ]

    def flight(self, origin: Airport, end: Airport, when: datetime, *, own: bool = False) -> Flight:
        """A flight with its fares and seats; `own` ones keep places for the traveller."""
        rnd = self.rnd
        distance = hypot(origin.x - end.x, origin.y - end.y)
        leaves = when.replace(minute=5 * rnd.randrange(12), second=0)
        lands = leaves + timedelta(minutes=40 + 5 * round(distance / 60))
        date = leaves.date().isoformat()
        flight = Flight(
            id=self.id("flt"),
            number=self._number(date),
            origin_id=origin.id,
            destination_id=end.id,
            date=date,
            departs_at=leaves.isoformat(),
            arrives_at=lands.isoformat(),
        )
        self.sell(flight, 45 + distance / 12 + rnd.randrange(60), own)
        return flight

    def _number(self, date: str) -> str:
        while True:
            number = f"{self.rnd.choice(AIRLINES)}{self.rnd.randrange(101, 990)}"
            if (number, date) not in self._numbers:
                self._numbers.add((number, date))
                return number

    def sell(self, flight: Flight, base: float, own: bool) -> None:
        """Put a flight on sale: its fares, the seats that others have chosen.

        `base` is its cheapest fare in dollars; but for `own` flights, some fares are sold out.
        """
        rnd = self.rnd
        self.flights.append(flight)
        fares: dict[str, Fare] = {}
        for name, (multiple, allotment) in MULTIPLES.items():
            cap = allotment - OWN_FREE if own else allotment
            others = allotment if not own and rnd.random() < 0.15 else rnd.randint(0, cap)
            price, cabin = round(base * multiple) * 100, FARES[name].cabin
            fare = Fare(self.id("fare"), flight.id, name, cabin, price, allotment, others)
            fares[name] = self.fares[fare.id] = fare
        self.by_flight[flight.id] = fares
        economy = sum(f.others for f in fares.values() if f.cabin == "economy")
        taken = {
            *rnd.sample(range(4), rnd.randint(0, fares["business"].others)),
            *rnd.sample(range(4, 20), rnd.randint(economy // 2, economy)),
        }
        for i, (code, cabin, position) in enumerate(LAYOUT):
            seat = Seat(self.id("seat"), flight.id, code, cabin, position, i in taken)
            self.seats[seat.id] = seat
            self.seats_of[flight.id].append(seat.id)

    def sell_out(self, flight: Flight, names: Iterable[str]) -> None:
        """Give all seats at some fares of a flight to others."""
        for name in names:
            fare = self.fares[self.by_flight[flight.id][name].id]
            self.fares[fare.id] = replace(fare, others=fare.allotment)

    def trip(self, days_ago: int) -> Itinerary:
        """A trip, begun to be planned so long ago."""
        made = self.at(-days_ago, self.rnd.randrange(8)).isoformat()
        trip = Itinerary(self.id("trip"), self.titles.pop(), made)
        self.trips.append(trip)
        return trip

    def _book(
        self, trip: Itinerary, total: int, status: Paid, ago: float, **terms: object
    ) -> Booking:
        booked = self.at(-ago)
        booking = Booking(
            id=self.id("bkg"),
            itinerary_id=trip.id,
            kind="flight" if "fare_id" in terms else "hotel",
            status="held" if status == "expired" else status,
            total=total,
            booked_at=booked.isoformat(),
            hold_until=(booked + timedelta(hours=HOLD_HOURS)).isoformat(),
        )
        booking = replace(booking, **terms)
        self.bookings.append(booking)
        if status in ("confirmed", "cancelled"):
            card = self.cards[self.rnd.randrange(3)]
            paid = (booked + timedelta(minutes=9)).isoformat()
            self.payments.append(Payment(self.id("pmt"), booking.id, card.id, total, paid))
        return booking

    def fly(
        self,
        trip: Itinerary,
        flight: Flight,
        name: FareName,
        who: Iterable[int],
        status: Paid,
        ago: float,
        seats: Iterable[int] = (),
        checked_in: Iterable[int] = (),
    ) -> Booking:
        """Book a flight for some passengers; those in `seats` have chosen theirs."""
        fare, people = self.by_flight[flight.id][name], list(who)
        booking = self._book(
            trip, fare.price * len(people), status, ago, fare_id=fare.id, flight_id=flight.id
        )
        for i in people:
            seat = self._take_seat(flight, fare) if i in seats else ""
            passenger = self.passengers[i].id
            self.tickets.append(
                Ticket(self.id("tkt"), booking.id, passenger, fare.id, seat, i in checked_in)
            )
        return booking

    def _take_seat(self, flight: Flight, fare: Fare) -> str:
        seats = [self.seats[i] for i in self.seats_of[flight.id]]
        seat = self.rnd.choice([s for s in seats if s.cabin == fare.cabin and not s.taken])
        self.seats[seat.id] = replace(seat, taken=True)
        return seat.id

    def stay(
        self, trip: Itinerary, room: Room, first: int, last: int, status: Paid, ago: float
    ) -> Booking:
        """Book a room from one day to another, counted from the start."""
        check_in, check_out = self.day(first), self.day(last)
        total, guests = stay_price(room, check_in, check_out), self.rnd.randint(1, room.sleeps)
        terms = {"check_in": check_in, "check_out": check_out, "guests": guests}
        return self._book(trip, total, status, ago, room_id=room.id, **terms)

    def cancel(self, booking: Booking, basis: Basis, fee: int) -> None:
        """End a paid booking and refund what its terms give."""
        charge = self.payments[-1]
        refund, when = max(0, booking.total - fee), self.at(-2).isoformat()
        self.payments.append(
            Payment(self.id("pmt"), booking.id, charge.travel_card_id, -refund, when)
        )
        self.cancellations.append(
            Cancellation(self.id("ccl"), booking.id, basis, booking.total, fee, refund, when)
        )

    def room(self, city: Airport, policy: RoomPolicy) -> Room:
        """A room in a city on some terms, which the traveller has not booked."""
        names = {h.id for h in self.hotels if h.city == city.city}
        taken = {b.room_id for b in self.bookings}
        found = [r for r in self.rooms if r.hotel_id in names and r.policy == policy]
        return self.rnd.choice([r for r in found if r.id not in taken] or found)

    def rows(self) -> Seeds:
        """All tables; each card gets the credit that its payments and its kind ask for."""
        used: dict[str, int] = defaultdict(int)
        for payment in self.payments:
            used[payment.travel_card_id] += payment.amount
        spare = (9000_00, 7500_00, 5000_00, 40_00, 3000_00)
        cards = [replace(c, credit=used[c.id] + s) for c, s in zip(self.cards, spare, strict=True)]
        return {
            "airports": self.airports,
            "flights": self.flights,
            "fares": self.fares.values(),
            "seats": self.seats.values(),
            "hotels": self.hotels,
            "rooms": self.rooms,
            "room_nights": self.room_nights,
            "passengers": self.passengers,
            "itineraries": self.trips,
            "bookings": self.bookings,
            "tickets": self.tickets,
            "travel_cards": cards,
            "payments": self.payments,
            "cancellations": self.cancellations,
        }


def passport_number(rnd: Random) -> str:
    """A fresh passport number."""
    return f"{rnd.choice('ABCEKLMNPX')}{rnd.randrange(10**8):08d}"


def _code(city: str, taken: list[str]) -> str:
    """Three letters of the city's name that no other airport has."""
    letters = [c for c in city.upper() if c.isascii() and c.isalpha()] + list("XYZ")
    n = len(letters)
    codes = (
        "".join((letters[0], letters[i], letters[j])) for i in range(1, n) for j in range(i + 1, n)
    )
    return next(code for code in codes if code not in taken)


def _month_end(when: datetime) -> str:
    """The last day of that month."""
    first = when.replace(day=1) + timedelta(days=32)
    return (first.replace(day=1) - timedelta(days=1)).date().isoformat()


def seed(cast: Cast, rnd: Random) -> Seeds:
    """Rows of every table for one world."""
    desk = Desk(cast, rnd)
    _schedule(desk)
    _hotels(desk)
    _past(desk)
    _imminent(desk)
    _upcoming(desk)
    _open_ends(desk)
    _other_guests(desk)
    tell(desk)
    desk.flights.sort(key=lambda f: f.departs_at)
    return desk.rows()


def _schedule(desk: Desk) -> None:
    """Three flights each way between home and every city, and a few between those."""
    rnd, home = desk.rnd, desk.home
    for city in desk.away:
        for origin, end in ((home, city), (city, home)):
            first = rnd.randrange(2, 20)
            for day in (first, first, first + rnd.randrange(3, 20)):
                flight = desk.flight(origin, end, desk.at(day, rnd.randrange(-2, 9)))
            desk.sell_out(flight, ("standard", "flex", rnd.choice(("basic", "business"))))
    for _ in range(4):
        origin, end = rnd.sample(desk.away, 2)
        desk.flight(origin, end, desk.at(rnd.randrange(2, 30), rnd.randrange(-2, 9)))
    desk.sell_out(desk.flights[rnd.randrange(len(desk.flights))], MULTIPLES)


def _hotels(desk: Desk) -> None:
    """Three hotels a city, each with a saver and two other kinds of room."""
    rnd = desk.rnd
    names = rnd.sample(HOTELS, 3 * len(desk.airports))
    for i, name in enumerate(names):
        stars = rnd.choice((2, 3, 3, 4, 4, 5))
        city, base = desk.airports[i // 3].city, 38 * stars + rnd.randrange(60)
        house, rating = rnd.choice(HOUSES), f"{rnd.randrange(64, 97) / 10}"
        hotel = Hotel(desk.id("htl"), f"{name} {house}", city, stars, rating)
        desk.hotels.append(hotel)
        terms = rnd.sample(ROOMS, 2) if i % 3 else [ROOMS[0], rnd.choice(ROOMS[1:3])]
        for kind, sleeps, multiple, policy in (SAVER, *terms):
            price, count = round(base * multiple) * 100, rnd.randint(2, 5)
            desk.rooms.append(Room(desk.id("room"), hotel.id, kind, sleeps, price, count, policy))


def _past(desk: Desk) -> None:
    """Two trips that are over, and a stay that goes on."""
    rnd, home = desk.rnd, desk.home
    for i, ago in enumerate((64, 30)):
        city, length = desk.away[i], rnd.randrange(3, 6)
        trip = desk.trip(ago + 30)
        out = desk.flight(home, city, desk.at(-ago, rnd.randrange(-2, 3)), own=True)
        back = desk.flight(city, home, desk.at(length - ago, rnd.randrange(3, 8)), own=True)
        desk.fly(trip, out, "standard", (0, 1 + 4 * i), "confirmed", ago + 20, (0,), (0, 1 + 4 * i))
        desk.fly(trip, back, "basic", (0, 1 + 4 * i), "confirmed", ago + 20)
        room = desk.room(city, "flexible")
        desk.stay(trip, room, -ago, length - ago, "confirmed", ago + 19)
    trip = desk.trip(20)
    desk.stay(trip, desk.room(home, "flexible"), -1, rnd.randrange(2, 5), "confirmed", 12)


def _imminent(desk: Desk) -> None:
    """Two flights that are open for check-in, at home and abroad."""
    rnd, home = desk.rnd, desk.home
    trip, city = desk.trip(25), desk.away[0]
    out = desk.flight(home, city, desk.at(0, rnd.randrange(6, 9)), own=True)
    back = desk.flight(city, home, desk.at(4, rnd.randrange(0, 8)), own=True)
    desk.fly(trip, out, "standard", (1, 5, 7), "confirmed", 21, (1, 5), (5,))
    desk.fly(trip, back, "standard", (1, 5, 7), "confirmed", 21)
    desk.stay(trip, desk.room(city, "moderate"), 3, 4, "confirmed", 20)
    trip, city = desk.trip(40), desk.away[-1]
    out = desk.flight(home, city, desk.at(0, rnd.randrange(8, 11)), own=True)
    desk.fly(trip, out, "flex", (0, 2, 3, 4), "confirmed", 35, (0, 2, 3, 4))
    desk.stay(trip, desk.room(city, "flexible"), 1, 5, "confirmed", 30)
    trip = desk.trip(15)
    out = desk.flight(home, desk.away[2], desk.at(0, rnd.randrange(5, 9)), own=True)
    desk.fly(trip, out, "basic", (6, 8), "confirmed", 12)


def _upcoming(desk: Desk) -> None:
    """Trips to come, on all terms; two of them to the same city."""
    rnd, home = desk.rnd, desk.home
    plan: tuple[tuple[int, FareName, FareName, RoomPolicy, Paid], ...] = (
        (1, "standard", "flex", "flexible", "confirmed"),
        (1, "standard", "basic", "non_refundable", "confirmed"),
        (4, "flex", "business", "moderate", "confirmed"),
        (5, "standard", "standard", "flexible", "held"),
    )
    for i, (place, there, home_again, policy, status) in enumerate(plan):
        city, first = desk.away[place], 9 + 9 * i + rnd.randrange(5)
        length, ago = rnd.randrange(4, 7), 0.1 if status == "held" else rnd.randrange(3, 20)
        trip, who = desk.trip(int(ago) + 4), (0, 1) if i % 2 else (0,)
        out = desk.flight(home, city, desk.at(first, rnd.randrange(-2, 3)), own=True)
        back_at = desk.at(first + length, rnd.randrange(3, 8))
        back = desk.flight(city, home, back_at, own=True)
        desk.flight(home, city, back_at, own=True)
        desk.fly(trip, out, there, who, status, ago, () if i == 1 else who)
        desk.fly(trip, back, home_again, who, status, ago)
        room = desk.room(city, policy)
        desk.stay(trip, room, first, first + length - 1, status, ago)
        desk.stay(
            trip, desk.room(city, "flexible"), first + length - 1, first + length, status, ago
        )
        desk.full += [(room, desk.day(first + length + j)) for j in range(2)]


def _open_ends(desk: Desk) -> None:
    """Holds that ran out, cancelled bookings, and trips with nothing booked yet."""
    rnd, home, city = desk.rnd, desk.home, desk.away[3]
    trip, first = desk.trip(10), rnd.randrange(20, 30)
    flight = desk.flight(home, city, desk.at(first, 1), own=True)
    desk.fly(trip, flight, "flex", (0,), "expired", 4)
    desk.stay(trip, desk.room(city, "flexible"), first, first + 3, "expired", 3)
    trip, first = desk.trip(50), rnd.randrange(30, 40)
    flight = desk.flight(home, city, desk.at(first, 2), own=True)
    gone = desk.fly(trip, flight, "standard", (0, 5), "cancelled", 40)
    desk.cancel(gone, "fee", 2 * (FARES["standard"].cancel_fee or 0))
    gone = desk.stay(trip, desk.room(city, "flexible"), first, first + 4, "cancelled", 38)
    desk.cancel(gone, "free", 0)
    for ago in (6, 3):
        desk.trip(ago)


def _other_guests(desk: Desk) -> None:
    """Rooms that others have; where the traveller has one too, one is left for that."""
    rnd = desk.rnd
    kept = {
        (b.room_id, night)
        for b in desk.bookings
        for night in (nights(b.check_in, b.check_out) if b.room_id else ())
    }
    seen: set[tuple[str, str]] = set()
    busy = [(room, desk.day(rnd.randrange(40))) for room in desk.rooms for _ in range(2)]
    for i, (room, night) in enumerate((*desk.full, *busy)):
        cap = room.count - ((room.id, night) in kept)
        others = cap if i < len(desk.full) else rnd.randint(1, cap)
        if (room.id, night) not in seen:
            seen.add((room.id, night))
            desk.room_nights.append(RoomNight(desk.id("rnt"), room.id, night, others))
