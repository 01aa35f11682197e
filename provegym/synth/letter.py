"""The second way of the offline teacher to put wishes: as a letter, fully worded and numbered.

    I need the following: (1) transfer $5 from A to B; (2) show my payees.

It shares no opener, no joint and no answer with `provegym.synth.say`, and asks for a tool by its
fullest phrase alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from msgspec import Struct

from provegym.config import Style
from provegym.synth import say
from provegym.world.tool import Tool

OPENINGS = ("I need the following: ", "I am writing to request this: ", "My request: ")
FURTHER = ("Further to this: ", "A further request: ", "Next on my list: ")
ANSWERS = ("What I had in mind is {}.", "The one I refer to: {}.")


class Wording(Struct, frozen=True):
    """How a teacher's users speak; the functions are those of `provegym.synth.say`."""

    of: Callable[[Tool], Tool]
    """The tool with the phrases that are used."""
    request: Callable[..., str]
    answer: Callable[[str, Random], str]
    also: Callable[[Sequence[str]], str]


def fullest(tool: Tool) -> Tool:
    """The tool with the phrase of the most words alone; of several, the first."""
    longest = max(tool.phrases, key=lambda text: len(text.split()))
    return replace(tool, phrases=(longest,))


def request(phrases: Sequence[str], style: str, rnd: Random, *, again: bool) -> str:
    """One user turn of several wishes in order. The persona's `style` makes no difference."""
    return rnd.choice(FURTHER if again else OPENINGS) + _listed(phrases)


def answer(words: str, rnd: Random) -> str:
    """A user's reply with the value that was missing; the value itself stays as it is."""
    return rnd.choice(ANSWERS).format(words)


def also(phrases: Sequence[str]) -> str:
    """More wishes after an answer; empty without any."""
    return f" In addition: {_listed(phrases)}" if phrases else ""


def _listed(phrases: Sequence[str]) -> str:
    wishes = [say.lower(text) for text in phrases]
    if len(wishes) == 1:
        return f"{wishes[0]}{'?' if say.is_question(phrases[0]) and '? ' not in wishes[0] else '.'}"
    return "; ".join(f"({i}) {text}" for i, text in enumerate(wishes, 1)) + "."


WORDINGS: dict[Style, Wording] = {
    "spoken": Wording(lambda tool: tool, say.request, say.answer, say.also),
    "written": Wording(fullest, request, answer, also),
}
