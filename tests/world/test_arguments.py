"""What becomes of a call's arguments, against a JSON Schema validator and by hand."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from provegym.world.sample import arguments
from provegym.world.session import Session
from provegym.world.tool import Tool
from provegym.world.validate import MAX_BYTES, MAX_DEPTH, Problem, understand
from tests.world.conftest import library_world
from tests.world.library import SERVER

TOOLS = st.sampled_from(sorted(SERVER.tools))
NUMBERS = st.one_of(
    st.integers(-3, 3000), st.floats(-9, 3000), st.sampled_from((1.0, 0.0, -0.0, 5e300, 2.5))
)
TEXTS = st.one_of(st.text(max_size=6), st.sampled_from(("crime", "12.50", "2026-02-30", "", "1")))
LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)

VISIT = '{"day": "2026-05-01", "at": "10:00", "contact": "a@b.example", "guests": 4}'


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) inside a JSON value."""
    pairs = list(value.items() if isinstance(value, dict) else enumerate(value))
    inner = [item for _, item in pairs if isinstance(item, dict | list)]
    return [(value, key) for key, _ in pairs] + [place for item in inner for place in places(item)]


@st.composite
def calls(draw: st.DrawFn) -> tuple[Tool, dict[str, Any]]:
    """A tool, and arguments that fit it but for up to two changes."""
    tool = SERVER.tools[draw(TOOLS)]
    state = library_world(7).open().state("library")
    given = copy.deepcopy(arguments(tool, state, Random(draw(st.integers(0, 999)))))
    for _ in range(draw(st.integers(0, 2))):
        change, value = draw(st.sampled_from(("set", "drop", "add"))), draw(VALUES)
        found = places(given)
        if change == "add" or not found:
            given[draw(st.sampled_from(("note", "limit", "x")))] = value
            continue
        container, key = draw(st.sampled_from(found))
        if change == "set":
            container[key] = value
        else:
            del container[key]
    return tool, given


def shape(schema: dict[str, Any]) -> dict[str, Any]:
    """What of a schema is a matter of shape: types, required and known properties."""
    kept: dict[str, Any] = {key: schema[key] for key in ("type", "required") if key in schema}
    if "properties" in schema:
        inner = {name: shape(child) for name, child in schema["properties"].items()}
        kept |= {"properties": inner, "additionalProperties": False}
    return kept | ({"items": shape(schema["items"])} if "items" in schema else {})


def accepts(schema: dict[str, Any], value: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))


@given(calls())
def test_outcomes_agree_with_a_json_schema_validator(call: tuple[Tool, dict[str, Any]]) -> None:
    tool, given = call
    schema = tool.schema.function.parameters
    result = library_world(7).open().call(tool.name, json.dumps(given))
    well_shaped = accepts(shape(schema), given)
    assert (result.outcome == "invalid_arguments") == (not well_shaped), result
    if well_shaped and not accepts(schema, given):
        assert result.outcome == "tool_error"
        assert result.value["error"]["code"] == "invalid_value"


@given(calls())
def test_the_fast_and_the_slow_path_understand_the_same(
    call: tuple[Tool, dict[str, Any]],
) -> None:
    tool, given = call
    text = json.dumps(given).encode()
    slow = understand(tool, text)
    try:
        fast = astuple(tool.decoder.decode(text))
    except msgspec.MsgspecError:
        return  # then the slow path decides
    well_written = all(fast[i] == default or test(fast[i]) for i, test, default in tool.checks)
    assert well_written == (not isinstance(slow, Problem)), slow
    if well_written:
        assert fast == astuple(slow)


@given(calls())
def test_text_bytes_and_objects_are_the_same_arguments(call: tuple[Tool, dict[str, Any]]) -> None:
    tool, given = call
    text = json.dumps(given)
    sessions = [library_world(7).open() for _ in range(3)]
    results = [
        sessions[0].call(tool.name, text).json(),
        sessions[1].call(tool.name, text.encode()).json(),
        sessions[2].call(tool.name, given).json(),
    ]
    assert results == results[:1] * 3
    assert len({session.digest() for session in sessions}) == 1


def visit(**changed: Any) -> str:
    return json.dumps({**json.loads(VISIT), **changed})


def accents(count: int) -> str:
    """As many characters of two bytes each."""
    return '{"x": "%s"}' % ("é" * count)


BAD: list[tuple[str, str, Any, str, str]] = [
    ("no text", "plan_visit", "", "malformed", "malformed"),
    ("a list", "plan_visit", "[]", "malformed", "malformed"),
    ("null", "plan_visit", "null", "malformed", "malformed"),
    ("a cut text", "plan_visit", VISIT[:-1], "malformed", "malformed"),
    ("not UTF-8", "plan_visit", b'{"day": "\xff"}', "malformed", "malformed"),
    ("NaN", "plan_visit", visit(guests=float("nan")), "malformed", "malformed"),
    ("Infinity", "plan_visit", visit(guests=float("inf")), "malformed", "malformed"),
    ("NaN in an object", "plan_visit", {"guests": float("nan")}, "malformed", "malformed"),
    ("NaN in a list", "set_wishes", {"book_ids": [float("nan")]}, "malformed", "malformed"),
    ("a lone surrogate", "plan_visit", '{"day": "\ud800"}', "malformed", "malformed"),
    ("an escaped one", "plan_visit", '{"day": "\\ud800"}', "malformed", "malformed"),
    ("one in an object", "plan_visit", {"day": "\ud800"}, "malformed", "malformed"),
    ("deep lists", "plan_visit", '{"x":' + "[" * 200_000, "malformed", "malformed"),
    ("deep and closed", "plan_visit", f'{{"x":{"[" * 150}{"]" * 150}}}', "malformed", "malformed"),
    ("a function", "plan_visit", {"day": print}, "malformed", "malformed"),
    ("10 MB", "plan_visit", " " * 10_000_000, "tool_error", "too_large"),
    ("10 MB that fit", "plan_visit", VISIT + " " * MAX_BYTES, "tool_error", "too_large"),
    ("1 MiB in UTF-8", "plan_visit", accents(MAX_BYTES // 2), "tool_error", "too_large"),
    ("just below", "plan_visit", accents(MAX_BYTES // 2 - 9), "invalid_arguments", ""),
    ("a large object", "plan_visit", {"day": "x" * MAX_BYTES}, "tool_error", "too_large"),
    ("2^63", "plan_visit", visit(guests=2**63), "tool_error", "invalid_value"),
    ("-2^63 - 1", "plan_visit", visit(guests=-(2**63) - 1), "tool_error", "invalid_value"),
    ("300 digits", "plan_visit", visit(guests=10**300), "tool_error", "invalid_value"),
    ("a huge share", "plan_visit", visit(share=10**300), "tool_error", "invalid_value"),
    ("1e300 guests", "plan_visit", visit(guests=1e300), "tool_error", "invalid_value"),
    ("half a guest", "plan_visit", visit(guests=4.5), "invalid_arguments", "invalid_arguments"),
    ("guests as text", "plan_visit", visit(guests="4"), "invalid_arguments", "invalid_arguments"),
    ("true guests", "plan_visit", visit(guests=True), "invalid_arguments", "invalid_arguments"),
    ("no null", "plan_visit", visit(quiet=None), "invalid_arguments", "invalid_arguments"),
    ("a bad day", "plan_visit", visit(day="2026-02-30"), "tool_error", "invalid_value"),
    ("a bad hour", "plan_visit", visit(at="24:00"), "tool_error", "invalid_value"),
    ("a bad address", "plan_visit", visit(contact="a b@c.d"), "tool_error", "invalid_value"),
    ("too much", "plan_visit", visit(share=1.01), "tool_error", "invalid_value"),
    ("a bad choice", "search_books", '{"genre": "cook"}', "tool_error", "invalid_value"),
]


def test_half_a_character_is_told_of_and_not_a_text_that_is_cut(session: Session) -> None:
    told = session.call("plan_visit", '{"day": "\\ud800"}').value["error"]["message"]
    assert told.startswith("arguments are not JSON: a surrogate stands alone")
    told = session.call("plan_visit", '{"day": "\\ud83d\\ude00"').value["error"]["message"]
    assert "surrogate" not in told


@pytest.mark.parametrize(
    ("name", "given", "outcome", "code"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD]
)
def test_bad_arguments_are_an_outcome_and_never_an_exception(
    session: Session, name: str, given: Any, outcome: str, code: str
) -> None:
    before = session.digest()
    result = session.call(name, given)
    assert result.outcome == outcome
    assert code in ("", result.value["error"]["code"])
    assert len(result.json()) < 1000
    assert session.digest() == before


GIFT: dict[str, Any] = {"title": "Emma", "price": "9.50"}
NESTED: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda d: d.update(price="9.5"), "tool_error"),
    (lambda d: d.update(title=" "), "tool_error"),
    (lambda d: d.update(year=1499), "tool_error"),
    (lambda d: d.update(genre="cook"), "tool_error"),
    (lambda d: d.update(year="1800"), "invalid_arguments"),
    (lambda d: d.update(year=None), "invalid_arguments"),
    (lambda d: d.update(wished_by=[7]), "invalid_arguments"),
    (lambda d: d.update(isbn="1"), "invalid_arguments"),
    (lambda d: d.pop("price"), "invalid_arguments"),
    (lambda d: d.update(year=1800.0), "ok"),
]


@pytest.mark.parametrize(("change", "outcome"), NESTED)
def test_records_inside_lists_are_checked_as_parameters_are(
    session: Session, change: Callable[[dict[str, Any]], Any], outcome: str
) -> None:
    second = copy.deepcopy(GIFT)
    change(second)
    for form in ({"donations": [GIFT, second]}, json.dumps({"donations": [GIFT, second]})):
        result = session.fork().call("add_donations", form)
        assert result.outcome == outcome, result
        assert outcome == "ok" or "donations[1]" in result.value["error"]["message"]


def test_of_two_keys_alike_the_last_counts(session: Session) -> None:
    text = '{"member_id": "nobody", "member_id": "mem_000003"}'
    assert session.call("get_member", text).builtins()["id"] == "mem_000003"


def test_one_point_zero_is_an_integer(session: Session) -> None:
    result = session.call("plan_visit", visit(guests=4.0))
    assert result.builtins()["guests"] == 4
    assert json.loads(result.json())["guests"] == 4
    assert b"4.0" not in result.json()


def test_depth_is_counted_to_its_limit(session: Session) -> None:
    def outcome(depth: int) -> str:
        return session.call("get_member", f'{{"x":{"[" * depth}{"]" * depth}}}').outcome

    assert outcome(MAX_DEPTH - 1) == "invalid_arguments"
    assert outcome(MAX_DEPTH) == "malformed"


def test_a_default_is_always_well_written_and_may_be_said(session: Session) -> None:
    page = session.call("search_books", {"genre": "crime", "query": "", "cursor": "", "limit": 1})
    assert page.outcome == "ok"
    assert len(page.builtins()["books"]) == 1


@pytest.mark.parametrize("number", ["9" * 5000, "-" + "9" * 5000, "1e999", "1" * 400 + ".5"])
def test_a_number_out_of_range_is_said_to_be_one(number: str) -> None:
    session = library_world(7).open()
    result = session.call("search_books", f'{{"genre": {number}}}')
    assert result.outcome == "malformed"
    assert result.value["error"]["message"] == (
        "arguments hold a number out of range: an integer of over 4300 digits, or one that no "
        "double holds"
    )
