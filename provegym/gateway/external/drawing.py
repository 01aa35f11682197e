"""Plausible arguments for a tool of an external server, in one session.

A text that names a thing is one that is there; arguments that together describe a record are taken
from one and the same record, so that what is to be deleted exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from provegym.gateway.external.learned import Foreigner, Learned
from provegym.gateway.external.scout import SEARCHES
from provegym.gateway.external.settings import External
from provegym.gateway.external.state import Foreign
from provegym.world.sample import OPTIONAL_RATE, WORDS

LIKE_A_RECORD = 0.7
"""How often arguments are taken from one record where there is one that has them all."""
MOST_ITEMS = 3
"""Items of a list."""

Json = dict[str, Any]
Sample = Callable[[Foreign, Random], Json]


def sampler(server: str, tool: Foreigner, told: External, learned: Learned) -> Sample:
    """Draws arguments for the tool from a session's state."""

    def sample(state: Foreign, rnd: Random) -> Json:
        return _Draw(server, tool, told, learned, state, rnd).object(tool.schema, "")

    return sample


class _Draw:
    """One drawing of arguments."""

    def __init__(
        self,
        server: str,
        tool: Foreigner,
        told: External,
        learned: Learned,
        state: Foreign,
        rnd: Random,
    ) -> None:
        self._server, self._tool, self._told, self._learned = server, tool, told, learned
        self._state, self._rnd = state, rnd
        self._kinds = {entity.name for entity in learned.entities}

    def object(self, schema: Json, path: str) -> Json:
        """The required members of an object, and some of the others."""
        rnd, required = self._rnd, schema.get("required", ())
        record = self._record(schema, path) if rnd.random() < LIKE_A_RECORD else {}
        found: Json = {}
        for name, child in schema.get("properties", {}).items():
            if name in required or rnd.random() < OPTIONAL_RATE:
                known = record.get(name)
                found[name] = self._value(child, f"{path}/{name}", name) if known is None else known
        return found

    def _value(self, schema: Json, path: str, name: str) -> Any:
        rnd, kind = self._rnd, schema.get("type")
        if name in self._told.values:
            chosen = rnd.choice(self._told.values[name])
            return [chosen] if kind == "array" else chosen
        if "enum" in schema:
            return rnd.choice(schema["enum"])
        if kind == "array":
            return self._list(schema.get("items", {}), path, name)
        if kind == "object":
            return self.object(schema, path)
        if kind == "boolean":
            return rnd.random() < 0.5
        if kind in ("integer", "number"):
            return _number(schema, rnd)
        return self._text(path, name)

    def _list(self, items: Json, path: str, name: str) -> list[Any]:
        found: list[Any] = []
        for _ in range(self._rnd.randint(1, MOST_ITEMS)):
            item = self._value(items, f"{path}/*", name)
            found += [item] if item not in found else []
        return found

    def _text(self, path: str, name: str) -> str:
        kind = self._tool.takes.get(path, "")
        if name.lower() in SEARCHES and kind not in self._kinds and self._learned.words:
            return self._rnd.choice(self._learned.words)
        if kind in self._kinds:
            found = self._state.table_of(f"{self._server}.{kind}").any_id(self._rnd)
            if found:
                return found
        return " ".join(self._rnd.sample(WORDS, self._rnd.randint(1, 2)))

    # -- records ---------------------------------------------------------------------------

    def _record(self, schema: Json, path: str) -> Json:
        """Members of the object as one record of the state has them; empty where none does."""
        properties = schema.get("properties", {})
        if len(properties) < 2 or not self._told.shows_state:
            return {}
        wanted = {n: self._kind_at(f"{path}/{n}", s) for n, s in properties.items()}
        if not all(wanted[name] for name in schema.get("required", ())):
            return {}
        fitting = [m for r in self._records() if (m := self._members(r, wanted, properties))]
        return self._rnd.choice(fitting) if fitting else {}

    def _kind_at(self, path: str, schema: Json) -> str:
        """The kind that a member names, or that the items of a list do."""
        inner = f"{path}/*" if schema.get("type") == "array" else path
        return self._tool.takes.get(inner, "")

    def _records(self) -> Iterator[tuple[str, Json]]:
        """(list, record) of every record as it is now."""
        for row in self._state.records:
            if isinstance(row.value, dict):
                yield row.id.rsplit("/", 1)[0], row.value

    def _members(self, found: tuple[str, Json], wanted: dict[str, str], properties: Json) -> Json:
        """What the record holds of each kind; empty if it lacks one that is wanted."""
        where, record = found
        shows = next(t.shows for t in self._learned.tools if t.real == self._told.snapshot)
        by_kind: dict[str, list[Any]] = {}
        for field, value in record.items():
            many = isinstance(value, list)
            kind = shows.get(f"/{where}/*/{field}" + ("/*" if many else ""), "")
            by_kind.setdefault(kind, []).append((field, value))
        members: Json = {}
        for name, kind in wanted.items():
            known = by_kind.get(kind, [])
            match = [v for f, v in known if f == name] or [v for _, v in known[:1]]
            many = properties[name].get("type") == "array"
            if not kind or not match or isinstance(match[0], list) != many or match[0] == []:
                return {}
            members[name] = self._some(match[0]) if many else match[0]
        return members

    def _some(self, values: list[Any]) -> list[Any]:
        return self._rnd.sample(values, self._rnd.randint(1, min(len(values), MOST_ITEMS)))


def _number(schema: Json, rnd: Random) -> int | float:
    low = schema.get("minimum", min(1, schema.get("maximum", 1)))
    high = schema.get("maximum", low + 20)
    if schema["type"] == "integer":
        return rnd.randint(int(low), max(int(low), int(high)))
    return round(rnd.uniform(low, high), 2)
