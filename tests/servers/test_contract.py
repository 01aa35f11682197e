"""Every server of the library keeps the contract, and has the number of tools it says."""

from __future__ import annotations

import pytest

from provegym.servers import SERVERS, load
from provegym.world.contract import check

TOOLS = {
    "banking": 17,
    "budget": 12,
    "calendar": 17,
    "crm": 16,
    "email": 17,
    "filesystem": 40,
    "food_delivery": 17,
    "iot_devices": 25,
    "issue_tracker": 20,
    "maps": 16,
    "marketplace": 13,
    "payments": 10,
    "retail_chain": 11,
    "shopping": 23,
    "social_media": 15,
    "team_chat": 11,
    "trading": 13,
    "travel_booking": 20,
    "vehicle": 20,
    "video_meeting": 10,
}


def test_the_library_has_these_servers() -> None:
    assert SERVERS.keys() == TOOLS.keys()


@pytest.mark.parametrize("name", TOOLS)
def test_a_server_keeps_the_contract(name: str) -> None:
    report = check(load(name))
    assert [f"{c.name}: {c.detail}" for c in report.checks if not c.passed] == []
    assert (report.server, report.tools) == (name, TOOLS[name])


def test_no_two_servers_have_a_tool_of_one_name() -> None:
    names = [tool for name in SERVERS for tool in load(name).tools]
    assert len(set(names)) == len(names) == sum(TOOLS.values()) == 343
