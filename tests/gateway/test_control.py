"""The control API over real HTTP: what it does, and what it answers to what is wrong."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from provegym.gateway.http import background
from provegym.gateway.rooms import KEYS, Rooms
from provegym.rewards import score
from provegym.types import Call, GroundCall, Task, Trace, Turn
from tests.gateway.control_app import PAD, Clock, Settings, control_app, new_rooms

CLOCK = Clock()


class Http:
    """Requests to one server, answers as status and JSON."""

    content_type = "application/json"

    def __init__(self, url: str) -> None:
        self.place = urlsplit(url).netloc

    def raw(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.place, timeout=30)
        try:
            connection.request(method, path, body, {"Content-Type": self.content_type})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def __call__(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        sent = None if body is None else json.dumps(body).encode()
        status, text = self.raw(method, path, sent)
        return status, json.loads(text)

    def open(self, **body: Any) -> str:
        status, answer = self("POST", "/v1/sessions", body or {"seed": 7, "servers": ["pad"]})
        assert status == 201
        return str(answer["id"])

    def calls(self, session: str, *calls: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
        body = {"calls": calls, **more}
        status, answer = self("POST", f"/v1/sessions/{session}/calls", body)
        assert status == 200, answer
        return list(answer["results"])

    def notes(self, session: str) -> list[str]:
        (result,) = self.calls(session, {"name": "list_notes"})
        return [note["text"] for note in result["value"]]

    def error(self, method: str, path: str, body: Any = None) -> tuple[int, str, str]:
        status, answer = self(method, path, body)
        assert set(answer) == {"error"}
        assert set(answer["error"]) == {"code", "message", "details"}
        message = answer["error"]["message"]
        assert message
        assert "\n" not in message
        return status, answer["error"]["code"], message


@pytest.fixture(scope="module")
def rooms() -> Rooms:
    return new_rooms(CLOCK)


@pytest.fixture(scope="module")
def api(rooms: Rooms) -> Iterator[Http]:
    with background(control_app(rooms)) as url:
        yield Http(url)


def write(text: str, **more: Any) -> dict[str, Any]:
    return {"name": "write_note", "arguments": {"text": text}, **more}


def tools_of_pad(*names: str) -> tuple[Any, ...]:
    return tuple(PAD.tools[name].schema for name in names)


def task() -> Task:
    """Note tea; then, with a tool that comes in the second turn, look at the notes."""
    first = Turn("Note tea.", (GroundCall("g0", "write_note", {"text": "tea"}),), "Noted.")
    second = Turn(
        "Show.", (GroundCall("g1", "list_notes", {}),), "Tea.", tools_of_pad("list_notes")
    )
    return Task(
        "t1",
        "workflow",
        (first, second),
        servers=("pad",),
        seed=7,
        tools=tools_of_pad("write_note"),
        final_changes={"pad.notes": {"+1": {"text": "tea"}}},
    )


def as_json(task: Task) -> Any:
    import msgspec

    return json.loads(msgspec.json.encode(task))


# -- sessions ---------------------------------------------------------------------------------


def test_a_session_is_opened_used_listed_and_closed(api: Http) -> None:
    status, opened = api("POST", "/v1/sessions", {"seed": 7, "servers": ["pad"]})
    name = opened["id"]
    assert (status, opened) == (
        201,
        {"id": name, "mcp": f"/s/{name}/mcp", "task": None, "turn": 0, "direct": ""},
    )
    assert api.notes(name) == ["milk"]
    assert api("GET", f"/v1/sessions/{name}") == (200, opened)
    assert opened in api("GET", "/v1/sessions")[1]["sessions"]
    assert api("DELETE", f"/v1/sessions/{name}") == (200, {"ok": True})
    assert opened not in api("GET", "/v1/sessions")[1]["sessions"]


def test_ids_cannot_be_guessed_from_each_other(api: Http) -> None:
    names = {api.open() for _ in range(20)}
    assert len(names) == 20
    assert all(len(name) >= 20 for name in names)


def test_an_unknown_session_is_404_a_closed_or_expired_one_410(api: Http) -> None:
    closed, expired = api.open(), api.open()
    api("DELETE", f"/v1/sessions/{closed}")
    CLOCK.now += 61
    for name, wanted in (
        ("never", (404, "session_unknown")),
        (closed, (410, "session_closed")),
        (expired, (410, "session_expired")),
    ):
        asked = [
            ("GET", "", None),
            ("DELETE", "", None),
            ("GET", "/changes", None),
            ("GET", "/digest", None),
            ("GET", "/tools", None),
            ("POST", "/calls", {"calls": [{"name": "list_notes"}]}),
            *(("POST", f"/{end}", None) for end in ("fork", "snapshot", "reset", "offer", "score")),
            ("POST", "/restore", {"snapshot": "s1"}),
        ]
        for method, end, body in asked:
            found = api.error(method, f"/v1/sessions/{name}{end}", body)
            assert found[:2] == wanted, (method, end)


def test_a_world_that_there_is_none_of_is_refused_in_one_line(api: Http) -> None:
    for body, code, words in (
        ({"seed": 7, "servers": ["bank"]}, "unknown_name", "banking"),
        ({"seed": 7, "servers": []}, "invalid_input", "servers"),
        ({"servers": ["pad"]}, "invalid_input", "seed"),
        ({"seed": 7, "servers": ["email", "email"]}, "invalid_input", "once"),
        ({}, "invalid_input", "task"),
        ({"seed": 8, "servers": ["pad"], "task": as_json(task())}, "invalid_input", "task's"),
        ({"task": as_json(replace(task(), schema=2))}, "invalid_input", "newer"),
        ({"seed": "7", "servers": ["pad"]}, "invalid_body", "seed"),
        ({"seed": 7, "servers": ["pad"], "sead": 1}, "invalid_body", "sead"),
    ):
        status, found, message = api.error("POST", "/v1/sessions", body)
        assert (status, found) == (422, code)
        assert words in message


def test_there_are_no_more_sessions_than_allowed() -> None:
    rooms = new_rooms()
    with background(control_app(rooms, Settings(sessions=2))) as url:
        api = Http(url)
        first, _ = api.open(), api.open()
        for path, body in (
            ("/v1/sessions", {"seed": 7, "servers": ["pad"]}),
            (f"/v1/sessions/{first}/fork", None),
        ):
            status, code, message = api.error("POST", path, body)
            assert (status, code) == (429, "limit_reached")
            assert "2 sessions" in message
        api("DELETE", f"/v1/sessions/{first}")
        assert api.open()


# -- the whole state --------------------------------------------------------------------------


def test_a_snapshot_is_gone_back_to_any_number_of_times(api: Http) -> None:
    name = api.open()
    api.calls(name, write("tea"))
    status, kept = api("POST", f"/v1/sessions/{name}/snapshot")
    digest = api("GET", f"/v1/sessions/{name}/digest")
    assert status == 200
    for text in ("one", "two"):
        api.calls(name, write(text))
        assert api.notes(name) == ["milk", "tea", text]
        assert api("POST", f"/v1/sessions/{name}/restore", kept) == (200, {"ok": True})
        assert api.notes(name) == ["milk", "tea"]
        assert api("GET", f"/v1/sessions/{name}/digest") == digest
    found = api.error("POST", f"/v1/sessions/{name}/restore", {"snapshot": "s9"})
    assert found[:2] == (422, "invalid_input")


def test_a_fork_goes_its_own_way(api: Http) -> None:
    name = api.open()
    api.calls(name, write("tea"))
    status, twin = api("POST", f"/v1/sessions/{name}/fork")
    assert status == 201
    assert twin["id"] != name
    api.calls(name, write("left"))
    api.calls(twin["id"], write("right"))
    assert api.notes(name) == ["milk", "tea", "left"]
    assert api.notes(twin["id"]) == ["milk", "tea", "right"]
    api("DELETE", f"/v1/sessions/{name}")
    assert api.notes(twin["id"]) == ["milk", "tea", "right"]


def test_a_reset_leads_back_to_the_start(api: Http) -> None:
    name, fresh = api.open(), api.open()
    api.calls(name, write("tea"))
    changed = {"pad.notes": {"+1": {"text": "tea"}}}
    assert api("GET", f"/v1/sessions/{name}/changes") == (200, {"changes": changed})
    api("POST", f"/v1/sessions/{name}/reset")
    assert api("GET", f"/v1/sessions/{name}/changes") == (200, {"changes": {}})
    start = api("GET", f"/v1/sessions/{fresh}/digest")
    assert api("GET", f"/v1/sessions/{name}/digest") == start


def test_only_tools_on_offer_exist(api: Http) -> None:
    name = api.open()

    def shown() -> list[str]:
        tools = api("GET", f"/v1/sessions/{name}/tools")[1]["tools"]
        return [tool["function"]["name"] for tool in tools]

    assert shown() == ["list_notes", "write_note", "tear"]
    api("POST", f"/v1/sessions/{name}/offer", {"tools": ["list_notes", "list_accounts"]})
    assert shown() == ["list_notes"]
    calls = ({"name": n} for n in ("write_note", "list_accounts", "list_notes"))
    results = api.calls(name, *calls)
    assert [r["outcome"] for r in results] == ["unknown_tool", "tool_error", "ok"]
    assert results[1]["value"]["error"]["code"] == "no_server"
    api("POST", f"/v1/sessions/{name}/offer", {})
    assert shown() == ["list_notes", "write_note", "tear"]
    for wrong in ({"tools": ["tear"], "turn": 0}, {"turn": 1}, {"turn": 0}):
        found = api.error("POST", f"/v1/sessions/{name}/offer", wrong)
        assert found[:2] == (422, "invalid_input")
    told = api.error("POST", f"/v1/sessions/{name}/offer", {"tools": ["tear", "send_fax"]})
    known = "known: list_notes, tear, write_note"
    assert told == (422, "unknown_name", f"unknown tool 'send_fax'; {known}")
    assert shown() == ["list_notes", "write_note", "tear"]


# -- calls ------------------------------------------------------------------------------------


def test_results_stand_in_the_order_of_the_calls(api: Http) -> None:
    name = api.open()
    results = api.calls(
        name,
        write("tea"),
        {"name": "list_notes"},
        {"name": "write_note", "arguments": {}},
        {"name": "write_note", "arguments": '{"text": "raw"}'},
        {"name": "write_note", "arguments": '{"text": '},
        {"name": "write_note", "arguments": [1]},
        {"name": "nothing"},
    )
    assert [r["outcome"] for r in results] == [
        *("ok", "ok", "invalid_arguments", "ok", "malformed", "malformed", "unknown_tool"),
    ]
    assert [note["text"] for note in results[1]["value"]] == ["milk", "tea"]
    assert api.notes(name) == ["milk", "tea", "raw"]


def test_calls_of_many_sessions_reach_each_its_own(api: Http) -> None:
    names = [api.open() for _ in range(3)]
    calls = [
        write(f"{place}-{n}", session=name) for n in range(2) for place, name in enumerate(names)
    ]
    status, answer = api("POST", "/v1/calls", {"calls": calls})
    assert status == 200
    texts = [result["value"]["text"] for result in answer["results"]]
    assert texts == ["0-0", "1-0", "2-0", "0-1", "1-1", "2-1"]
    assert [api.notes(name) for name in names] == [
        ["milk", f"{place}-0", f"{place}-1"] for place in range(3)
    ]


def test_a_lost_session_costs_no_other_its_calls(api: Http) -> None:
    here, closed = api.open(), api.open()
    api("DELETE", f"/v1/sessions/{closed}")
    calls = [write("tea", session=name) for name in ("never", here, closed)]
    _, answer = api("POST", "/v1/calls", {"calls": calls})
    assert [r["outcome"] for r in answer["results"]] == ["infrastructure", "ok", "infrastructure"]
    codes = [answer["results"][i]["value"]["error"]["code"] for i in (0, 2)]
    assert codes == ["session_unknown", "session_closed"]


def test_a_key_is_run_once_and_belongs_to_its_call(api: Http) -> None:
    name, other = api.open(), api.open()
    first = api.calls(name, write("tea", key="k1"))
    assert api.calls(name, write("tea", key="k1")) == first
    assert api.notes(name) == ["milk", "tea"]
    (reused,) = api.calls(name, write("cake", key="k1"))
    assert (reused["outcome"], reused["value"]["error"]["code"]) == ("infrastructure", "key_reused")
    assert api.notes(name) == ["milk", "tea"]
    api.calls(other, write("cake", key="k1"))
    assert api.notes(other) == ["milk", "cake"]


@pytest.mark.parametrize("back", ["restore", "reset"])
def test_a_key_is_forgotten_where_its_call_is_undone(api: Http, back: str) -> None:
    name = api.open()
    _, kept = api("POST", f"/v1/sessions/{name}/snapshot")
    first = api.calls(name, write("tea", key="k1"))
    api("POST", f"/v1/sessions/{name}/{back}", kept if back == "restore" else {})
    assert api.notes(name) == ["milk"]
    assert api.calls(name, write("tea", key="k1")) == first
    assert api.notes(name) == ["milk", "tea"]


def test_what_the_policy_did_wrong_is_remembered_like_anything_else(api: Http) -> None:
    name = api.open()
    refused = {"name": "write_note", "arguments": {}, "key": "k1"}
    assert api.calls(name, refused) == api.calls(name, refused)


def test_the_latest_keys_are_remembered_and_a_request_holds_no_more(api: Http) -> None:
    name = api.open()
    keyed = [write(f"n{i}", key=f"k{i}") for i in range(KEYS)]
    first = api.calls(name, *keyed)
    assert api.calls(name, *keyed) == first
    assert len(api.notes(name)) == KEYS + 1
    for path, calls in (
        (f"/v1/sessions/{name}/calls", [*keyed, write("more", key="more")]),
        ("/v1/calls", [{**call, "session": name} for call in [*keyed, write("more", key="more")]]),
    ):
        status, code, message = api.error("POST", path, {"calls": calls})
        assert (status, code) == (422, "invalid_input")
        assert str(KEYS) in message
    assert len(api.notes(name)) == KEYS + 1


def test_a_fault_of_ours_is_told_apart_not_remembered_and_keeps_its_secrets(api: Http) -> None:
    name = api.open()
    results = api.calls(name, {"name": "tear", "key": "k1"}, {"name": "list_notes"})
    assert [r["outcome"] for r in results] == ["infrastructure", "ok"]
    assert results[0]["value"]["error"]["code"] == "server_fault"
    assert "secret" not in json.dumps(results[0])
    assert [note["text"] for note in results[1]["value"]] == ["milk"]
    api("POST", f"/v1/sessions/{name}/offer", {"tools": ["list_notes"]})
    (again,) = api.calls(name, {"name": "tear", "key": "k1"})
    assert again["outcome"] == "unknown_tool"


def test_past_the_deadline_calls_are_not_run_and_it_is_ours(api: Http) -> None:
    name = api.open()
    results = api.calls(name, write("tea"), write("cake"), deadline=1e-9)
    assert [r["outcome"] for r in results] == ["infrastructure"] * 2
    assert {r["value"]["error"]["code"] for r in results} == {"deadline"}
    assert api.notes(name) == ["milk"]


# -- scores -----------------------------------------------------------------------------------


def test_a_task_shows_its_tools_turn_by_turn_and_scores_the_calls(api: Http) -> None:
    name = api.open(task=as_json(task()))
    (early,) = api.calls(name, {"name": "list_notes"})
    assert early["outcome"] == "unknown_tool"
    api("POST", f"/v1/sessions/{name}/reset")
    api.calls(name, write("tea"))
    api("POST", f"/v1/sessions/{name}/offer", {"turn": 1})
    assert api("GET", f"/v1/sessions/{name}")[1]["turn"] == 1
    (shown,) = api.calls(name, {"name": "list_notes", "arguments": "{}"})
    status, given = api("POST", f"/v1/sessions/{name}/score", {"preset": "strict"})
    made = (
        Call("write_note", {"text": "tea"}, 0, 0, "ok", {"id": "note_2", "text": "tea"}),
        Call("list_notes", {}, 1, 1, "ok", shown["value"]),
    )
    trace = Trace(name, "t1", made, final_changes=task().final_changes)
    wanted = score(task(), trace, "strict")
    assert (status, given["total"], given["masked"]) == (200, wanted.total, False)
    assert given["total"] == given["max_total"]


def test_a_fault_of_ours_masks_the_score(api: Http) -> None:
    name = api.open(task=as_json(task()))
    api("POST", f"/v1/sessions/{name}/offer", {})
    api("POST", f"/v1/sessions/{name}/offer", {"tools": ["write_note", "tear"]})
    api.calls(name, write("tea"), {"name": "tear"})
    _, given = api("POST", f"/v1/sessions/{name}/score")
    assert (given["masked"], given["total"], given["preset"]) == (True, None, "paper")


def test_a_restored_or_forked_room_scores_the_calls_that_lead_to_its_state(api: Http) -> None:
    name = api.open(task=as_json(task()))
    api.calls(name, write("tea"))
    kept = api("POST", f"/v1/sessions/{name}/snapshot")[1]
    good = api("POST", f"/v1/sessions/{name}/score")[1]
    api.calls(name, {"name": "write_note"})
    worse = api("POST", f"/v1/sessions/{name}/score")[1]
    assert worse["total"] < good["total"]
    twin = api("POST", f"/v1/sessions/{name}/fork")[1]["id"]
    assert api("POST", f"/v1/sessions/{twin}/score")[1]["total"] == worse["total"]
    api("POST", f"/v1/sessions/{twin}/restore", kept)
    assert api("POST", f"/v1/sessions/{twin}/score")[1]["total"] == good["total"]


def test_a_score_needs_a_task_and_a_preset_that_there_is(api: Http) -> None:
    name = api.open()
    assert api.error("POST", f"/v1/sessions/{name}/score")[:2] == (422, "invalid_input")
    name = api.open(task=as_json(task()))
    found = api.error("POST", f"/v1/sessions/{name}/score", {"preset": "kind"})
    assert found[:2] == (422, "unknown_name")
    assert "paper" in found[2]


# -- what else is there -----------------------------------------------------------------------


def test_the_server_says_that_it_is_up(api: Http, rooms: Rooms) -> None:
    status, health = api("GET", "/healthz")
    assert (status, health["status"], health["sessions"]) == (200, "ok", len(rooms))


def test_where_no_route_leads_the_answer_has_the_form_of_the_others(api: Http) -> None:
    assert api.error("GET", "/v2")[:2] == (404, "no_route")
    assert api.error("PUT", "/v1/calls")[:2] == (405, "wrong_method")


def metrics(api: Http) -> dict[str, float]:
    from prometheus_client.parser import text_string_to_metric_families as parse

    status, text = api.raw("GET", "/metrics")
    assert status == 200
    samples = [s for family in parse(text.decode()) for s in family.samples]
    return {
        s.name + "".join(f",{k}={v}" for k, v in sorted(s.labels.items())): s.value for s in samples
    }


def test_metrics_count_sessions_and_calls() -> None:
    clock = Clock()
    with background(control_app(new_rooms(clock))) as url:
        api = Http(url)
        before = metrics(api)
        names = [api.open() for _ in range(4)]
        api.calls(names[0], write("tea", key="k"), write("tea", key="k"), {"name": "tear"})
        api.calls(names[0], {"name": "nothing"})
        api("DELETE", f"/v1/sessions/{names[1]}")
        clock.now = 40.0
        api.notes(names[2])
        clock.now = 70.0
        after = metrics(api)
    grown = {
        "provegym_sessions": 1,
        "provegym_sessions_opened_total": 4,
        "provegym_sessions_closed_total": 1,
        "provegym_sessions_expired_total": 2,
        "provegym_calls_total,outcome=ok,server=pad": 2,
        "provegym_calls_total,outcome=infrastructure,server=pad": 1,
        "provegym_calls_total,outcome=unknown_tool,server=": 1,
        "provegym_calls_repeated_total": 1,
        "provegym_faults_total": 1,
        "provegym_call_seconds_count": 4,
        "provegym_call_seconds_bucket,le=+Inf": 4,
    }
    assert {key: after[key] - before.get(key, 0) for key in grown} == grown
    assert after["provegym_call_seconds_sum"] > before["provegym_call_seconds_sum"]


def test_a_key_belongs_to_what_the_arguments_say_and_not_to_their_spelling(api: Http) -> None:
    opened = api.open(seed=7, servers=["filesystem"])
    file = {"path": "a.txt", "content": "b"}
    spelt: list[Any] = [file, dict(reversed(file.items())), json.dumps(file, indent=2)]
    calls = [{"name": "create_file", "arguments": each, "key": "one"} for each in spelt]
    first, *others = api.calls(opened, *calls)
    assert first["outcome"] == "ok"
    assert others == [first, first]
    other = {"name": "create_file", "arguments": {**file, "content": "c"}, "key": "one"}
    assert api.calls(opened, other)[0]["value"]["error"]["code"] == "key_reused"


def test_a_snapshot_belongs_to_its_session(api: Http) -> None:
    one, two = api.open(), api.open()
    kept = [api("POST", f"/v1/sessions/{each}/snapshot")[1]["snapshot"] for each in (one, two)]
    found = api.error("POST", f"/v1/sessions/{two}/restore", {"snapshot": kept[0]})
    assert found[:2] == (422, "invalid_input")
    assert api("POST", f"/v1/sessions/{one}/restore", {"snapshot": kept[0]})[0] == 200
