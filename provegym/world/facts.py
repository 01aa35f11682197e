"""Facts that join servers: a value of a story that rows of several of them hold."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from msgspec import Struct

from provegym.world.fields import cents, money
from provegym.world.stories import Stories, Trip, stories
from provegym.world.world import World


class Fact(Struct, frozen=True):
    """A value that rows of several servers hold: as a field's value, or within its text.

    `places` are (qualified table, field); amounts lie there in cents or as text.
    """

    name: str
    value: str
    places: tuple[tuple[str, str], ...]

    @property
    def servers(self) -> tuple[str, ...]:
        """Who knows of it."""
        return tuple(dict.fromkeys(table.split(".")[0] for table, _ in self.places))


def facts(told: Stories) -> Iterator[Fact]:
    """Every value that the stories put into more than one server."""
    for i, bill in enumerate(told.bills):
        invoice, mail = "payments.invoices", ("email.messages", "body")
        yield Fact(f"bill {i} work", bill.work, ((invoice, "description"), mail))
        yield Fact(f"bill {i} amount", money(bill.amount), ((invoice, "unit_price"), mail))
        yield Fact(f"bill {i} due", bill.due.isoformat(), ((invoice, "due_on"), mail))
        payer = (("payments.customers", "email"), ("email.messages", "sender_address"))
        yield Fact(f"bill {i} payer", bill.payer.email, payer)
    yield from _trip_facts(told.trip)
    yield from _work_facts(told)
    yield from _money_facts(told)


def _trip_facts(trip: Trip) -> Iterator[Fact]:
    flight, event, mail = "travel_booking.flights", "calendar.events", ("email.messages", "body")
    yield Fact("flight number", trip.number, ((flight, "number"), (event, "title"), mail))
    departs = ((flight, "departs_at"), (event, "start"))
    yield Fact("flight departure", trip.departs.isoformat(), departs)
    yield Fact("flight date", trip.departs.date().isoformat(), ((flight, "date"), mail))


def _work_facts(told: Stories) -> Iterator[Fact]:
    deal, fault, paper = told.deal, told.fault, told.paper
    mail = "email.messages"
    known = (("crm.contacts", "email"), (mail, "sender_address"), ("team_chat.members", "email"))
    yield Fact("deal contact", deal.contact.email, known)
    named = (("crm.deals", "title"), (mail, "subject"), ("team_chat.messages", "text"))
    yield Fact("deal title", deal.title, named)
    yield Fact("deal amount", money(deal.amount), (("crm.deals", "amount"), (mail, "body")))
    closes = (("crm.deals", "expected_close_on"), (mail, "body"))
    yield Fact("deal closing", deal.closes.isoformat(), closes)
    for i, meeting in enumerate(told.meetings):
        held, event = "video_meeting.meetings", "calendar.events"
        yield Fact(f"meeting {i} topic", meeting.topic, ((held, "topic"), (event, "title")))
        begins = ((held, "starts_at"), (event, "start"))
        yield Fact(f"meeting {i} start", meeting.starts.isoformat(), begins)
        for guest in meeting.guests:
            there = (("video_meeting.participants", "email"), ("calendar.attendees", "email"))
            yield Fact(f"meeting {i} guest", guest.email, there)
    seen = (("issue_tracker.issues", "title"), ("team_chat.messages", "text"), (mail, "subject"))
    yield Fact("fault title", fault.title, seen)
    who = (("issue_tracker.users", "email"), (mail, "sender_address"))
    yield Fact("fault reporter", fault.reporter.email, who)
    files = (
        ("filesystem.inodes", "name"),
        ("email.attachments", "filename"),
        ("team_chat.files", "filename"),
    )
    yield Fact("paper", paper.filename, files)


def _money_facts(told: Stories) -> Iterator[Fact]:
    sale, deposit = told.sale, told.deposit
    moved = "banking.transactions"
    bought = (("marketplace.purchases", "title"), (moved, "description"))
    yield Fact("sale title", sale.title, (*bought, ("email.messages", "body")))
    paid = (("marketplace.purchases", "price"), (moved, "amount"), ("email.messages", "body"))
    yield Fact("sale price", money(sale.price), paid)
    for i, dues in enumerate(told.dues):
        regular, item = "banking.standing_orders", "budget.recurring_items"
        yield Fact(f"dues {i} payee", dues.name, (("banking.payees", "name"), (item, "name")))
        yield Fact(f"dues {i} amount", money(dues.amount), ((regular, "amount"), (item, "amount")))
        due = ((regular, "next_payment_on"), (item, "next_on"))
        yield Fact(f"dues {i} date", dues.due.isoformat(), due)
    put = ((moved, "amount"), ("trading.cash_movements", "amount"))
    yield Fact("deposit", money(deposit.amount), put)
    name, street = told.kitchen.name, told.kitchen.street
    eats = (("food_delivery.restaurants", "name"), ("maps.places", "name"))
    yield Fact("kitchen name", name, (*eats, ("vehicle.destinations", "name")))
    where = (("maps.places", "address"), ("vehicle.destinations", "address"))
    yield Fact("kitchen street", street, where)


def known(world: World) -> list[Fact]:
    """The facts that at least two of the world's servers hold, with the places that do."""
    found = []
    for fact in facts(stories(world.cast)):
        held = tuple(p for p in fact.places if p[0] in world.templates and _holds(world, fact, p))
        if len({table.split(".")[0] for table, _ in held}) > 1:
            found.append(Fact(fact.name, fact.value, held))
    return found


def _holds(world: World, fact: Fact, place: tuple[str, str]) -> bool:
    table, field = place
    rows = world.templates[table].rows.values()
    return any(_says(getattr(row, field), fact.value) for row in rows)


def _says(found: Any, value: str) -> bool:
    """Whether a row's field holds the value: in its text, in cents, or as a decimal."""
    if isinstance(found, str):
        return value in found
    amount = value.replace(".", "", 1).isdigit() and "." in value
    if isinstance(found, int):
        return amount and abs(found) == cents(value)
    return isinstance(found, Decimal) and amount and abs(found) == Decimal(value)
