"""What a task and a benchmark's item could have in common, each aspect as a set of texts.

A text of an aspect that both have is a hit. What everybody says is none: a value counts as an
entity only where `distinctive` holds, a parameter set of two names only together with its tool.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from msgspec import Struct

from provegym.types import Task, Tool

NGRAM = 13
"""Words in a row that two texts share by copying (GPT-3, arXiv 2005.14165, appendix C)."""
STRICT_NGRAM = 8
"""The stricter look: GPT-3's shortest; PaLM's too (arXiv 2204.02311, section 8)."""
NAMED = 4
"""From this many words on, a text is one of its own: people have two, places up to three."""
SET = 3
"""From this many parameters on, a set counts without the name of its tool."""


class Shape(Struct, frozen=True):
    """A tool as far as it can be shared: its name and the names of its parameters."""

    name: str
    parameters: tuple[str, ...]


class Item(Struct, frozen=True):
    """A task, ours or a benchmark's, or a file that belongs to a benchmark's tasks."""

    id: str
    tools: tuple[Shape, ...] = ()
    calls: tuple[str, ...] = ()
    """Names of the tools that its ground truth calls, in order."""
    values: tuple[str, ...] = ()
    """Texts in arguments, results, changes and data bases."""
    texts: tuple[str, ...] = ()
    """What its user says."""


def of_task(task: Task) -> Item:
    """One of our tasks."""
    shown = [*task.tools, *(tool for turn in task.turns for tool in turn.tools)]
    truth = [call for _, call in task.ground_truth]
    held = [[call.arguments, call.result] for call in truth]
    return Item(
        task.id,
        tools=tuple(map(_shape, shown)),
        calls=tuple(call.name for call in truth),
        values=tuple(strings([held, task.final_changes])),
        texts=tuple(turn.user for turn in task.turns),
    )


def _shape(tool: Tool) -> Shape:
    return Shape(tool.function.name, tuple(tool.function.parameters.get("properties", ())))


def strings(value: Any) -> Iterator[str]:
    """All texts and whole numbers in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield str(value)


# -- aspects -----------------------------------------------------------------------------------


def tool_names(item: Item) -> set[str]:
    """Names without the class before the dot, `camelCase` as `camel_case`."""
    return {_plain(tool.name) for tool in item.tools}


def schemas(item: Item) -> set[str]:
    """Sets of parameter names; a set of fewer than `SET` names only with its tool's name."""
    found = set()
    for tool in item.tools:
        names = sorted(map(_plain, tool.parameters))
        owner = "" if len(names) >= SET else _plain(tool.name)
        if names:
            found.add(f"{owner}({', '.join(names)})")
    return found


def entities(item: Item) -> set[str]:
    """The distinctive values, and distinctive words of what the user says."""
    words = (word.strip(".,:;!?") for text in item.texts for word in _WORD_OF_CODE.findall(text))
    return {x for x in map(_folded, (*item.values, *words)) if distinctive(x)}


def sequences(item: Item) -> set[str]:
    """Every run of two or more calls."""
    names = [_plain(name) for name in item.calls]
    runs = ((i, j) for i in range(len(names)) for j in range(i + 2, len(names) + 1))
    return {" > ".join(names[i:j]) for i, j in runs}


def ngrams(item: Item) -> set[str]:
    """Every `NGRAM` words in a row of one turn."""
    return _ngrams(item, NGRAM)


def strict_ngrams(item: Item) -> set[str]:
    """Every `STRICT_NGRAM` words in a row of one turn."""
    return _ngrams(item, STRICT_NGRAM)


ASPECTS: dict[str, Callable[[Item], set[str]]] = {
    "tool_names": tool_names,
    "schemas": schemas,
    "entities": entities,
    "sequences": sequences,
    "ngrams": ngrams,
    "strict_ngrams": strict_ngrams,
}


def _ngrams(item: Item, n: int) -> set[str]:
    said = map(words_of, item.texts)
    return {" ".join(words[i : i + n]) for words in said for i in range(len(words) - n + 1)}


def words_of(text: str) -> list[str]:
    """Lower-case words; punctuation is left out, as GPT-3's comparison does."""
    return _WORD.findall(text.casefold())


_WORD = re.compile(r"\w+(?:['’]\w+)*")
_WORD_OF_CODE = re.compile(r"[\w@#./+:-]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=65_536)
def _plain(name: str) -> str:
    return _HUMP.sub("_", name.rsplit(".", 1)[-1]).casefold().replace("-", "_")


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


# -- what is distinctive -----------------------------------------------------------------------

_COMMON = re.compile(
    r"""\d{4}-\d{2}-\d{2}(?:t.*)?             # dates and instants
    | \d{1,2}/\d{1,2}/\d{2,4}              # dates
    | \d{1,2}:\d{2}(?::\d{2})?             # times of day
    | (?<!\d)(?:19|20)\d{2}(?!\d)          # years
    | ^[-+$€£]?[\d,]*\.?\d+[^\W\d]*%?$     # numbers and quantities: 1000ml, $2.50
    | (?<=[^\W\d])[_-]?\d{1,2}$            # counters: user_1, step-02
    """,
    re.VERBOSE,
)
_MIXED = re.compile(r"[^\W\d_]\d+[^\W\d_]|\d[^\W\d_]+\d")


@lru_cache(maxsize=262_144)
def distinctive(value: str) -> bool:
    """Whether a (folded) value can hardly be in two data sets by chance.

    So are texts of `NAMED` words or more, mail and web addresses, whole numbers of seven digits or
    more that are not round, and codes: at least six characters with three digits or with letters
    and digits mixed, not counting dates, times, years, quantities and counters. Single words,
    people and places ("usd", "emma kim", "new york, ny") are not.
    """
    if " " in value:
        return sum(word.isalpha() for word in words_of(value)) >= NAMED
    if value.isdecimal():
        return len(value) >= 7 and not value.endswith("000")
    if "@" in value[1:] or "://" in value:
        return True
    bare = _COMMON.sub("", value)
    digits = sum(character.isdecimal() for character in bare)
    return len(value) >= 6 and (digits >= 3 or bool(_MIXED.search(bare)))
