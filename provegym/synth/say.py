"""Tools' phrases to a user's words: what is wanted, with entities named as people name them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random
from typing import Any

from provegym.world.tool import Tool

OPENERS: dict[str, tuple[str, ...]] = {
    "brief": ("",),
    "polite": ("Please ", "Could you please "),
    "chatty": ("Hi! ", "Hey, ", "When you have a moment: "),
}
"""How a persona begins a request."""

AGAIN = ("Thanks. ", "Great. ", "OK. ", "")


QUESTIONS = frozenset(["which", "what", "where", "when", "who", "how", "is", "are", "do", "does"])


def phrase(tool: Tool, said: Mapping[str, str], rnd: Random) -> str:
    """One of the tool's phrases with its slots filled; optional parts go where a slot is empty."""
    text = rnd.choice(tool.phrases)
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
        return " and ".join(str(item) for item in given)
    if isinstance(given, str) and (kind == "text" or not given.strip() or " " in given):
        return f'"{given}"'
    return str(given)


def request(phrases: list[str], style: str, rnd: Random, *, again: bool) -> str:
    """One user turn of several wishes in order."""
    first, *rest = phrases
    question = first.split()[0].lower() in QUESTIONS
    openers = [o for o in OPENERS[style] if not (question and "lease" in o)] or [""]
    opener = rnd.choice(AGAIN) if again else rnd.choice(openers)
    inside = not opener or opener.endswith((". ", "! ", ": "))
    wishes = [first if inside else _lower(first)]
    wishes += [
        f"{'then' if i < len(rest) - 1 else 'after that'} {_lower(p)}"
        if len(rest) > 1
        else f"then {_lower(p)}"
        for i, p in enumerate(rest)
    ]
    asks = opener.startswith("Could") or (question and not rest)
    end = "?" if asks else "."
    return opener + ", ".join(wishes) + end


def _lower(text: str) -> str:
    """Lower the first letter unless the word is "I", an acronym or a name in quotes."""
    keeps = text[1:2].isupper() or text.startswith(("I ", "I'"))
    return text if keeps else text[:1].lower() + text[1:]


def human(parameter: str) -> str:
    """A parameter as a person says it: "start_time" is "start time", an id is its noun."""
    return parameter.removesuffix("_ids").removesuffix("_id").replace("_", " ")
