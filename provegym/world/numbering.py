"""Names for created rows that depend on nothing but their content: canonical labelling.

Rows are ordered by their content with every created id blanked out. Rows that this leaves tied
differ at most in what they refer to and what refers to them. Those are told apart by colour
refinement (Weisfeiler and Leman, 1968): a row's colour is its content, and that of each row that
mentions it, with ids replaced by the colours of the round before. Where a tie remains, each tied
row in turn is singled out, and the choice with the least outcome is taken.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

Names = dict[str, str]
"""What stands for each created id."""
Content = Mapping[str, Mapping[str, Mapping[str, Any] | None]]
"""Fields by table and row."""

TRIES = 64
"""Choices that are followed through among tied and linked rows; crafted structures need more."""

_ID = "\x1f"
"""Begins what stands for an id, so that no text is taken for one."""

_canonical = msgspec.json.Encoder(order="sorted").encode


def number(created: Content, changed: Content) -> tuple[Names, bool]:
    """`+1, +2, ...` for the created rows of each table, and whether any row mentions one of them.

    `changed` are the differing fields of the seed's rows, which may mention created ones.
    """
    ids = frozenset(key for rows in created.values() for key in rows)
    if not ids:
        return {}, False
    told = _canonical([list(rows.values()) for rows in (*created.values(), *changed.values())])
    mentioned = any(_canonical(key) in told for key in ids)
    blank = dict.fromkeys(ids, _ID) if mentioned else {}
    places: dict[str, Any] = {}
    tied: set[str] = set()
    for rows in created.values():
        if len(rows) == 1:
            places.update(dict.fromkeys(rows, ""))
            continue
        texts = {key: _canonical(rename(row, blank)) for key, row in rows.items()}
        places.update(texts)
        if mentioned and len(set(texts.values())) < len(texts):
            times = Counter(texts.values())
            tied.update(key for key, text in texts.items() if times[text] > 1)
    if tied and _linked(tied, created, changed, ids):
        order = _Graph(created, changed, ids).order()
        places = {key: place for place, key in enumerate(order)}
    names = {
        key: f"+{i}"
        for rows in created.values()
        for i, key in enumerate(sorted(rows, key=places.__getitem__), 1)
    }
    return names, mentioned


def _linked(tied: set[str], created: Content, changed: Content, ids: frozenset[str]) -> bool:
    """Whether any tied row mentions a created row or is mentioned: if not, any order will do."""
    tables = (*created.values(), *changed.values())
    mentions = ((key, _mentioned(row, ids)) for rows in tables for key, row in rows.items())
    return any(found & tied or (found and key in tied) for key, found in mentions)


def rename(value: Any, names: Names) -> Any:
    """`value` with every string that is a created id replaced by its name."""
    kind = type(value)
    if kind is str:
        return names.get(value, value)
    if kind is list:
        return [rename(item, names) for item in value]
    if kind is dict:
        return {key: rename(item, names) for key, item in value.items()}
    return value


Colours = dict[str, int]
Entry = tuple[str, str]
"""A node's signature under the colours by which it was placed, and the node."""


class _Row(Struct, frozen=True):
    """A created or changed row, and the created rows that it mentions."""

    place: str
    content: Any
    text: str
    mentions: frozenset[str]

    @classmethod
    def of(cls, place: str, content: Any, ids: frozenset[str]) -> _Row:
        """A row with its text (as it is where it mentions none of `ids`)."""
        return cls(place, content, _canonical(content).decode(), _mentioned(content, ids))


class _Graph:
    """Created rows as the nodes of a graph whose edges are mentions of ids."""

    def __init__(self, created: Content, changed: Content, ids: frozenset[str]) -> None:
        self._rows = {
            key: _Row.of(table, row, ids)
            for table, rows in created.items()
            for key, row in rows.items()
        }
        seeded = [
            _Row.of(f"{table}/{key}", row, ids)
            for table, rows in changed.items()
            for key, row in rows.items()
        ]
        self._by: dict[str, list[tuple[str | None, _Row]]] = {key: [] for key in ids}
        """For each created row, those that mention it; None stands for a row of the seed."""
        for key, row in (*self._rows.items(), *((None, row) for row in seeded)):
            for mentioned in row.mentions:
                self._by[mentioned].append((key, row))

    def order(self) -> list[str]:
        """All nodes in canonical order."""
        blank = dict.fromkeys(self._rows, 0)
        start = _ranks({k: (r.place, _said(r, "", blank)) for k, r in self._rows.items()})
        return [key for _, key in self._sorted(frozenset(self._rows), self._stable(start), TRIES)]

    def _sorted(self, nodes: frozenset[str], colours: Colours, tries: int) -> list[Entry]:
        """The nodes in order. Equal lists of signatures are the same up to renaming."""
        cells: defaultdict[int, list[str]] = defaultdict(list)
        for key in nodes:
            cells[colours[key]].append(key)
        tied = frozenset(key for cell in cells.values() if len(cell) > 1 for key in cell)
        parts = [self._component(part, colours, tries) for part in self._components(tied)]
        parts += [[(self._signature(key, colours), key)] for key in nodes - tied]
        parts.sort(key=_signatures)
        return sorted((entry for part in parts for entry in part), key=lambda e: colours[e[1]])

    def _component(self, nodes: frozenset[str], colours: Colours, tries: int) -> list[Entry]:
        """The order within rows that are tied and linked: the least over who goes first."""
        if len(nodes) == 1:
            return [(self._signature(key, colours), key) for key in nodes]
        least = min(colours[key] for key in nodes)
        first = sorted(key for key in nodes if colours[key] == least)[: max(1, tries)]
        found = []
        for key in first:
            chosen = self._stable({k: 2 * c + (k != key) for k, c in colours.items()})
            found.append(self._sorted(nodes, chosen, tries // len(first)))
        return min(found, key=_signatures)

    def _components(self, nodes: frozenset[str]) -> list[frozenset[str]]:
        """Parts of `nodes` that no mention links."""
        left, parts = set(nodes), list[frozenset[str]]()
        while left:
            part, todo = set[str](), {min(left)}
            while todo:
                left -= todo
                part |= todo
                todo = {other for key in todo for other in self._neighbours(key)} & left
            parts.append(frozenset(part))
        return parts

    def _neighbours(self, key: str) -> frozenset[str]:
        return self._rows[key].mentions.union(k for k, _ in self._by[key] if k)

    def _stable(self, colours: Colours) -> Colours:
        """Refine until no colour splits any more; the order of different colours stays."""
        while True:
            refined = _ranks({k: (c, self._signature(k, colours)) for k, c in colours.items()})
            if len(set(refined.values())) == len(set(colours.values())):
                return refined
            colours = refined

    def _signature(self, key: str, colours: Colours) -> str:
        """A node's content and its mentions by others, with colours for ids, itself as "me"."""
        around = sorted(
            f"{row.place} {colours[other] if other else ''} {_said(row, key, colours)}"
            for other, row in self._by[key]
        )
        return "\n".join([_said(self._rows[key], key, colours), *around])


def _signatures(entries: list[Entry]) -> list[str]:
    return [signature for signature, _ in entries]


def _ranks(keys: Mapping[str, Any]) -> Colours:
    rank = {value: i for i, value in enumerate(sorted(set(keys.values())))}
    return {key: rank[value] for key, value in keys.items()}


def _said(row: _Row, me: str, colours: Colours) -> str:
    """A row's content with colours for the ids that it mentions."""
    if not row.mentions:
        return row.text
    names = {key: f"{_ID}{'me' if key == me else colours[key]}" for key in row.mentions}
    return _canonical(rename(row.content, names)).decode()


def _mentioned(value: Any, known: frozenset[str]) -> frozenset[str]:
    found: set[str] = set()
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            found |= {item} & known
        elif isinstance(item, dict):
            todo += item.values()
        elif isinstance(item, list):
            todo += item
    return frozenset(found)
