"""Plain values that one server shows and another takes: amounts, dates, times, addresses.

Unlike an id, such a value means the same on every server, so a chain can carry it across. What
the policy is told is where it stands ("the due date of the "Logo design" invoice for Ann Lee"),
never the value itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from msgspec import Struct

from provegym.graph.entities import label_of, owned, walk
from provegym.world.fields import VOLATILE, Field, fields_of, take_apart
from provegym.world.table import Template
from provegym.world.tool import Tool

CARRIED = {"email": "e-mail address", "money": "amount", "date": "date", "instant": "time"}
"""Formats of values that may go from server to server, and what people call them."""
_NOUGHT = "0.00"


class Leaf(Struct, frozen=True):
    """A value of format `kind` at the JSON Pointer `path` of the result of `call`."""

    kind: str
    value: str
    call: str
    path: str
    words: str
    """How a person points at it; empty where its record cannot be named."""


@lru_cache(maxsize=4096)
def shown(tool: Tool) -> tuple[tuple[str, tuple[str, ...], str], ...]:
    """(kind, steps, entity of the record around it or "") of every such value in the result; what
    the engine stamps is left out, for it is past when it is read.
    """
    return tuple(_shown(take_apart("", tool.returns), (), ""))


def _shown(f: Field, steps: tuple[str, ...], entity: str) -> Iterator[tuple[str, Any, str]]:
    if f.item is not None:
        yield from _shown(f.item, (*steps, "*"), entity)
    elif isinstance(f.type, type) and issubclass(f.type, Struct):
        inside = owned(f.type)
        for inner in fields_of(f.type):
            yield from _shown(inner, (*steps, inner.name), inside)
    elif f.format and f.format.name in CARRIED and not f.ref and steps and not f.has(VOLATILE):
        yield f.format.name, steps, entity


@lru_cache(maxsize=4096)
def taken(tool: Tool) -> tuple[tuple[str, str], ...]:
    """(kind, parameter) of every parameter that takes such a value, or a list of them: no amount
    that only filters what is read, for nobody looks for what costs as much as something else.
    """
    found = ((p.item or p, p.name) for p in tool.parameters)
    kinds = CARRIED.keys() - ({"money"} if tool.effect == "read" else set())
    return tuple((f.format.name, name) for f, name in found if f.format and f.format.name in kinds)


def looks_ahead(parameter: str, value: str, now: datetime) -> bool:
    """Whether a read is to look back to a time that is yet to come, and so would show nothing."""
    return parameter == "since" and value[:10] > now.date().isoformat()


def leaves(
    tool: Tool, result: Any, call: str, templates: Mapping[str, Template[Any]]
) -> list[Leaf]:
    """Every such value in a result, with how to point at it; what is no amount is left out."""
    found = []
    for kind, steps, entity in shown(tool):
        label = templates[entity].row.label if entity in templates else ""
        for path, value, around in walk(result, steps):
            if kind != "money" or (value[0] != "-" and value != _NOUGHT):
                name = label_of(label, around) if label else ""
                words = f"the {_spoken(steps, kind)} of {name}" if name else ""
                found.append(Leaf(kind, value, call, path, "" if value in words else words))
    return found


@lru_cache(maxsize=4096)
def _spoken(steps: tuple[str, ...], kind: str) -> str:
    """What people call the field at the end of `steps`: "due_on" is the due date."""
    field = next(step for step in reversed(steps) if step != "*")
    name = field.removesuffix("_on").removesuffix("_at").replace("_", " ")
    name, noun = _SPOKEN.get(name, name), CARRIED[kind]
    if kind == "money" or name.endswith(noun):
        return name
    if kind == "email":
        return noun if name in ("email", "address") else f"{name.removesuffix(' address')}'s {noun}"
    return f"{name} {noun}".strip()


_SPOKEN = {
    "arrives": "arrival",
    "ask": "asking price",
    "asked": "asking price",
    "at": "",
    "available": "available amount",
    "born": "birth",
    "bought": "purchase",
    "charged": "amount charged",
    "close": "closing price",
    "departs": "departure",
    "ends": "end",
    "expires": "expiry",
    "high": "highest price",
    "kept": "amount kept",
    "last": "last price",
    "left": "amount left",
    "low": "lowest price",
    "moved": "amount moved",
    "open": "open amount",
    "outstanding": "outstanding amount",
    "over by": "overspent amount",
    "owed": "amount owed",
    "planned": "planned amount",
    "price from": "starting price",
    "refunded": "amount refunded",
    "saved": "amount saved",
    "since": "start",
    "spent": "amount spent",
    "starts": "start",
    "to": "recipient",
    "until": "end",
    "wanted by": "target",
}
"""Fields whose names alone are no noun."""
