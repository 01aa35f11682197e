"""Two ways to the same id: a look-up that nobody asked for, where another one would do as well."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from provegym.graph.entities import produced
from provegym.synth import lookup
from provegym.world.fields import TEXT
from provegym.world.session import Session
from provegym.world.tool import Tool


def two_ways(before: Session, tool: Tool, values: Collection[str], others: Iterable[str]) -> bool:
    """Whether the `others` show all the `values` that a call of the tool is made for, when they
    are called without arguments or by the words that a person has for what is sought.
    """
    tools = [before.world.tools[name].tool for name in sorted(others)]
    return bool(tools) and all(
        any(_shows(before, other, value, _words(before, tool, value)) for other in tools)
        for value in values
    )


def _words(before: Session, tool: Tool, value: str) -> list[str]:
    """Words for the row of that id, among the kinds of rows that the tool shows."""
    state = before.state(before.world.tools[tool.name].place)
    tables = [state.table_of(entity) for entity, _ in produced(tool)]
    rows = [row for table in tables if (row := table.get(value)) is not None]
    return list(dict.fromkeys(word for row in rows for word in lookup.words(row)))


def _shows(before: Session, tool: Tool, value: str, words: Iterable[str]) -> bool:
    results = (before.call(tool.name, given) for given in _calls(tool, words))
    return any(r.outcome == "ok" and value.encode() in r.json() for r in results)


def _calls(tool: Tool, words: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The call without arguments, and those by one free text, where the tool takes them."""
    if not tool.required:
        yield {}
    for p in tool.parameters:
        free = p.type is str and not (p.ref or p.choices) and p.format in (None, TEXT)
        if free and tool.required <= {p.name}:
            yield from ({p.name: word} for word in words)
