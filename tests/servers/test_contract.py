"""Every server of the library keeps the contract, and has the number of tools it says."""

from __future__ import annotations

import pytest

from provegym.servers import SERVERS, load
from provegym.world.contract import check

TOOLS = {"banking": 17, "calendar": 17, "filesystem": 40, "shopping": 23}


def test_the_library_has_these_servers() -> None:
    assert SERVERS.keys() == TOOLS.keys()


@pytest.mark.parametrize("name", TOOLS)
def test_a_server_keeps_the_contract(name: str) -> None:
    report = check(load(name))
    assert [f"{c.name}: {c.detail}" for c in report.checks if not c.passed] == []
    assert (report.server, report.tools) == (name, TOOLS[name])


def test_no_two_servers_have_a_tool_of_one_name() -> None:
    names = [tool for name in SERVERS for tool in load(name).tools]
    assert len(set(names)) == len(names) == sum(TOOLS.values())
