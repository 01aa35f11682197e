"""Random arguments fit their schemas."""

from __future__ import annotations

from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.rollout.arguments import Seen, arguments_for, value_for

NOTHING = Seen([])


def scalar_schemas() -> st.SearchStrategy[dict[str, Any]]:
    low = st.integers(-50, 50)
    return st.one_of(
        st.sampled_from([{"type": t} for t in ("string", "integer", "number", "boolean")]),
        st.builds(lambda v: {"type": "string", "enum": v}, st.lists(st.text(), min_size=1)),
        st.builds(lambda a: {"type": "integer", "minimum": a, "maximum": a + 3}, low),
        st.builds(lambda a: {"type": "number", "minimum": a}, low),
        st.builds(lambda a: {"type": "number", "maximum": a}, low),
        st.just({"type": ["integer", "null"]}),
        st.just({"anyOf": [{"type": "string"}, {"type": "null"}]}),
    )


schemas = st.recursive(
    scalar_schemas(),
    lambda inner: st.one_of(
        st.builds(lambda i: {"type": "array", "items": i}, inner),
        st.builds(lambda i: {"type": "array", "items": i, "minItems": 4}, inner),
        st.builds(lambda i: {"type": "array", "items": i, "minItems": 0, "maxItems": 0}, inner),
        st.builds(
            lambda p: {"type": "object", "properties": p, "required": sorted(p)[:1]},
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        ),
    ),
    max_leaves=6,
)


@given(schemas, st.integers(0, 2**32))
def test_every_value_fits_its_schema(schema: dict[str, Any], seed: int) -> None:
    seen = Seen([{"a": [1, -60, 2.5, "x", None, True]}, None])
    jsonschema.validate(value_for(schema, Random(seed), seen, "a"), schema)


def test_required_properties_are_always_given_and_optional_ones_sometimes() -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}
    drawn = [set(arguments_for(schema, Random(seed), NOTHING)) for seed in range(40)]
    assert all("a" in names for names in drawn)
    assert 0 < sum("b" in names for names in drawn) < 40


@pytest.mark.parametrize(
    ("name", "result", "value"),
    [
        ("order_id", {"order_id": "o1", "id": "i1"}, "o1"),
        ("order_id", [{"id": "i1"}], "i1"),
        ("order_ids", [{"id": "i1"}], "i1"),
        ("city", {"address": {"city": "Bonn"}}, "Bonn"),
    ],
)
def test_a_seen_value_of_that_name_is_taken(name: str, result: Any, value: str) -> None:
    assert value_for({"type": "string"}, Random(0), Seen([result]), name) == value


def test_a_described_example_shows_how_to_write_a_string() -> None:
    schema = {"type": "string", "description": 'The day. ISO 8601 date, e.g. "2026-03-05".'}
    assert value_for(schema, Random(0), NOTHING, "day") == "2026-03-05"


def test_a_seen_number_out_of_bounds_is_not_taken() -> None:
    schema = {"type": "integer", "minimum": 1, "maximum": 2}
    assert value_for(schema, Random(0), Seen([{"n": 500}]), "n") in (1, 2)
