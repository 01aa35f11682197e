"""What docs/threat-model.md promises: each line of it names a test, most of them here."""

from __future__ import annotations

import ast
import logging
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from starlette.routing import Route

from provegym.errors import InputError, ServerFault
from provegym.gateway import http, rate, rooms
from provegym.gateway.connection import HEAD_BYTES, Connection
from provegym.gateway.rate import BUCKETS, BURST_SECONDS, Rates, who_asks
from provegym.gateway.rooms import Room, open_world
from provegym.gateway.settings import Settings, is_loopback
from provegym.servers import world
from provegym.types import GroundCall, Task, Turn
from provegym.world.session import Result, Session
from tests.gateway.house import (
    ERAS,
    HELLO,
    LEGACY,
    META,
    MODERN,
    SECONDS,
    Clock,
    House,
    Slow,
    house,
    script,
)
from tests.gateway.malformed import task
from tests.gateway.talking import called, listed, raw_call

ROOT = Path(__file__).parents[2]
TOKEN = "f81d4fae7dec11d0a76500a0c91e6bf6"
SECRET = "secret-4711"
both_versions = pytest.mark.parametrize("version", [LEGACY, MODERN])


@pytest.fixture(scope="module")
def gateway() -> Iterator[House]:
    with house(Settings(servers=("banking",), token=TOKEN)) as running:
        yield running


def bearer(token: str = TOKEN) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def raw(gateway: House, data: bytes) -> bytes:
    """All that is answered to bytes, until the gateway closes the connection."""
    place = urlsplit(gateway.url)
    with socket.create_connection((place.hostname, place.port), timeout=30) as line:
        line.sendall(data)
        return b"".join(iter(lambda: line.recv(1 << 16), b""))


# -- the page ----------------------------------------------------------------------------------


def test_every_line_of_the_threat_model_names_tests_that_there_are() -> None:
    page = (ROOT / "docs/threat-model.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    threats = [row for row in rows if not row.startswith(("| threat", "| limit"))]
    assert len(threats) > 25
    for row in threats:
        named = re.findall(r"`([\w/]+\.py)::(\w+)`", row)
        assert named, row
        for file, test in named:
            tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
            functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
            assert test in functions, f"{file} has no {test}"


# -- who may ask -------------------------------------------------------------------------------


def test_without_the_token_nothing_is_open_but_sessions_by_their_id_and_health() -> None:
    settings = Settings(servers=("banking",), token=TOKEN)
    app = http.app(http.new_rooms(settings), settings)
    routes = [route for route in app.routes if isinstance(route, Route)]
    assert len(routes) > 15
    with house(settings) as gateway:
        name = gateway.rooms.add(Room(open_world(7, ("banking",))))
        for route in routes:
            path = route.path.replace("{session}", name).replace("{server}", "banking")
            for method in route.methods or {"GET", "POST", "DELETE"}:
                answer = httpx2.request(
                    method, f"{gateway.url}{path}", content=b"{}", timeout=SECONDS
                )
                is_open = route.path.startswith("/s/") or route.path == "/healthz"
                assert (answer.status_code == 401) != is_open, (method, path)
        assert gateway.rooms.get(name)  # nobody closed it


def test_a_header_that_decides_who_asks_may_be_there_once(gateway: House) -> None:
    for line in ("Host: evil.example", "Origin: http://evil.example", f"Authorization: {TOKEN}"):
        told = f"GET /healthz HTTP/1.1\r\n{line}\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
        told += f"Authorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n"
        assert b"400 Bad Request" in raw(gateway, told.encode())


@pytest.mark.parametrize(
    ("token", "host", "told"),
    [
        ("short", "0.0.0.0", "can be guessed"),
        ("a token with spaces in it", "127.0.0.1", "visible ASCII"),
        ("pässword-pässword-pässword", "0.0.0.0", "visible ASCII"),
        ("x" * 16 + "\n", "0.0.0.0", "visible ASCII"),
        ("", "0.0.0.0", "the token is empty"),
    ],
)
def test_a_token_that_is_none_is_refused(token: str, host: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        Settings(host=host, token=token)


# -- how much, how often -----------------------------------------------------------------------


def test_a_session_that_asks_too_often_waits_and_holds_up_no_other() -> None:
    with house(Settings(servers=("banking",), rate=0.5)) as gateway:
        (_, busy), (_, other) = gateway.banking(), gateway.banking()
        call = {"name": "list_cards", "arguments": {}}
        answers = [gateway.ask(busy, "tools/call", call) for _ in range(6)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [429]
        assert answers[5].json()["error"]["code"] == "too_many_requests"
        assert 1 <= int(answers[5].headers["retry-after"]) <= 2
        assert gateway.ask(other, "tools/call", call).status_code == 200
        assert gateway.post("/v1/sessions", {"seed": 1, "servers": ["banking"]}).status_code == 201


def test_an_address_that_asks_too_often_waits() -> None:
    with house(Settings(servers=("banking",), rate=0.02)) as gateway:
        answers = [gateway.post("/mcp", HELLO).status_code for _ in range(3)]
        assert answers == [200, 200, 429]
        assert httpx2.get(f"{gateway.url}/v1/sessions", timeout=SECONDS).status_code == 429
        assert httpx2.get(f"{gateway.url}/healthz", timeout=SECONDS).status_code == 200


def test_a_bucket_fills_at_its_rate_and_not_beyond_its_size() -> None:
    clock = Clock()
    rates = Rates(2.0, clock)
    who = rate.who_asks({"path": "/s/a/mcp"})
    for _ in range(int(2 * BURST_SECONDS)):
        assert rates.take(who) == 0
    assert rates.take(who) == pytest.approx(0.5)
    clock.now = 0.25
    assert rates.take(who) == pytest.approx(0.25)
    clock.now = 0.5
    assert rates.take(who) == 0
    clock.now = 1e6
    assert sum(rates.take(who) == 0 for _ in range(100)) == 2 * BURST_SECONDS
    for i in range(3 * BUCKETS):
        rates.take(who_asks({"path": f"/s/{i}/mcp"}))
    assert len(rates._buckets) == BUCKETS


def test_a_bucket_is_kept_no_longer_than_it_takes_to_fill() -> None:
    clock = Clock()
    rates = Rates(1000.0, clock)
    for i in range(500):  # a session a second, each of which asks once and ends
        clock.now += 1.0
        assert rates.take(who_asks({"path": f"/s/{i}/mcp"})) == 0
        assert len(rates._buckets) <= BURST_SECONDS
    for _ in range(int(BURST_SECONDS)):  # many at once are gone after as many requests
        clock.now += BURST_SECONDS
        rates.take(who_asks({"path": "/s/last/mcp"}))
    assert len(rates._buckets) == 1


@given(
    st.sampled_from([0.02, 0.5, 2.0]),
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.25, 5.0, 10.0, 60.0]))),
)
def test_no_answer_depends_on_what_was_forgotten(
    rate: float, asked: list[tuple[int, float]]
) -> None:
    """Each session by itself, in buckets that nobody else's requests can empty, gets the same."""
    clock = Clock()
    together = Rates(rate, clock)
    alone = [Rates(rate, clock) for _ in range(4)]
    for of_it in alone:
        of_it._fills = float("inf")
    for session, later in asked:
        clock.now += later
        who = who_asks({"path": f"/s/{session}/mcp"})
        assert together.take(who) == pytest.approx(alone[session].take(who))


def test_no_name_that_is_none_is_remembered(gateway: House) -> None:
    before = is_loopback.cache_info().currsize
    for i in range(3):
        told = f"GET /healthz HTTP/1.1\r\nHost: {i}{'a' * 9000}\r\nConnection: close\r\n\r\n"
        assert b"421 " in raw(gateway, told.encode()).partition(b"\r\n")[0]
    assert is_loopback.cache_info().currsize == before


def test_no_path_takes_from_the_bucket_of_an_address() -> None:
    client = ("10.0.0.1", 5)
    scopes = ["/s/10.0.0.1/mcp", "/s/address/x", "/healthz", "/v1/sessions"]
    found = [who_asks({"path": path, "client": client}) for path in scopes]
    assert len(set(found)) == 4
    assert found[3] == ("address", "10.0.0.1")


def test_a_head_without_end_is_refused(gateway: House) -> None:
    for endless in (b"GET /healthz HTTP/1.1\r\nX: ", b"GET /"):
        answer = raw(gateway, endless + b"a" * HEAD_BYTES)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"over 65536 bytes" in answer


def test_a_request_that_does_not_become_whole_is_dropped(
    gateway: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "seconds", 0.05)
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + TOKEN.encode()
    for part in (b"", b"GET /he", head + b"\r\nContent-Length: 9\r\n\r\n{"):
        assert raw(gateway, part) == b""
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert b"200 OK" in raw(gateway, whole)


def test_openings_at_once_do_not_exceed_the_most_sessions() -> None:
    barrier = Barrier(5)

    def slowly(seed: int, names: tuple[str, ...]) -> Any:
        barrier.wait(30)  # all of them saw a free place
        return open_world(seed, names)

    slowly.blocking = True  # type: ignore[attr-defined]
    with house(Settings(servers=("banking",), sessions=3), open=slowly) as gateway:
        body = {"seed": 7, "servers": ["banking"]}
        with ThreadPoolExecutor(5) as pool:
            answers = list(pool.map(lambda _: gateway.post("/v1/sessions", body), range(5)))
        assert sorted(answer.status_code for answer in answers) == [201] * 3 + [429] * 2
        assert len(gateway.rooms) == 3
        full = gateway.post(f"/v1/sessions/{gateway.rooms.items()[0][0]}/fork", {})
        assert full.status_code == 429
        assert "3 sessions are open, the most there may be" in full.json()["error"]["message"]


def test_a_session_takes_so_many_bytes_in_its_life_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rooms, "MOST_BYTES", 1000)
    room = Room(open_world(7, ("banking",)))
    told = {"name": "x" * 400, "iban": "y"}
    outcomes = [room.call("add_payee", told).outcome for _ in range(4)]
    assert outcomes == ["tool_error", "tool_error", "infrastructure", "infrastructure"]
    assert room.fork().call("list_cards", "{}").value["error"]["code"] == "session_full"


def test_a_task_that_is_nested_too_deep_is_refused(gateway: House) -> None:
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    body = {"task": {**task(), "certificate": {"x": deep}}}
    answer = gateway.post("/v1/sessions", body, **bearer())
    assert answer.status_code == 422
    assert "128 levels" in answer.json()["error"]["message"]


# -- what the policy reaches -------------------------------------------------------------------


def graded() -> Task:
    """A task whose ground truth would show."""
    call = GroundCall("g0", "list_cards", {"query": SECRET}, result={"x": SECRET})
    tool = world(7, ("banking",)).tools["list_accounts"].tool.schema
    return Task(
        *("t", "workflow", (Turn("Show them", (call,), f"reply {SECRET}"),), ("banking",), 7),
        tools=(tool,),
        final_changes={"banking.payees": {"+1": {"name": SECRET}}},
    )


@both_versions
def test_no_answer_over_mcp_tells_of_the_ground_truth(gateway: House, version: str) -> None:
    path = gateway.move_in(Room(world(7, ("banking",)).open(), graded()))
    connection = gateway.connect(path) if version == LEGACY else ""
    methods = ["tools/list", "server/discover", "ping", "resources/list", "prompts/list", "score"]
    for method in methods:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}
        answer = (
            gateway.post(path, body, mcp_session_id=connection)
            if connection
            else gateway.ask(path, method, {})
        )
        assert SECRET not in answer.text
        if method not in ("tools/list", "server/discover", "ping"):
            assert answer.json()["error"]["code"] == -32601
    assert "accounts" in str(raw_call(gateway, path, connection, "list_accounts", 2, {}))
    hidden = raw_call(gateway, path, connection, "list_cards", 3, {})
    assert hidden["error"]["code"] == -32602  # the world has it, this task does not show it


@pytest.mark.parametrize("era", ERAS)
def test_no_tool_reaches_the_files_or_the_environment_of_the_gateway(
    gateway: House, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROVEGYM_SECRET", SECRET)
    path = gateway.move_in(Room(open_world(7, ("filesystem",))))
    for file in (__file__, "/proc/self/environ", "/etc/passwd", f"../../../../..{__file__}"):
        assert called(gateway, path, era, "read_file", path=file).is_error
    call = {"target": "/etc/passwd", "path": "link"}
    called(gateway, path, era, "make_symlink", **call)
    assert called(gateway, path, era, "read_file", path="link").is_error


def test_a_connection_is_no_way_into_another_session(gateway: House) -> None:
    """An id of 2025-11-25 says whose answers go where, never which session is meant."""
    (mine, my_path), (other, other_path) = gateway.banking(7), gateway.banking(8)
    before = other.digest()
    connection = gateway.connect(other_path)
    answer = gateway.call(my_path, connection, "list_accounts", 2).json()
    assert answer["result"]["structuredContent"] == mine.call("list_accounts", {}).builtins()
    assert gateway.call("/s/none/mcp", connection, "list_accounts", 3).status_code == 404
    assert other.digest() == before


def test_a_connection_that_its_client_ends_in_the_middle_is_gone_and_no_failure() -> None:
    slow = Slow(world(7, ("banking",)))
    with house(Settings(servers=("banking",))) as gateway, ThreadPoolExecutor(1) as pool:
        path = gateway.move_in(Room(slow))
        connection = gateway.connect(path)
        waiting = pool.submit(gateway.call, path, connection, "list_cards", 2)
        assert slow.called.wait(30)
        headers = {"mcp-session-id": connection}
        assert (
            httpx2.delete(f"{gateway.url}{path}", headers=headers, timeout=SECONDS).status_code
            == 200
        )
        assert waiting.result().status_code == 404
        slow.go_on.set()


@both_versions
def test_a_call_without_an_id_is_none_and_changes_nothing(
    gateway: House, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    session, path = gateway.banking()
    name, arguments = script(session.fork())[1]
    before = session.digest()
    body = {"jsonrpc": "2.0", "method": "tools/call"}
    params = {"name": name, "arguments": arguments}
    if version == LEGACY:
        told = {"mcp_session_id": gateway.connect(path), "mcp_protocol_version": LEGACY}
    else:
        params["_meta"] = META
        told = {"mcp_protocol_version": MODERN, "mcp_method": "tools/call", "mcp_name": name}
    for lost in (name, "no_such_tool"):
        answer = gateway.post(path, {**body, "params": {**params, "name": lost}}, **told)
        assert answer.status_code in (202, 400)
    assert len(listed(gateway, path)) == 17  # and whatever was begun before has ended
    assert session.digest() == before
    assert caplog.text == ""


# -- what gets out -----------------------------------------------------------------------------


class Broken(Session):
    """A session that fails with texts that nobody outside may read."""

    def call(self, name: str, arguments: Any) -> Result:
        error = ServerFault if name == "list_payees" else ValueError
        raise error(f"{SECRET} in {__file__}")


def broken_open(seed: int, names: tuple[str, ...]) -> Any:
    raise OSError(f"cannot start `server --key {SECRET}`")


@both_versions
@pytest.mark.parametrize("tool", ["list_payees", "list_cards"])
def test_the_text_of_a_failure_stays_inside(
    gateway: House, version: str, tool: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = gateway.move_in(Room(Broken(world(7, ("banking",)))))
    connection = gateway.connect(path) if version == LEGACY else ""
    answer = str(raw_call(gateway, path, connection, tool, 2, {}))
    assert SECRET not in answer
    assert "provegym" not in answer.replace("provegym/outcome", "").replace("'provegym'", "")
    assert SECRET in caplog.text + "".join(str(r.exc_info) for r in caplog.records)


def test_a_session_that_cannot_be_opened_tells_the_client_no_more_than_that(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with house(Settings(servers=("banking",)), open=broken_open) as gateway:
        connection = gateway.connect("/mcp")
        for method in ("tools/list", "tools/call"):
            body = {"jsonrpc": "2.0", "id": 2, "method": method, "params": {"name": "list_cards"}}
            told = gateway.post("/mcp", body, mcp_session_id=connection)
            assert told.json()["error"] == {
                "code": -32603,
                "message": "the server failed; nothing is known",
            }
        crashed = gateway.post("/v1/sessions", {"seed": 7, "servers": ["banking"]})
    assert crashed.status_code == 500
    assert crashed.json()["error"]["code"] == "internal"
    assert SECRET not in crashed.text


def test_no_token_and_no_id_is_logged_or_measured(
    gateway: House, caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger("uvicorn").addHandler(caplog.handler)
    _, path = gateway.banking()
    name = path.split("/")[2]
    called(gateway, path, MODERN, "list_accounts")
    gateway.ask(path, "tools/call", {"name": f"no-{SECRET}", "arguments": {"x": SECRET}})
    gateway.post(path, b"{" + SECRET.encode())
    gateway.post(f"/v1/sessions/{name}/calls", {"calls": [{"name": SECRET}]}, **bearer())
    gateway.post("/v1/sessions", {}, **bearer("wrong" + SECRET))
    httpx2.get(f"{gateway.url}/s/{name}/nothing", headers=bearer(), timeout=SECONDS)
    metrics = httpx2.get(f"{gateway.url}/metrics", headers=bearer(), timeout=SECONDS)
    assert metrics.status_code == 200
    for text in (caplog.text, metrics.text):
        assert not {word for word in (TOKEN, SECRET, name) if word in text}


def test_settings_do_not_show_the_token() -> None:
    settings = replace(Settings(token=TOKEN), port=1)
    assert TOKEN not in f"{settings} {settings!r} {[settings]}"
    assert msgspec.json.decode(msgspec.json.encode(settings), type=Settings).token == TOKEN


def test_what_is_no_route_is_an_error_like_all_others(gateway: House) -> None:
    for method, path, status in [
        ("GET", "/nothing", 404),
        ("POST", "/v1/sessions/", 404),
        ("PUT", "/v1/sessions", 405),
    ]:
        answer = httpx2.request(method, f"{gateway.url}{path}", headers=bearer(), timeout=SECONDS)
        assert answer.status_code == status
        assert set(answer.json()["error"]) == {"code", "message", "details"}


def test_the_host_that_a_whole_url_names_counts_and_not_the_field(gateway: House) -> None:
    def asked(target: str, host: str) -> bytes:
        told = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        return raw(gateway, told.encode()).partition(b"\r\n")[0]

    for known in ("http://127.0.0.1/healthz", "http://[::1]:1/healthz", "HTTP://localhost/healthz"):
        assert b" 200 " in asked(known, "127.0.0.1")
    wrong = ("http://evil.example", "http://127.0.0.1@evil.example", "http://evil.example:1")
    for evil in wrong:
        assert b" 421 " in asked(f"{evil}/healthz?http://127.0.0.1/", "127.0.0.1")


def test_a_body_whose_header_tells_that_it_is_too_long_is_not_waited_for(gateway: House) -> None:
    for size in (gateway.settings.max_body + 1, 10**18, 10**19 - 1):
        told = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        answer = raw(gateway, f"{told}Connection: close\r\nContent-Length: {size}\r\n\r\n".encode())
        assert b" 413 " in answer.partition(b"\r\n")[0]
        assert b"too_large" in answer
