"""What several servers of one world know about: one invoice, one flight, one meeting.

Every story is worked out from the cast alone, so each server tells it alike and none has to know
of another. A server's seed adds the rows of its part; `facts.py` says which values they share.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import lru_cache
from random import Random

from msgspec import Struct

from provegym.world.cast import Cast, Person

WORKS = (
    *("Autumn catalogue", "Kiosk prototype", "Office repainting", "Loyalty programme"),
    *("Accessibility audit", "Photo archive", "Data warehouse pilot", "Trade show film"),
)
TOPICS = (
    *("Supplier shortlist", "Quarterly outlook", "Rebranding kickoff", "Warehouse move"),
    *("Pricing workshop", "Safety briefing", "Partner onboarding", "Hiring round"),
)
FAULTS = (
    *("Exported totals are off by a cent", "Search forgets the last filter"),
    *("Login page loops on tablets", "Reminder mails arrive twice"),
    *("Map tiles stay grey offline", "Upload stops at ninety percent"),
)
GOODS = (
    *("walnut writing desk", "copper kettle set", "folding canoe", "oak record cabinet"),
    *("vintage slide projector", "brass floor lamp", "linen sofa bed", "enamel stove"),
)
PAPERS = ("framework_agreement", "site_survey", "cost_estimate", "delivery_terms", "test_protocol")
DUES = ("Studio lease", "Music school", "Allotment fee", "Climbing club", "Storage unit")
LANES = ("Orchard Lane", "Mill Street", "Harbour Road", "Chapel Hill", "Foundry Row")
KITCHENS = ("Saffron Table", "Blue Lantern", "Harvest Corner", "Juniper Kitchen", "Pepper Mill")
CARRIERS = ("QX", "ZL", "VN", "KJ")


class Bill(Struct, frozen=True):
    """The user's business billed `payer`, untaxed, for one piece of work; `amount` is in cents.

    payments has the open invoice, email what the payer writes about it.
    """

    payer: Person
    work: str
    amount: int
    due: date
    sent: datetime


class Trip(Struct, frozen=True):
    """A flight that the user has booked, one way from the home city.

    travel_booking has flight and booking, calendar the event, email the confirmation.
    """

    number: str
    city: str
    departs: datetime
    arrives: datetime
    booked: datetime


class Deal(Struct, frozen=True):
    """A sale that the user looks after; `amount` is in cents.

    crm has deal and contact, email the contact's letter, team_chat a message of the contact.
    """

    contact: Person
    title: str
    amount: int
    closes: date
    written: datetime


class Meeting(Struct, frozen=True):
    """A video meeting that the user holds with `guests`.

    video_meeting and calendar have it, with the same title and times.
    """

    topic: str
    guests: tuple[Person, ...]
    starts: datetime
    minutes: int

    @property
    def ends(self) -> datetime:
        """When it is over."""
        return self.starts + timedelta(minutes=self.minutes)


class Fault(Struct, frozen=True):
    """A bug that `reporter` has found.

    issue_tracker has the open issue, team_chat the message, email the letter.
    """

    reporter: Person
    title: str
    found: datetime


class Sale(Struct, frozen=True):
    """Something that the user bought from `seller`, shipping included; `price` is in cents.

    marketplace has the purchase, banking the payment, email the seller's letter.
    """

    seller: Person
    title: str
    price: int
    bought: date


class Paper(Struct, frozen=True):
    """A document of the user's: a file in filesystem, attached in email, shared in team_chat."""

    sender: Person
    filename: str
    sent: datetime


class Dues(Struct, frozen=True):
    """What the user pays each month; `amount` is in cents.

    banking has the standing order, budget the recurring item.
    """

    name: str
    amount: int
    due: date


class Deposit(Struct, frozen=True):
    """Money moved from the bank to the broker; `amount` is in cents.

    banking has the payment, trading the deposit.
    """

    amount: int
    moved: datetime


class Kitchen(Struct, frozen=True):
    """A restaurant in the user's city: food_delivery orders from it, maps and vehicle know it."""

    name: str
    street: str


class Stories(Struct, frozen=True):
    """All stories of one world."""

    bills: tuple[Bill, ...]
    trip: Trip
    deal: Deal
    meetings: tuple[Meeting, ...]
    fault: Fault
    sale: Sale
    paper: Paper
    dues: tuple[Dues, ...]
    deposit: Deposit
    kitchen: Kitchen


@lru_cache(maxsize=256)
def stories(cast: Cast) -> Stories:
    """The stories of a world; no two are about the same person."""
    rnd = cast.rng("stories")
    people = iter(rnd.sample(cast.others, 16))
    works, topics, dues = rnd.sample(WORKS, 3), rnd.sample(TOPICS, 2), rnd.sample(DUES, 2)
    return Stories(
        bills=tuple(_bill(cast, rnd, next(people), work) for work in works[:2]),
        trip=_trip(cast, rnd),
        deal=_deal(cast, rnd, next(people), works[2]),
        meetings=tuple(
            _meeting(cast, rnd, (next(people), next(people)), topic, 2 + 3 * i)
            for i, topic in enumerate(topics)
        ),
        fault=Fault(next(people), rnd.choice(FAULTS), _ago(cast, rnd, 6)),
        sale=_sale(cast, rnd, next(people)),
        paper=_paper(cast, rnd, next(people)),
        dues=tuple(
            Dues(name, rnd.randrange(25, 240) * 100, _day(cast, rnd.randrange(4, 26)))
            for name in dues
        ),
        deposit=Deposit(rnd.randrange(8, 60) * 2500, _ago(cast, rnd, 20)),
        kitchen=Kitchen(rnd.choice(KITCHENS), f"{rnd.randrange(2, 400)} {rnd.choice(LANES)}"),
    )


def _day(cast: Cast, days: int) -> date:
    return cast.start.date() + timedelta(days=days)


def _ago(cast: Cast, rnd: Random, days: int) -> datetime:
    """A moment of office hours up to that many days before the start, at least one."""
    hour, minute = rnd.randrange(9, 17), rnd.randrange(60)
    day = cast.start - timedelta(days=rnd.randrange(1, days + 1))
    return day.replace(hour=hour, minute=minute)


def _bill(cast: Cast, rnd: Random, payer: Person, work: str) -> Bill:
    amount = rnd.randrange(18, 390) * 1000 + rnd.randrange(1, 10) * 100
    return Bill(payer, work, amount, _day(cast, rnd.randrange(5, 28)), _ago(cast, rnd, 9))


def _trip(cast: Cast, rnd: Random) -> Trip:
    cities = sorted({p.city for p in cast.people} - {cast.user.city})
    day = cast.start + timedelta(days=rnd.randrange(9, 30))
    departs = day.replace(hour=rnd.randrange(6, 20), minute=rnd.choice((5, 20, 35, 50)))
    lands = departs + timedelta(minutes=rnd.randrange(70, 240, 5))
    number = f"{rnd.choice(CARRIERS)} {rnd.randrange(100, 990)}"
    return Trip(number, rnd.choice(cities), departs, lands, _ago(cast, rnd, 12))


def _deal(cast: Cast, rnd: Random, contact: Person, work: str) -> Deal:
    amount, closes = rnd.randrange(20, 480) * 5000, _day(cast, rnd.randrange(12, 60))
    return Deal(contact, f"{work} for {contact.company}", amount, closes, _ago(cast, rnd, 7))


def _meeting(cast: Cast, rnd: Random, guests: tuple[Person, ...], topic: str, days: int) -> Meeting:
    """On a day to come, on the half hour; the two meetings lie on different days."""
    day = cast.start + timedelta(days=days + rnd.randrange(3))
    starts = day.replace(hour=rnd.randrange(10, 16), minute=rnd.choice((0, 30)))
    return Meeting(topic, guests, starts, rnd.choice((30, 45, 60)))


def _sale(cast: Cast, rnd: Random, seller: Person) -> Sale:
    price = rnd.randrange(24, 380) * 100 + rnd.choice((0, 50, 95))
    return Sale(seller, rnd.choice(GOODS), price, _day(cast, -rnd.randrange(3, 10)))


def _paper(cast: Cast, rnd: Random, sender: Person) -> Paper:
    word = "".join(c for c in sender.company.split()[0].lower() if "a" <= c <= "z") or "client"
    return Paper(sender, f"{rnd.choice(PAPERS)}_{word}.txt", _ago(cast, rnd, 10))
