"""What is listed of a tool is true: its results are as its output schema says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import jsonschema
import pytest
from msgspec import Struct

from provegym.gateway import listing
from provegym.seeding import rng
from provegym.servers import SERVERS, load, world
from provegym.types import Function, Tool
from provegym.world.sample import arguments

KEYWORDS = {"type", "properties", "required", "items", "enum", "anyOf"}
ROUNDS = 6
"""Walks a server, each in a world of its own, over all of its tools in a random order."""


def schemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A schema and all within it."""
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    for child in [*inner, *([schema["items"]] if "items" in schema else [])]:
        yield from schemas(child)


@pytest.mark.parametrize("name", SERVERS)
def test_what_a_tool_gives_is_valid_against_its_output_schema(name: str) -> None:
    server = load(name)
    validators = {
        tool.name: jsonschema.Draft202012Validator(listing.output_schema(tool))
        for tool in server.tools.values()
    }
    seen = set()
    for seed in range(ROUNDS):
        session = world(seed, (name,)).open()
        rnd = rng(seed, "outputs", name)
        for tool in rnd.sample(list(server.tools.values()), len(server.tools)):
            for _ in range(5):
                given = arguments(tool, session.state(name), rnd)
                result = session.call(tool.name, given)
                if result.outcome == "ok":
                    seen.add(tool.name)
                    validators[tool.name].validate(result.builtins())
    assert seen == set(server.tools)


def test_output_schemas_are_flat_and_say_what_may_be_null() -> None:
    found = [listing.output_schema(origin.tool) for origin in listing.library().values()]
    assert len(found) == 343
    for whole in found:
        assert whole["type"] == "object"
        for schema in schemas(whole):
            assert schema.keys() <= KEYWORDS
            assert ("type" in schema) != ("anyOf" in schema)
            assert "$ref" not in schema
            assert set(schema.get("required", ())) <= set(schema.get("properties", ()))


class Leaf(Struct, omit_defaults=True):
    size: int
    mood: Literal["calm"] | Literal[""] = ""
    note: str = ""


class Branch(Struct):
    leaves: tuple[Leaf, ...]
    best: Leaf | None
    weight: float | None = None


def test_a_record_says_which_fields_are_always_there() -> None:
    leaf = {
        "type": "object",
        "properties": {
            "size": {"type": "integer"},
            "mood": {"type": "string", "enum": ["calm", ""]},
            "note": {"type": "string"},
        },
        "required": ["size"],
    }
    assert listing.value_schema(Branch) == {
        "type": "object",
        "properties": {
            "leaves": {"type": "array", "items": leaf},
            "best": {"anyOf": [leaf, {"type": "null"}]},
            "weight": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        },
        "required": ["leaves", "best", "weight"],
    }


def test_a_tool_that_the_library_does_not_know_is_taken_to_be_harmful() -> None:
    told = listing.described(Tool(Function("wipe", "Wipe it.")))
    assert told.annotations == listing.UNKNOWN
    assert told.output_schema is None
    assert told.annotations.destructive_hint
    assert told.annotations.open_world_hint
