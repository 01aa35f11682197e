"""The people and companies that all servers of one world share.

One cast a seed: the same person has the same name, e-mail address and phone in every server,
so that a chain can lead from one server to another.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from random import Random

from faker import Faker
from msgspec import Struct

from provegym.seeding import derive, rng

PEOPLE = 60
COMPANIES = 16


class Person(Struct, frozen=True):
    """One member of the cast."""

    key: str
    name: str
    email: str
    phone: str
    street: str
    city: str
    postcode: str
    company: str
    birthday: date


class Cast(Struct, frozen=True):
    """Everyone in a world. `user` is who the assistant works for; `start` is when it begins."""

    seed: int
    start: datetime
    people: tuple[Person, ...]
    companies: tuple[str, ...]

    @property
    def user(self) -> Person:
        """The person who is asking."""
        return self.people[0]

    @property
    def others(self) -> tuple[Person, ...]:
        """Everyone but the user."""
        return self.people[1:]

    def rng(self, *names: str | int) -> Random:
        """A generator of this world's own for the place called `names`."""
        return rng(self.seed, *names)


@lru_cache(maxsize=256)
def cast(seed: int) -> Cast:
    """The cast of a world: `PEOPLE` distinct names, `COMPANIES` companies, a weekday morning."""
    fake = Faker("en_US", use_weighting=False)
    fake.seed_instance(derive(seed, "cast"))
    rnd = rng(seed, "cast")
    companies = tuple(_distinct(fake.company, COMPANIES))
    names = _distinct(lambda: f"{fake.first_name()} {fake.last_name()}", PEOPLE, by_first=True)
    cities = [fake.city() for _ in range(8)]
    people = tuple(_person(i, n, companies, cities, fake, rnd) for i, n in enumerate(names))
    day = date(2026, 3, 2) + timedelta(weeks=rnd.randrange(30), days=rnd.randrange(5))
    start = datetime(day.year, day.month, day.day, 9, tzinfo=UTC)
    return Cast(seed, start, people, companies)


def _distinct(make: object, count: int, *, by_first: bool = False) -> list[str]:
    assert callable(make)
    found: dict[str, str] = {}
    while len(found) < count:
        text = make()
        found.setdefault(text.split()[0] if by_first else text, text)
    return list(found.values())


def _person(
    i: int, name: str, companies: tuple[str, ...], cities: list[str], fake: Faker, rnd: Random
) -> Person:
    first, last = name.split(" ", 1)
    company = companies[rnd.randrange(len(companies))]
    domain = "".join(c for c in company.split()[0].lower() if c.isalpha()) + ".example"
    return Person(
        key=f"person_{i:02d}",
        name=name,
        email=f"{first}.{last}@{domain}".lower().replace(" ", "").replace("'", ""),
        phone=f"+1{rnd.randrange(200, 990)}555{rnd.randrange(10000):04d}",
        street=f"{rnd.randrange(1, 980)} {fake.street_name()}",
        city=rnd.choice(cities),
        postcode=f"{rnd.randrange(10000, 99999)}",
        company=company,
        birthday=date(1950, 1, 1) + timedelta(days=rnd.randrange(20000)),
    )
