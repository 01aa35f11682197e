"""Malformed messages for the gateway, made from sound ones by a seeded generator.

A message is what is written to one connection: most often one request of HTTP that is wrong in its
bytes, framing, fields, path, or in its body's text or structure.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any, NamedTuple

import msgspec

from provegym import servers
from tests.gateway.house import BOTH, HELLO, LEGACY, META, MODERN

OFFERED = ("list_accounts", "add_payee", "list_payees")
CALL = {"name": "list_accounts", "arguments": {"limit": 2}}
NOTHING: Any = object()

Headers = list[tuple[str, str]]


class Ids(NamedTuple):
    """What an attacker has: a session, its connection, a snapshot; and the token, for control."""

    session: str
    connection: str
    token: str


class Sound(NamedTuple):
    """A request as it should be."""

    method: str
    path: str
    headers: Headers
    body: Any = NOTHING


class Message(NamedTuple):
    """Bytes for one connection. `whole`: an answer is owed. `told`: the token is among them."""

    kind: str
    data: bytes
    whole: bool = False
    told: bool = False


# -- what is sound -----------------------------------------------------------------------------


def rpc(method: str, params: Any, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params, **more}


def modern(path: str, method: str, params: dict[str, Any]) -> Sound:
    told = [("mcp-protocol-version", MODERN), ("mcp-method", method)]
    if "name" in params:
        told.append(("mcp-name", params["name"]))
    return Sound("POST", path, told, rpc(method, {**params, "_meta": META}))


def sound(ids: Ids) -> list[Sound]:
    """A request of every kind that there is."""
    own = f"/s/{ids.session}/mcp"
    old = [("mcp-protocol-version", LEGACY), ("mcp-session-id", ids.connection)]
    keyed = {**CALL, "_meta": {**META, "provegym/key": "k"}}
    mcp = [
        Sound("POST", "/mcp", [], HELLO),
        Sound("POST", own, [], HELLO),
        Sound("POST", own, old, rpc("tools/call", CALL)),
        Sound("POST", own, old, rpc("tools/list", {})),
        Sound("POST", own, old, rpc("ping", {})),
        Sound("POST", own, old, {"jsonrpc": "2.0", "method": "notifications/initialized"}),
        Sound("POST", own, old, rpc("notifications/cancelled", {"requestId": 7})),
        Sound("DELETE", own, [("mcp-session-id", "0" * 32)]),
        modern(own, "tools/call", CALL),
        modern(own, "tools/call", keyed),
        modern(own, "tools/list", {}),
        modern(own, "server/discover", {}),
        modern(f"{own}/banking", "tools/call", CALL),
        modern("/mcp", "tools/list", {}),
        modern("/mcp/banking", "tools/list", {}),
    ]
    return [*mcp, *control(ids)]


def control(ids: Ids) -> list[Sound]:
    """A request of every route of the control API."""
    one = f"/v1/sessions/{ids.session}"
    call = {**CALL, "key": "a"}
    bodies: list[tuple[str, Any]] = [
        ("/v1/sessions", {"seed": 7, "servers": ["banking"]}),
        ("/v1/sessions", {"task": task()}),
        ("/v1/calls", {"calls": [{**call, "session": ids.session}], "deadline": 1.0}),
        (f"{one}/calls", {"calls": [call, CALL], "deadline": 1.0}),
        (f"{one}/calls", {"calls": [{"name": "list_accounts", "arguments": '{"limit": 2}'}]}),
        (f"{one}/snapshot", {}),
        (f"{one}/restore", {"snapshot": "s1"}),
        (f"{one}/reset", {}),
        (f"{one}/offer", {"tools": None}),
        (f"{one}/offer", {"turn": 0}),
        (f"{one}/score", {"preset": "strict,beta=0.3"}),
        (f"{one}/fork", {}),
    ]
    told = [("authorization", f"Bearer {ids.token}")]
    gets = [one, f"{one}/changes", f"{one}/digest", f"{one}/tools", "/openapi.json", "/healthz"]
    posts = [Sound("POST", path, told, body) for path, body in bodies]
    asks = [Sound("GET", path, told) for path in [*gets, "/metrics"]]
    return [*posts, *asks, Sound("DELETE", "/v1/sessions/none", told)]


def task() -> dict[str, Any]:
    """A small task, as a file has it."""
    library = list(servers.load("banking").tools.values())
    tools = msgspec.to_builtins([tool.schema for tool in library if tool.name in OFFERED])
    call = {"id": "g0", "name": "list_accounts", "arguments": {"limit": 2}, "result": {"a": []}}
    return {
        "id": "t",
        "kind": "workflow",
        "servers": ["banking"],
        "seed": 7,
        "reference_time": "2026-03-02T09:00:00+00:00",
        "persona": "",
        "tools": tools,
        "turns": [{"user": "Show them", "calls": [call], "reply": "Here."}],
        "final_changes": {},
        "perturbations": {},
        "information": "complete",
        "teacher": "none",
    }


def head(request: Sound, headers: Headers) -> bytes:
    lines = [f"{request.method} {request.path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogatepass")


def fields(request: Sound) -> Headers:
    common = [("host", "127.0.0.1"), ("content-type", "application/json"), ("accept", BOTH)]
    return [*common, ("connection", "close"), *request.headers]


def text(value: Any) -> bytes:
    """JSON that may hold what JSON may not: NaN, lone surrogates."""
    written = "" if value is NOTHING else json.dumps(value, ensure_ascii=False)
    return written.encode("utf-8", "surrogatepass")


def written(request: Sound, body: bytes | None = None, headers: Headers | None = None) -> bytes:
    """A request in bytes, of a length that is true."""
    content = text(request.body) if body is None else body
    told = fields(request) if headers is None else headers
    return head(request, [*told, ("content-length", str(len(content)))]) + content


# -- what is not -------------------------------------------------------------------------------

DEEP: Any = json.loads("[" * 200 + "]" * 200)
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**31, 2**53 + 1, -(2**63), 2**64, 10**400, 0.5, 3.0, -0.0),
    *(1e308, float("nan"), float("inf"), -float("inf"), "", " ", "null", "NaN", "0", "\x00"),
    *("\ud800", "\udfff\ud800", "\u2028", "\U0001f600" * 50, "a" * 5000, "../../etc/passwd"),
    *("${jndi:ldap://x}", "{{7*7}}", "%s%n%d", "' OR 1=1 --", "__class__", "\r\nx: y", "\x1b[2J"),
    *([], {}, [[]], [None], {"": None}, {"__proto__": {}}, {"$ref": "#/x"}, [{}] * 300, DEEP),
    *(HELLO, [HELLO, HELLO], "2026-13-45T99:99:99Z", "strict,beta=nan", "paper,beta=1e999"),
]
TEXTS: list[Callable[[bytes, Random], bytes]] = [
    lambda body, rnd: body[: rnd.randrange(len(body) + 1)],
    lambda body, rnd: body + rnd.choice([b"]", b"}", b"\x00", body, b"//", b",", b"\xff"]),
    lambda body, rnd: b"[" * rnd.choice([10, 127, 129, 999, 1001, 5000, 100_000]) + body,
    lambda body, rnd: b"\xef\xbb\xbf" + body,
    lambda body, rnd: body.decode("utf-8", "replace").encode(rnd.choice(["utf-16", "utf-32"])),
    lambda body, rnd: body.replace(b'"', rnd.choice([b"'", b"", b'\\"', b"\xe9"])),
    lambda body, rnd: body.replace(b"7", rnd.choice([b"NaN", b"1e999", b"-", b"07", b"9" * 5000])),
    lambda body, rnd: body.replace(b":", rnd.choice([b"::", b"=", b",", b":[[[["]), 1),
    lambda body, rnd: body.replace(b"{", b'{"id":1,"id":[],"method":"x","method":"tools/list",', 1),
    lambda body, rnd: body.replace(b'"list', rb'"\ud83d' + rnd.choice([b"", rb"\u0000", b"\x00"])),
    lambda body, rnd: rnd.choice([b"", b" " * 3000, b"null", b"0", b'""', b"[]", b"{}", b"nul"]),
    lambda body, rnd: rnd.choice([b"[", b'{"a":', b'[{"":']) * rnd.choice([100, 900, 50_000]),
    lambda body, rnd: rnd.randbytes(rnd.randrange(1, 400)),
]
PATHS = [
    *("/", "//", "/s", "/s/", "/s//mcp", "/mcp/", "/mcp//", "/v1", "/v1/", "/v1/sessions/"),
    *("/s/{id}", "/s/{id}/", "/s/{id}/mcp/", "/s/{id}/mcp/../../../v1/sessions", "/s/{id}/mcp/."),
    *("/s/../v1/sessions", "/s/%2e%2e/v1/sessions", "/s/..%2fv1%2fsessions", "/s/%2e%2e%2f/mcp"),
    *("/s/{id}%00/mcp", "/s/%00/mcp", "/s/%ff%fe/mcp", "/s/%/mcp", "/s/%zz/mcp", "/s/{id}%20/mcp"),
    *("/s/%ed%a0%80/mcp", "/s/{id}/mcp/%ed%a0%80", "/s/{id}/mcp/banking%2f..", "/s/{id}%2fmcp"),
    *("/mcp/..%2f..%2fetc%2fpasswd", "/mcp/%2e%2e", "/mcp/banking%00", "/mcp/BANKING", "/mcp/*"),
    *("/mcp/os", "/mcp/provegym.servers", "/mcp/__init__", "/static/../../etc/passwd"),
    *("/v1/sessions/{id}/../../../metrics", "/v1/sessions/{id}/score/", "/v1/sessions/%2e%2e"),
    *("/v1/sessions/*", "/v1/sessions/{id}/calls?x=1", "/healthz/../metrics", "/healthzz"),
    *("/healthz%2f..%2fmetrics", "/HEALTHZ", "/openapi.json%00", "/docs", "/.env", "/s/{id}/v1"),
    *("/s/" + "a" * 5000 + "/mcp", "/" + "a/" * 2000, "/s/{id}/mcp?" + "a" * 9000, "*"),
    *("http://127.0.0.1/v1/sessions", "http://evil.example/metrics", "//evil.example/metrics"),
    *("/s/{id}/mcp;x", "/s/{id};/mcp", "/s\\{id}\\mcp", "/s/{id}/mcp#x", "/s/{id}/MCP"),
]
VALUES = [
    *("", " ", "\t", "null", "*", "a" * 9000, "\x01", "\x7f", "é", "0", "-1", "1, 2", ",", ";"),
    *("text/html", "application/xml", "*/*", "text/event-stream", "Basic x", "Bearer", "Bearer "),
    *("Bearer wrong", "1900-01-01", "2026-07-28", "2025-11-25", "2024-11-05", "evil.example"),
    *("http://evil.example", "null", "gzip", "=?base64?!!?=", "=?base64?/w==?=", "tools/call"),
    *("tools/list", "initialize", "chunked", "keep-alive, upgrade", "websocket", "h2c", "[::1"),
    *("127.0.0.1:99999999", "127.0.0.1:x", "user@127.0.0.1", "0", "localhost:1:2", "[]", "::"),
]
NAMES = [
    *("host", "origin", "authorization", "content-type", "accept", "mcp-session-id"),
    *("mcp-protocol-version", "mcp-method", "mcp-name", "mcp-param-x", "connection", "upgrade"),
    *("expect", "content-encoding", "last-event-id", "x-forwarded-for", "x-http-method-override"),
    *("cookie", "te", "trailer", "range", "a" * 3000),
]
METHODS = [
    *(
        "HEAD",
        "PUT",
        "PATCH",
        "OPTIONS",
        "TRACE",
        "CONNECT",
        "PROPFIND",
        "get",
        "POSTT",
        "",
        "\x00",
    ),
    *("\x00", "PRI", "GET", "DELETE", "POST", "SOURCE", "M-SEARCH", "LINK"),
]
CALLED = [
    *("", "tools", "tools/", "tools/call/", "TOOLS/CALL", "rpc.discover", "initialize", "shutdown"),
    *("resources/read", "prompts/get", "logging/setLevel", "sampling/createMessage", "roots/list"),
    *("completion/complete", "elicitation/create", "subscriptions/listen", "tasks/get", "ping"),
    *("notifications/progress", "notifications/x", "server/discover", "__init__", "../tools/call"),
    *("resources/subscribe", "\x00", "a" * 3000, "v1/sessions"),
]


def wrong_bytes(rnd: Random, ids: Ids) -> Message:
    """A few bytes of a request are others, gone, twice there, or more."""
    data = bytearray(written(rnd.choice(sound(ids))))
    for _ in range(rnd.randint(1, 8)):
        at = rnd.randrange(len(data) + 1)
        match rnd.randrange(5):
            case 0 if at < len(data):
                data[at] ^= 1 << rnd.randrange(8)
            case 1:
                data[at:at] = rnd.randbytes(rnd.randint(1, 4))
            case 2:
                del data[at : at + rnd.randint(1, 8)]
            case 3:
                data[at:at] = data[at : at + rnd.randint(1, 60)]
            case _:
                data[at:at] = rnd.choice([b"\r\n", b"\n", b"\x00", b": ", b"\xff", b"\r\n\r\n"])
    return Message("bytes", bytes(data))


def wrong_headers(rnd: Random, ids: Ids) -> Message:
    """Fields are missing, twice there, of odd values, or unheard of."""
    request = rnd.choice(sound(ids))
    headers = fields(request)
    for _ in range(rnd.randint(1, 4)):
        at = rnd.randrange(len(headers)) if headers else 0
        match rnd.randrange(4):
            case 0 if headers:
                headers[at] = headers[at][0], rnd.choice(VALUES)
            case 1 if headers:
                del headers[at]
            case 2 if headers:
                headers.append((headers[at][0], rnd.choice(VALUES)))
            case _:
                headers.insert(at, (rnd.choice(NAMES), rnd.choice(VALUES)))
    return Message("headers", written(request, headers=headers))


def wrong_text(rnd: Random, ids: Ids) -> Message:
    """The body is no JSON, or JSON of a kind that parsers disagree about."""
    request = rnd.choice([one for one in sound(ids) if one.body is not NOTHING])
    return whole("text", request, rnd.choice(TEXTS)(text(request.body), rnd))


def wrong_structure(rnd: Random, ids: Ids) -> Message:
    """JSON whose values are of other types, missing, surplus, or too deep."""
    request = rnd.choice([one for one in sound(ids) if one.body is not NOTHING])
    body = json.loads(json.dumps(request.body))
    for _ in range(rnd.randint(1, 3)):
        body = changed(body, rnd)
    return whole("structure", request, text(body))


def odd(rnd: Random) -> Any:
    return deepcopy(rnd.choice(ODD))


def changed(value: Any, rnd: Random) -> Any:
    """A JSON value with one place in it changed."""
    if not isinstance(value, dict | list) or not value or rnd.random() < 0.2:
        return rnd.choice([odd(rnd), [value], [value, value], {"x": value}])
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = rnd.choice(keys)
    match rnd.randrange(6):
        case 0:
            del value[key]
        case 1 if isinstance(value, dict):
            value[rnd.choice(["x", "", "id", "__class__", "session", f"{key} "])] = odd(rnd)
        case _:
            value[key] = changed(value[key], rnd)
    return value


def wrong_field(rnd: Random, ids: Ids) -> Message:
    """A field of a control route has a wrong type."""
    request = rnd.choice([one for one in control(ids) if isinstance(one.body, dict) and one.body])
    body = json.loads(json.dumps(request.body))
    body[rnd.choice(list(body))] = odd(rnd)
    return whole("fields", request, text(body))


def wrong_path(rnd: Random, ids: Ids) -> Message:
    """Paths that climb, are encoded oddly, or name nothing."""
    request = rnd.choice(sound(ids))
    path = rnd.choice(PATHS).replace("{id}", ids.session)
    if rnd.random() < 0.3:
        at = rnd.randrange(len(path) + 1)
        path = path[:at] + rnd.choice(["%2e", "%2f", "%5c", "%00", "/", ".", "%c0%af"]) + path[at:]
    headers = [one for one in fields(request) if rnd.random() < 0.5 or one[0] != "authorization"]
    return Message("paths", written(request._replace(path=path), headers=headers))


def wrong_method(rnd: Random, ids: Ids) -> Message:
    """Methods of HTTP or of JSON-RPC that are not there."""
    request = rnd.choice(sound(ids))
    if rnd.random() < 0.4:
        return Message("methods", written(request._replace(method=rnd.choice(METHODS))))
    name = rnd.choice(CALLED)
    made = modern(f"/s/{ids.session}/mcp", name, {})
    if rnd.random() < 0.5:
        old = [("mcp-protocol-version", LEGACY), ("mcp-session-id", ids.connection)]
        made = made._replace(headers=old, body=rpc(name, rnd.choice([*ODD, {}, CALL])))
    return Message("methods", written(made))


def wrong_frame(rnd: Random, ids: Ids) -> Message:
    """Lengths that lie, chunks that are none, requests behind each other."""
    request = rnd.choice([one for one in sound(ids) if one.body is not NOTHING])
    body, told = text(request.body), fields(request)
    lengths = ["0", "-1", "+5", "1e3", "0x10", "9" * 30, "", "5, 5", str(len(body) // 2)]
    chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    chunked = head(request, [*told, ("transfer-encoding", "chunked")])
    both = [*told, ("transfer-encoding", "chunked"), ("content-length", str(len(body)))]
    sized = written(request)
    return Message(
        "framing",
        rnd.choice(
            [
                head(request, [*told, ("content-length", rnd.choice(lengths))]) + body,
                chunked + chunk,
                chunked + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n",
                chunked
                + rnd.choice([b"zz\r\n", b"-1\r\n", b"f" * 40 + b"\r\n", b"5\r\nab"])
                + body,
                head(request, both) + chunk,
                sized * rnd.randint(2, 6),
                sized + written(rnd.choice(sound(ids))),
                sized.replace(b"HTTP/1.1", rnd.choice([b"HTTP/1.0", b"HTTP/9.9", b"HTTP/2", b""])),
                sized.replace(b"\r\n", b"\n"),
                sized.replace(b"\r\nhost", b"\r\n folded\r\nhost"),
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + sized,
                b"\x16\x03\x01" + rnd.randbytes(100),
                b"\r\n" * rnd.randint(1, 50) + sized,
                head(request, [*told, ("x", "y" * rnd.choice([1000, 70_000, 200_000]))]),
                head(request, [(f"x{i}", "y") for i in range(rnd.choice([100, 5000]))]),
                head(request, [*told, ("expect", "100-continue"), ("content-length", "9")]) + body,
            ]
        ),
    )


def cut_short(rnd: Random, ids: Ids) -> Message:
    """The client leaves in the middle."""
    data = written(rnd.choice(sound(ids)))
    return Message("cut short", data[: rnd.randrange(len(data))])


def whole(kind: str, request: Sound, body: bytes) -> Message:
    """A request that is sound but for its body: an answer is owed."""
    return Message(kind, written(request, body), whole=True)


KINDS = [
    *(wrong_bytes, wrong_headers, wrong_text, wrong_structure, wrong_field, wrong_path),
    *(wrong_method, wrong_frame, cut_short),
]


def message(rnd: Random, ids: Ids) -> Message:
    """The next message."""
    made = rnd.choice(KINDS)(rnd, ids)
    return made._replace(told=ids.token.encode() in made.data)
