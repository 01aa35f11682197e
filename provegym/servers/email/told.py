"""The letters in which a world's stories reach the user's mail."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from random import Random
from typing import Literal, NamedTuple

from provegym.world.cast import Cast, Person
from provegym.world.fields import money
from provegym.world.stories import Bill, Deal, Fault, Paper, Sale, Stories, Trip, stories

BILLED = (
    "Thank you for the {work}. Your invoice over ${amount} has arrived; we will pay it by {due}.",
    "We received the invoice for the {work}: ${amount}, due on {due}. Our accounting has it now.",
    "Your invoice for the {work} is here. Please confirm that ${amount} is due on {due}.",
)
OFFERED = (
    "We would go ahead at ${amount} if the contract is signed by {closes}. Does that suit you?",
    "Our board agreed to ${amount}. We want to decide by {closes}, so send me the contract soon.",
    "The budget of ${amount} is approved. Could we close this by {closes}?",
)
BROKEN = (
    "This has been happening since this morning. Can someone look into it?",
    "I can reproduce it every time. Could you open a ticket for it?",
    "Two of my colleagues see it as well. Please tell me when it is fixed.",
)
SOLD = (
    "Thanks for buying the {title}. I received ${price} and will send it off tomorrow.",
    "Your payment of ${price} for the {title} is here. I will pack it well.",
    "The {title} is yours now, ${price} with shipping. Let me know when it arrives.",
)
SENT = (
    "The document that we talked about is attached. Please check it before we meet.",
    "Here is the current version. Tell me if anything should change.",
    "I attached the file that you asked for.",
)
BOOKED = (
    "Your flight {number} to {city} on {date} is confirmed. It departs at {departs} and lands at "
    "{arrives}."
)
DESK, DESK_ADDRESS = "Flight Confirmations", "no-reply@flightdesk.example"


class Letter(NamedTuple):
    """A received mail; `filename` is attached unless it is "", `person` is who wrote it, if any."""

    account: Literal["Work", "Home"]
    sender: str
    address: str
    subject: str
    body: str
    when: datetime
    filename: str = ""
    person: Person | None = None


def writers(told: Stories) -> tuple[Person, ...]:
    """The people whose letters the stories bring; one can write back to each of them."""
    payers = (bill.payer for bill in told.bills)
    return (*payers, told.deal.contact, told.fault.reporter, told.sale.seller, told.paper.sender)


def letters(cast: Cast, rnd: Random) -> Iterator[Letter]:
    """Every story's letter; all arrived before the world begins."""
    told = stories(cast)
    for bill in told.bills:
        yield _bill(bill, rnd)
    yield _deal(told.deal, rnd)
    yield _fault(told.fault, rnd)
    yield _sale(told.sale, rnd)
    yield _paper(told.paper, rnd)
    yield _trip(told.trip)


def _from(
    person: Person,
    subject: str,
    body: str,
    when: datetime,
    *,
    account: Literal["Work", "Home"] = "Work",
    filename: str = "",
) -> Letter:
    return Letter(account, person.name, person.email, subject, body, when, filename, person)


def _later(when: datetime, rnd: Random) -> datetime:
    """Half an hour to three hours on: still the same day, as stories keep office hours."""
    return when + timedelta(minutes=rnd.randrange(30, 180))


def _bill(bill: Bill, rnd: Random) -> Letter:
    words = {"work": bill.work, "amount": money(bill.amount), "due": bill.due.isoformat()}
    body, when = rnd.choice(BILLED).format(**words), _later(bill.sent, rnd)
    return _from(bill.payer, f"Your invoice: {bill.work}", body, when)


def _deal(deal: Deal, rnd: Random) -> Letter:
    words = {"amount": money(deal.amount), "closes": deal.closes.isoformat()}
    return _from(deal.contact, deal.title, rnd.choice(OFFERED).format(**words), deal.written)


def _fault(fault: Fault, rnd: Random) -> Letter:
    return _from(fault.reporter, fault.title, rnd.choice(BROKEN), _later(fault.found, rnd))


def _sale(sale: Sale, rnd: Random) -> Letter:
    """On the evening of the purchase."""
    hour = time(rnd.randrange(17, 22), rnd.randrange(60), tzinfo=UTC)
    return _from(
        sale.seller,
        f"Your {sale.title}",
        rnd.choice(SOLD).format(title=sale.title, price=money(sale.price)),
        datetime.combine(sale.bought, hour),
        account="Home",
    )


def _paper(paper: Paper, rnd: Random) -> Letter:
    kind = paper.filename.rsplit("_", 1)[0].replace("_", " ")
    subject = f"{kind.capitalize()} for {paper.sender.company}"
    return _from(paper.sender, subject, rnd.choice(SENT), paper.sent, filename=paper.filename)


def _trip(trip: Trip) -> Letter:
    body = BOOKED.format(
        number=trip.number,
        city=trip.city,
        date=trip.departs.date().isoformat(),
        departs=f"{trip.departs:%H:%M}",
        arrives=f"{trip.arrives:%H:%M}",
    )
    subject = f"Booking confirmed: {trip.number} to {trip.city}"
    return Letter("Home", DESK, DESK_ADDRESS, subject, body, trip.booked)
