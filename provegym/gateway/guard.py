"""Who may ask at all: the one layer of ASGI that every request of the gateway passes first.

- **Host and Origin**: a page of another site, whose name was made to point here (DNS rebinding),
  is turned away. MCP 2026-07-28, "Streamable HTTP", demands it.
- **Token**: demanded everywhere but at URLs that hold a session's unguessable id, so that a policy
  is given a URL and never the token.
- **Rate**: a session's URL, or an address elsewhere, that asks too often has to wait.
- **Size**: a body is read up to a limit, and no further.
"""

from __future__ import annotations

import ipaddress
from hmac import compare_digest
from math import ceil

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from provegym.errors import seen
from provegym.gateway.rate import Rates, who_asks
from provegym.gateway.settings import Settings, is_loopback

Headers = tuple[tuple[bytes, bytes], ...]
NAME_LENGTH = 253
"""Most characters of a host's name (RFC 1035, 2.3.4, as text)."""


class Refused(Exception):
    """A request that is turned away, with a status, what the answer says, and further fields."""

    def __init__(self, status: int, code: str, message: str, headers: Headers = ()) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers


class Guard:
    """The layer itself, around an app."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._rates = Rates(settings.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through with its whole body at hand, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # White space around a field is no part of it (RFC 9110, 5.5); httptools leaves some.
        scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        try:
            check(scope, self._settings)
            self._check_rate(scope)
            _check_told(scope, self._settings.max_body)
            first = await whole(scope, receive, self._settings.max_body)
        except Refused as refused:
            await refuse(send, refused)
            return
        if first["type"] == "http.request":  # or the client left before all was told
            await self._app(scope, Replay(first, receive), send)

    def _check_rate(self, scope: Scope) -> None:
        wait = self._rates.take(who_asks(scope))
        if wait:
            seconds = b"%d" % ceil(wait)
            told = "too many requests; ask again after the seconds that Retry-After says"
            raise Refused(429, "too_many_requests", told, ((b"retry-after", seconds),))


class Replay:
    """Gives the message with the body, then whatever comes after it."""

    def __init__(self, first: Message, receive: Receive) -> None:
        self._first: Message | None = first
        self._receive = receive

    async def __call__(self) -> Message:
        """The next message."""
        first, self._first = self._first, None
        return first or await self._receive()


def check(scope: Scope, settings: Settings) -> None:
    """Raise `Refused` for a request from where none may come, or without the token."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    if len(headers) < len(scope["headers"]):
        _check_repeated([name for name, _ in scope["headers"]])
    host = headers.get(b"host", b"").decode("latin-1")
    if not _known(_name(host), settings):
        raise Refused(421, "wrong_host", f"this gateway is not known as {seen(host)}")
    origin = headers.get(b"origin", b"").decode("latin-1")
    if origin and not _known(_name(origin.partition("://")[2]), settings):
        raise Refused(403, "wrong_origin", f"pages of {seen(origin)} may not ask here")
    if not (_is_open(scope["path"]) or knows_token(headers.get(b"authorization", b""), settings)):
        told = "this needs the header `Authorization: Bearer TOKEN`"
        raise Refused(401, "unauthorized", told, ((b"www-authenticate", b"Bearer"),))


def _check_repeated(names: list[bytes]) -> None:
    """No two fields may say differently who asks, for one would be checked and the other used."""
    for once in (b"host", b"origin", b"authorization", b"mcp-session-id"):
        if names.count(once) > 1:
            raise Refused(400, "repeated_header", f"give the header {once.decode()} once")


def _is_open(path: str) -> bool:
    """Whether no token is asked for: the id in a path is the right to use that session."""
    return path.startswith("/s/") or path == "/healthz"


def knows_token(given: bytes, settings: Settings) -> bool:
    """Whether a header Authorization holds the token, if one is demanded at all (RFC 6750, 2.1)."""
    if not settings.token:
        return True
    kind, _, value = given.partition(b" ")
    return kind.lower() == b"bearer" and compare_digest(value.strip(), settings.token.encode())


def _name(host: str) -> str:
    """A host without its port, in lower case."""
    name, _, port = host.rpartition(":")
    return (name if port.isdecimal() and name else host).lower()


def _known(name: str, settings: Settings) -> bool:
    """Whether a request may name the gateway so. No name can be rebound that is an address."""
    if len(name) > NAME_LENGTH:  # what was once looked at is remembered
        return False
    if is_loopback(name) or name == settings.host or name in settings.hosts:
        return True
    return not is_loopback(settings.host) and _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


async def whole(scope: Scope, receive: Receive, limit: int) -> Message:
    """The message that holds a request's whole body. Raises `Refused` where that is too long."""
    message = await receive()
    if not message.get("more_body", False):
        _check_size(len(message.get("body", b"")), limit)
        return message
    parts = [message.get("body", b"")]
    size = len(parts[0])
    while message.get("more_body", False):
        _check_size(size, limit)
        message = await receive()
        if message["type"] != "http.request":
            return message
        parts.append(message.get("body", b""))
        size += len(parts[-1])
    _check_size(size, limit)
    return {"type": "http.request", "body": b"".join(parts), "more_body": False}


def _check_told(scope: Scope, limit: int) -> None:
    """See how long a body will be where its header tells, before any of it is waited for."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            # Python turns no text of over 4,300 digits into a number.
            _check_size(int(value) if len(value) < 20 else limit + 1, limit)


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise Refused(413, "too_large", f"a request has at most {limit} bytes")


async def refuse(send: Send, refused: Refused) -> None:
    """Answer with the reason, in the form of the control API's errors."""
    error = {"error": {"code": refused.code, "message": refused.message, "details": {}}}
    body = msgspec.json.encode(error)
    size = b"%d" % len(body)
    headers = [(b"content-type", b"application/json"), (b"content-length", size), *refused.headers]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
