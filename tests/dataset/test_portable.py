"""Tools of other data sets in portable schemas, worked out by hand from how the sets write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.dataset.portable import schema, tool
from provegym.world.schema import lint


def parameters(foreign: dict[str, Any]) -> dict[str, Any]:
    found = tool(foreign)
    assert found is not None
    assert lint(found.function.parameters) == []
    return found.function.parameters


def test_a_tool_as_bfcl_and_when2calls_test_files_write_it() -> None:
    found = parameters(
        {
            "name": "get_service_id",
            "description": "Retrieve the identifier of a service.",
            "parameters": {
                "type": "dict",
                "required": ["service_id"],
                "properties": {
                    "service_id": {
                        "type": "integer",
                        "description": "1 for cleaning.",
                        "enum": [1],
                    },
                    "rating": {"type": "float", "description": "At least.", "default": 4.5},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "place": {
                        "type": "dict",
                        "properties": {"city": {"type": "string"}},
                        "required": ["city"],
                    },
                    "raw": {"type": "any", "description": "Whatever."},
                },
            },
        }
    )
    assert found == {
        "type": "object",
        "properties": {
            "service_id": {"type": "integer", "description": "1 for cleaning.", "enum": [1]},
            "rating": {"type": "number", "description": "At least."},
            "tags": {"type": "array", "items": {"type": "string"}},
            "place": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
            "raw": {"type": "string", "description": "Whatever."},
        },
        "required": ["service_id"],
    }


def test_a_tool_as_when2calls_training_files_write_it() -> None:
    found = parameters(
        {
            "name": "get_company_by_domain",
            "parameters": {"type": "dict", "properties": {"domain": {"type": "str"}}},
            "required": ["domain"],
        }
    )
    assert found["required"] == ["domain"]
    assert found["properties"] == {"domain": {"type": "string"}}


def test_a_tool_as_xlam_writes_it() -> None:
    found = parameters(
        {
            "name": "live_giveaways",
            "description": "Live giveaways.",
            "parameters": {
                "type": {"description": "Kind of giveaway.", "type": "str", "default": "game"},
                "limit": {"description": "Most.", "type": "int, optional", "default": 5},
                "prices": {"description": "Between.", "type": "List[float]"},
            },
        }
    )
    assert found["properties"] == {
        "type": {"type": "string", "description": "Kind of giveaway."},
        "limit": {"type": "integer", "description": "Most."},
        "prices": {"type": "array", "description": "Between.", "items": {"type": "number"}},
    }
    assert found["required"] == ["type", "prices"]


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("str, optional", {"type": "string"}),
        ("Optional[int]", {"type": "integer"}),
        ("Union[int, str]", {"type": "integer"}),
        ("bool", {"type": "boolean"}),
        ("List[Union[int, float]]", {"type": "array", "items": {"type": "integer"}}),
        (
            "List[List[str]], optional",
            {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
        ),
        ("Dict[str, int]", {"type": "object", "properties": {}, "required": []}),
        ("tuple", {"type": "array", "items": {"type": "string"}}),
        ("Callable[[float], float]", {"type": "string"}),
        (["null", "number"], {"type": "number"}),
        (None, {"type": "string"}),
    ],
)
def test_a_type_is_said_in_the_words_of_json_schema(written: Any, found: dict[str, Any]) -> None:
    assert schema({"type": written}) == found


def test_an_enum_whose_values_are_not_of_the_type_is_left_out() -> None:
    assert schema({"type": "integer", "enum": ["1", "2"]}) == {"type": "integer"}
    assert schema({"type": "integer", "enum": [True]}) == {"type": "integer"}
    assert schema({"type": "string", "enum": ["a", "b"]})["enum"] == ["a", "b"]


def test_a_name_has_only_characters_that_endpoints_take() -> None:
    found = tool({"name": "uber.eat order" + "x" * 80})
    assert found is not None
    assert found.function.name == ("uber_eat_order" + "x" * 80)[:64]
    assert found.function.parameters == {"type": "object", "properties": {}, "required": []}


@pytest.mark.parametrize(
    "foreign", ["get", None, {}, {"name": ""}, {"name": 3}, {"name": "x", "parameters": [1]}]
)
def test_what_is_no_tool_is_none(foreign: Any) -> None:
    assert tool(foreign) is None


KEYS = st.sampled_from(["type", "properties", "items", "required", "enum", "description", "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, JSON, max_size=6))
def test_whatever_is_written_comes_out_portable(parameters: dict[str, Any]) -> None:
    found = tool({"name": "x", "parameters": parameters})
    assert found is not None
    assert lint(found.function.parameters) == []
