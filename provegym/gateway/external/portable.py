"""Any JSON Schema to the portable one that all our tools have; see `provegym.world.schema`.

Every value that the portable schema takes, the server's own takes, too: of alternatives the first
is kept, of any value a text, and `null` goes. What a keyword demanded that is left out is told in
the description.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

TYPES = ("string", "integer", "number", "boolean", "array", "object")
SHAPES: Mapping[str, type] = {
    **dict.fromkeys(("enum", "required", "allOf", "anyOf", "oneOf"), list),
    "properties": Mapping,
}
"""What keywords must hold. A third party's schema may hold anything, and then demands nothing."""
DEPTH = 12
"""Deeper values, as those of a schema that holds itself, may be any object."""
TOLD = ("pattern", "format", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems")
"""Keywords that become words."""


def portable(schema: Any, renamed: dict[str, str]) -> Json:
    """The parameters of a tool: an object of plain types.

    Names of arguments become identifiers; `renamed` gains the server's own name for each that is
    not called as it calls it.
    """
    root = _value(schema, _Definitions(schema), renamed, 0)
    if root.get("type") != "object":
        return {"type": "object", "properties": {}, "required": []}
    return {"properties": {}, "required": [], **root}


class _Definitions:
    """Where the `$ref`s of one document lead."""

    def __init__(self, document: Any) -> None:
        self._document = document

    def __getitem__(self, ref: str) -> Any:
        """What a local reference names; any value for one that leads elsewhere or nowhere."""
        if not ref.startswith("#"):
            return {}
        found = self._document
        for step in ref.lstrip("#").strip("/").split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            if key and not isinstance(found, Mapping):
                return {}
            found = found.get(key, {}) if key else found
        return found


def _value(schema: Any, known: _Definitions, renamed: dict[str, str], depth: int) -> Json:
    told = _flat(schema, known)
    if depth > DEPTH:
        return {"type": "object", **_description(told)}
    kind = told.get("type") or _implied(told)
    if "enum" in told:
        return _choice(told)
    if kind == "object":
        return _object(told, known, renamed, depth)
    if kind == "array":
        items = _value(told.get("items", {}), known, renamed, depth + 1)
        return {"type": "array", "items": items, **_description(told)}
    found = {"type": kind or "string"}
    return {**found, **_bounds(told), **_description(told), **_default(told)}


def _flat(schema: Any, known: _Definitions) -> Json:
    """The schema without `$ref`, `allOf`, alternatives and null."""
    told = _shaped(schema)
    for _ in range(DEPTH):
        if "$ref" in told:
            told = {**_shaped(known[str(told.pop("$ref"))]), **told}
        elif parts := told.pop("allOf", None):
            for part in parts:
                told = _joined(_flat(part, known), told)
        elif options := told.pop("anyOf", None) or told.pop("oneOf", None):
            told = {**_first(options, known), **told}
        else:
            break
    if isinstance(told.get("type"), list):
        told["type"] = next((t for t in told["type"] if t in TYPES), None)
    if told.get("type") not in TYPES:
        told.pop("type", None)
    if "const" in told:
        told["enum"] = [told.pop("const")]
    return told


def _shaped(schema: Any) -> Json:
    """The schema without keywords that hold what they cannot."""
    told = schema if isinstance(schema, Mapping) else {}
    return {k: v for k, v in told.items() if isinstance(v, SHAPES.get(k, object))}


def _joined(one: Json, other: Json) -> Json:
    """Both demands at once, as far as objects go."""
    properties = {**one.get("properties", {}), **other.get("properties", {})}
    required = [*one.get("required", ()), *other.get("required", ())]
    more = {"properties": properties, "required": required} if properties else {}
    return {**one, **other, **more}


def _first(options: Any, known: _Definitions) -> Json:
    """The first alternative that is not null; alternatives that are all enums are one."""
    flat = [_flat(option, known) for option in options if not is_null(option)]
    if len(flat) > 1 and all("enum" in option for option in flat):
        return {**flat[0], "enum": [value for option in flat for value in option["enum"]]}
    return flat[0] if flat else {}


def is_null(schema: Any) -> bool:
    """Whether nothing but null fits."""
    return isinstance(schema, Mapping) and (
        schema.get("type") in ("null", ["null"]) or schema.get("enum") == [None]
    )


def takes_null(schema: Any) -> bool:
    """Whether null fits a property of the server's own schema."""
    told = _shaped(schema)
    kind = told.get("type")
    options = [*told.get("anyOf", ()), *told.get("oneOf", ())]
    return (isinstance(kind, list) and "null" in kind) or any(map(is_null, options))


def _implied(told: Json) -> str | None:
    return "object" if "properties" in told else "array" if "items" in told else None


def _choice(told: Json) -> Json:
    """An enum of texts, of whole numbers or of truth values; of mixed ones the texts."""
    values = [v for v in told["enum"] if v is not None]
    for kind, name in ((str, "string"), (bool, "boolean"), (int, "integer")):
        chosen = [v for v in values if type(v) is kind]
        if chosen:
            return {"type": name, "enum": list(dict.fromkeys(chosen)), **_description(told)}
    return {"type": "number", **_description(told)}


def _object(told: Json, known: _Definitions, renamed: dict[str, str], depth: int) -> Json:
    inner = told.get("properties")
    if not isinstance(inner, Mapping) or not inner:
        return {"type": "object", **_description(told)}
    names = {old: _identifier(old, renamed) for old in inner}
    demanded = dict.fromkeys(n for n in told.get("required", ()) if isinstance(n, str))
    required = [n for n in demanded if n in inner and not takes_null(inner[n])]
    return {
        "type": "object",
        "properties": {
            names[old]: _value(child, known, renamed, depth + 1) for old, child in inner.items()
        },
        "required": [names[n] for n in required],
        **_description(told),
    }


def _identifier(old: str, renamed: dict[str, str]) -> str:
    name = re.sub(r"\W", "_", old, flags=re.ASCII)[:64] or "_"
    name = f"_{name[:63]}" if name[0].isdigit() else name
    plain, number = name, 2
    while renamed.get(name, old) != old:
        name, number = f"{plain}_{number}", number + 1
    if name != old:
        renamed[name] = old
    return name


def _bounds(told: Json) -> Json:
    """Inclusive bounds; those of a whole number are whole."""
    if told.get("type") not in ("integer", "number"):
        return {}
    step = 1 if told["type"] == "integer" else 0
    found: Json = {}
    for name, excluded, sign in (
        ("minimum", "exclusiveMinimum", 1),
        ("maximum", "exclusiveMaximum", -1),
    ):
        if _is_number(told.get(name)):
            found[name] = told[name]
        elif _is_number(told.get(excluded)):
            found[name] = told[excluded] + sign * step
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _default(told: Json) -> Json:
    value = told.get("default")
    return {"default": value} if isinstance(value, str | int | float) else {}


def _description(told: Json) -> Json:
    """The description, and in brackets what is demanded but cannot be said in the schema."""
    text = str(told.get("description") or told.get("title") or "")
    demands = [f"{key} {told[key]}" for key in TOLD if told.get(key) not in (None, False)]
    whole = f"{text} ({', '.join(demands)})".strip() if demands else text
    return {"description": whole} if whole else {}
