"""A gateway of our own on a loopback port, and clients of the official SDK."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Event
from typing import Any

import httpx2
import msgspec
from mcp import Client
from mcp.types import CallToolResult
from msgspec.structs import replace

from provegym.gateway import http
from provegym.gateway.rooms import Open, Room, Rooms, open_world
from provegym.gateway.settings import Settings
from provegym.world.session import Result, Session
from provegym.world.sessions import Sessions

LEGACY, MODERN = "2025-11-25", "2026-07-28"
ERAS = ("legacy", MODERN)
"""How a client of the SDK is told which protocol to speak."""
BOTH = "application/json, text/event-stream"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


SECONDS = 120.0
"""An answer may take so long on a busy machine; the client's own limit is 5 s."""


class House:
    """A running gateway."""

    def __init__(self, rooms: Rooms, settings: Settings, url: str) -> None:
        self.rooms, self.settings, self.url = rooms, settings, url
        self.send: Callable[..., httpx2.Response] = partial(httpx2.post, timeout=SECONDS)

    def move_in(self, room: Room) -> str:
        """The path of a new session."""
        return f"/s/{self.rooms.add(room)}/mcp"

    def banking(self, seed: int = 7) -> tuple[Session, str]:
        """A new session of the bank, and its path."""
        session = open_world(seed, ("banking",))
        assert isinstance(session, Session)
        return session, self.move_in(Room(session))

    def post(self, path: str, body: bytes | dict[str, Any], **headers: str) -> httpx2.Response:
        """One raw request."""
        content = body if isinstance(body, bytes) else msgspec.json.encode(body)
        told = {"accept": BOTH, "content-type": "application/json"}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.send(f"{self.url}{path}", content=content, headers={**told, **named})

    def ask(self, path: str, method: str, params: dict[str, Any], id: Any = 1) -> httpx2.Response:
        """One request as MCP 2026-07-28 has it."""
        body = {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": META}}
        names = {"mcp_name": params["name"]} if "name" in params else {}
        return self.post(path, body, mcp_protocol_version=MODERN, mcp_method=method, **names)

    def connect(self, path: str) -> str:
        """A new connection of 2025-11-25, by its id."""
        opened = self.post(path, HELLO)
        connection = opened.headers["mcp-session-id"]
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert self.post(path, told, mcp_session_id=connection).status_code == 202
        return connection

    def call(
        self,
        path: str,
        connection: str,
        name: str,
        id: Any,
        arguments: dict[str, Any] | None = None,
    ) -> httpx2.Response:
        """One raw call over a connection."""
        params = {"name": name, "arguments": arguments or {}}
        body = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
        return self.post(path, body, mcp_session_id=connection, mcp_protocol_version=LEGACY)


@contextmanager
def house(
    settings: Settings, rooms: Rooms | None = None, open: Open = open_world
) -> Iterator[House]:
    """A gateway for the length of a test."""
    kept = http.new_rooms(settings) if rooms is None else rooms
    with http.background(http.app(kept, settings, open), replace(settings, port=0)) as url:
        yield House(kept, settings, url)


class Slow(Session):
    """A session that answers when it is allowed to, as an external server would."""

    blocking = True

    def __init__(self, of: Any) -> None:
        super().__init__(of)
        self.called, self.go_on = Event(), Event()

    def call(self, name: str, arguments: str | bytes | dict[str, Any]) -> Result:
        if name == "list_cards":
            self.called.set()
            assert self.go_on.wait(30)
        return super().call(name, arguments)


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def timed_rooms(clock: Clock, idle: float) -> Rooms:
    """Rooms with ids from a list, that age by that clock."""
    numbers = iter(range(1000))
    return Sessions(clock, lambda: f"room{next(numbers)}", idle)


def value_of(result: CallToolResult) -> Any:
    """The value of a result, after seeing that both of its forms agree."""
    [content] = result.content
    assert content.type == "text"
    value = msgspec.json.decode(content.text)
    assert content.text == msgspec.json.encode(value).decode()  # compact, nothing escaped
    if result.is_error:
        assert result.structured_content is None
    else:
        assert result.structured_content == value
    return value


def error_of(result: CallToolResult) -> str:
    """The code of a refusal."""
    assert result.is_error
    code: str = value_of(result)["error"]["code"]
    return code


Step = tuple[str, dict[str, Any]]


def script(session: Session) -> list[Step]:
    """An episode at the bank of that session: looks, writes, refusals, wrong arguments."""
    accounts = [a["id"] for a in session.call("list_accounts", {}).builtins()["accounts"]]
    pay = {"from_account_id": accounts[0], "to_account_id": accounts[2], "amount": "1.25"}
    return [
        ("list_accounts", {"limit": 2}),
        ("transfer_between_accounts", pay),
        ("transfer_between_accounts", {**pay, "amount": "99999999.00"}),
        ("transfer_between_accounts", {**pay, "note": "Täglich 東京 \u2028 😀"}),
        ("add_payee", {"name": "Zoë", "iban": "nonsense"}),
        ("list_accounts", {"colour": "red"}),
        ("list_accounts", {"limit": "5"}),
        ("list_transactions", {"account_id": accounts[0], "limit": 3}),
    ]


def play(session: Session, steps: Sequence[Step]) -> list[tuple[str, Any]]:
    """Outcomes and values of an episode in this process."""
    results = [session.call(name, arguments) for name, arguments in steps]
    return [(result.outcome, result.builtins()) for result in results]


async def play_over(client: Client, steps: Sequence[Step]) -> list[tuple[str, Any]]:
    """Outcomes and values of an episode over MCP."""
    seen = []
    for name, arguments in steps:
        result = await client.call_tool(name, arguments)
        assert result.meta is not None
        seen.append((result.meta["provegym/outcome"], value_of(result)))
    return seen
