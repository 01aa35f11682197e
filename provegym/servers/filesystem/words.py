"""Names and texts of a seeded disk, and short texts that a person would want written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random

from provegym.world.cast import Cast
from provegym.world.stories import Paper

Text = Callable[[Cast, Random], str]

MONTHS = ("january", "february", "march", "april", "may", "june")
PLACES = ("lisbon", "oslo", "kyoto", "denver", "vienna", "dublin", "porto", "geneva")
TEAMS = ("finance", "design", "research", "platform", "support")
PROJECTS = ("aurora", "beacon", "compass", "delta", "ember", "falcon", "garnet", "harbor")
ITEMS = ("printer paper", "train ticket", "team lunch", "headphones", "desk lamp", "hotel night")
TASKS = (
    *("book the train to Lisbon", "call the landlord", "renew the passport", "water the plants"),
    *("send the signed contract", "update the budget", "order new chairs", "fix the login page"),
    *("review the draft", "back up the photos", "plan the offsite", "pay the electricity bill"),
    *("buy oat milk", "return the library books", "prepare the slides", "clean the gutters"),
)
REMARKS = (
    *("The meeting moved to Thursday.", "Everyone liked the second version.", "Rain all day."),
    *("We agreed on a smaller scope.", "The numbers look better than last month."),
    *("Long walk by the river.", "Started a new book.", "The prototype finally works."),
    *("Dinner with old friends.", "The client wants changes by Friday.", "Slept badly."),
)
INGREDIENTS = (
    *("200 g flour", "3 eggs", "1 onion", "2 cloves of garlic", "400 g tomatoes", "100 g butter"),
    *("1 lemon", "250 ml cream", "150 g rice", "2 carrots", "1 bunch of basil", "50 g sugar"),
)
EVENTS = (
    *("INFO backup finished", "WARN disk almost full", "ERROR connection timed out"),
    *("INFO service started", "INFO user signed in", "WARN slow query", "ERROR disk read failed"),
)
SETTINGS = (
    *("theme = dark", "language = en", "autosave = on", "font_size = 14", "sync = off"),
    *("timeout = 30", "retries = 3", "port = 8080", "log_level = info", "cache = on"),
)

NEW_NAMES = (
    *("todo", "ideas", "summary", "agenda", "checklist", "draft", "questions", "packing_list"),
    *("minutes", "feedback", "outline", "contacts", "goals", "reading_list", "gift_ideas"),
)
NEW_DIRECTORIES = (
    *("archive", "old", "drafts_2026", "to_sort", "shared", "reference", "final", "spring"),
    *("taxes_2026", "team", "incoming", "templates"),
)
NEW_TEXTS = (
    *("Call the dentist on Monday", "Buy stamps and envelopes", "Meeting moved to Thursday"),
    *("Approved by the team", "Ask for a new quote", "Deadline is 15 April", "Pick up the parcel"),
    *("Budget approved: 4500", "Do not change before the audit", "Check the numbers again"),
)

REPLACEMENTS = {
    **{"unpaid": "paid", "= on": "= off", "8080": "9090", "dark": "light", "Lisbon": "Madrid"},
    **{"chairs": "desks", "Friday": "Monday", "Thursday": "Tuesday", "onion": "leek"},
    **{"garlic": "ginger", "cream": "yogurt", "team lunch": "client lunch", "slides": "handout"},
    **{"hotel night": "hostel night", "desk lamp": "floor lamp", "oat milk": "soy milk"},
    **{"passport": "visa", "landlord": "agency", "WARN": "NOTICE", "ERROR": "FAILURE"},
}
"""What a person might want changed in a text, and into what."""


def note(cast: Cast, rnd: Random) -> str:
    """A list of things to do."""
    return "".join(f"- {task}\n" for task in rnd.sample(TASKS, rnd.randint(2, 5)))


def journal(cast: Cast, rnd: Random) -> str:
    """A few remarks."""
    return "\n".join(rnd.sample(REMARKS, rnd.randint(2, 4))) + "\n"


def invoice(cast: Cast, rnd: Random) -> str:
    """Whom, how much, until when."""
    due = (cast.start + timedelta(days=rnd.randint(-20, 40))).date()
    status = rnd.choice(("paid", "unpaid"))
    amount = f"{rnd.randint(20, 900)}.{rnd.choice(('00', '50'))}"
    return f"From: {rnd.choice(cast.companies)}\nAmount: {amount}\nDue: {due}\nStatus: {status}\n"


def letter(cast: Cast, rnd: Random) -> str:
    """A letter to someone of the cast."""
    to = rnd.choice(cast.others).name
    return f"Dear {to},\n{rnd.choice(REMARKS)}\nBest regards,\n{cast.user.name}\n"


def table(cast: Cast, rnd: Random) -> str:
    """Comma-separated expenses."""
    rows = [f"{rnd.choice(ITEMS)},{rnd.randint(4, 180)}\n" for _ in range(rnd.randint(2, 5))]
    return "item,amount\n" + "".join(rows)


def numbers(cast: Cast, rnd: Random) -> str:
    """Lines that start with a count."""
    return "".join(f"{rnd.randint(1, 120)} {item}\n" for item in rnd.sample(ITEMS, 4))


def log(cast: Cast, rnd: Random) -> str:
    """Lines of a log."""
    lines = rnd.choices(EVENTS, k=rnd.randint(4, 8))
    return "".join(f"08:{i * 7:02d} {line}\n" for i, line in enumerate(lines))


def recipe(cast: Cast, rnd: Random) -> str:
    """What a dish needs."""
    return "\n".join(rnd.sample(INGREDIENTS, rnd.randint(3, 5))) + "\n"


def settings(cast: Cast, rnd: Random) -> str:
    """Keys and values."""
    return "\n".join(rnd.sample(SETTINGS, rnd.randint(3, 5))) + "\n"


def script(cast: Cast, rnd: Random) -> str:
    """A small shell script."""
    return f"#!/bin/sh\nset -e\necho '{rnd.choice(TASKS)}'\n"


def people(cast: Cast, rnd: Random) -> str:
    """Names and addresses."""
    some = rnd.sample(cast.others, rnd.randint(2, 4))
    return "".join(f"{person.name} <{person.email}>\n" for person in some)


def paper(cast: Cast, sent: Paper) -> str:
    """A document of one of the world's stories: what it is, from whom, for whom, until when."""
    kind = sent.filename.rpartition("_")[0].replace("_", " ").capitalize()
    valid = (sent.sent + timedelta(days=60)).date()
    sender = f"{sent.sender.name} <{sent.sender.email}>"
    head = f"{kind}\nFrom: {sender}, {sent.sender.company}\nTo: {cast.user.name}\n"
    return f"{head}Dated: {sent.sent.date()}\nValid until: {valid}\nStatus: for review\n"
