"""Tools' phrases to a user's words: what is wanted, with entities named as people name them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import msgspec
from msgspec import Struct

from provegym.graph.entities import noun
from provegym.world.fields import Field
from provegym.world.tool import Tool

OPENERS: dict[str, tuple[str, ...]] = {
    "brief": ("",),
    "polite": ("Please ", "Could you please "),
    "chatty": ("Hi! ", "Hey, ", "When you have a moment: "),
}
"""How a persona begins a request."""

AGAIN = ("Thanks. ", "Great. ", "OK. ", "")
ANSWERS = ("{}.", "I mean {}.", "{}, please.")
"""How a user says a value that was missing."""

QUESTIONS = frozenset(["which", "what", "where", "when", "who", "how", "is", "are", "do", "does"])

NO_ORDER = frozenset(
    ["on", "in", "at", "for", "from", "as", "regarding", "i", "i'd", "i'll", "i'm", "i've"]
)
"""How a wish begins that no "please" goes before."""

_THING = (
    r"(?:the |its |a )?"
    r"((?:new |symbolic |tar |discount )*(?:file|directory|folder|link|archive|code|coupon)) "
)
"""What a slot is called where the phrase says it: "the new file {path}"."""


class Vague(Struct, frozen=True):
    """Words that leave a value open, and what it is: "one of the cards", "card"."""

    words: str
    noun: str

    @property
    def ways(self) -> tuple[str, ...]:
        """All words that leave it open: "one of the cards", "a card", "some card"."""
        return self.words, f"{_article(self.noun)} {self.noun}", f"some {self.noun}"


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeio" else "a"


def phrase(tool: Tool, said: Mapping[str, str], rnd: Random) -> str:
    """One of the tool's phrases with its slots filled; optional parts go where a slot is empty."""
    return _filled(rnd.choice(tool.phrases), said)


def phrases(tool: Tool, said: Mapping[str, str]) -> tuple[str, ...]:
    """All of the tool's phrases with their slots filled, in their order."""
    return tuple(_filled(text, said) for text in tool.phrases)


def vague_phrase(
    tool: Tool, said: Mapping[str, str], name: str, left_open: Vague, rnd: Random
) -> tuple[str, str]:
    """The same with the value of `name` left open, and what one may ask for: "the file {path}"
    becomes "a certain file" or "some file", and the question is which file. What the phrase calls
    it goes where the words say it: "the label {label}" becomes "one of the labels" or "a label".
    """
    text = rnd.choice(tool.phrases)
    slot = _THING + rf"\{{{name}\}}"
    thing = re.search(slot, text)
    if thing:
        text = re.sub(slot, rnd.choice(Vague(f"a certain {thing[1]}", thing[1]).ways), text)
    noun = rf"(?:{re.escape(left_open.noun)}|{re.escape(left_open.noun.split()[-1])})"
    named = rf'(?:\b(?:the|a|an|my|our) )?(?:\b{noun} )?"?\{{{name}\}}"?(?: {noun}\b)?'
    text = re.sub(named, f"{{{name}}}", text)
    asked = thing[1] if thing else left_open.noun
    return _filled(text, {**said, name: rnd.choice(left_open.ways)}), asked


def _filled(text: str, said: Mapping[str, str]) -> str:
    text = re.sub(r"\[([^\]]*)\]", lambda m: _kept(m[1], said), text)
    filled = re.sub(r"\{(\w+)\}", lambda m: said[m[1]], text)
    return filled.replace('""', '"').strip().rstrip(".")


def _kept(part: str, said: Mapping[str, str]) -> str:
    return part if all(name in said for name in re.findall(r"\{(\w+)\}", part)) else ""


def says_all(tool: Tool, said: Mapping[str, str]) -> bool:
    """Whether every phrase of the tool has a place for each of the values."""
    return all(all(f"{{{name}}}" in text for name in said) for text in tool.phrases)


def value(tool: Tool, name: str, given: Any) -> str:
    """How a person says a plain value."""
    parameter = next(p for p in tool.parameters if p.name == name)
    kind = parameter.format.name if parameter.format else ""
    if kind == "money":
        return f"${given}"
    if isinstance(given, bool):
        return "yes" if given else "no"
    if isinstance(given, list):
        return " and ".join(_plain(parameter.item, item) for item in given)
    if isinstance(given, str) and given in parameter.choices and "_" in given:
        return _plain(parameter, given)
    if isinstance(given, str) and (kind == "text" or not given.strip() or " " in given):
        return f'"{given}"'
    return _text(given)


def _text(given: Any) -> str:
    """A value as text; a record, which nobody says, as JSON."""
    return msgspec.json.encode(given).decode() if isinstance(given, dict | list) else str(given)


def _plain(parameter: Field | None, given: Any) -> str:
    """A value without the underscores that a choice may have: "in_transit" is "in transit"."""
    chosen = parameter and given in parameter.choices
    return str(given).replace("_", " ") if chosen else _text(given)


def may_stay_open(parameter: Field) -> bool:
    """Whether there are words for a value of the parameter that leave it open."""
    return bool(parameter.ref or (parameter.format and parameter.format.name in _OPEN))


def vague(parameter: Field, given: Any) -> Vague | None:
    """How a person leaves the value open; None where no wording sounds right."""
    kind = parameter.format.name if parameter.format else ""
    if kind in _OPEN:
        return _OPEN[kind]
    if parameter.ref is None or not isinstance(given, str):
        return None
    if "/" in given:
        thing = "file" if "." in given.rsplit("/")[-1] else "folder"
        return Vague(f"a certain {thing}", thing)
    table = parameter.ref.split(".")[-1].replace("_", " ")
    return Vague(f"one of the {table}", noun(parameter.ref))


_OPEN = {
    "money": Vague("a certain amount", "amount"),
    "date": Vague("a certain date", "date"),
    "instant": Vague("a certain time", "time"),
}


def answer(words: str, rnd: Random) -> str:
    """A user's reply with the value that was missing; the value itself stays as it is."""
    text = rnd.choice(ANSWERS).format(words)
    return text[:1].upper() + text[1:] if words.startswith(("the ", "my ")) else text


def request(phrases: Sequence[str], style: str, rnd: Random, *, again: bool) -> str:
    """One user turn of several wishes in order. Questions are sentences of their own."""
    opener = rnd.choice(AGAIN if again else _openers(phrases[0], style))
    if "lease" in opener and phrases[0].split(" ", 1)[0].lower() in NO_ORDER:
        opener = ""
    if any(map(is_question, phrases)) and len(phrases) > 1:
        return _opened(opener, " ".join(_sentence(p, i > 0) for i, p in enumerate(phrases)))
    first, *rest = phrases
    for i, text in enumerate(rest):
        first += f", {'after that' if 0 < i == len(rest) - 1 else 'then'} {lower(text)}"
    asks = opener.startswith("Could") or is_question(first)
    return _opened(opener, first) + ("?" if asks and "? " not in first else ".")


def also(phrases: Sequence[str]) -> str:
    """More wishes after an answer, each a sentence; empty without any."""
    return "".join(" " + _sentence(p, later=True) for p in phrases)


def _openers(first: str, style: str) -> Sequence[str]:
    """Those that go before it: no "please" before a question, a "please" or an "I"."""
    alone = is_question(first) or first.startswith(("Please ", "I "))
    return [o for o in OPENERS[style] if not (alone and "lease" in o)] or [""]


def _opened(opener: str, text: str) -> str:
    inside = not opener or opener.endswith((". ", "! ", ": "))
    return opener + (text if inside else lower(text))


def _sentence(text: str, later: bool) -> str:
    if is_question(text):
        return (f"And {lower(text)}" if later else text) + ("." if "? " in text else "?")
    return (f"Then {lower(text)}" if later else text) + "."


def is_question(text: str) -> bool:
    """Whether a wish is put as a question."""
    return text.split(" ", 1)[0].lower() in QUESTIONS


def lower(text: str) -> str:
    """Lower the first letter unless the word is "I", an acronym or a name in quotes."""
    keeps = text[1:2].isupper() or text.startswith(("I ", "I'"))
    return text if keeps else text[:1].lower() + text[1:]
