"""Which texts name things, and which parameters take such a name: entities without typed ids.

Nothing here is told by the server. Names of fields and of parameters are compared word by word,
values that the same texts stand for are one kind of thing, and what a call accepts settles it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from provegym.gateway.external.learned import Entity, Foreigner
from provegym.gateway.external.names import MAKERS, READERS, noun, plural, tokens
from provegym.gateway.external.shapes import texts

LABELS = ("title", "name", "label", "subject", "summary", "email")
"""Fields that people name a thing by where its id says nothing to them."""
PROSE = frozenset(
    [
        *("content", "contents", "text", "body", "message", "description", "note", "comment"),
        *("observation", "summary", "value", "output", "result"),
    ]
)
"""Fields whose texts name nothing."""
WRAPPERS = frozenset(["result", "results", "items", "data"])
"""Members that hold a whole result and say nothing of it."""
KEYS = frozenset(["id", "name", "key", "path"])
"""Last words of names of what tells things apart."""
RESERVED = frozenset(
    [*("calls", "records", "call", "cast", "now", "server", "stamp", "pools", "tables", "table_of")]
)
"""Names that a session's state has itself."""
LONGEST = 80
"""Characters of a name."""
_OPAQUE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{12,}|[a-z]+-\d+|(?=\w*\d)[A-Za-z0-9]+_[A-Za-z0-9]{4,}",
    re.IGNORECASE,
)


class Sample(Struct, frozen=True):
    """A call of a tool, by its index, and what it gave."""

    tool: int
    arguments: dict[str, Any]
    result: Any
    wrote: bool = False
    """Whether it changed the state, so that what it shows was not there before."""


Place = tuple[int, str]
"""A tool, by its index, and a path in its results."""


class Leaf(NamedTuple):
    """A text in a result: of which tool, where, and the record around it."""

    tool: int
    path: str
    value: str
    around: dict[str, Any]


class Kinds(Struct, frozen=True):
    """What was inferred from samples."""

    entities: tuple[Entity, ...]
    shows: dict[Place, str]
    values: dict[str, dict[str, str]]
    """By entity, the values seen with their labels."""


def leaves(sample: Sample) -> Iterator[Leaf]:
    """All texts of a result that may name something."""
    yield from _leaves(sample.tool, sample.result, "", {})


def _leaves(tool: int, value: Any, path: str, around: dict[str, Any]) -> Iterator[Leaf]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(tool, inner, f"{path}/{name}", value)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(tool, inner, f"{path}/*", around)
    elif isinstance(value, str) and path and _may_name(value, path):
        yield Leaf(tool, path, value, around)


def _may_name(value: str, path: str) -> bool:
    """Whether a text is short enough for a name, and stands where no prose is."""
    listed = path.endswith("/*")
    short = 0 < len(value) <= LONGEST and "\n" not in value
    return short and (listed or not PROSE.intersection(tokens(field_of(path))))


def field_of(path: str) -> str:
    """The last name of a path: `/entities/*/name` ends in name."""
    return next((step for step in reversed(path.split("/")) if step != "*"), "")


def words_of(path: str, tool: str = "") -> tuple[str, ...]:
    """A field with what holds it, in words: `/entities/*/name` is (entity, name). What stands in no
    list belongs to what the tool is about.
    """
    steps = [step for step in path.split("/") if step and step != "*"]
    steps = steps[1:] if steps and steps[0] in WRAPPERS else steps
    if not steps:
        return noun(tool)
    holder = tokens(steps[-2])[-1:] if len(steps) > 1 else noun(tool)
    own = tokens(steps[-1])
    return own if holder == own[:1] else (*holder, *own)


def infer(tools: Sequence[Foreigner], samples: Sequence[Sample]) -> Kinds:
    """The kinds of things that the samples show. Places whose values overlap are of one kind."""
    places: defaultdict[Place, dict[str, dict[str, Any]]] = defaultdict(dict)
    made: set[tuple[Place, str]] = set()
    for sample in samples:
        for leaf in leaves(sample):
            place = leaf.tool, leaf.path
            places[place].setdefault(leaf.value, leaf.around)
            made |= {(place, leaf.value)} if sample.wrote else set()
    groups: list[list[Place]] = []
    for place in sorted(places, key=lambda p: (-_telling(p, places[p]), p)):
        for group in groups:
            if any(_same(place, other, places, tools) for other in group):
                group.append(place)
                break
        else:
            groups.append([place])
    entities: list[Entity] = []
    shows: dict[Place, str] = {}
    values: dict[str, dict[str, str]] = {}
    for group in groups:
        name = _free(_called(words_of(group[0][1], tools[group[0][0]].real)), values)
        label = _label({v: around for p in group for v, around in places[p].items()})
        merged = {v: around for p in group for v, around in places[p].items() if (p, v) not in made}
        entities.append(Entity(name, label))
        shows |= dict.fromkeys(group, name)
        values[name] = {v: str(around.get(label, "")) for v, around in merged.items()}
    return Kinds(tuple(entities), shows, values)


def _telling(place: Place, found: dict[str, dict[str, Any]]) -> int:
    """How well a place tells what its kind is called: ids and names of records first."""
    last = tokens(field_of(place[1]))[-1:]
    return 1000 * bool(KEYS.intersection(last)) + min(len(found), 999)


def _same(
    one: Place,
    other: Place,
    places: dict[Place, dict[str, dict[str, Any]]],
    tools: Sequence[Foreigner],
) -> bool:
    """Whether two places show things of one kind: called the same, or with values in common."""
    words = [words_of(p[1], tools[p[0]].real) for p in (one, other)]
    bare = [tokens(field_of(p[1])) for p in (one, other)]
    if words[0] in (words[1], bare[1]) or words[1] == bare[0]:
        return True
    a, b = places[one].keys(), places[other].keys()
    shared = len(a & b)
    return shared >= 2 and 2 * shared >= min(len(a), len(b))


def _called(words: tuple[str, ...]) -> str:
    """What things are called that such a field tells apart: (ticket, id) are tickets."""
    kept = words[:-1] if len(words) > 1 and words[-1] in KEYS else words
    name = plural("_".join(kept) or "thing")
    return name if name[0].isalpha() else f"n{name}"


def _free(name: str, taken: dict[str, Any]) -> str:
    found, number = name, 2
    while found in taken or found in RESERVED:
        found, number = f"{name}_{number}", number + 1
    return found


def _label(found: dict[str, dict[str, Any]]) -> str:
    """The field that people name such things by, if their ids say nothing."""
    if not all(_OPAQUE.fullmatch(value) for value in found):
        return ""
    for label in LABELS:
        said = [around.get(label) for around in found.values()]
        if all(isinstance(text, str) and text for text in said) and len(set(said)) == len(said):
            return label
    return ""


def candidates(tool: Foreigner, kinds: Kinds, tools: Sequence[Foreigner]) -> dict[str, list[str]]:
    """By path in the tool's arguments, the kinds that a text there may name, the likeliest first.

    What a tool makes gets a new name: `create_entities` takes no entity's name.
    """
    known: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for (place, path), name in kinds.shows.items():
        for words in (words_of(path, tools[place].real), tokens(field_of(path))):
            if name not in known[words]:
                known[words].append(name)
    made = _made(tool)
    found: dict[str, list[str]] = {}
    for path, schema in texts(tool.schema):
        if schema.get("type") != "string" or "enum" in schema:
            continue
        own, whole = tokens(field_of(path)), words_of(path, tool.real)
        if PROSE.intersection(own) and not path.endswith("/*"):
            continue
        called = (whole, own, own[-2:], _bare(own), _bare(whole))
        names = [n for words in called for n in known.get(words, ())]
        names = [n for n in dict.fromkeys(names) if not (made and _names(n, made))]
        if names:
            found[path] = names
    return found


def _bare(words: tuple[str, ...]) -> tuple[str, ...]:
    """A name without the word that says what tells such things apart."""
    return words[:-1] if KEYS.intersection(words[-1:]) else words


def _made(tool: Foreigner) -> str:
    """What the tool makes, empty if it makes nothing."""
    words = set(tokens(tool.real))
    makes = words & MAKERS and not words & READERS
    return noun(tool.real)[0] if makes and noun(tool.real) else ""


def _names(entity: str, made: str) -> bool:
    """Whether the entity is the name of what is made."""
    return entity in (plural(made), plural(f"{made}_title"))
