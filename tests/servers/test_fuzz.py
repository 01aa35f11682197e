"""Every tool under arguments drawn from its own schema, and under arguments that break it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provegym.seeding import rng
from provegym.servers import SERVERS, load
from provegym.world.explore import Walk
from provegym.world.fields import Field, fields_of
from provegym.world.session import Session
from provegym.world.tool import Tool
from provegym.world.validate import MAX_BYTES, MAX_DEPTH
from provegym.world.world import World

PAGE = 16 * 1024
"""Bytes that no result may exceed unless the caller asked for longer pages."""
TEXTS = (
    *("", " ", "garden", "a", "../..", "~/a b", "/", "%s {0}", "' OR 1=1 --", "label:x", "#tag @x"),
    *("2026-03-05", "2024-02-29", "9999-12-31", "0001-01-01", "2026-03", "09:30", "23:59"),
    *("2026-03-05T10:00:00+00:00", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00Z"),
    *(
        "0.00",
        "12.50",
        "-3.00",
        "999999999999.99",
        "a@b.example",
        "12345678",
        "DE89",
        "-1",
        "x" * 300,
    ),
    *(
        "e\u0301",
        "\u0130",
        "\ufb00",
        "\u202eabc",
        "\u200b",
        "\0",
        "a\nb\tc",
        "\u0663",
        "\U0001f99c",
        "x" * 2001,
    ),
)
OTHER_TYPES: dict[str, tuple[Any, ...]] = {
    "string": (7, True, [], {}),
    "integer": ("7", 7.5, True, []),
    "number": ("7", False, {}),
    "boolean": (1, "true", []),
    "array": ("a", {}, 1),
    "object": ("a", [], 1),
}
"""Values that are not of a JSON type."""
Call = tuple[dict[str, Any], str, str]
"""Arguments that fit a schema, a text that breaks it, and the outcome that this must have."""


def texts(session: Session, field: Field) -> st.SearchStrategy[str]:
    """Ids of live rows where the field takes one, and any other text."""
    odd = st.sampled_from(TEXTS) | st.text(max_size=8)
    if field.ref is None:
        return odd
    ids = [row.id for row in session.open_table(field.ref)]
    return st.sampled_from(ids) | st.sampled_from(ids) | odd if ids else odd


def numbers(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """At, around and far beyond the bounds."""
    low, high = schema.get("minimum", 1), schema.get("maximum", 100)
    edges = [low, high, low - 1, high + 1, 0, -1, 2**31, 2**63, -(10**30)]
    if schema["type"] == "number":
        return st.sampled_from([*edges, low + 0.005, 1e-9, 1.7e308]) | st.floats(low, high)
    return st.sampled_from([*edges, float(low)]) | st.integers(low, high)


def values(session: Session, field: Field, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """JSON values of the type that a schema asks for."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "array" and field.item is not None:
        return st.lists(values(session, field.item, schema["items"]), max_size=3)
    if schema["type"] == "object":
        return objects(session, fields_of(field.type), schema)
    if schema["type"] == "boolean":
        return st.booleans()
    return texts(session, field) if schema["type"] == "string" else numbers(schema)


def objects(
    session: Session, fields: tuple[Field, ...], schema: dict[str, Any]
) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with all required properties and some others."""
    known = {f.name: values(session, f, schema["properties"][f.name]) for f in fields}
    needed = {name: known[name] for name in schema.get("required", ())}
    return st.fixed_dictionaries(
        needed, optional={n: v for n, v in known.items() if n not in needed}
    )


@st.composite
def calls(draw: st.DrawFn, tool: Tool, fitting: st.SearchStrategy[dict[str, Any]]) -> Call:
    """A call that fits, and a text that breaks the schema in one way."""
    fits, schema = draw(fitting), tool.schema.function.parameters
    ways = ["unknown", "not an object", "NaN", "deep", "huge"]
    ways += ["null", "type"] if tool.parameters else []
    ways += ["missing"] if tool.required else []
    way = draw(st.sampled_from(ways))
    if way == "missing":
        gone = draw(st.sampled_from(sorted(tool.required)))
        return fits, json.dumps({k: v for k, v in fits.items() if k != gone}), "invalid_arguments"
    if way in ("null", "type"):
        name = draw(st.sampled_from([p.name for p in tool.parameters]))
        others = OTHER_TYPES[schema["properties"][name]["type"]]
        wrong = None if way == "null" else draw(st.sampled_from(others))
        return fits, json.dumps({**fits, name: wrong}), "invalid_arguments"
    return fits, *BROKEN[way](fits)


BROKEN: dict[str, Callable[[dict[str, Any]], tuple[str, str]]] = {
    "unknown": lambda fits: (json.dumps({**fits, "no_such": 1}), "invalid_arguments"),
    "not an object": lambda fits: (json.dumps([fits]), "malformed"),
    "NaN": lambda fits: (json.dumps({**fits, "limit": float("nan")}), "malformed"),
    "deep": lambda fits: (f'{{"x":{"[" * MAX_DEPTH}{"]" * MAX_DEPTH}}}', "malformed"),
    "huge": lambda fits: (json.dumps({**fits, "query": "x" * MAX_BYTES}), "tool_error"),
}


class Start(NamedTuple):
    """A session to fork, and its digest."""

    session: Session
    digest: str


@lru_cache
def starts(name: str) -> tuple[Start, Start]:
    """A session at its world's start, and one in the middle of its life."""
    world = World(3, [load(name)])
    fresh, walked = world.open(), world.open()
    list(Walk(load(name), walked, rng(3, "fuzz", name)).steps(40))
    return Start(fresh, fresh.digest()), Start(walked, walked.digest())


def check(start: Start, tool: Tool, given: Any, allowed: tuple[str, ...]) -> None:
    """One call: an outcome of those allowed, all or nothing written, a short result."""
    session = start.session.fork()
    result = session.call(tool.name, given)
    assert result.outcome in allowed, result
    if result.outcome != "ok" or tool.effect == "read":
        assert session.digest() == start.digest
        if not start.session.snapshot().writes:  # canonical changes of a long life take too long
            assert session.changes() == {}
    if isinstance(given, str) or "limit" not in given:
        assert len(result.json()) <= PAGE


TOOLS = [(name, tool) for name in SERVERS for tool in load(name).tools]


@pytest.mark.parametrize("examples", [12, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "tool_name"), TOOLS, ids=[tool for _, tool in TOOLS])
def test_any_call_has_an_outcome_of_the_reward_and_writes_all_or_nothing(
    name: str, tool_name: str, examples: int
) -> None:
    tool, both = load(name).tools[tool_name], starts(name)
    fitting = objects(both[1].session, tool.parameters, tool.schema.function.parameters)

    @settings(max_examples=examples)
    @given(calls(tool, fitting), st.sampled_from(both))
    def run(call: Call, start: Start) -> None:
        fits, broken, outcome = call
        check(start, tool, fits, ("ok", "tool_error"))
        check(start, tool, broken, (outcome,))

    run()


def test_all_343_tools_are_fuzzed() -> None:
    assert len(TOOLS) == 343
