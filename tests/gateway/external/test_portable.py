"""Schemas as third parties write them, and what becomes of them."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.gateway.external.portable import portable, takes_null
from provegym.world.schema import lint


def one(schema: Any, **root: Any) -> Any:
    """What becomes of a parameter `x`."""
    told = {"type": "object", "properties": {"x": schema}, **root}
    return portable(told, {})["properties"]["x"]


def test_a_reference_is_put_in_place_and_its_definition_goes() -> None:
    point = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    found = one({"$ref": "#/$defs/Point", "description": "Where."}, **{"$defs": {"Point": point}})
    assert found == {**point, "description": "Where."}
    assert one({"$ref": "#/definitions/P"}, definitions={"P": {"type": "integer"}}) == {
        "type": "integer"
    }


def test_a_reference_over_the_network_or_to_nowhere_leaves_a_text() -> None:
    assert one({"$ref": "https://example.com/schema.json"}) == {"type": "string"}
    assert one({"$ref": "#/$defs/Missing"}) == {"type": "string"}


def test_a_schema_that_holds_itself_ends() -> None:
    tree = {"type": "object", "properties": {"children": {"$ref": "#/$defs/Tree"}}}
    assert lint(portable({"$ref": "#/$defs/Tree", "$defs": {"Tree": tree}}, {})) == []


@pytest.mark.parametrize(
    "nullable",
    [
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        {"oneOf": [{"type": "null"}, {"type": "integer"}]},
        {"type": ["integer", "null"]},
        {"type": ["null", "integer"], "default": None},
    ],
)
def test_what_may_be_null_is_a_plain_type_that_need_not_be_given(nullable: Any) -> None:
    told = {"type": "object", "properties": {"x": nullable}, "required": ["x"]}
    assert portable(told, {}) == {
        "type": "object",
        "properties": {"x": {"type": "integer"}},
        "required": [],
    }
    assert takes_null(nullable)


def test_of_alternatives_the_first_is_kept_and_enums_are_joined() -> None:
    assert one({"anyOf": [{"type": "string"}, {"type": "integer"}]}) == {"type": "string"}
    assert one({"oneOf": [{"const": "a"}, {"enum": ["b", "c"]}]}) == {
        "type": "string",
        "enum": ["a", "b", "c"],
    }
    assert one({"enum": ["a", None, 3]}) == {"type": "string", "enum": ["a"]}


def test_all_of_several_objects_is_one_object() -> None:
    parts = [
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"properties": {"b": {"type": "boolean"}}},
    ]
    assert one({"allOf": parts}) == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "boolean"}},
        "required": ["a"],
    }


def test_what_cannot_be_said_in_the_schema_is_told_in_words() -> None:
    found = one({"type": "string", "format": "uri", "maxLength": 9, "description": "A link."})
    assert found == {"type": "string", "description": "A link. (format uri, maxLength 9)"}


def test_exclusive_bounds_of_whole_numbers_become_inclusive() -> None:
    found = one({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10})
    assert found == {"type": "integer", "minimum": 1, "maximum": 9}


def test_names_of_arguments_become_identifiers_that_lead_back() -> None:
    renamed: dict[str, str] = {}
    names = ("max-results", "max.results", "from", "2nd")
    told = {"properties": {name: {"type": "string"} for name in names}, "required": ["2nd"]}
    found = portable(told, renamed)
    assert list(found["properties"]) == ["max_results", "max_results_2", "from", "_2nd"]
    assert found["required"] == ["_2nd"]
    assert renamed == {"max_results": "max-results", "max_results_2": "max.results", "_2nd": "2nd"}


@pytest.mark.parametrize("odd", [None, True, [], {"type": "string"}, {"type": "object"}])
def test_what_is_no_object_of_properties_takes_no_arguments(odd: Any) -> None:
    assert portable(odd, {}) == {"type": "object", "properties": {}, "required": []}


PLACES = (
    *("a", "type", "enum", "const", "required", "properties", "items", "$ref", "allOf", "anyOf"),
    *("oneOf", "default", "minimum", "description"),
)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.sampled_from(["a", "null", "#/x"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(PLACES),
                inner,
            )
        ),
        max_leaves=12,
    )
)
def test_whatever_a_third_party_puts_where_a_keyword_is_becomes_a_portable_schema(odd: Any) -> None:
    for schema in ({"type": "object", "properties": {"x": odd}, "required": ["x"]}, odd):
        found = portable(schema, {})
        assert lint(found) == []
        assert takes_null(odd) in (True, False)


def test_a_keyword_that_holds_what_it_cannot_demands_nothing() -> None:
    assert one({"type": "string", "enum": 5, "required": True}) == {"type": "string"}
    assert one({"type": "integer", "anyOf": {"type": "string"}}) == {"type": "integer"}


SCALARS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer", "minimum": 1},
        {"type": ["number", "null"]},
        {"type": "boolean"},
        {"enum": ["a", "b", 3]},
        {"const": 4},
        {"$ref": "#/$defs/Named"},
        {},
    ]
)
SCHEMAS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.builds(lambda s: {"type": "array", "items": s, "minItems": 0}, inner),
        st.builds(lambda s: {"anyOf": s}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(
            lambda p: {"type": "object", "properties": p, "required": [*p][:1]},
            st.dictionaries(st.sampled_from(["a", "b-c", "from"]), inner, min_size=1),
        ),
    ),
    max_leaves=6,
)
DEFINED = {"$defs": {"Named": {"anyOf": [{"type": "null"}, {"type": "string"}]}}}


def example(schema: Any) -> Any:
    """A value that a portable schema takes."""
    kind = schema["type"]
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "array":
        return [example(schema["items"])]
    if kind == "object":
        return {name: example(child) for name, child in schema.get("properties", {}).items()}
    plain = {"string": "s", "integer": 7, "number": 1.5, "boolean": True}
    return plain[kind]


def restored(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {names.get(key, key): restored(inner, names) for key, inner in value.items()}
    return [restored(inner, names) for inner in value] if isinstance(value, list) else value


@given(st.dictionaries(st.sampled_from(["x", "y z"]), SCHEMAS, min_size=1))
def test_every_schema_becomes_a_portable_one_whose_values_the_server_takes(inner: Any) -> None:
    told = {"type": "object", "properties": inner, **DEFINED}
    renamed: dict[str, str] = {}
    found = portable(told, renamed)
    assert lint(found) == []
    jsonschema.validate(restored(example(found), renamed), told)
