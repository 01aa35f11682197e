"""The ways in which MCP servers fail their clients, as others met them; none of them is ours.

Each test is named after a case, and met by real clients over real transports: the SDK's over HTTP
and stdio, `provegym.connect`, and raw requests where a client of the SDK is too well behaved.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import msgspec
import pytest
from mcp import Client, MCPError, StdioServerParameters, types
from msgspec.structs import replace

import provegym
from provegym import servers
from provegym.gateway import connections, listing
from provegym.gateway.client import RemoteSession
from provegym.gateway.rooms import Room, open_world
from provegym.gateway.settings import Settings
from provegym.rollout.loop import cut
from provegym.synth.perturb import MOST_TOOLS, tool_list
from tests.gateway.house import (
    ERAS,
    HELLO,
    LEGACY,
    MODERN,
    House,
    Slow,
    error_of,
    house,
    play,
    play_over,
    script,
    value_of,
)
from tests.gateway.malformed import rpc, text
from tests.gateway.portable import problems
from tests.gateway.talking import (
    LIBRARY,
    MANY,
    ask_and_leave,
    called,
    everything,
    leaves,
    listed,
    raw_call,
    registered,
    talk,
    two_desks,
    walk,
)

both_eras = pytest.mark.parametrize("era", ERAS)


@pytest.fixture(scope="module")
def gateway() -> Iterator[House]:
    with house(Settings(deadline=0.2)) as running:
        yield running


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory, gateway: House) -> Iterator[str]:
    """The path of a session of two external servers whose tools have the same names."""
    with two_desks(tmp_path_factory.mktemp("foreign")) as session:
        yield gateway.move_in(Room(session))


def test_case_01_crossed_answers(gateway: House) -> None:
    """Two requests of one id in flight got each other's answers."""
    slow = Slow(servers.world(7, ("banking",)))
    path = gateway.move_in(Room(slow))
    with house(replace(gateway.settings, deadline=30), gateway.rooms) as patient:
        connection = patient.connect(path)
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(patient.call, path, connection, "list_cards", 1)
            assert slow.called.wait(30)
            second = patient.call(path, connection, "list_payees", 1)
            slow.go_on.set()
            answer = first.result().json()
    assert "cards" in answer["result"]["structuredContent"]
    assert second.json()["error"]["code"] == -32600


@both_eras
def test_case_02_unknown_arguments_dropped(gateway: House, era: str) -> None:
    """A misspelt argument was dropped, and the tool ran with its default."""
    session, path = gateway.banking()
    before = session.digest()
    result = called(gateway, path, era, "list_accounts", limitt=1)
    assert error_of(result) == "invalid_arguments"
    told = value_of(result)["error"]["message"]
    assert "'limitt'" in told
    assert "limit, cursor" in told
    assert session.digest() == before


@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_case_03_cost_grows_with_the_tool_list(
    gateway: House, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call listed and shaped every tool first."""
    path = everything(gateway)
    shaped: list[str] = []
    real = listing.described

    def counted(tool: Any, *known: Any) -> types.Tool:
        shaped.append(tool.function.name)
        return real(tool, *known)

    monkeypatch.setattr(listing, "described", counted)
    connection = gateway.connect(path) if version == LEGACY else ""
    for i in range(20):
        answer = raw_call(gateway, path, connection, "list_accounts", i, {})
        assert not answer["result"]["isError"]
    assert shaped == []
    assert len(listed(gateway, path)) == 343


def test_case_04_a_shared_writable_server_corrupts_rollouts(gateway: House) -> None:
    """Rollouts at the same time wrote into one state."""
    seeds = [7, 7, 7, 8, 8, 9]
    places = [gateway.banking(seed) for seed in seeds]
    scripts = [script(session.fork()) for session, _ in places]
    rnd = Random(4)

    async def one(path: str, steps: list[Any], era: str) -> list[Any]:
        async with Client(f"{gateway.url}{path}", mode=era) as client:
            seen = []
            for step in steps:
                for _ in range(rnd.randrange(5)):
                    await asyncio.sleep(0)
                seen += await play_over(client, [step])
            return seen

    async def all_at_once() -> list[list[Any]]:
        order = zip(places, scripts, ERAS * 3, strict=True)
        return await asyncio.gather(*(one(path, steps, era) for (_, path), steps, era in order))

    for seed, (session, _), steps, seen in zip(
        seeds, places, scripts, asyncio.run(all_at_once()), strict=True
    ):
        alone = servers.world(seed, ("banking",)).open()
        assert seen == play(alone, steps)
        assert session.digest() == alone.digest()


def test_case_05_a_reset_that_does_not_reset_and_seeds_that_race(gateway: House) -> None:
    """A reset left things behind, and a global generator mixed up the seeds of others."""
    start = {seed: servers.world(seed, ("banking",)).open().digest() for seed in range(8)}

    def episode(seed: int) -> tuple[int, str, str, str]:
        session = connection.open(seed, ["banking"])
        fresh = session.digest()
        for name, arguments in script(servers.world(seed, ("banking",)).open()):
            session.call(name, arguments)
        written = session.digest()
        session.reset()
        return seed, fresh, written, session.digest()

    with provegym.connect(gateway.url) as connection, ThreadPoolExecutor(8) as pool:
        for seed, fresh, written, again in pool.map(episode, [*range(8)] * 3):
            assert fresh == again == start[seed] != written


def test_case_06_a_start_up_storm(gateway: House) -> None:
    """512 rollouts at once lost connections, and a call that was made again ran twice."""
    alone = servers.world(7, ("banking",)).open()
    name, arguments = script(alone.fork())[1]
    before = gateway.rooms.counts["opened"]

    def start(number: int) -> RemoteSession:
        session = connection.open(7, ["banking"])
        assert session.call(name, arguments).outcome == "ok"
        return session

    assert alone.call(name, arguments).outcome == "ok"
    with provegym.connect(gateway.url) as connection, ThreadPoolExecutor(64) as pool:
        opened = list(pool.map(start, range(512)))
        assert len({session.id for session in opened}) == 512
        assert gateway.rooms.counts["opened"] - before == 512
        assert {session.digest() for session in opened} == {alone.digest()}
        for session in opened:
            session.close()


def test_case_07_a_retry_after_a_lost_answer_runs_twice(gateway: House) -> None:
    """The answer was lost, the client asked again, and the money went twice."""
    session, path = gateway.banking()
    name, arguments = script(session.fork())[1]
    alone = servers.world(7, ("banking",)).open()
    alone.call(name, arguments)
    params = {"name": name, "arguments": arguments, "_meta": {"provegym/key": "pay-1"}}
    ask_and_leave(gateway, path, text(rpc("tools/call", params)))
    assert session.digest() == alone.digest()

    async def again(client: Client) -> types.CallToolResult:
        meta: Any = {"provegym/key": "pay-1"}
        return await client.call_tool(name, arguments, meta=meta)

    assert not talk(gateway, path, MODERN, again).is_error
    assert session.digest() == alone.digest()


def test_case_08_tool_names_that_apis_refuse(gateway: House, foreign: str) -> None:
    """Dots and long names are fine in MCP, and a 400 at chat APIs."""
    for path in (everything(gateway), foreign):
        for tool in listed(gateway, path):
            assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", tool.name)
    assert "tickets_close" in {tool.name for tool in listed(gateway, foreign)}


@both_eras
def test_case_09_collisions_across_servers(gateway: House, foreign: str, era: str) -> None:
    """Of two tools of one name the last one won."""
    names = [tool.name for tool in listed(gateway, everything(gateway), era)]
    assert len(set(names)) == len(names) == 343
    ours = [tool.name for tool in listed(gateway, foreign, era)]
    assert len(set(ours)) == len(ours)
    assert {"tickets_list", "two_tickets_list"} <= set(ours)
    results = [called(gateway, foreign, era, n) for n in ("tickets_list", "two_tickets_list")]
    assert [result.is_error for result in results] == [False, False]


def test_case_10_big_lists(gateway: House, tmp_path: Path) -> None:
    """More than 128 tools were refused, and an unstable order missed every prompt cache."""
    path = everything(gateway)
    for name in LIBRARY:
        found = listed(gateway, f"{path}/{name}")
        assert 0 < len(found) <= 128
        tokens = sum(len(t.model_dump_json(by_alias=True, exclude_none=True)) for t in found) / 4
        assert tokens < 8000, name  # four characters a token
    first, second = listed(gateway, path), listed(gateway, everything(gateway))
    assert [tool.name for tool in first] == [tool.name for tool in second]
    with registered(tmp_path, many=MANY):
        many = servers.load("many")
        assert len(many.tools) > 150
        shown, _ = tool_list([*many.tools][:1], [many], [], [], 5, 0, Random(1))
    assert len(shown) == MOST_TOOLS == 128


def test_case_11_references_lost_by_clients(gateway: House, foreign: str) -> None:
    """A client dropped `$defs`, and the model saw a `$ref` to nowhere."""
    for path in (everything(gateway), foreign):
        for tool in listed(gateway, path):
            for schema in (tool.input_schema, tool.output_schema or {}):
                assert not {"$ref", "$defs", "definitions"} & set(
                    re.findall(r"[$\w]+", str(schema))
                )


def test_case_12_nullable_any_of(gateway: House, foreign: str) -> None:
    """`anyOf` with null and lists of types broke APIs and parsers; so did a `required` of null.

    An argument that need not be given is a plain type, so null is none of its values, and is
    refused by name instead of being taken for something.
    """
    for path in (everything(gateway), foreign):
        for tool in listed(gateway, path):
            for part in walk(tool.input_schema):
                if isinstance(part, dict) and "properties" in part:
                    assert isinstance(part["required"], list)
                    for inner in part["properties"].values():
                        assert isinstance(inner["type"], str)
                        assert not {"anyOf", "oneOf", "allOf", "nullable"} & set(inner)
    _, path = gateway.banking()
    refused = value_of(called(gateway, path, MODERN, "list_accounts", kind=None))["error"]
    assert refused["message"].startswith("kind must be")
    assert refused["message"].endswith("got null")


def test_case_13_keywords_that_break_guided_decoding(gateway: House, foreign: str) -> None:
    """`minItems`, `format`, `allOf` and others broke guided decoders, or were not followed."""
    for path in (everything(gateway), foreign):
        for tool in listed(gateway, path):
            assert list(problems(tool.input_schema, tool.name)) == []


NUMBERS = [
    ({"limit": "5"}, "invalid_arguments"),
    ({"limit": "null"}, "invalid_arguments"),
    ({"limit": 2.5}, "invalid_arguments"),
    ({"limit": [2]}, "invalid_arguments"),
    ({"limit": True}, "invalid_arguments"),
    ({"limit": 3.0}, None),
    ({"limit": 3}, None),
]


@both_eras
@pytest.mark.parametrize(("arguments", "code"), NUMBERS)
def test_case_14_numbers_as_strings(
    gateway: House, era: str, arguments: dict[str, Any], code: str | None
) -> None:
    """Texts were taken for numbers, and 2.5 for 2, so a wrong call looked right."""
    _, path = gateway.banking()
    result = called(gateway, path, era, "list_accounts", **arguments)
    if code is None:
        assert len(value_of(result)["accounts"]) == 3
    else:
        assert error_of(result) == code


def test_case_15_integers_above_2_53(gateway: House) -> None:
    """JavaScript rounds them, so an id that came back named another row."""
    path = everything(gateway)
    tools = [t for t in listed(gateway, path) if not t.input_schema["required"]]
    read_only = [t.name for t in tools if t.annotations and t.annotations.read_only_hint]

    async def look(client: Client) -> list[Any]:
        return [(await client.call_tool(name, {})).structured_content for name in read_only]

    seen = [value for found in talk(gateway, path, MODERN, look) for value in walk(found)]
    assert len(read_only) > 90
    assert all(abs(value) <= 2**53 for value in seen if isinstance(value, int | float))
    for tool in listed(gateway, path):
        for name, schema in tool.input_schema["properties"].items():
            if name == "id" or name.endswith("_id"):
                assert schema["type"] == "string", (tool.name, name)
    exact = called(gateway, path, MODERN, "list_accounts", limit=2**53 + 1)
    assert "9007199254740993" in value_of(exact)["error"]["message"]


@both_eras
def test_case_16_the_wrong_error_channel(gateway: House, era: str) -> None:
    """A refusal as a protocol error crashed clients; an unknown tool looked like a result."""
    session, path = gateway.banking()
    name, arguments = script(session.fork())[2]
    refused = called(gateway, path, era, name, **arguments)
    assert error_of(refused) == "insufficient_funds"
    assert refused.content
    with pytest.raises((MCPError, ExceptionGroup)) as caught:
        called(gateway, path, era, "rob_bank")
    assert "Unknown tool: rob_bank" in "".join(map(str, leaves(caught.value)))


@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_case_17_errors_and_nulls_against_the_output_schema(gateway: House, version: str) -> None:
    """An error with structured content broke its schema, and a null in the envelope the client."""
    session, path = gateway.banking()
    connection = gateway.connect(path) if version == LEGACY else ""
    tools = {tool.name: tool for tool in listed(gateway, path)}
    for i, (name, arguments) in enumerate(script(session.fork())):
        answer = raw_call(gateway, path, connection, name, i, arguments)
        result = answer["result"]
        envelope = [*answer.values(), *result.values(), *result["content"][0].values()]
        assert None not in envelope
        assert result["isError"] == ("structuredContent" not in result)
        if not result["isError"]:
            jsonschema.validate(result["structuredContent"], tools[name].output_schema or {})
    assert b"null" not in gateway.ask(path, "tools/list", {}).content.replace(b'"null"', b"")


def test_case_18_sessions_that_are_never_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that nobody closed piled up until nobody got one."""
    monkeypatch.setattr(connections, "MOST", 4)
    with house(Settings(servers=("banking",), sessions=8)) as gateway:
        _, path = gateway.banking()
        for _ in range(12):
            connection = gateway.connect(path)  # and never a DELETE
        assert not gateway.call(path, connection, "list_accounts", 2).json()["result"]["isError"]
        for _ in range(12):
            _, other = gateway.banking()
            gateway.connect(other)
            gateway.rooms.close(other.split("/")[2])
        assert gateway.post("/mcp", HELLO).status_code == 200
        assert not gateway.call(path, connection, "list_accounts", 3).json()["result"]["isError"]
        assert len(gateway.rooms) == 1


@both_eras
def test_case_19_a_client_that_opens_a_session_per_call(gateway: House, era: str) -> None:
    """A client connects anew for each call, and its state was gone."""
    session, path = gateway.banking()
    alone = servers.world(7, ("banking",)).open()
    for name, arguments in script(session.fork()):
        result = called(gateway, path, era, name, **arguments)
        assert value_of(result) == alone.call(name, arguments).builtins()
    assert session.digest() == alone.digest()


@both_eras
def test_case_20_hangs_without_a_timeout(gateway: House, era: str) -> None:
    """A call that never ended held its rollout for nine hours."""
    slow = Slow(servers.world(7, ("banking",)))
    result = called(gateway, gateway.move_in(Room(slow)), era, "list_cards")
    slow.go_on.set()
    assert error_of(result) == "deadline"
    assert result.meta
    assert result.meta["provegym/outcome"] == "infrastructure"


def test_case_21_cancel_scopes_break_pools_of_clients(gateway: House) -> None:
    """One client that was cancelled took others along."""
    slow = Slow(servers.world(7, ("banking",)))
    waiting = gateway.move_in(Room(slow))
    others = [gateway.banking()[1] for _ in range(8)]

    async def one(path: str, name: str, era: str) -> types.CallToolResult:
        async with Client(f"{patient.url}{path}", mode=era) as client:
            return await client.call_tool(name, {})

    async def all_at_once() -> list[types.CallToolResult]:
        doomed = [asyncio.create_task(one(waiting, "list_cards", era)) for era in ERAS]
        await asyncio.to_thread(slow.called.wait, 30)
        going = [
            asyncio.create_task(one(p, "list_cards", ERAS[i % 2])) for i, p in enumerate(others)
        ]
        for task in doomed:
            task.cancel()
        await asyncio.gather(*doomed, return_exceptions=True)
        return await asyncio.gather(*going)

    with house(replace(gateway.settings, deadline=30), gateway.rooms) as patient:
        results = asyncio.run(all_at_once())
        slow.go_on.set()
        assert [result.is_error for result in results] == [False] * 8
        with provegym.connect(patient.url) as connection:
            assert connection.open(7, ["banking"]).call("list_cards", {}).outcome == "ok"


@both_eras
def test_case_22_unicode(gateway: House, era: str) -> None:
    """A pipe in the locale's code page garbled text, escapes cost tokens, surrogates crashed."""
    note = "Täglich 東京 \u2028 😀"
    told = {"path": "a.txt", "content": note}
    command = ("-c", "from provegym.cli import main; main()", "serve", "filesystem")
    locale = {"LC_ALL": "C", "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    pipe = StdioServerParameters(command=sys.executable, args=[*command], env=locale)
    path = gateway.move_in(Room(open_world(7, ("filesystem",))))

    async def converse(where: Any) -> types.CallToolResult:
        async with Client(where, mode=era) as client:
            await client.call_tool("create_file", told)
            return await client.call_tool("read_file", {"path": "a.txt"})

    for where in (f"{gateway.url}{path}", pipe):
        result = asyncio.run(converse(where))
        assert value_of(result)["content"].strip("\n") == note
        [block] = result.content
        assert block.type == "text"
        assert note in block.text
        assert "\\u" not in block.text
    surrogate = json.dumps(
        rpc("tools/call", {"name": "read_file", "arguments": {"path": "\ud83d"}})
    )
    answer = gateway.post(path, surrogate.encode(), mcp_protocol_version=MODERN)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)


@both_eras
def test_case_23_unbounded_results(era: str) -> None:
    """One call returned 400,000 tokens."""
    session = servers.world(7, ("filesystem",)).open()
    session.call("create_file", {"path": "a.txt", "content": "word " * 2000})
    whole = session.call("read_file", {"path": "a.txt"}).json().decode()
    with house(Settings(max_result=3000)) as gateway:
        path = gateway.move_in(Room(session))
        result = called(gateway, path, era, "read_file", path="a.txt")
        [block] = result.content
        assert block.type == "text"
        assert (
            block.text
            == cut(whole, 3000)
            == f"{whole[:3000]}... [cut: {len(whole)} characters in all]"
        )
        assert result.structured_content is None
        assert result.meta
        assert result.meta["provegym/outcome"] == "ok"
        short = called(gateway, path, era, "head_file", path="a.txt", lines=1)
        assert short.is_error  # one line of 10,000 characters
        assert not called(gateway, path, era, "stat_path", path="a.txt").is_error


def test_case_23_unbounded_results_of_lists(gateway: House) -> None:
    """Lists come in pages, and no page is long."""
    path = everything(gateway)
    paged = [tool for tool in listed(gateway, path) if "limit" in tool.input_schema["properties"]]
    assert len(paged) > 100
    limits = {tool.name: tool.input_schema["properties"]["limit"] for tool in paged}
    assert max(limit["default"] for limit in limits.values()) <= 10
    assert max(limit["maximum"] for limit in limits.values()) <= 50
    free = [tool.name for tool in paged if not tool.input_schema["required"]]

    async def look(client: Client) -> list[types.CallToolResult]:
        return [await client.call_tool(n, {"limit": limits[n]["maximum"]}) for n in free]

    for result in talk(gateway, path, MODERN, look):
        assert len(msgspec.json.encode(value_of(result))) < Settings().max_result / 4
