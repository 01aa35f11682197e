"""What is stopped before the SDK sees it: bodies, hosts, tokens, ids in flight, ended sessions."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from mcp import types
from mcp.server import Server

from provegym.gateway import door, http
from provegym.gateway.guard import Refused, check
from provegym.gateway.rooms import Room, open_world
from provegym.gateway.settings import Settings
from provegym.servers import world
from tests.gateway.house import LEGACY, MODERN, SECONDS, Clock, House, Slow, house, timed_rooms


@pytest.fixture(scope="module")
def gateway() -> Iterator[House]:
    with house(Settings(servers=("banking",), max_body=50_000, max_depth=50)) as running:
        yield running


def error_code(answer: httpx2.Response) -> int:
    code: int = answer.json()["error"]["code"]
    return code


# -- bodies ------------------------------------------------------------------------------------

CALL = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add_payee","arguments":%s}}'
)
BAD = {
    "nan": (CALL % b'{"name":NaN}', -32700),
    "infinity": (CALL % b'{"name":-Infinity}', -32700),
    "a number beyond all doubles": (CALL % b'{"name":1e999}', -32700),
    "a lone high surrogate": (CALL % rb'{"name":"\ud83dx"}', -32700),
    "a lone low surrogate": (CALL % rb'{"name":"\ude00"}', -32700),
    "a surrogate in utf-8": (CALL % b'{"name":"\xed\xa0\x80"}', -32700),
    "latin-1": (CALL % b'{"name":"Zo\xeb"}', -32700),
    "half a message": (CALL[:40], -32700),
    "nothing": (b"", -32700),
    "two messages": (CALL % b"{}" + CALL % b"{}", -32700),
    "deep nesting": (CALL % (b'{"name":' + b"[" * 60 + b"]" * 60 + b"}"), -32600),
    "endless nesting": (b"[" * 20_000, -32700),
}


@pytest.mark.parametrize(("body", "code"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_a_body_that_is_no_sound_json_is_refused(
    gateway: House, body: bytes, code: int, version: str
) -> None:
    session, path = gateway.banking()
    before = session.digest()
    told = {"mcp_protocol_version": version, "mcp_method": "tools/call", "mcp_name": "add_payee"}
    if version == LEGACY:
        told["mcp_session_id"] = gateway.connect(path)
    answer = gateway.post(path, body, **told)
    assert (answer.status_code, error_code(answer)) == (400, code)
    assert session.digest() == before


@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_a_batch_is_no_message(gateway: House, version: str) -> None:
    _, path = gateway.banking()
    told = {"mcp_session_id": gateway.connect(path)} if version == LEGACY else {}
    answer = gateway.post(path, b"[" + CALL % b"{}" + b"]", mcp_protocol_version=version, **told)
    assert answer.status_code == 400
    assert error_code(answer) in (-32600, -32602)


SENTENCES = {
    b"": "the message is no JSON: it is empty",
    b"null": "a message is an object of JSON-RPC 2.0, got null",
    b"5": "a message is an object of JSON-RPC 2.0, got a number",
    b'"x"': "a message is an object of JSON-RPC 2.0, got a text",
    b"[]": door.BATCH,
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]': door.BATCH,
    b'{"id":1}': door.NOT_A_MESSAGE.message,
    b"{}": door.NOT_A_MESSAGE.message,
    b'{"jsonrpc":"1.0","id":1}': door.NOT_A_MESSAGE.message,
    b'{"jsonrpc":"2.0","id":true,"method":"ping"}': door.NOT_A_MESSAGE.message,
    b'{"jsonrpc":"2.0","id":[],"method":"ping","params":{}}': door.NOT_A_MESSAGE.message,
    b"[" * 20_000: "the message is no JSON: it is nested too deep",
}
ALONE = "the message is no JSON: a surrogate stands alone, which is no Unicode text"


@pytest.mark.parametrize("version", ["", LEGACY, MODERN])
def test_what_is_no_message_is_told_in_a_sentence(gateway: House, version: str) -> None:
    _, path = gateway.banking()
    told = {"mcp_protocol_version": version} if version else {}
    for body, sentence in SENTENCES.items():
        answer = gateway.post(path, body, **told)
        assert (answer.status_code, answer.json()["error"]["message"]) == (400, sentence)
        assert answer.json()["id"] is None
    for body in (rb'{"a":"\ud83dx"}', rb'{"a":"\ude00"}', b'{"a":"\xed\xa0\x80"}'):
        assert gateway.post(path, body, **told).json()["error"]["message"].startswith(ALONE)
    other = gateway.post(path, rb'{"a":"\ud83d\ude00", "b":NaN}', **told)
    assert "surrogate" not in other.json()["error"]["message"]


def test_a_broken_request_is_answered_with_its_id(gateway: House) -> None:
    _, path = gateway.banking()
    for rest in (b'"method":5', b'"method":"ping"', b'"jsonrpc":"2.0","method":"ping","params":[]'):
        answer = gateway.post(path, b'{"id":"x",%b}' % rest)
        assert answer.json()["error"]["message"] == door.NOT_A_MESSAGE.message
        assert answer.json()["id"] == "x"


def test_nesting_is_counted_from_the_outermost_value() -> None:
    assert isinstance(door.read(b'{"a":[[[]]]}', 3), door.Refusal)
    assert door.read(b'{"a":[[]]}', 3) == {"a": [[]]}
    assert door.read(b'{"a":[],"b":[],"c":[],"d":[]}', 3) == {key: [] for key in "abcd"}


def test_a_body_beyond_the_limit_is_refused_however_it_is_sent(gateway: House) -> None:
    _, path = gateway.banking()
    whole = gateway.post(path, b" " * 50_001)
    assert (whole.status_code, whole.json()["error"]["code"]) == (413, "too_large")
    parts = httpx2.post(f"{gateway.url}{path}", content=iter([b" " * 30_000] * 2), timeout=SECONDS)
    assert parts.status_code == 413
    fits = gateway.post(path, b" " * 50_000)
    assert fits.status_code == 400


@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_text_in_any_script_arrives_and_returns_as_it_is(gateway: House, version: str) -> None:
    text = "Täglich 東京 \u2028 😀 \x7f"
    path = gateway.move_in(Room(open_world(7, ("filesystem",))))
    steps = [("create_file", {"path": "a.txt", "content": text}), ("read_file", {"path": "a.txt"})]
    connection = gateway.connect(path) if version == LEGACY else ""
    answers = [
        gateway.call(path, connection, name, i, given)
        if connection
        else gateway.ask(path, "tools/call", {"name": name, "arguments": given})
        for i, (name, given) in enumerate(steps)
    ]
    result = answers[1].json()["result"]
    assert result["structuredContent"]["content"] == f"{text}\n"
    assert text in result["content"][0]["text"]


# -- ids in flight -----------------------------------------------------------------------------


@pytest.mark.parametrize("again", [5, "5"])
def test_a_second_request_with_an_id_in_flight_is_refused_and_nothing_is_crossed(
    gateway: House, again: int | str
) -> None:
    slow = Slow(world(7, ("banking",)))
    path = gateway.move_in(Room(slow))
    _, away = gateway.banking()
    one, other = gateway.connect(path), gateway.connect(away)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(gateway.call, path, one, "list_cards", 5)
        assert slow.called.wait(30)
        second = gateway.call(path, one, "list_payees", again)
        elsewhere = gateway.call(away, other, "list_payees", again)
        slow.go_on.set()
        answered = first.result()
    assert (second.status_code, error_code(second)) == (400, -32600)
    assert second.json()["id"] == again
    assert "in flight" in second.json()["error"]["message"]
    assert "payees" in elsewhere.json()["result"]["structuredContent"]
    assert "cards" in answered.json()["result"]["structuredContent"]
    later = gateway.call(path, one, "list_payees", 5)
    assert "payees" in later.json()["result"]["structuredContent"]


def test_a_call_that_waits_too_long_is_answered_and_does_not_count() -> None:
    slow = Slow(world(7, ("banking",)))
    with house(Settings(servers=("banking",), deadline=0.05)) as gateway:
        path = gateway.move_in(Room(slow))
        answer = gateway.ask(path, "tools/call", {"name": "list_cards", "arguments": {}})
        slow.go_on.set()
    result = answer.json()["result"]
    assert result["isError"]
    assert '"code":"deadline"' in result["content"][0]["text"]
    assert result["_meta"]["provegym/outcome"] == "infrastructure"


def test_a_call_that_waits_holds_up_no_other_session(gateway: House) -> None:
    slow = Slow(world(7, ("banking",)))
    path = gateway.move_in(Room(slow))
    _, other = gateway.banking()
    call = {"name": "list_cards", "arguments": {}}
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(gateway.ask, path, "tools/call", call)
        assert slow.called.wait(30)
        assert not gateway.ask(other, "tools/call", call).json()["result"]["isError"]
        assert not waiting.done()
        slow.go_on.set()
        assert waiting.result().status_code == 200


# -- sessions that ended -----------------------------------------------------------------------


@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_a_session_that_ended_is_gone_and_one_that_never_was_is_not_found(version: str) -> None:
    clock = Clock()
    settings = Settings(servers=("banking",), idle=60)
    with house(settings, timed_rooms(clock, 60)) as gateway:
        paths = [gateway.move_in(Room(open_world(7, ("banking",)))) for _ in range(2)]

        def status(path: str) -> tuple[int, str]:
            if version == LEGACY:
                answer = gateway.call(path, connection, "list_accounts", 3)
            else:
                told = {"name": "list_accounts", "arguments": {}}
                answer = gateway.ask(path, "tools/call", told)
            return answer.status_code, answer.json().get("error", {}).get("message", "")

        connection = gateway.connect(paths[0])
        assert [status(path)[0] for path in paths] == [200, 200]
        gateway.rooms.close("room0")
        assert status(paths[0]) == (410, "session 'room0' was closed; open another one")
        clock.now = 61
        code, told = status(paths[1])
        assert code == 410
        assert "idle" in told
        assert status("/s/never/mcp") == (404, "no session 'never' was opened here")


# -- who may ask -------------------------------------------------------------------------------

HOSTS = [
    ("127.0.0.1:8765", None, 200),
    ("localhost:1", None, 200),
    ("[::1]:1", None, 200),
    ("LOCALHOST", None, 200),
    ("evil.example", None, 421),
    ("evil.example:8765", None, 421),
    ("127.0.0.1.evil.example", None, 421),
    ("192.168.0.5:8765", None, 421),
    ("", None, 421),
    ("localhost", "http://localhost:3000", 200),
    ("localhost", "http://127.0.0.1", 200),
    ("localhost", "https://evil.example", 403),
    ("localhost", "null", 403),
    ("localhost", "http://localhost.evil.example", 403),
]


@pytest.mark.parametrize(("host", "origin", "status"), HOSTS)
def test_pages_and_names_of_others_are_turned_away(
    gateway: House, host: str, origin: str | None, status: int
) -> None:
    _, path = gateway.banking()
    told = {"host": host, **({"origin": origin} if origin else {})}
    body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = gateway.post(path, body, mcp_protocol_version=MODERN, **told)
    assert answer.status_code == (202 if status == 200 else status)


SEEN = [
    ("gym.example", ("gym.example",), None),
    ("10.0.0.7:8765", (), None),
    ("[2001:db8::1]:8765", (), None),
    ("localhost", (), None),
    ("gym.example", (), 421),
]


@pytest.mark.parametrize(("host", "hosts", "status"), SEEN)
def test_off_loopback_addresses_and_given_names_are_known(
    host: str, hosts: tuple[str, ...], status: int | None
) -> None:
    settings = Settings(host="0.0.0.0", token="t" * 16, hosts=hosts)
    scope = {"headers": [(b"host", host.encode())], "path": "/s/x/mcp"}
    if status is None:
        check(scope, settings)
        return
    with pytest.raises(Refused) as refused:
        check(scope, settings)
    assert refused.value.status == status


def test_with_a_token_only_urls_that_hold_a_session_go_without_it() -> None:
    with house(Settings(servers=("banking",), token="s3cret")) as gateway:
        _, path = gateway.banking()
        listed = gateway.ask(path, "tools/list", {})
        assert listed.status_code == 200
        assert gateway.post("/mcp", {}).status_code == 401
        assert httpx2.get(f"{gateway.url}/v1/sessions", timeout=SECONDS).status_code == 401
        assert httpx2.get(f"{gateway.url}/metrics", timeout=SECONDS).status_code == 401
        assert httpx2.get(f"{gateway.url}/healthz", timeout=SECONDS).status_code == 200
        for wrong in ("Bearer s3cre", "Bearer s3crett", "s3cret", "Basic s3cret", "Bearer"):
            answer = httpx2.get(
                f"{gateway.url}/v1/sessions", headers={"authorization": wrong}, timeout=SECONDS
            )
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "s3cret" not in answer.text
        told = {"authorization": "Bearer s3cret"}
        assert (
            httpx2.get(f"{gateway.url}/v1/sessions", headers=told, timeout=SECONDS).status_code
            == 200
        )


def test_any_server_of_the_sdk_can_stand_behind_the_guard() -> None:
    async def tools(_: object, __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="t", input_schema={"type": "object"})])

    settings = Settings(port=0)
    server = Server[Any]("fixture", on_list_tools=tools)
    with http.background(http.mount(server, "/fixture", settings), settings) as url:
        gateway = House(http.new_rooms(settings), settings, url)
        assert "t" in gateway.ask("/fixture", "tools/list", {}).text
        assert gateway.post("/fixture", {}, host="evil.example").status_code == 421


@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_a_result_has_the_envelope_of_its_protocol(gateway: House, version: str) -> None:
    _, path = gateway.banking()
    if version == MODERN:
        answer = gateway.ask(path, "tools/call", {"name": "list_cards", "arguments": {}})
    else:
        answer = gateway.call(path, gateway.connect(path), "list_cards", 3)
    result = answer.json()["result"]
    info = result["_meta"].get("io.modelcontextprotocol/serverInfo", {})
    expected = ("complete", "provegym") if version == MODERN else (None, None)
    assert (result.get("resultType"), info.get("name")) == expected


KINDS = [([], "an array"), ("{}", "a text"), (5, "a number"), (True, "a boolean")]


@pytest.mark.parametrize("version", [LEGACY, MODERN])
@pytest.mark.parametrize(("value", "kind"), KINDS)
def test_a_call_of_another_shape_is_an_error_of_the_protocol_that_says_what_is_wrong(
    gateway: House, value: Any, kind: str, version: str
) -> None:
    _, path = gateway.banking()
    connection = gateway.connect(path) if version == LEGACY else ""

    def told(params: dict[str, Any]) -> tuple[int, str]:
        if version == MODERN:
            answer = gateway.ask(path, "tools/call", params)
        else:
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            names = {"mcp_session_id": connection, "mcp_protocol_version": LEGACY}
            answer = gateway.post(path, body, **names)
        return error_code(answer), answer.json()["error"]["message"]

    given = {"name": "list_cards", "arguments": value}
    assert told(given) == (-32602, f"`arguments` must be an object, got {kind}")
    if version == LEGACY:  # the other one has the name in a header, too, which is looked at first
        assert told({}) == (-32602, "`name` is missing: the name of a tool")
        assert told({"name": []}) == (-32602, "`name` must be the name of a tool, got an array")


@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_null_is_no_argument_left_out_but_arguments_may_be_null(
    gateway: House, version: str
) -> None:
    session, path = gateway.banking()
    connection = gateway.connect(path) if version == LEGACY else ""

    def call(arguments: Any) -> Any:
        params = {"name": "list_payees", "arguments": arguments}
        if version == MODERN:
            return gateway.ask(path, "tools/call", params).json()["result"]
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        names = {"mcp_session_id": connection, "mcp_protocol_version": LEGACY}
        return gateway.post(path, body, **names).json()["result"]

    assert call(None)["structuredContent"] == session.call("list_payees", {}).builtins()
    here = session.call("list_payees", {"query": None})
    assert here.outcome == "invalid_arguments"
    there = call({"query": None})
    assert there["_meta"]["provegym/outcome"] == "invalid_arguments"
    assert there["content"][0]["text"] == here.json().decode()
