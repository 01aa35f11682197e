"""What comes in may be anything: a wrong body gets a clear answer, never a 500."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provegym.gateway.apart import apart
from provegym.gateway.http import background
from provegym.gateway.openapi import document
from provegym.gateway.operations import OPERATIONS, Operation
from provegym.gateway.wire import MOST_CALLS
from tests.gateway.control_app import control_app, new_rooms
from tests.gateway.test_control import Http


@pytest.fixture(scope="module")
def api() -> Iterator[Http]:
    with background(control_app(new_rooms())) as url:
        yield Http(url)


@pytest.fixture(scope="module")
def session(api: Http) -> str:
    return api.open()


WITH_BODY = [op for op in OPERATIONS if op.body]
NO_JSON = (
    *(
        b"{",
        b"nul",
        b"[1, ]",
        b"\xff\xfe",
        b'{"calls": [{"name": "x", "key": "\xff"}]}',
        b"[" * 100_000,
    ),
    *(b"NaN", b'{"seed": Infinity}', b'{"tools": ["\\ud800"]}', b"{} {}"),
)


@pytest.mark.parametrize("operation", WITH_BODY, ids=lambda op: op.path)
@pytest.mark.parametrize("body", NO_JSON, ids=range(len(NO_JSON)))
def test_what_is_no_json_is_400_or_422(
    api: Http, session: str, operation: Operation, body: bytes
) -> None:
    path = operation.path.replace("{session}", session)
    status, answer = api.raw("POST", path, body)
    assert status in (400, 422)
    assert json.loads(answer)["error"]["code"] in ("not_json", "invalid_body", "invalid_input")


def test_a_query_is_refused_and_not_passed_over(api: Http, session: str) -> None:
    for method, path in (
        ("GET", f"/v1/sessions/{session}"),
        ("POST", f"/v1/sessions/{session}/score"),
    ):
        status, answer = api.raw(method, f"{path}?preset=strict", b"")
        assert (status, json.loads(answer)["error"]["message"]) == (
            422,
            "no route takes a query (what stands after `?`); use the body",
        )
    assert api.raw("GET", "/healthz?probe=1", b"")[0] == 200


@pytest.mark.parametrize("operation", WITH_BODY, ids=lambda op: op.path)
@pytest.mark.parametrize("body", [None, [], 5, "x", {"unknown": 1}, {"calls": 1, "tools": 1}])
def test_what_has_another_shape_is_422(
    api: Http, session: str, operation: Operation, body: object
) -> None:
    path = operation.path.replace("{session}", session)
    status, answer = api.raw("POST", path, json.dumps(body).encode())
    assert status == 422
    assert json.loads(answer)["error"]["code"] == "invalid_body"


JUNK = [b'{"a":' * n + b"1" + b"}" * n for n in (200, 5_000)]
JUNK += [b"[" * n + b"]" * n for n in (200, 5_000)]


@pytest.mark.parametrize("body", JUNK, ids=range(len(JUNK)))
def test_nested_junk_has_one_status_at_every_route(api: Http, session: str, body: bytes) -> None:
    paths = [operation.path.replace("{session}", session) for operation in WITH_BODY]
    found = [api.raw("POST", path, body) for path in paths]
    answers = [(status, *list(json.loads(text)["error"].values())[:2]) for status, text in found]
    assert {status for status, _, _ in answers} == {422}
    told = [(code, message) for _, code, message in answers if code == "invalid_input"]
    assert set(told) == {("invalid_input", "a body is nested at most 128 levels deep")}
    assert len(told) == len(paths) - 2  # the others take arguments of any depth


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["calls", "name", "arguments", "key", "session", "deadline", "task", "seed"]
            )
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(body=st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_no_body_makes_the_server_fail(api: Http, session: str, body: bytes) -> None:
    for path in ("/v1/calls", f"/v1/sessions/{session}/calls", "/v1/sessions"):
        status, answer = api.raw("POST", path, body)
        assert status < 500
        assert msgspec.json.decode(answer)
    assert api.notes(session) == ["milk"]


@settings(max_examples=60, deadline=None)
@given(arguments=JSON | st.text(max_size=20))
def test_no_arguments_make_a_call_a_fault_of_ours(
    api: Http, session: str, arguments: object
) -> None:
    body = json.dumps({"calls": [{"name": "list_notes", "arguments": arguments}]}, allow_nan=True)
    status, answer = api.raw("POST", f"/v1/sessions/{session}/calls", body.encode())
    if status == 200:
        (result,) = json.loads(answer)["results"]
        assert result["outcome"] in ("ok", "malformed", "invalid_arguments")
    else:
        assert status in (400, 422)  # NaN, lone surrogates


SPOILT = {
    "deep": '{"query": ' * 1_100 + "1" + "}" * 1_100,
    "deep in arrays": '{"query": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "just too deep for the body": '{"query": ' * 998 + "1" + "}" * 998,
    "half a character": '{"query": "\\ud800"}',
    "half a character in text": '"\\ud800"',
    "no number": '{"query": NaN, "text": "}, {"}',
    "no JSON": '{"query": tru, "arguments": [{"name": "x"}]}',
    "nothing": "",
}


@pytest.mark.parametrize("route", ["many", "one"])
@pytest.mark.parametrize("arguments", SPOILT.values(), ids=SPOILT)
def test_what_a_policy_wrote_spoils_its_own_call_alone(
    api: Http, arguments: str, route: str
) -> None:
    first = api.open()
    second = api.open() if route == "many" else first
    texts = ['{"text": "a, \\"b\\" }"}', json.dumps('{"text": "c"}')]
    calls = [call(first, "write_note", texts[0]), call(second, "write_note", arguments)]
    calls.append(call(first, "write_note", texts[1]))
    path = "/v1/calls"
    if route == "one":
        path = f"/v1/sessions/{first}/calls"
        calls = ["{" + text.partition(", ")[2] for text in calls]
    status, answer = api.raw("POST", path, f'{{"calls": [{", ".join(calls)}]}}'.encode())
    assert status == 200, answer
    outcomes = [result["outcome"] for result in json.loads(answer)["results"]]
    assert outcomes == ["ok", "malformed", "ok"]
    assert api.notes(first) == ["milk", 'a, "b" }', "c"]


def call(session: str, name: str, arguments: str) -> str:
    """A call as text, with arguments that may be no JSON."""
    return f'{{"session": "{session}", "name": "{name}", "arguments": {arguments} }}'


def test_half_a_character_in_a_name_is_an_unknown_tool_for_its_own_call(
    api: Http, session: str
) -> None:
    calls = ", ".join(call(session, name, "{}") for name in ("\\ud800", "list_notes"))
    status, answer = api.raw("POST", "/v1/calls", f'{{"calls": [{calls}]}}'.encode())
    assert status == 200, answer
    found = [result["outcome"] for result in json.loads(answer)["results"]]
    assert found == ["unknown_tool", "ok"]


@pytest.mark.parametrize(
    "body",
    [
        '{"calls": [{"name": "list_notes", "arguments": {"a": [NaN}}]}',
        '{"calls": [{"name": "list_notes", "arguments": {"a": "NaN}}]}',
        '{"calls": [{"name": "list_notes", "arguments": {"a": NaN}}',
        '{"calls": [{"name": "list_notes", "key": "\\ud800"}]}',
    ],
)
def test_where_calls_cannot_be_told_apart_the_body_is_no_json(
    api: Http, session: str, body: str
) -> None:
    status, answer = api.raw("POST", f"/v1/sessions/{session}/calls", body.encode())
    assert (status, json.loads(answer)["error"]["code"]) == (400, "not_json")


@settings(max_examples=60, deadline=None)
@given(values=st.lists(JSON, min_size=1, max_size=3))
def test_a_batch_told_apart_says_what_it_said(values: list[object]) -> None:
    calls = [{"name": "x", "arguments": value} for value in values]
    body = json.dumps({"calls": calls}, allow_nan=True)
    found = json.loads(apart(body.encode()))["calls"]
    for call, value in zip(found, values, strict=True):
        text = call["arguments"]
        assert isinstance(text, str)
        assert text in (value, json.dumps(value))


def test_a_request_holds_a_limited_number_of_calls(api: Http, session: str) -> None:
    calls = [{"name": "list_notes"}] * (MOST_CALLS + 1)
    found = api.error("POST", f"/v1/sessions/{session}/calls", {"calls": calls})
    assert found[:2] == (422, "invalid_body")
    assert str(MOST_CALLS) in found[2]


def test_the_openapi_document_is_valid_and_served(api: Http) -> None:
    from openapi_spec_validator import validate

    status, served = api("GET", "/openapi.json")
    assert status == 200
    assert served == json.loads(msgspec.json.encode(document()))
    validate(served)
    assert set(served["paths"]) == {op.path for op in OPERATIONS}


def test_the_document_names_every_answer_that_is_given(api: Http) -> None:
    schemas = document()["components"]["schemas"]
    call = schemas["CallRequest"]
    assert call["properties"]["arguments"]["type"] == ["object", "string"]
    assert call["required"] == ["name"]
    assert call["additionalProperties"] is False
    outcomes = schemas["Result"]["properties"]["outcome"]["enum"]
    assert "infrastructure" in outcomes
    open_ = document()["paths"]["/v1/sessions"]["post"]
    assert set(open_["responses"]) == {"201", "400", "401", "413", "415", "422", "429", "503"}
    show = document()["paths"]["/v1/sessions/{session}"]["get"]
    assert set(show["responses"]) == {"200", "401", "404", "410", "422", "503"}


@pytest.mark.parametrize("told", ["text/plain", "text/plain; a=application/json", ""])
def test_a_body_must_be_said_to_be_json(session: str, api: Http, told: str) -> None:
    asked = Http(f"http://{api.place}")
    asked.content_type = told
    found = asked.error("POST", "/v1/sessions", {"seed": 7, "servers": ["pad"]})
    assert found[:2] == (415, "wrong_type")
    asked.content_type = "Application/JSON; charset=utf-8"
    assert asked.open()
    asked.content_type = "text/plain"
    assert asked("POST", f"/v1/sessions/{session}/snapshot")[0] == 200  # nothing, of no type
