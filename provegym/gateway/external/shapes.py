"""Portable schemas and JSON values to the types that our tools are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Struct

from provegym.world.fields import Range, Ref

Json = dict[str, Any]
_PLAIN: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool}


def annotation(schema: Json, refs: Mapping[str, str], path: str = "") -> Any:
    """The type of a value at `path`; a text whose path is in `refs` names such an entity."""
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    kind = schema.get("type")
    if kind == "array":
        return list[annotation(schema.get("items", {}), refs, f"{path}/*")]  # type: ignore[misc]
    if kind == "object":
        return record(schema, refs, path) if schema.get("properties") else dict
    if kind == "string" and path in refs:
        return Annotated[str, Ref(refs[path])]
    if kind in ("integer", "number") and ("minimum" in schema or "maximum" in schema):
        bounds = Range(schema.get("minimum"), schema.get("maximum"))
        return Annotated[_PLAIN[kind], bounds]
    return _PLAIN.get(str(kind), object)


def record(schema: Json, refs: Mapping[str, str], path: str) -> type[Struct]:
    """A Struct with the properties of an object; those that need not be given may be unset."""
    required = set(schema.get("required", ()))
    fields: list[Any] = []
    for name, child in sorted(schema["properties"].items(), key=lambda p: p[0] not in required):
        kind = annotation(child, refs, f"{path}/{name}")
        fields.append((name, kind) if name in required else (name, kind, UNSET))
    return msgspec.defstruct("Arguments", fields, forbid_unknown_fields=True, frozen=True, gc=False)


def result_type(schema: Json, refs: Mapping[str, str]) -> Any:
    """The type of a result: where entities stand in it, with nothing demanded that a server might
    leave out. Members of no plain type, and those without a usable name, are left out.
    """
    return _shown(schema, refs, "") or dict


def _shown(schema: Json, refs: Mapping[str, str], path: str) -> Any:
    kind = schema.get("type")
    if kind == "array":
        item = _shown(schema.get("items", {}), refs, f"{path}/*")
        return item and list[item]  # type: ignore[valid-type]
    if kind == "object":
        inner = schema.get("properties", {})
        known = {n: _shown(s, refs, f"{path}/{n}") for n, s in inner.items() if n.isidentifier()}
        fields: list[Any] = [(n, t | None, UNSET) for n, t in known.items() if t]
        return msgspec.defstruct("Shown", fields, omit_defaults=True) if fields else dict
    if kind == "string" and path in refs:
        return Annotated[str, Ref(refs[path])]
    return _PLAIN.get(str(kind))


def seen(values: Iterable[Any]) -> Json:
    """The schema that some JSON values have in common: the union of their members."""
    found: Json = {}
    for value in values:
        found = _widened(found, value)
    return found


def _widened(schema: Json, value: Any) -> Json:
    if isinstance(value, dict):
        inner = dict(schema.get("properties", {}))
        for name, item in value.items():
            inner[name] = _widened(inner.get(name, {}), item)
        return {"type": "object", "properties": inner, "required": sorted(inner)}
    if isinstance(value, list):
        items: Json = schema.get("items", {})
        for item in value:
            items = _widened(items, item)
        return {"type": "array", "items": items}
    kinds = ((bool, "boolean"), (str, "string"), (int, "integer"), (float, "number"))
    kind = next((name for known, name in kinds if isinstance(value, known)), "")
    return {"type": kind} if kind and schema.get("type", kind) == kind else schema


def texts(schema: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """(path, schema) of every plain value inside a schema; `*` stands for an index."""
    if schema.get("type") == "object":
        for name, child in schema.get("properties", {}).items():
            yield from texts(child, f"{path}/{name}")
    elif schema.get("type") == "array":
        yield from texts(schema.get("items", {}), f"{path}/*")
    elif path:
        yield path, schema
