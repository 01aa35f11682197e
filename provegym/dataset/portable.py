"""Tools as other data sets write them, as functions with portable schemas.

Three ways are understood: JSON Schema with Python's or BFCL's names of types ("dict", "float"),
the same with `required` beside `parameters` (When2Call's training files), and a flat table of
parameters with types like "int, optional" or "List[str]" (xLAM). What comes out has only names
that every endpoint takes, and only `type, enum, properties, items, required, description`.
"""

from __future__ import annotations

import re
from typing import Any

from provegym.types import Function, Tool

_TYPES = {
    **dict.fromkeys(("str", "string", "text", "char"), "string"),
    **dict.fromkeys(("int", "integer", "long"), "integer"),
    **dict.fromkeys(("float", "number", "double", "decimal"), "number"),
    **dict.fromkeys(("bool", "boolean"), "boolean"),
    **dict.fromkeys(("dict", "object", "map", "hashmap"), "object"),
    **dict.fromkeys(("list", "array", "tuple", "set", "sequence", "arraylist"), "array"),
}
"""Every other type becomes a string, for a schema without a type is not taken everywhere."""
_VALUES: dict[str, tuple[type, ...]] = {"string": (str,), "integer": (int,), "number": (int, float)}
_NO_NAME_CHARACTER = re.compile(r"[^a-zA-Z0-9_-]")
NAME_LENGTH = 64
"""Most characters of a function's name (OpenAI's limit)."""


def tool(foreign: Any) -> Tool | None:
    """The tool in OpenAI's form; None where it is no object with a name."""
    if not isinstance(foreign, dict) or not isinstance(foreign.get("name"), str):
        return None
    name = _NO_NAME_CHARACTER.sub("_", foreign["name"])[:NAME_LENGTH]
    parameters = foreign.get("parameters") or {}
    if not name or not isinstance(parameters, dict):
        return None
    return Tool(Function(name, str(foreign.get("description") or ""), _object(foreign, parameters)))


def _object(foreign: dict[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
    """The schema of the arguments."""
    if isinstance(parameters.get("type"), str):
        beside = foreign.get("required")
        return schema({"required": beside, **parameters} if beside else parameters)
    properties = {name: schema(p) for name, p in parameters.items() if isinstance(p, dict)}
    required = [name for name in properties if not _is_optional(parameters[name])]
    return {"type": "object", "properties": properties, "required": required}


def schema(foreign: dict[str, Any]) -> dict[str, Any]:
    """One schema of JSON Schema's kind, nested ones included."""
    kind, item = _kind(foreign.get("type"))
    found: dict[str, Any] = {"type": kind}
    if description := foreign.get("description"):
        found["description"] = str(description)
    if choices := _choices(foreign.get("enum"), kind):
        found["enum"] = choices
    if kind == "object":
        found |= _properties(foreign)
    if kind == "array":
        inner = foreign.get("items")
        found["items"] = schema(inner if isinstance(inner, dict) else {"type": item})
    return found


def _properties(foreign: dict[str, Any]) -> dict[str, Any]:
    inner = foreign.get("properties")
    named = inner if isinstance(inner, dict) else {}
    properties = {name: schema(p) for name, p in named.items() if isinstance(p, dict)}
    wanted = foreign.get("required")
    required = [n for n in properties if n in wanted] if isinstance(wanted, list) else []
    return {"properties": properties, "required": required}


def _choices(values: Any, kind: str) -> list[Any]:
    """The values of an enum, none where some are not of the type that they should have."""
    fit = isinstance(values, list) and all(type(v) in _VALUES.get(kind, ()) for v in values)
    return values if fit else []


def _kind(written: Any) -> tuple[str, str]:
    """The type in JSON Schema's words, and how the type of a list's elements is written."""
    if isinstance(written, list):
        written = next((name for name in written if name != "null"), "")
    text = str(written or "").split(", optional")[0].strip()
    outer, _, inner = text.removesuffix("]").partition("[")
    if outer.lower() in ("optional", "union"):
        return _kind(inner.split(",")[0])
    return _TYPES.get(outer.strip().lower(), "string"), inner


def _is_optional(parameter: dict[str, Any]) -> bool:
    written = str(parameter.get("type") or "").lower()
    return "optional" in written
