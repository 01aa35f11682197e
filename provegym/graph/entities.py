"""Live entities: which ids a result shows, and how a person would name each of them.

A `Handle` is one id in one result. What the policy may be told is its label, which is made from
the fields that stand beside the id in the result, so whoever reads the result can find it.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from provegym.world.fields import Field, fields_of, take_apart
from provegym.world.session import Session
from provegym.world.table import Template
from provegym.world.tool import Tool


class Handle(Struct, frozen=True):
    """An id of `entity` at the JSON Pointer `path` of the result of `call`."""

    entity: str
    value: str
    call: str
    path: str
    label: str
    """How a person names it; empty if the result does not show enough."""
    by_value: bool = False
    """Whether people say the value itself (a path, a code)."""


@lru_cache(maxsize=4096)
def produced(tool: Tool) -> tuple[tuple[str, str], ...]:
    """(entity, path pattern) of every typed id in the tool's result; `*` stands for an index."""
    return tuple(_patterns(take_apart("", tool.returns), ""))


def _patterns(f: Field, path: str) -> Iterator[tuple[str, str]]:
    if f.ref:
        yield f.ref, path
    elif f.item is not None:
        yield from _patterns(f.item, f"{path}/*")
    elif isinstance(f.type, type) and issubclass(f.type, Struct):
        for inner in fields_of(f.type):
            yield from _patterns(inner, f"{path}/{inner.name}")


@lru_cache(maxsize=4096)
def consumed(tool: Tool) -> tuple[tuple[str, str], ...]:
    """(entity, parameter) of every parameter that takes an id."""
    refs = ((p.ref or (p.item.ref if p.item else None), p.name) for p in tool.parameters)
    return tuple((entity, name) for entity, name in refs if entity)


def handles(
    tool: Tool, result: Any, call: str, templates: Mapping[str, Template[Any]]
) -> list[Handle]:
    """Every typed id in a result, with its label."""
    return list(_walk(take_apart("", tool.returns), result, "", {}, call, templates))


def _walk(
    f: Field,
    value: Any,
    path: str,
    around: dict[str, Any],
    call: str,
    templates: Mapping[str, Template[Any]],
) -> Iterator[Handle]:
    if value is None:
        return
    if f.ref:
        if isinstance(value, str) and value and f.ref in templates:
            label, by_value = _label(f, value, around, templates)
            yield Handle(f.ref, value, call, path, label, by_value)
    elif f.item is not None:
        for i, item in enumerate(value):
            yield from _walk(f.item, item, f"{path}/{i}", around, call, templates)
    elif isinstance(f.type, type) and issubclass(f.type, Struct):
        for inner in fields_of(f.type):
            yield from _walk(
                inner, value.get(inner.name), f"{path}/{inner.name}", value, call, templates
            )


@lru_cache(maxsize=1024)
def _slots(template: str) -> tuple[str, ...]:
    return tuple(name for _, name, _, _ in string.Formatter().parse(template) if name)


def _label(
    f: Field, value: str, around: dict[str, Any], templates: Mapping[str, Template[Any]]
) -> tuple[str, bool]:
    template = templates[f.ref or ""].row.label
    if not template:
        return value, True
    slots = _slots(template)
    own = f.name == "id" or f.name == f"{_singular(f.ref or '')}_id"
    if not own or any(around.get(slot) in (None, "") for slot in slots):
        return "", False
    return template.format(**{slot: _spoken(around[slot]) for slot in slots}), False


def _spoken(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _singular(entity: str) -> str:
    """A table's name in the singular: "banking.standing_orders" is "standing_order"."""
    table = entity.split(".")[-1]
    if table.endswith("ies"):
        return table[:-3] + "y"
    if table.endswith(("ses", "xes", "ches")):
        return table[:-2]
    return table.removesuffix("s")


def noun(entity: str) -> str:
    """What one row of the table is called: "standing order"."""
    return _singular(entity).replace("_", " ")


def unique_label(handle: Handle, among: list[Handle]) -> bool:
    """Whether the label names this entity and no other of those shown."""
    if handle.by_value:
        return True
    if not handle.label:
        return False
    same = {h.value for h in among if h.entity == handle.entity and h.label == handle.label}
    return same == {handle.value}


def context(session: Session, reads: list[tuple[str, dict[str, Any]]]) -> dict[str, list[str]]:
    """What read-only discovery calls list: labels of live entities by table (paper 3.2, step 2)."""
    found: dict[str, list[str]] = {}
    for name, arguments in reads:
        result = session.call(name, arguments)
        if result.outcome != "ok":
            continue
        tool = session.world.tools[name].tool
        for h in handles(tool, result.builtins(), "", session.world.templates):
            if h.label and h.label not in found.setdefault(h.entity, []):
                found[h.entity].append(h.label)
    return found
