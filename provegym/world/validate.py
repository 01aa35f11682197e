"""Why arguments were not accepted: the slow path behind the compiled decoder.

`diagnose` sorts a failure into the outcomes of the reward: `malformed` (not a JSON object),
`invalid_arguments` (missing, unknown or wrongly typed) or `tool_error` (enum, range, format).
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct

from provegym.errors import seen
from provegym.types import Outcome
from provegym.world.fields import Field, fields_of
from provegym.world.schema import bounds
from provegym.world.tool import Tool

MAX_BYTES = 1 << 20
"""Longer argument texts are refused unread."""
MAX_DEPTH = 100
"""Deeper values are refused, so that no outcome depends on how deep the caller's stack is."""

PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
"""Two escapes that are one character (RFC 8259, 7)."""
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\xed[\xa0-\xbf][\x80-\xbf]")
"""In a text that is no JSON: an escape of a surrogate, or one in UTF-8 (RFC 3629, 3)."""

_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object"}

_encode = msgspec.json.Encoder().encode


class Problem(Struct, frozen=True):
    """One thing wrong with a call's arguments."""

    outcome: Outcome
    code: str
    message: str
    details: dict[str, Any] = {}


def understand(tool: Tool, arguments: object) -> Any:
    """Decode what the compiled decoder refused (`1.0` for an integer), or the Problem with it."""
    given = _object(arguments)
    if isinstance(given, Problem):
        return given
    decoded: Any = tool.decoder.type
    return diagnose(tool, given) or msgspec.convert(whole_numbers(tool, given), decoded)


def unserved(name: str, arguments: object) -> Problem:
    """What is wrong with a call of a tool that is shown, but that no server runs."""
    given = _object(arguments)
    if isinstance(given, Problem):
        return given
    return Problem("tool_error", "no_server", f"no server here runs the tool {seen(name)}")


def _object(arguments: object) -> dict[str, Any] | Problem:
    """The JSON object that arguments are, or what is wrong with them before a tool is looked at."""
    if not isinstance(arguments, str | bytes):
        text = _plain(arguments)
        if isinstance(text, Problem):
            return text
        arguments = text
    if too_large(arguments):
        size = f"arguments of over {MAX_BYTES} bytes; send less"
        return Problem("tool_error", "too_large", size, {"maximum": MAX_BYTES})
    return parse(arguments)


def too_large(text: str | bytes) -> bool:
    """Whether the text has more than MAX_BYTES bytes in UTF-8."""
    if isinstance(text, bytes) or len(text) > MAX_BYTES:
        return len(text) > MAX_BYTES
    return len(text) > MAX_BYTES // 4 and len(text.encode(errors="replace")) > MAX_BYTES


def _plain(arguments: object) -> bytes | Problem:
    """A Python value as JSON would carry it."""
    try:
        if is_finite(arguments):
            return _encode(arguments)
        return _malformed("arguments hold NaN or infinity; JSON has neither")
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        return _malformed(f"arguments cannot be said in JSON: {error}")


def why(text: bytes | str, error: Exception) -> str:
    """Why a text is no JSON, in words; of a surrogate the decoder tells that the text is cut."""
    body = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if not body.strip():
        return "it is empty"
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    if SURROGATE.search(PAIR.sub(b"", body)):
        return f"a surrogate stands alone, which is no Unicode text ({error})"
    return str(error)


def parse(text: bytes | str) -> dict[str, Any] | Problem:
    """The JSON object in `text`, or why there is none."""
    try:
        value = msgspec.json.decode(text)
    except msgspec.ValidationError:  # JSON allows any number; neither CPython nor IEEE 754 does
        told = "an integer of over 4300 digits, or one that no double holds"
        return _malformed(f"arguments hold a number out of range: {told}")
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return _malformed(f"arguments are not JSON: {why(text, error)}")
    if not isinstance(value, dict):
        return _malformed(f"arguments must be an object, got {_kind(value)}")
    if is_deeper(value, MAX_DEPTH):
        return _malformed(f"arguments are nested deeper than {MAX_DEPTH} levels")
    return value


def _malformed(message: str) -> Problem:
    return Problem("malformed", "malformed", message)


def is_deeper(value: Any, levels: int) -> bool:
    """Whether a JSON value is nested deeper than so many levels."""
    level = [value]
    for _ in range(levels):
        level = [item for outer in level for item in _items(outer)]
        if not level:
            return False
    return True


def _items(value: Any) -> Iterable[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (item for item in inner if isinstance(item, dict | list))


def diagnose(tool: Tool, arguments: dict[str, Any]) -> Problem | None:
    """The first problem of well-formed JSON `arguments`, wrong shapes before wrong values."""
    shape = _object_shape(tool.parameters, tool.required, arguments, "")
    if shape:
        return Problem("invalid_arguments", "invalid_arguments", shape)
    return _first_problem(tool.parameters, tool.defaults, arguments, "")


def _first_problem(
    fields: tuple[Field, ...], defaults: dict[str, Any], value: dict[str, Any], at: str
) -> Problem | None:
    """The first wrong value of an object; a default is never wrong."""
    for f in fields:
        if f.name in value and value[f.name] != defaults.get(f.name, NODEFAULT):
            problem = _value_problem(f, value[f.name], at + f.name)
            if problem:
                return problem
    return None


def _object_shape(
    fields: tuple[Field, ...], required: frozenset[str], value: dict[str, Any], at: str
) -> str:
    known = {f.name: f for f in fields}
    missing = sorted(name for name in required if name not in value)
    if missing:
        return f"missing {', '.join(at + name for name in missing)}"
    for name, item in value.items():
        if name not in known:
            known_names = ", ".join(known) or "none"
            return f"unknown argument {seen(at + name)}; known: {known_names}"
        wrong = _shape(known[name], item, at + name)
        if wrong:
            return wrong
    return ""


def _shape(f: Field, value: Any, at: str) -> str:
    if f.item is not None:
        if not isinstance(value, list):
            return f"{at} must be an array, got {_kind(value)}"
        wrong = (_shape(f.item, item, f"{at}[{i}]") for i, item in enumerate(value))
        return next((w for w in wrong if w), "")
    if isinstance(f.type, type) and issubclass(f.type, Struct):
        if not isinstance(value, dict):
            return f"{at} must be an object, got {_kind(value)}"
        required = frozenset(x.name for x in msgspec.structs.fields(f.type) if x.required)
        return _object_shape(fields_of(f.type), required, value, f"{at}.")
    expected = type(f.choices[0]) if f.choices else f.type
    if not _has_type(value, expected):
        return f"{at} must be of type {_NAMES[expected]}, got {_kind(value)}"
    return ""


def _has_type(value: Any, expected: type) -> bool:
    if expected is bool or isinstance(value, bool):
        return expected is bool and isinstance(value, bool)
    if expected is int:
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if expected is float:
        return isinstance(value, int | float)
    return isinstance(value, expected)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return {**_NAMES, list: "array"}.get(type(value), type(value).__name__)


def _value_problem(f: Field, value: Any, at: str) -> Problem | None:
    if f.item is not None:
        found = (_value_problem(f.item, item, f"{at}[{i}]") for i, item in enumerate(value))
        return next((p for p in found if p), None)
    if isinstance(f.type, type) and issubclass(f.type, Struct):
        defaults = {g.name: g.default for g in msgspec.structs.fields(f.type)}
        return _first_problem(fields_of(f.type), defaults, value, f"{at}.")
    if f.choices and value not in f.choices:
        valid = list(f.choices)
        told = ", ".join(map(str, valid))
        return _invalid(f"{at} must be one of {told}; got {seen(value)}", at, valid=valid)
    if f.type in (int, float) and not _inside(f, value):
        low, high = bounds(f)
        limits = [f"at least {low}"] if low is not None else []
        limits += [f"at most {high}"] if high is not None else []
        message = f"{at} must be {' and '.join(limits) or 'finite'}, got {seen(value)}"
        return _invalid(message, at, low=low, high=high)
    if f.format and not f.format.accepts(value):
        return _invalid(f"{at} is not well written: {seen(value)}. {f.format.hint}".strip(), at)
    return None


def _inside(f: Field, value: float) -> bool:
    low, high = bounds(f)
    if f.type is float and abs(value) > sys.float_info.max:
        return False
    return (low is None or value >= low) and (high is None or value <= high)


def _invalid(message: str, at: str, **details: Any) -> Problem:
    return Problem("tool_error", "invalid_value", message, {"argument": at, **details})


def whole_numbers(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments with 1.0 turned into 1 wherever the schema says integer (JSON Schema allows it)."""
    known = {p.name: p for p in tool.parameters}
    return {name: _whole(known[name], value) for name, value in arguments.items()}


def _whole(f: Field, value: Any) -> Any:
    if f.item is not None:
        return [_whole(f.item, item) for item in value]
    if isinstance(f.type, type) and issubclass(f.type, Struct):
        inner = {g.name: g for g in fields_of(f.type)}
        return {name: _whole(inner[name], item) for name, item in value.items()}
    wants_int = f.type is int or (f.choices and type(f.choices[0]) is int)
    return int(value) if wants_int and isinstance(value, float) else value


def is_finite(value: Any) -> bool:
    """Whether a Python value holds no NaN or infinity (which JSON cannot say)."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(is_finite, value.values()))
    return all(map(is_finite, value)) if isinstance(value, list | tuple) else True
