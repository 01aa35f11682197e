"""An external server shown again by our own face, with sessions that it did not have."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from provegym import servers
from provegym.gateway import rooms
from provegym.gateway.external.places import register

ROOT = Path(__file__).parents[3]
MAIN = "from provegym.cli import main; main()"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("tickets_create", {"title": "New"}),
    ("tickets_close", {"ticket_id": "id-5"}),
    ("tickets_close", {"ticket_id": "id-5"}),
    ("tickets_list", {}),
]


async def served(folder: Path) -> list[Any]:
    """What the official client is shown of `provegym serve desk`; it checks each result."""
    command = StdioServerParameters(
        command=sys.executable,
        args=["-c", MAIN, "serve", "desk"],
        env={"PYTHONPATH": str(ROOT)},
        cwd=folder,
    )
    async with Client(command) as client:
        listed = await client.list_tools()
        found: list[Any] = [{tool.name for tool in listed.tools}]
        for name, arguments in CALLS:
            result = await client.call_tool(name, arguments)
            found.append((result.is_error, result.structured_content))
        return found


def test_the_official_client_sees_it_through_our_face(shop: Path) -> None:
    names, created, closed, again, listed = asyncio.run(served(shop))
    assert "tickets_close" in names
    assert "start_over" not in names
    assert created == (
        False,
        {"id": "id-5", "title": "New", "status": "open", "priority": 2, "notes": []},
    )
    assert closed[1]["status"] == "closed"
    assert again == (True, None)
    assert len(listed[1]["result"]) == 5


@pytest.mark.usefixtures("known_servers")
def test_a_room_on_it_is_known_to_block(shop: Path) -> None:
    register(shop)
    assert rooms.Room(rooms.open_world(3, ("desk",))).blocking
    assert not rooms.Room(servers.world(3, ("payments",)).open()).blocking
