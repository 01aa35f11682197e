"""What a session cannot be opened for, and that a key makes one session at most."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from provegym.gateway.http import background
from provegym.gateway.rooms import Rooms
from tests.gateway.control_app import control_app, new_rooms
from tests.gateway.test_control import Http, as_json, task


@pytest.fixture(scope="module")
def rooms() -> Rooms:
    return new_rooms()


@pytest.fixture(scope="module")
def api(rooms: Rooms) -> Iterator[Http]:
    with background(control_app(rooms)) as url:
        yield Http(url)


WRONG_TASKS: list[tuple[dict[str, Any], str]] = [
    ({"servers": ["pad", "pad"]}, "task.servers names 'pad' twice; name each server once"),
    ({"turns": []}, "task.turns is empty; a task has at least one turn of its user"),
    ({"id": ""}, "task.id '' is empty; give the task a name"),
    ({"id": " "}, "task.id ' ' is empty; give the task a name"),
    ({"id": "x" * 201}, f"task.id '{'x' * 35}...' has 201 letters; give it at most 200"),
    ({"seed": -1}, "task.seed -1 is not from 0 to 9223372036854775807"),
    ({"seed": 2**63}, "task.seed 9223372036854775808 is not from 0 to 9223372036854775807"),
    (
        {"reference_time": "tomorrow"},
        "task.reference_time 'tomorrow' is no time of ISO 8601, such as 2026-03-02T09:00:00",
    ),
    ({"schema": 99}, "task.schema 99 is newer than 1; use a newer provegym"),
]


@pytest.mark.parametrize(
    ("wrong", "told"), WRONG_TASKS, ids=[next(iter(w)) for w, _ in WRONG_TASKS]
)
def test_a_task_that_no_session_can_be_about_is_refused_by_its_field(
    api: Http, rooms: Rooms, wrong: dict[str, Any], told: str
) -> None:
    before = len(rooms)
    found = api.error("POST", "/v1/sessions", {"task": {**as_json(task()), **wrong}})
    assert found == (422, "invalid_input", told)
    assert len(rooms) == before


OBJECT = {"type": "object", "properties": {}}
TYPED = 'MCP demands {"type": "object"} with their `properties`'
NAMING = "take 1 to 128 letters and digits of ASCII, `_`, `-` and `.`"
WRONG_TOOLS: list[tuple[str, Any, str]] = [
    ("t", {}, f"the parameters of the tool t have no type; {TYPED}"),
    ("t", {"properties": {}}, f"the parameters of the tool t have no type; {TYPED}"),
    ("t", {"type": "string"}, f"the parameters of the tool t have the type 'string'; {TYPED}"),
    ("t", {"type": ["object"]}, f"the parameters of the tool t have the type ['object']; {TYPED}"),
    (
        "t",
        {"type": "object", "properties": 5},
        "the parameters of the tool t are no JSON Schema: at $.properties, "
        "5 is not of type 'object'",
    ),
    (
        "t",
        {"type": "object", "properties": {"a": {"type": "text"}}},
        "the parameters of the tool t are no JSON Schema: at $.properties.a.type, "
        "'text' is not valid under any of the given schemas",
    ),
    ("", OBJECT, f"the tool name '' cannot be listed; {NAMING}"),
    ("a b/c", OBJECT, f"the tool name 'a b/c' cannot be listed; {NAMING}"),
    ("list\n", OBJECT, f"the tool name 'list\\n' cannot be listed; {NAMING}"),
    ("x" * 129, OBJECT, f"the tool name '{'x' * 75}...' cannot be listed; {NAMING}"),
    ("write_note", OBJECT, "the task shows the tool write_note twice; leave one out"),
]


def shown(name: str, parameters: Any) -> dict[str, Any]:
    """A tool as a task holds it."""
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


@pytest.mark.parametrize("late", [False, True], ids=["at first", "in a later turn"])
@pytest.mark.parametrize(("name", "parameters", "told"), WRONG_TOOLS)
def test_a_task_with_a_tool_that_no_client_could_list_is_refused(
    api: Http, rooms: Rooms, name: str, parameters: Any, told: str, late: bool
) -> None:
    before, asked = len(rooms), as_json(task())
    of = asked["turns"][1] if late else asked
    of["tools"] = [*of["tools"], shown(name, parameters)]
    assert api.error("POST", "/v1/sessions", {"task": asked}) == (422, "invalid_input", told)
    assert len(rooms) == before


def test_any_other_tool_is_taken(api: Http) -> None:
    tools = [shown("mine.v2-b_1", {**OBJECT, "required": []}), shown("x" * 128, {"type": "object"})]
    name = api.open(task={**as_json(task()), "tools": tools})
    assert api("GET", f"/v1/sessions/{name}/tools")[1]["tools"][1]["function"]["name"] == "x" * 128


def ground(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"turns": [{"user": "Note it.", "calls": calls}]}


def noting(name: str, *after: str) -> dict[str, Any]:
    return {"id": name, "name": "write_note", "arguments": {"text": "x"}, "after": after}


LIES: list[tuple[dict[str, Any], str]] = [
    (
        ground(noting("a"), noting("a")),
        "task t1 uses one ground-truth call id twice; make them distinct",
    ),
    (
        ground(noting("a", "b")),
        "task t1: ground call 'a' comes after 'b', which is no ground call of the task",
    ),
    (
        ground(noting("a", "a")),
        "task t1: ground call 'a' comes after itself; name calls that come before it",
    ),
    (
        ground(noting("a", "b"), noting("b", "a")),
        "task t1: ground calls wait for each other ('a', 'b', 'a'); take one out of `after`",
    ),
    (
        ground({**noting("a"), "name": "burn_note"}),
        "task t1: ground call 'a' is of 'burn_note', which is no tool of the task's servers pad; "
        "name their server too",
    ),
    (
        {"final_changes": {"pad.leaves": {"+1": {"text": "tea"}}}},
        "task t1: final_changes names 'pad.leaves', which is no table of the task's servers pad; "
        "name it as server.table",
    ),
]


@pytest.mark.parametrize(("lie", "told"), LIES, ids=range(len(LIES)))
def test_a_task_whose_truth_cannot_be_is_refused_before_a_session_is_opened(
    api: Http, rooms: Rooms, lie: dict[str, Any], told: str
) -> None:
    before = len(rooms)
    found = api.error("POST", "/v1/sessions", {"task": {**as_json(task()), **lie}})
    assert found == (422, "invalid_input", told)
    assert len(rooms) == before


def test_a_ground_call_may_come_after_one_that_is_listed_later(api: Http) -> None:
    assert api.open(task={**as_json(task()), **ground(noting("a", "b"), noting("b"))})


WRONG_OPENINGS: list[tuple[dict[str, Any], str]] = [
    ({"seed": -1, "servers": ["pad"]}, "seed"),
    ({"seed": 2**63, "servers": ["pad"]}, "seed"),
    ({"seed": 1.5, "servers": ["pad"]}, "seed"),
    ({"seed": 1, "servers": ["x" * 201]}, "servers"),
    ({"seed": 1, "servers": ["pad"], "key": ""}, "key"),
]


@pytest.mark.parametrize(("body", "field"), WRONG_OPENINGS)
def test_a_wrong_field_of_an_opening_is_named(api: Http, body: dict[str, Any], field: str) -> None:
    status, code, told = api.error("POST", "/v1/sessions", body)
    assert (status, code) == (422, "invalid_body")
    assert f"$.{field}" in told


def test_a_server_named_twice_is_told(api: Http) -> None:
    found = api.error("POST", "/v1/sessions", {"seed": 7, "servers": ["pad", "pad"]})
    assert found == (422, "invalid_input", "servers names 'pad' twice; name each server once")


def test_the_key_of_an_ended_session_opens_no_other(api: Http, rooms: Rooms) -> None:
    body = {"seed": 7, "servers": ["pad"], "key": "of-an-ended-session"}
    first = api("POST", "/v1/sessions", body)
    name = first[1]["id"]
    assert api("DELETE", f"/v1/sessions/{name}")[0] == 200
    before = len(rooms)
    assert api("POST", "/v1/sessions", body) == first
    assert len(rooms) == before
    assert api.error("GET", f"/v1/sessions/{name}")[:2] == (410, "session_closed")


def test_a_fork_with_a_key_is_made_once_also_where_its_parent_ended(
    api: Http, rooms: Rooms
) -> None:
    parent, other = api.open(), api.open()
    path, body = f"/v1/sessions/{parent}/fork", {"key": "of-a-fork"}
    before = len(rooms)
    first = api("POST", path, body)
    assert (first[0], len(rooms)) == (201, before + 1)
    assert api("POST", path, body) == first
    assert api.error("POST", f"/v1/sessions/{other}/fork", body)[:2] == (422, "invalid_input")
    opening = {"seed": 7, "servers": ["pad"], **body}
    assert api.error("POST", "/v1/sessions", opening)[:2] == (422, "invalid_input")
    api("DELETE", f"/v1/sessions/{parent}")
    assert api("POST", path, body) == first
    assert api.error("POST", path, {"key": "another"})[:2] == (410, "session_closed")
    assert (
        api("POST", f"/v1/sessions/{other}/fork")[1] != api("POST", f"/v1/sessions/{other}/fork")[1]
    )
