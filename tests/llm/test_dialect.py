"""Requests: what their key depends on, and how an endpoint is sent them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from provegym.llm.dialect import Dialect, Request

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "model": st.text(),
    "messages": st.lists(st.dictionaries(st.text(), JSON, max_size=3), max_size=3),
    "seed": st.integers(),
    "temperature": st.floats(0, 2),
    "max_tokens": st.integers(1),
    "tools": st.lists(st.dictionaries(st.text(), JSON, max_size=3), max_size=2),
    "schema": st.none() | st.dictionaries(st.text(), JSON, max_size=3),
    "mode": st.sampled_from(["tools", "json"]),
    "extra": st.dictionaries(st.text(), JSON, max_size=2),
}
REQUESTS = st.fixed_dictionaries(FIELDS)
HELLO = Request("m", [{"role": "user", "content": "Hello."}], 7, 0.5, 64)
PAY = {"type": "function", "function": {"name": "pay", "description": "", "parameters": {}}}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


def reversed_keys(value: Any) -> Any:
    """The same JSON with the keys of all objects in the opposite order."""
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(value)}
    return [reversed_keys(part) for part in value] if isinstance(value, list) else value


def key(fields: dict[str, Any]) -> str:
    return Request(**fields).key


@given(REQUESTS)
def test_the_order_of_keys_does_not_change_the_key_of_a_request(fields: dict[str, Any]) -> None:
    assert key(fields) == key(reversed_keys(fields))


@given(REQUESTS, st.data())
def test_any_field_that_changes_does(fields: dict[str, Any], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(FIELDS)))
    other = data.draw(FIELDS[name])
    assume(other != fields[name])
    assert key(fields) != key({**fields, name: other})


def test_a_request_with_no_json_in_it_has_no_key() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        _ = msgspec.structs.replace(HELLO, extra={"x": float("nan")}).key


def test_a_plain_request_says_what_was_asked_and_no_more() -> None:
    assert Dialect().body(HELLO) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hello."}],
        "seed": 7,
        "temperature": 0.5,
        "max_tokens": 64,
    }


def test_tools_a_schema_and_further_fields_are_sent_where_given() -> None:
    request = msgspec.structs.replace(HELLO, tools=[PAY], schema=SCHEMA, extra={"top_k": 20})
    body = Dialect().body(request)
    assert (body["tools"], body["top_k"]) == ([PAY], 20)
    form = {"name": "answer", "schema": SCHEMA, "strict": True}
    assert body["response_format"] == {"type": "json_schema", "json_schema": form}


def test_in_plain_json_the_tools_stand_in_the_prompt_and_the_history_is_text() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Pay."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": '{"ok": true}'},
    ]
    request = msgspec.structs.replace(HELLO, messages=messages, tools=[PAY], mode="json")
    body = Dialect().body(request)
    assert "tools" not in body
    assert [m["role"] for m in body["messages"]] == ["system", "user", "assistant", "user"]
    assert json.dumps(PAY) in body["messages"][0]["content"]
    assert "<tool_response>" in body["messages"][3]["content"]
