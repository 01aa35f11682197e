"""All tools, as listed over MCP, can be taken by every client: our own lint of their schemas."""

from __future__ import annotations

import re
from typing import Any

import anyio
import mcp
import pytest
from mcp import types

from provegym.servers import SERVERS
from tests.gateway.conftest import Opened
from tests.gateway.portable import problems

TEXT = {"type": "string"}
BROKEN: list[Any] = [
    True,
    {},
    {"description": "anything"},
    {"type": ["string", "null"]},
    {"type": "null"},
    {"$ref": "#/$defs/nowhere"},
    {"type": "string", "format": "uri"},
    {"anyOf": [TEXT, {"type": "null"}]},
    {"type": "array"},
    {"type": "array", "items": True},
    {"type": "array", "items": TEXT, "minItems": 1},
    {"type": "object"},
    {"type": "object", "properties": {}},
    {"type": "object", "properties": {}, "required": None},
    {"type": "object", "properties": {}, "required": ["name"]},
    {"type": "object", "properties": {"name": TEXT}, "required": ["name", "name"]},
    {"type": "object", "properties": {"name": {}}, "required": []},
    {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
    {"type": "string", "enum": []},
    {"type": "string", "enum": ["a", "a"]},
    {"type": "string", "enum": ["a", 1]},
    {"type": "string", "enum": ["a"], "default": "b"},
    {"type": "string", "default": None},
    {"type": "string", "minimum": 1},
    {"type": "integer", "default": "5"},
    {"type": "integer", "default": True},
    {"type": "integer", "minimum": 5, "maximum": 4},
    {"type": "array", "items": {"type": "array", "items": {"type": "object"}}},
]
WHOLE = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "A name.", "default": ""},
        "kind": {"type": "string", "enum": ["a", "b"], "default": "b"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 5},
        "share": {"type": "number", "minimum": 0},
        "rows": {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}},
    },
    "required": ["name", "rows"],
}


@pytest.fixture(scope="module")
def listed(gateway: str, opened: Opened) -> list[types.Tool]:
    """The tools of all servers as a client of MCP gets them."""
    url = f"{gateway}{opened(0, list(SERVERS))}/mcp"

    async def ask() -> list[types.Tool]:
        async with mcp.Client(url) as client:
            return (await client.list_tools()).tools

    return anyio.run(ask)


@pytest.mark.parametrize("schema", BROKEN, ids=str)
def test_what_some_client_cannot_take_is_found(schema: Any) -> None:
    assert list(problems(schema))


def test_a_plain_schema_is_fine() -> None:
    assert list(problems(WHOLE)) == []


def test_every_schema_of_every_tool_is_portable(listed: list[types.Tool]) -> None:
    assert len(listed) == 343
    schemas = {
        f"{tool.name} {way}": schema
        for tool in listed
        for way, schema in (("takes", tool.input_schema), ("gives", tool.output_schema))
    }
    assert {schema and schema["type"] for schema in schemas.values()} == {"object"}
    assert [found for name, schema in schemas.items() for found in problems(schema, name)] == []


def test_every_tool_has_a_name_for_every_api_a_description_and_all_annotations(
    listed: list[types.Tool],
) -> None:
    assert len({tool.name for tool in listed}) == len(listed)
    for tool in listed:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool.name)
        assert tool.description
        assert tool.annotations
        said = tool.annotations
        hints = said.read_only_hint, said.destructive_hint, said.idempotent_hint
        assert None not in (*hints, said.open_world_hint), tool.name
