"""MCP over HTTP, as the official SDK's client sees it in both protocol eras."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from random import Random
from threading import Event
from typing import Any, TypeVar

import msgspec
import pytest
from mcp import Client, MCPError
from msgspec.structs import replace

from provegym.gateway import listing
from provegym.gateway.rooms import Room, open_world
from provegym.gateway.settings import Settings
from provegym.servers import world
from provegym.synth.perturb import strip_enums
from provegym.types import Task, Turn
from provegym.world.session import Result, Session
from tests.gateway.house import (
    ERAS,
    HELLO,
    MODERN,
    House,
    error_of,
    house,
    play,
    play_over,
    script,
)

T = TypeVar("T")
Talk = Callable[[Client], Awaitable[T]]


@pytest.fixture(scope="module")
def gateway() -> Iterator[House]:
    with house(Settings(servers=("banking", "calendar"))) as running:
        yield running


def talk(gateway: House, path: str, era: str, say: Talk[T]) -> T:
    """What one client of the SDK is told."""

    async def converse() -> T:
        async with Client(f"{gateway.url}{path}", mode=era) as client:
            return await say(client)

    return asyncio.run(converse())


def refusal(gateway: House, path: str, era: str, say: Talk[Any]) -> MCPError:
    """The JSON-RPC error that a client meets."""
    with pytest.raises((MCPError, ExceptionGroup)) as caught:
        talk(gateway, path, era, say)
    error: BaseException = caught.value
    while isinstance(error, BaseExceptionGroup):
        [error] = error.exceptions
    assert isinstance(error, MCPError), error
    return error


# -- calls -------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_an_episode_over_mcp_gives_the_results_and_the_state_of_one_in_process(
    gateway: House, era: str
) -> None:
    session, path = gateway.banking()
    alone = world(7, ("banking",)).open()
    steps = script(alone.fork())
    expected = play(alone, steps)
    assert {outcome for outcome, _ in expected} == {"ok", "tool_error", "invalid_arguments"}
    assert talk(gateway, path, era, lambda client: play_over(client, steps)) == expected
    assert session.digest() == alone.digest() != world(7, ("banking",)).open().digest()


@pytest.mark.parametrize("era", ERAS)
def test_an_unknown_tool_is_an_error_of_the_protocol(gateway: House, era: str) -> None:
    _, path = gateway.banking()
    error = refusal(gateway, path, era, lambda client: client.call_tool("rob_bank", {}))
    assert (error.error.code, error.error.message) == (-32602, "Unknown tool: rob_bank")


def test_a_retried_call_with_the_same_key_runs_once(gateway: House) -> None:
    session, path = gateway.banking()
    name, arguments = script(session.fork())[1]

    async def twice(client: Client) -> list[Any]:
        once = [await client.call_tool(name, arguments, meta=keyed("k1")) for _ in "ab"]
        return [result.structured_content for result in once]

    first, second = talk(gateway, path, MODERN, twice)
    alone = world(7, ("banking",)).open()
    alone.call(name, arguments)
    assert first == second
    assert session.digest() == alone.digest()


def keyed(key: object) -> Any:
    """The `_meta` of a call with a key."""
    return {"provegym/key": key}


@pytest.mark.parametrize("key", ["", "k" * 201, 5, ["k"]])
def test_a_key_that_is_no_short_text_is_refused(gateway: House, key: object) -> None:
    session, path = gateway.banking()
    before = session.digest()
    name, arguments = script(session.fork())[1]
    error = refusal(
        gateway,
        path,
        MODERN,
        lambda client: client.call_tool(name, arguments, meta=keyed(key)),
    )
    assert error.error.code == -32602
    assert "provegym/key" in error.error.message
    assert session.digest() == before


class Broken(Session):
    """A session whose calls fail for a reason that nobody outside may read."""

    def call(self, name: str, arguments: str | bytes | dict[str, Any]) -> Result:
        if name == "list_payees":
            raise ValueError("secret-4711")
        return super().call(name, arguments)


@pytest.mark.parametrize("era", ERAS)
def test_a_fault_of_ours_is_marked_and_tells_nothing_of_its_cause(
    gateway: House, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = world(7, ("banking",))

    def fail(*_: object) -> None:
        raise RuntimeError("secret-4711")

    monkeypatch.setitem(of.tools, "list_cards", of.tools["list_cards"]._replace(run=fail))
    path = gateway.move_in(Room(Broken(of)))
    result = talk(gateway, path, era, lambda client: client.call_tool("list_cards", {}))
    assert error_of(result) == "server_fault"
    assert result.meta is not None
    assert result.meta["provegym/outcome"] == "infrastructure"
    error = refusal(gateway, path, era, lambda client: client.call_tool("list_payees", {}))
    assert error.error.code == -32603
    assert "4711" not in f"{result}{error.error}"


# -- lists of tools ----------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_a_session_lists_its_tools_as_a_policy_is_shown_them_and_how_they_act(
    gateway: House, era: str
) -> None:
    session, path = gateway.banking()
    listed = talk(gateway, path, era, lambda client: client.list_tools()).tools
    told = [(tool.function.name, tool.function.parameters) for tool in session.tools()]
    assert [(tool.name, tool.input_schema) for tool in listed] == told
    for tool in listed:
        assert tool.annotations is not None
        reads = session.world.tools[tool.name].tool.effect == "read"
        hints = tool.annotations
        assert (hints.read_only_hint, hints.destructive_hint) == (reads, not reads)
        assert (hints.idempotent_hint, hints.open_world_hint) == (reads, False)
        assert tool.output_schema is not None


@pytest.mark.parametrize("era", ERAS)
def test_one_server_of_a_session_has_its_tools_alone(gateway: House, era: str) -> None:
    session = open_world(7, ("banking", "calendar"))
    path = gateway.move_in(Room(session))
    listed = talk(gateway, f"{path}/calendar", era, lambda client: client.list_tools()).tools
    assert [tool.name for tool in listed] == list(world(7, ("calendar",)).tools)
    error = refusal(
        gateway, f"{path}/calendar", era, lambda client: client.call_tool("list_accounts", {})
    )
    assert error.error.code == -32602
    whole = talk(gateway, path, era, lambda client: client.call_tool("list_accounts", {}))
    assert not whole.is_error
    missing = refusal(gateway, f"{path}/maps", era, lambda client: client.list_tools())
    assert "'maps'" in missing.error.message
    assert "banking, calendar" in missing.error.message


@pytest.mark.parametrize("era", ERAS)
def test_a_task_shows_its_own_tools_and_they_act_as_those_they_come_from(
    gateway: House, era: str
) -> None:
    own = world(7, ("banking",)).tools
    foreign = world(7, ("calendar",)).tools
    shown = strip_enums((own["manage_card"].tool.schema, own["list_cards"].tool.schema))
    added = replace(own["list_payees"].tool.schema)
    distractor = next(iter(foreign.values())).tool.schema
    turns = (Turn("a"), Turn("b", tools=(added,)))
    task = Task("t", "workflow", turns, ("banking",), 7, tools=(*shown, distractor))
    room = Room(world(7, ("banking",)).open(), task)
    path = gateway.move_in(room)
    listed = talk(gateway, path, era, lambda client: client.list_tools()).tools
    assert [tool.name for tool in listed] == [
        "manage_card",
        "list_cards",
        distractor.function.name,
    ]
    assert "enum" in own["manage_card"].tool.schema.function.parameters["properties"]["action"]
    assert "enum" not in listed[0].input_schema["properties"]["action"]
    assert [t.annotations and t.annotations.read_only_hint for t in listed[:2]] == [False, True]
    hidden = refusal(gateway, path, era, lambda client: client.call_tool("list_payees", {}))
    assert hidden.error.code == -32602
    vain = talk(gateway, path, era, lambda c: c.call_tool(distractor.function.name, {}))
    assert error_of(vain) == "no_server"
    room.enter(1)
    listed = talk(gateway, path, era, lambda client: client.list_tools()).tools
    assert listed[-1].name == "list_payees"


def test_a_list_is_the_same_whoever_asked_before(gateway: House) -> None:
    _, path = gateway.banking()
    _, other = gateway.banking()

    def listed(path: str, era: str) -> list[dict[str, Any]]:
        found = talk(gateway, path, era, lambda client: client.list_tools()).tools
        return [tool.model_dump() for tool in found]

    first = listed(path, MODERN)
    assert listed(path, MODERN) == listed(other, MODERN) == listed(other, "legacy") == first


# -- sessions ----------------------------------------------------------------------------------


def test_a_legacy_client_without_a_session_gets_one_of_its_own() -> None:
    opened: list[Session] = []
    closed = Event()

    class Watched(Session):
        def close(self) -> None:
            super().close()
            closed.set()

    def open(seed: int, names: tuple[str, ...]) -> Session:
        opened.append(Watched(world(seed, names)))
        return opened[-1]

    settings = Settings(servers=("banking",), seed=7)
    steps = script(world(7, ("banking",)).open())

    async def both(gateway: House) -> None:
        url = f"{gateway.url}/mcp"
        async with Client(url, mode="legacy") as one, Client(url) as other:
            assert one.protocol_version == other.protocol_version == "2025-11-25"
            await play_over(one, steps)
            await other.call_tool("list_accounts", {})
            assert len(opened) == 2
            assert opened[0].changes() != {} == opened[1].changes()
            assert not closed.is_set()

    with house(settings, open=open) as gateway:
        asyncio.run(both(gateway))
        assert closed.wait(30)


def test_a_modern_client_without_a_session_is_told_how_to_make_one(gateway: House) -> None:
    error = refusal(gateway, "/mcp", MODERN, lambda client: client.list_tools())
    assert error.error.code == -32022
    assert "POST /v1/sessions" in error.error.message
    assert error.error.data["requested"] == MODERN
    assert "2025-11-25" in error.error.data["supported"]


def test_a_connection_may_ask_for_one_server_alone(gateway: House) -> None:
    listed = talk(gateway, "/mcp/calendar", "legacy", lambda client: client.list_tools()).tools
    assert [tool.name for tool in listed] == list(world(0, ("calendar",)).tools)
    error = refusal(gateway, "/mcp/maps", "legacy", lambda client: client.list_tools())
    assert "banking, calendar" in error.error.message


def test_sessions_that_take_turns_end_as_each_does_alone(gateway: House) -> None:
    rnd = Random(5)
    places = [gateway.banking(seed) for seed in (7, 7, 8, 9)]
    scripts = [script(session.fork()) for session, _ in places]
    seeds = (7, 7, 8, 9)

    async def interleave() -> None:
        order = [i for i, steps in enumerate(scripts) for _ in steps]
        rnd.shuffle(order)
        left = [iter(steps) for steps in scripts]
        clients = [
            await running(Client(f"{gateway.url}{path}", mode=ERAS[i % 2]))
            for i, (_, path) in enumerate(places)
        ]
        for i in order:
            name, arguments = next(left[i])
            await clients[i][0].call_tool(name, arguments)
        for _, done in clients:
            await done()

    asyncio.run(interleave())
    for (session, _), steps, seed in zip(places, scripts, seeds, strict=True):
        alone = world(seed, ("banking",)).open()
        play(alone, steps)
        assert session.digest() == alone.digest()


async def running(client: Client) -> tuple[Client, Callable[[], Awaitable[None]]]:
    """A client in a task of its own, as the SDK wants it, and how it ends."""
    ready, over = asyncio.Event(), asyncio.Event()

    async def live() -> None:
        async with client:
            ready.set()
            await over.wait()

    task = asyncio.create_task(live())
    await ready.wait()

    async def end() -> None:
        over.set()
        await task

    return client, end


def test_every_tool_of_the_library_is_listed_once_with_a_flat_schema() -> None:
    schemas = {
        name: listing.output_schema(origin.tool) for name, origin in listing.library().items()
    }
    assert len(schemas) == 343
    for name, schema in schemas.items():
        assert schema["type"] == "object", name
        assert b"$ref" not in msgspec.json.encode(schema)


def test_the_cap_on_connections_is_told_and_harms_no_one() -> None:
    with house(Settings(servers=("banking",), sessions=1)) as gateway:

        async def second() -> int:
            async with Client(f"{gateway.url}/mcp", mode="legacy") as first:
                status = (await asyncio.to_thread(gateway.post, "/mcp", HELLO)).status_code
                assert not (await first.call_tool("list_accounts", {})).is_error
                return status

        assert asyncio.run(second()) == 503


def test_an_idle_connection_ends_and_its_room_with_it() -> None:
    closed = Event()

    class Watched(Session):
        def close(self) -> None:
            super().close()
            closed.set()

    settings = Settings(servers=("banking",), idle=2)
    with house(settings, open=lambda seed, names: Watched(world(seed, names))) as gateway:
        connection = gateway.connect("/mcp")
        assert gateway.call("/mcp", connection, "list_accounts", 2).status_code == 200
        assert closed.wait(30)
        assert gateway.call("/mcp", connection, "list_accounts", 3).status_code == 404
