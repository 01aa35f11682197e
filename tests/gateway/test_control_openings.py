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
    ({"id": "x" * 201}, f"task.id '{'x' * 40}'... has 201 letters; give it at most 200"),
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
