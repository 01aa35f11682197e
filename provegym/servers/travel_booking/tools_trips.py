"""Trips: passengers, itineraries, bookings, their payment and cancellation."""

from __future__ import annotations

from collections import defaultdict

from provegym.servers.travel_booking import samples
from provegym.servers.travel_booking.checks import (
    found,
    live,
    require_departing,
    require_not_begun,
    require_not_checked_in,
)
from provegym.servers.travel_booking.rules import refund_of, status_of
from provegym.servers.travel_booking.state import (
    Booking,
    BookingId,
    BookingKind,
    BookingStatus,
    Cancellation,
    Itinerary,
    ItineraryId,
    PassengerId,
    PassportNumber,
    Payment,
    Ticket,
    Travel,
    TravelCard,
    TravelCardId,
)
from provegym.servers.travel_booking.views import (
    BookingDetails,
    BookingPage,
    CancellationReceipt,
    ItineraryItem,
    ItineraryPage,
    PassengerItem,
    PassengerPage,
    PaymentReceipt,
    TravelCardPage,
    begins,
    booking_details,
    booking_item,
    card_item,
    due,
    itinerary_item,
    passenger_item,
    title_of,
)
from provegym.world.fields import Date, Limit, Text, money
from provegym.world.page import page
from provegym.world.tool import refuse, tool

MAX_TITLE = 60


@tool(
    "read",
    phrases=(
        'List my saved passengers[ named "{query}"]',
        'Show who I book travel for[, only "{query}"]',
        "Look up the[ {query}] passenger profiles and their passports",
    ),
    sample=samples.passengers,
)
def list_passengers(
    travel: Travel, query: str = "", limit: Limit = 5, cursor: str = ""
) -> PassengerPage:
    """List the people you book for, with the state of their passports.

    Args:
        query: Part of the name.
        limit: Passengers per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    people = [p for p in travel.passengers if words in p.name.casefold()]
    rows, total, after = page(people, limit, cursor)
    return PassengerPage([passenger_item(travel, p) for p in rows], total, after)


@tool(
    "write",
    phrases=(
        "Save the passport of {passenger_id}: {full_name}, number {passport_number}, "
        "valid until {expires_on}",
        "Record passport {passport_number} in the name {full_name} for {passenger_id}, "
        "expiring {expires_on}",
    ),
    refuses=("not_found", "passport_expired", "name_mismatch", "passport_in_use", "no_change"),
    sample=samples.passport,
)
def set_passenger_passport(
    travel: Travel,
    passenger_id: PassengerId,
    full_name: Text,
    passport_number: PassportNumber,
    expires_on: Date,
) -> PassengerItem:
    """Save or replace a passenger's passport. Its name must be the passenger's.

    Args:
        passenger_id: The passenger.
        full_name: Name as printed in the passport.
        passport_number: The passport's number.
        expires_on: Last day on which it is valid.
    """
    person = found(travel.passengers, passenger_id, "passenger")
    if full_name.strip().casefold() != person.name.casefold():
        text = f"the passport is in the name {full_name[:60]!r}, the passenger is {person.name}"
        refuse("name_mismatch", text, passenger=person.name)
    if expires_on < travel.today:
        refuse("passport_expired", f"the passport expired on {expires_on}", today=travel.today)
    if any(p.id != person.id for p in travel.passengers.where(passport_number=passport_number)):
        refuse("passport_in_use", "another passenger has a passport of that number")
    new = (person.name, passport_number, expires_on)
    if new == (person.passport_name, person.passport_number, person.passport_expires):
        refuse("no_change", f"that passport of {person.name} is saved already")
    saved = travel.passengers.update(
        person, passport_name=new[0], passport_number=new[1], passport_expires=new[2]
    )
    return passenger_item(travel, saved)


@tool(
    "read",
    phrases=(
        'List my trips[ called "{query}"]',
        'Show the travel itineraries I have[ matching "{query}"]',
        "Give me an overview of my[ {query}] trips with their dates",
    ),
    sample=samples.itineraries,
)
def list_itineraries(
    travel: Travel, query: str = "", limit: Limit = 5, cursor: str = ""
) -> ItineraryPage:
    """List your trips with their dates and how many active bookings they have.

    Args:
        query: Part of the trip's title.
        limit: Trips per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    trips = [t for t in travel.itineraries if words in t.title.casefold()]
    rows, total, after = page(trips, limit, cursor)
    return ItineraryPage([itinerary_item(travel, t) for t in rows], total, after)


@tool(
    "write",
    phrases=(
        'Start a new trip called "{title}"',
        'Create an itinerary named "{title}"',
        'Set up an empty trip "{title}" that I can add bookings to',
    ),
    refuses=("itinerary_exists",),
    sample=samples.new_itinerary,
)
def create_itinerary(travel: Travel, title: Text) -> ItineraryItem:
    """Create an empty trip, to which flights and stays can be booked.

    Args:
        title: A title that no other trip has.
    """
    name = title.strip()
    if len(name) > MAX_TITLE:
        refuse("title_too_long", f"titles have up to {MAX_TITLE} characters, got {len(name)}")
    if any(t.title.casefold() == name.casefold() for t in travel.itineraries):
        refuse("itinerary_exists", f"there is a trip called {name!r} already", title=name)
    trip = Itinerary(travel.itineraries.new_id(), name, travel.stamp)
    return itinerary_item(travel, travel.itineraries.put(trip))


@tool(
    "read",
    phrases=(
        'List my[ {status}][ {kind}] bookings[ on {itinerary_id}][ for "{query}"]',
        "Show what I have booked[ for {itinerary_id}][, only {kind}s][, only {status} ones]"
        '[, matching "{query}"]',
        "Look up my[ {status}][ {kind}] reservations[ in {itinerary_id}][ that mention {query}]",
    ),
    refuses=("not_found",),
    sample=samples.bookings,
)
def list_travel_bookings(
    travel: Travel,
    itinerary_id: ItineraryId | None = None,
    kind: BookingKind | None = None,
    status: BookingStatus | None = None,
    query: str = "",
    limit: Limit = 4,
    cursor: str = "",
) -> BookingPage:
    """List flight and hotel bookings, the latest trip first, with what is still due.

    Args:
        itinerary_id: Only of this trip.
        kind: Only flights or hotels.
        status: Only in this state; held ones are unpaid.
        query: Part of the flight number, hotel, city or date.
        limit: Bookings per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    bookings = [
        b
        for b in _of_trip(travel, itinerary_id)
        if kind in (None, b.kind)
        and status in (None, status_of(travel, b))
        and words in title_of(travel, b).casefold()
    ]
    bookings.sort(key=lambda b: (begins(travel, b), b.id), reverse=True)
    rows, total, after = page(bookings, limit, cursor)
    return BookingPage([booking_item(travel, b) for b in rows], total, after)


def _of_trip(travel: Travel, itinerary_id: str | None) -> list[Booking]:
    if itinerary_id is None:
        return list(travel.bookings)
    trip = found(travel.itineraries, itinerary_id, "itinerary")
    return travel.bookings.where(itinerary_id=trip.id)


@tool(
    "read",
    phrases=(
        "Show the details of {booking_id}",
        "Who is on {booking_id} and what are its terms? Show me",
        "Tell me what I would get back if I cancelled {booking_id}",
    ),
    refuses=("not_found",),
)
def get_travel_booking(travel: Travel, booking_id: BookingId) -> BookingDetails:
    """Show a booking in full: passengers, seats, terms, what cancelling would refund now.

    Args:
        booking_id: The booking.
    """
    return booking_details(travel, found(travel.bookings, booking_id, "booking"))


@tool(
    "read",
    phrases=(
        "List the cards I can pay for travel with[, ending {last4}]",
        "Show my saved travel payment cards[ that end in {last4}]",
        "Which cards are on file for my bookings[ with the last digits {last4}]? List them",
    ),
    sample=samples.cards,
)
def list_travel_cards(
    travel: Travel, last4: str = "", limit: Limit = 5, cursor: str = ""
) -> TravelCardPage:
    """List your saved cards for paying bookings.

    Args:
        last4: Last four digits.
        limit: Cards per page.
        cursor: next_cursor of the page before.
    """
    cards = [c for c in travel.travel_cards if last4 in ("", c.last4)]
    rows, total, after = page(cards, limit, cursor)
    return TravelCardPage([card_item(travel, c) for c in rows], total, after)


@tool(
    "write",
    phrases=(
        "Pay what is due on {booking_id} with {travel_card_id}",
        "Use {travel_card_id} to pay for {booking_id}",
        "Charge {booking_id} to {travel_card_id}",
    ),
    refuses=(
        "not_found",
        "booking_cancelled",
        "hold_expired",
        "nothing_due",
        "card_expired",
        "card_declined",
    ),
    sample=samples.pay,
)
def pay_travel_booking(
    travel: Travel, booking_id: BookingId, travel_card_id: TravelCardId
) -> PaymentReceipt:
    """Pay all that is due on a booking, which confirms it.

    Args:
        booking_id: The booking.
        travel_card_id: A saved card.
    """
    booking = live(travel, booking_id)
    card = found(travel.travel_cards, travel_card_id, "card")
    owed = due(travel, booking)
    if not owed:
        refuse("nothing_due", f"{title_of(travel, booking)} is paid in full")
    _require_chargeable(travel, card, owed)
    _post(travel, booking, card.id, owed)
    confirmed = travel.bookings.update(booking, status="confirmed")
    return PaymentReceipt(booking_item(travel, confirmed), money(owed), card.last4)


def _require_chargeable(travel: Travel, card: TravelCard, amount: int) -> None:
    if card.expires < travel.today:
        text = f"the card ending {card.last4} expired on {card.expires}"
        refuse("card_expired", text, expires=card.expires)
    used = sum(p.amount for p in travel.payments.where(travel_card_id=card.id))
    if used + amount > card.credit:
        text = f"the card ending {card.last4} was declined for {money(amount)}; use another card"
        refuse("card_declined", text, amount=money(amount))


def _post(travel: Travel, booking: Booking, card_id: str, amount: int) -> None:
    payment = Payment(travel.payments.new_id(), booking.id, card_id, amount, travel.stamp)
    travel.payments.put(payment)


def give_back(travel: Travel, booking: Booking, amount: int) -> None:
    """Refund an amount to the cards that paid, each at most what it was charged."""
    net: dict[str, int] = defaultdict(int)
    for payment in travel.payments.where(booking_id=booking.id):
        net[payment.travel_card_id] += payment.amount
    for card_id, charged in reversed(net.items()):
        part = min(amount, charged)
        if part > 0:
            _post(travel, booking, card_id, -part)
            amount -= part


@tool(
    "write",
    phrases=(
        "Cancel {booking_id}",
        "Call off {booking_id} and get me whatever refund there is",
        "I no longer need {booking_id}, cancel it",
    ),
    refuses=(
        "not_found",
        "booking_cancelled",
        "hold_expired",
        "past_departure",
        "stay_started",
        "already_checked_in",
        "non_refundable",
    ),
    sample=samples.cancel,
)
def cancel_travel_booking(travel: Travel, booking_id: BookingId) -> CancellationReceipt:
    """Cancel a flight or hotel booking; the refund follows its terms and goes to the card.

    Args:
        booking_id: The booking.
    """
    booking = live(travel, booking_id)
    _require_not_used(travel, booking)
    refund = refund_of(travel, booking)
    if refund is None:
        text = f"{title_of(travel, booking)} was booked on terms without refund"
        refuse("non_refundable", text, paid=money(travel.paid(booking)))
    give_back(travel, booking, refund.amount)
    for ticket in travel.tickets_of(booking):
        release_seat(travel, ticket)
        travel.tickets.update(ticket, seat_id="")
    ended = travel.bookings.update(booking, status="cancelled")
    travel.cancellations.put(
        Cancellation(
            id=travel.cancellations.new_id(),
            booking_id=booking.id,
            basis=refund.basis,
            charged=refund.charged,
            fee=refund.fee,
            refund=refund.amount,
            cancelled_at=travel.stamp,
        )
    )
    kept = money(refund.charged - refund.amount)
    item = booking_item(travel, ended)
    return CancellationReceipt(item, refund.basis, money(refund.amount), kept)


def _require_not_used(travel: Travel, booking: Booking) -> None:
    if booking.kind == "hotel":
        require_not_begun(travel, booking)
        return
    require_departing(travel, travel.flights[booking.flight_id])
    require_not_checked_in(travel, booking)


def release_seat(travel: Travel, ticket: Ticket) -> None:
    """Make a ticket's chosen seat free for others."""
    if ticket.seat_id:
        travel.seats.update(travel.seats[ticket.seat_id], taken=False)
