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


@lru_cache(maxsize=4096)
def consumed_within(tool: Tool) -> tuple[tuple[str, str], ...]:
    """(entity, path pattern) of every id in a record that a parameter takes."""
    found = [pair for p in tool.parameters for pair in _patterns(p, p.name)]
    return tuple((e, path) for e, path in found if "/" in path.removesuffix("/*"))


@lru_cache(maxsize=4096)
def _places(tool: Tool) -> tuple[tuple[str, tuple[str, ...], bool], ...]:
    """(entity, steps to it, whether the record that holds the id is the entity itself)."""
    found = []
    for entity, path in produced(tool):
        steps = tuple(path.split("/")[1:])
        name = next((s for s in reversed(steps) if s != "*"), "")
        found.append((entity, steps, name == "id" or _is_id_of(entity, name)))
    return tuple(found)


def handles(
    tool: Tool, result: Any, call: str, templates: Mapping[str, Template[Any]]
) -> list[Handle]:
    """Every typed id in a result, with its label."""
    found: list[Handle] = []
    for entity, steps, own in _places(tool):
        if entity not in templates:
            continue
        label = templates[entity].row.label
        for path, value, around in walk(result, steps):
            said = value if not label else label_of(label, around) if own else ""
            found.append(Handle(entity, value, call, path, said, by_value=not label))
    return found


def walk(
    value: Any, steps: tuple[str, ...], path: str = "", around: dict[str, Any] | None = None
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(JSON Pointer, text, the record that holds it) of every text at the end of `steps`."""
    if not steps:
        if isinstance(value, str) and value:
            yield path, value, around or {}
    elif steps[0] == "*" and isinstance(value, list):
        for i, item in enumerate(value):
            yield from walk(item, steps[1:], f"{path}/{i}", around)
    elif isinstance(value, dict):
        yield from walk(value.get(steps[0]), steps[1:], f"{path}/{steps[0]}", value)


@lru_cache(maxsize=1024)
def slots_of(template: str) -> tuple[str, ...]:
    """The fields that a label is made from, in order."""
    return tuple(name for _, name, _, _ in string.Formatter().parse(template) if name)


def label_of(template: str, around: dict[str, Any]) -> str:
    """The template filled from the record; empty where it lacks a value."""
    values = {slot: around.get(slot) for slot in slots_of(template)}
    if any(value in (None, "") for value in values.values()):
        return ""
    return template.format_map({slot: _spoken(value) for slot, value in values.items()})


def _spoken(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _singular(entity: str) -> str:
    """A table's name in the singular: "banking.standing_orders" is "standing_order"."""
    table = entity.split(".")[-1]
    if table.endswith("ies"):
        return table[:-3] + "y"
    if table.endswith(("sses", "xes", "ches", "shes")):
        return table[:-2]
    return table.removesuffix("s")


def _is_id_of(entity: str, name: str) -> bool:
    """Whether a field of that name holds its own record's id: "line_id" in a cart line."""
    return f"_{_singular(entity)}_id".endswith(f"_{name}") and name.endswith("_id")


def noun(entity: str) -> str:
    """What one row of the table is called: "standing order"."""
    return _singular(entity).replace("_", " ")


@lru_cache(maxsize=4096)
def owned(record: type[Struct]) -> str:
    """The entity whose rows the record shows: that of its own id; empty for none or several."""
    refs = ((f.ref, f.name) for f in fields_of(record) if f.ref)
    own = [ref for ref, name in refs if ref and (name == "id" or _is_id_of(ref, name))]
    return own[0] if len(own) == 1 else ""


def unique_label(handle: Handle, among: list[Handle]) -> bool:
    """Whether the label names this entity and no other of those shown."""
    if handle.by_value:
        return True
    if not handle.label:
        return False
    same = {h.value for h in among if h.entity == handle.entity and h.label == handle.label}
    return same == {handle.value}
