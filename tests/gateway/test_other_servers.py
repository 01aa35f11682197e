"""Servers that the library does not have are shown like its own, alone and with annotations."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from unittest.mock import patch

import pytest
from mcp import Client, types

from provegym.gateway.external import settings as external
from provegym.gateway.external.places import register
from provegym.gateway.rooms import Room, open_world
from provegym.gateway.settings import Settings
from provegym.servers import SERVERS, load
from provegym.world.world import World
from tests.gateway.control_app import PAD
from tests.gateway.external.conftest import TOLD
from tests.gateway.house import ERAS, MODERN, House, house


@pytest.fixture(scope="module")
def gateway() -> Iterator[House]:
    with house(Settings(servers=("banking",))) as running:
        yield running


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An external server by its name."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / external.FILE).write_text(external.table("desk", TOLD))
    with patch.dict(SERVERS):
        register(folder)
        yield "desk"


async def look(url: str, era: str, name: str) -> tuple[list[types.Tool], types.CallToolResult]:
    """The tools of a URL, and what a call of one gives."""
    async with Client(url, mode=era) as client:
        return (await client.list_tools()).tools, await client.call_tool(name, {})


def hints(tool: types.Tool) -> tuple[bool | None, ...]:
    told = tool.annotations
    assert told is not None
    return (
        *(told.read_only_hint, told.destructive_hint, told.idempotent_hint),
        told.open_world_hint,
    )


def test_a_server_of_a_module_of_the_user_is_shown_alone(gateway: House) -> None:
    world = World(7, [PAD, load("calendar")])
    path = gateway.move_in(Room(world.open()))
    tools, result = asyncio.run(look(f"{gateway.url}{path}/pad", MODERN, "tear"))
    assert {tool.name: hints(tool) for tool in tools} == {
        "list_notes": (True, False, True, False),
        "write_note": (False, True, False, False),
        "tear": (False, True, False, False),
    }
    assert all(tool.output_schema for tool in tools)
    assert result.is_error  # it has a bug, and so was found
    missing = gateway.ask(f"{path}/maps", "tools/list", {})
    assert missing.json()["error"]["message"].endswith("known: calendar, pad")


@pytest.mark.parametrize("era", ERAS)
def test_an_external_server_is_shown_alone(gateway: House, desk: str, era: str) -> None:
    path = gateway.move_in(Room(open_world(7, (desk, "banking"))))
    tools, result = asyncio.run(look(f"{gateway.url}{path}/desk", era, "tickets_list"))
    found = {tool.name: hints(tool) for tool in tools}
    assert found.keys() == load(desk).tools.keys()
    assert found["tickets_list"] == (True, False, True, True)
    assert found["tickets_close"] == (False, True, False, True)
    assert not result.is_error
    others, _ = asyncio.run(look(f"{gateway.url}{path}/banking", era, "list_accounts"))
    assert {tool.name for tool in others} == load("banking").tools.keys()
