"""What a user turn must not give away or be: checks that any writer of turns can be held to."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache

from msgspec import Struct

from provegym.dataset.languages import surely
from provegym.dataset.overlap import strings
from provegym.types import Task

LONGEST = 2000
"""Characters of the longest turn that a person would write; BFCL's longest has 932."""
GRANTED = "You now have the tool {tool}. Please go ahead."
"""What a user says who brings a tool, whoever wrote the other words and in which language."""


class Leak(Struct, frozen=True):
    """Something wrong with a user turn (counted from 0), and the text that shows it."""

    check: str
    turn: int
    seen: str


class Rules(Struct, frozen=True):
    """What turns are held to: no ids with these prefixes, and these languages (ISO 639-1)."""

    prefixes: Collection[str] = ()
    """Of the ids that worlds mint: `Table.prefix` of each table."""
    languages: tuple[str, ...] = ("en",)


def leaks(task: Task, rules: Rules) -> tuple[Leak, ...]:
    """Everything wrong with the task's user turns, by check and turn; empty for a sound task."""
    return tuple(
        Leak(name, turn, seen)
        for name, check in CHECKS.items()
        for turn, seen in check(task, rules)
    )


Found = Iterator[tuple[int, str]]
"""Turns that fail a check, each with what shows it."""


def row_ids(task: Task, rules: Rules) -> Found:
    """Ids that a world mints, like `acc_y12026`: people know names, paths and codes instead.

    A word of that shape without a digit ("line_number") is an id only if the task has it.
    """
    if not rules.prefixes:
        return
    shape = _alone(id_shape(rules.prefixes))
    for i, turn in enumerate(task.turns):
        for word in shape.findall(turn.user):
            if any(map(str.isdecimal, word)) or word in _held(task):
                yield i, word


def id_shape(prefixes: Collection[str]) -> str:
    """A pattern for ids as worlds mint them with these prefixes."""
    return rf"(?:{'|'.join(map(re.escape, prefixes))})_[0-9a-z]{{6}}"


def _held(task: Task) -> set[str]:
    truth = [[call.arguments, call.result] for _, call in task.ground_truth]
    return set(strings([truth, task.final_changes]))


def tool_names(task: Task, rules: Rules) -> Found:
    """Names of the task's tools, but in the turn that grants the tool."""
    shown = [*task.tools, *(tool for turn in task.turns for tool in turn.tools)]
    names = {tool.function.name for tool in shown}
    for i, turn in enumerate(task.turns):
        granted = {tool.function.name for tool in turn.tools}
        for name in sorted(names - granted):
            if _said_as_name(name).search(turn.user):
                yield i, name


@lru_cache(maxsize=4096)
def _said_as_name(name: str) -> re.Pattern[str]:
    """The name as a word; one that is a plain word too ("move") only as code."""
    if name.isalpha() and name.islower():
        return re.compile(rf"`{name}`|\b{name}\(")
    return _alone(re.escape(name))


@lru_cache(maxsize=4096)
def _alone(pattern: str) -> re.Pattern[str]:
    """The pattern where it is no part of a path, an address, a handle or a file's name."""
    return re.compile(rf"(?<![\w/.@#-]){pattern}(?![\w/@-]|\.\w)")


def languages(task: Task, rules: Rules) -> Found:
    """Turns that are surely in another language; texts in quotes may be in any."""
    for i, turn in enumerate(task.turns):
        grants = (GRANTED.format(tool=tool.function.name) for tool in turn.tools)
        own = next((turn.user.removeprefix(g) for g in grants if turn.user.startswith(g)), None)
        language = surely(turn.user if own is None else own)
        if language and language not in rules.languages:
            yield i, language


def empty(task: Task, rules: Rules) -> Found:
    """Turns without a letter or a digit."""
    for i, turn in enumerate(task.turns):
        if not any(map(str.isalnum, turn.user)):
            yield i, turn.user


def too_long(task: Task, rules: Rules) -> Found:
    """Turns over `LONGEST` characters."""
    for i, turn in enumerate(task.turns):
        if len(turn.user) > LONGEST:
            yield i, f"{len(turn.user)} characters"


def repeated(task: Task, rules: Rules) -> Found:
    """Turns that say what an earlier one of the task said."""
    said: set[str] = set()
    for i, turn in enumerate(task.turns):
        text = " ".join(turn.user.casefold().split())
        if text and text in said:
            yield i, turn.user
        said.add(text)


CHECKS: dict[str, Callable[[Task, Rules], Found]] = {
    "row_id": row_ids,
    "tool_name": tool_names,
    "language": languages,
    "empty": empty,
    "too_long": too_long,
    "repeated": repeated,
}
