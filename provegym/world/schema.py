"""Typed parameters to portable JSON Schema and to a compiled decoder.

Portable means: only `type, enum, properties, items, required, minimum, maximum, description,
default`; no `anyOf`, `$ref` or `null`. An optional parameter is a plain type that is not in
`required`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import NODEFAULT, Meta, Struct

from provegym.world.fields import Field, fields_of

KEYWORDS = frozenset(
    (
        *("type", "enum", "properties", "items", "required"),
        *("minimum", "maximum", "description", "default"),
    )
)
_TYPES: dict[type, str] = {
    **{str: "string", int: "integer", float: "number", bool: "boolean"},
    dict: "object",  # of any members; only a server outside has such values
}


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
    """The msgspec type of a parameter, bounds included; null is nowhere accepted."""
    if p.choices:
        return Literal[p.choices]
    if p.item is not None:
        return list[decoded_type(p.item)]  # type: ignore[misc]
    if isinstance(p.type, type) and issubclass(p.type, Struct):
        return _strict(p.type)
    if p.type is int or p.range:
        low, high = bounds(p)
        return Annotated[p.type, Meta(ge=low, le=high)]
    return p.type


@lru_cache(maxsize=1024)
def _strict(record: type[Struct]) -> type[Struct]:
    """A subclass that decodes exactly what the record's schema says."""
    default = {f.name: (f.default, f.default_factory) for f in msgspec.structs.fields(record)}
    fields: list[Any] = []
    for f in fields_of(record):
        value, factory = default[f.name]
        keep = [] if (value, factory) == (NODEFAULT, NODEFAULT) else [_default(value, factory)]
        fields.append((f.name, decoded_type(f), *keep))
    return msgspec.defstruct(
        record.__name__,
        fields,
        bases=(record,),
        module=record.__module__,
        forbid_unknown_fields=True,
        frozen=True,
        kw_only=True,
    )


def _default(value: Any, factory: Any) -> Any:
    return msgspec.field(default_factory=factory) if value is NODEFAULT else value


def bounds(p: Field) -> tuple[int | float | None, int | float | None]:
    """Least and greatest value of a number; whole ones fit 64 bits whatever is declared."""
    low, high = (p.range.minimum, p.range.maximum) if p.range else (None, None)
    if p.type is int:
        return (-(2**63) if low is None else low), (2**63 - 1 if high is None else high)
    return low, high


def format_check(f: Field) -> Callable[[Any], object] | None:
    """A test of how all strings inside a decoded value are written; None if any text will do."""
    if f.format:
        return f.format.accepts
    if f.item is not None:
        inner = format_check(f.item)
        return inner and (lambda values: all(map(inner, values)))
    if isinstance(f.type, type) and issubclass(f.type, Struct):
        return _record_check(f.type)
    return None


def _record_check(record: type[Struct]) -> Callable[[Any], object] | None:
    defaults = {f.name: f.default for f in msgspec.structs.fields(record)}
    checks = tuple(
        (f.name, check, defaults[f.name]) for f in fields_of(record) if (check := format_check(f))
    )

    def accepts(value: Any) -> bool:
        given = ((getattr(value, name), check, default) for name, check, default in checks)
        return all(item == default or check(item) for item, check, default in given)

    return accepts if checks else None


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
