"""Typed parameters to portable JSON Schema and to a compiled decoder.

Portable means: only `type, enum, properties, items, required, minimum, maximum, description,
default`; no `anyOf`, `$ref` or `null`. An optional parameter is a plain type that is not in
`required`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from provegym.world.fields import Field, fields_of

KEYWORDS = frozenset(
    (
        *("type", "enum", "properties", "items", "required"),
        *("minimum", "maximum", "description", "default"),
    )
)
_TYPES: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def parameters_schema(
    parameters: tuple[Field, ...], defaults: dict[str, Any], described: dict[str, str]
) -> dict[str, Any]:
    """The `parameters` object of a function schema."""
    properties = {}
    for p in parameters:
        properties[p.name] = {**field_schema(p), "description": _describe(p, described[p.name])}
        if defaults.get(p.name) not in (None, ()):
            properties[p.name]["default"] = defaults[p.name]
    required = [p.name for p in parameters if p.name not in defaults]
    return {"type": "object", "properties": properties, "required": required}


def _describe(p: Field, text: str) -> str:
    source = p.item or p
    return f"{text} {source.format.hint}".strip() if source.format else text


def field_schema(p: Field) -> dict[str, Any]:
    """The schema of one value; TypeError for a type that is not portable."""
    if p.choices:
        return {"type": _TYPES[type(p.choices[0])], "enum": list(p.choices)}
    if p.item is not None:
        return {"type": "array", "items": field_schema(p.item)}
    if isinstance(p.type, type) and issubclass(p.type, Struct):
        return _struct_schema(p.type)
    if p.type not in _TYPES:
        raise TypeError(f"{p.name}: {p.type!r} cannot be said in a portable schema")
    schema: dict[str, Any] = {"type": _TYPES[p.type]}
    if p.range and p.range.minimum is not None:
        schema["minimum"] = p.range.minimum
    if p.range and p.range.maximum is not None:
        schema["maximum"] = p.range.maximum
    return schema


def _struct_schema(record: type[Struct]) -> dict[str, Any]:
    info = {f.name: f for f in msgspec.structs.fields(record)}
    properties = {f.name: _with_hint(f) for f in fields_of(record)}
    required = [name for name, f in info.items() if f.required]
    return {"type": "object", "properties": properties, "required": required}


def _with_hint(f: Field) -> dict[str, Any]:
    hint = f.format.hint if f.format else ""
    return {**field_schema(f), **({"description": hint} if hint else {})}


def argument_struct(
    name: str, parameters: tuple[Field, ...], defaults: dict[str, Any]
) -> type[Struct]:
    """A Struct that decodes well-formed arguments in one pass and fails on all others."""
    fields: list[Any] = [(p.name, decoded_type(p)) for p in parameters if p.name not in defaults]
    fields += [
        (p.name, decoded_type(p), defaults[p.name]) for p in parameters if p.name in defaults
    ]
    return msgspec.defstruct(
        f"{name}_arguments", fields, forbid_unknown_fields=True, frozen=True, gc=False
    )


def decoded_type(p: Field) -> Any:
    """The msgspec type of a parameter, bounds included."""
    if p.choices:
        return Literal[p.choices]
    if p.item is not None:
        return list[decoded_type(p.item)]  # type: ignore[misc]
    if isinstance(p.type, type) and issubclass(p.type, Struct):
        return p.type
    if p.range:
        return Annotated[p.type, Meta(ge=p.range.minimum, le=p.range.maximum)]
    return p.type


def lint(schema: dict[str, Any], where: str = "") -> list[str]:
    """What is not portable in a schema, one line each."""
    found = [f"{where or '/'}: keyword {k!r}" for k in schema if k not in KEYWORDS]
    if not isinstance(schema.get("type"), str) or schema["type"] == "null":
        found.append(f"{where or '/'}: type {schema.get('type')!r}")
    for name, child in schema.get("properties", {}).items():
        found += lint(child, f"{where}/{name}")
    if "items" in schema:
        found += lint(schema["items"], f"{where}/items")
    return found
