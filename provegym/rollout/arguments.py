"""Arguments that fit a JSON Schema, drawn at random, with ids taken from what was seen."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from random import Random
from typing import Any

_EXAMPLE = re.compile(r'e\.g\. "([^"]*)"')
_WORDS = ("lunch", "rent", "report", "notes", "trip", "gift", "budget", "review")
_SPAN = 20
OPTIONAL_RATE = 0.3
"""How often an optional argument is given."""


class Seen:
    """The plain values of results, by the name of the field they stood in."""

    def __init__(self, results: Iterable[Any]) -> None:
        self._values: dict[str, list[Any]] = {}
        for result in results:
            self._collect("", result)

    def of(self, name: str) -> list[Any]:
        """Values seen as `name`, and for an `x_id` those seen as plain `id`."""
        named = self._values.get(name, [])
        return named or (self._values.get("id", []) if name.endswith(("_id", "_ids")) else [])

    def _collect(self, name: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                self._collect(key, inner)
        elif isinstance(value, list):
            for inner in value:
                self._collect(name, inner)
        elif value is not None:
            self._values.setdefault(name, []).append(value)


def arguments_for(schema: dict[str, Any], rnd: Random, seen: Seen) -> dict[str, Any]:
    """An object that fits `schema`: all required properties and some of the optional ones."""
    required = schema.get("required", ())
    return {
        name: value_for(property_, rnd, seen, name)
        for name, property_ in schema.get("properties", {}).items()
        if name in required or rnd.random() < OPTIONAL_RATE
    }


def value_for(schema: dict[str, Any], rnd: Random, seen: Seen, name: str = "") -> Any:
    """A value that fits `schema`; one that was seen under `name`, where it fits."""
    if "enum" in schema:
        return rnd.choice(schema["enum"])
    if "anyOf" in schema:
        return value_for(rnd.choice(schema["anyOf"]), rnd, seen, name)
    kind = schema.get("type", "string")
    kind = rnd.choice(kind) if isinstance(kind, list) else kind
    if kind == "object":
        return arguments_for(schema, rnd, seen)
    if kind == "array":
        return _array(schema, rnd, seen, name)
    if kind == "boolean":
        return rnd.random() < 0.5
    if kind in ("integer", "number"):
        return _number(schema, kind, rnd, seen.of(name))
    return None if kind == "null" else _string(schema, rnd, seen.of(name))


def _array(schema: dict[str, Any], rnd: Random, seen: Seen, name: str) -> list[Any]:
    least = schema.get("minItems", 1)
    count = rnd.randint(least, max(least, min(3, schema.get("maxItems", 3))))
    return [value_for(schema.get("items", {}), rnd, seen, name) for _ in range(count)]


def _number(schema: dict[str, Any], kind: str, rnd: Random, known: list[Any]) -> int | float:
    low, high = _bounds(schema)
    types = (int,) if kind == "integer" else (int, float)
    fitting = [v for v in known if type(v) in types and low <= v <= high]
    if fitting:
        return rnd.choice(fitting)  # type: ignore[no-any-return]
    if kind == "integer":
        return rnd.randint(math.ceil(low), math.floor(high))
    return round(low + rnd.random() * (high - low), 2) if high - low > 0.01 else low


def _bounds(schema: dict[str, Any]) -> tuple[float, float]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None:
        low = 0 if high is None or high >= 0 else high - _SPAN
    return low, low + _SPAN if high is None else high


def _string(schema: dict[str, Any], rnd: Random, known: list[Any]) -> str:
    """A seen string, else the example in the description, else a word."""
    fitting = [value for value in known if isinstance(value, str)]
    if fitting:
        return rnd.choice(fitting)
    example = _EXAMPLE.search(schema.get("description", ""))
    return example[1] if example else rnd.choice(_WORDS)
