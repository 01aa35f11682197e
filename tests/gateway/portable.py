"""What a schema must be like so that every client, chat API and guided decoder takes it.

The Inspector's `--strict` lets through a `$ref` to nowhere, a required name without a property and
an array without items; and much of JSON Schema 2020-12 breaks one decoder or another. So a schema
here is flat and made of few keywords.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
ANYWHERE = {"type", "description", "default", "enum"}
KEYWORDS = {"object": {"properties", "required"}, "array": {"items"}}
BOUNDS = {"minimum", "maximum"}
"""Keywords of numbers."""


def problems(schema: Any, at: str = "") -> Iterator[str]:
    """Everything about a schema that some client could not take, each with its place."""
    if not isinstance(schema, dict) or str(schema.get("type")) not in TYPES:
        yield f"{at}: not an object with one of the types {', '.join(TYPES)}"
        return
    kind = schema["type"]
    known = ANYWHERE | KEYWORDS.get(kind, BOUNDS if kind in ("integer", "number") else set())
    for keyword in schema.keys() - known:
        yield f"{at}: {keyword} is no portable keyword of a schema of type {kind}"
    yield from _values(schema, at)
    if kind == "array":
        yield from problems(schema.get("items"), f"{at}[]")
    if kind == "object":
        yield from _properties(schema, at)


def _properties(schema: dict[str, Any], at: str) -> Iterator[str]:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list):
        yield f"{at}: an object needs `properties` and `required`"
        return
    for name in required:
        if name not in properties:
            yield f"{at}: {name} is required and no property"
    if len(set(required)) < len(required):
        yield f"{at}: a name is required twice"
    for name, inner in properties.items():
        yield from problems(inner, f"{at}.{name}")


def _values(schema: dict[str, Any], at: str) -> Iterator[str]:
    """Values in a schema that the schema itself does not allow."""
    enum = schema.get("enum", ())
    if "enum" in schema and (not enum or len(set(enum)) < len(enum)):
        yield f"{at}: an enum has values, each of them once"
    named = [("enum", value) for value in enum]
    named += [(word, schema[word]) for word in ("default", *sorted(BOUNDS)) if word in schema]
    for word, value in named:
        if not _is(value, schema["type"]):
            yield f"{at}: {word} {value!r} is not of type {schema['type']}"
    if "default" in schema and enum and schema["default"] not in enum:
        yield f"{at}: the default is not in the enum"
    if not schema.get("minimum", 0) <= schema.get("maximum", float("inf")):
        yield f"{at}: minimum is above maximum"


def _is(value: Any, kind: str) -> bool:
    """Whether a value is of a type of JSON, where true is no number."""
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
