"""Who the users are: an occupation, a tone and a habit of writing, in one of the languages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from random import Random

from msgspec import Struct

OCCUPATIONS = (
    *("nurse on night shifts", "retired teacher", "plumber", "law student", "florist"),
    *("software tester", "freelance translator", "restaurant owner", "bus driver", "architect"),
    *("accountant", "piano teacher", "warehouse worker", "dentist", "farmer"),
    *("journalist", "personal trainer", "estate agent", "carpenter", "new parent on leave"),
)
TONES = ("curt", "friendly", "formal", "hurried", "patient and precise", "casual")
HABITS = (
    "writes short sentences",
    "puts everything into one sentence",
    "begins with a greeting",
    "says what is wanted first and details after",
    "writes as if to a colleague",
)
"""None of them changes how names and numbers are written, which have to be recognized."""


class Persona(Struct, frozen=True):
    """One way to be a user."""

    occupation: str
    tone: str
    habit: str
    language: str = "English"

    def __str__(self) -> str:
        return f"{self.occupation}; {self.tone}; {self.habit}; {self.language}"


PERSONAS = tuple(Persona(*parts) for parts in product(OCCUPATIONS, TONES, HABITS))
"""All of them, 600."""


def some_persona(languages: Sequence[str], rnd: Random) -> Persona:
    """A fair choice of who writes, and in what."""
    found = rnd.choice(PERSONAS)
    return Persona(found.occupation, found.tone, found.habit, rnd.choice(languages))
