"""Every server of the library keeps the contract, and has the number of tools it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

import pytest

from provegym.servers import SERVERS, load, world
from provegym.synth.vain import Values, error
from provegym.world.contract import check
from provegym.world.tool import Tool

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


PYTHON = re.compile(
    r"\[\]|\['|\[\d+(?:, \d+)*\]|None|\{'|\{\}|\('|\(\)|<\w+[ .]|Decimal\(|datetime"
)
"""Values as Python writes them, which are no words to a model or a person."""


def refusals(name: str, rnd: Random) -> Iterator[tuple[str, str]]:
    """Messages of every tool's refusals, for values out of its own draws, near them and far off."""
    session = world(3, (name,)).open()
    for bound in session.world.tools.values():
        values = Values(session, bound.tool, rnd)
        for i in range(24):
            given = values.changed() if i % 4 else values.draw()
            if i % 3 == 0 and given:
                given |= far_off(bound.tool, rnd.choice(list(given)))
            if message := error(session, bound.tool, given).get("message"):
                yield bound.tool.name, message


def far_off(tool: Tool, name: str) -> dict[str, object]:
    """A value of the parameter's type that no row and no list of choices has."""
    field = next(p for p in tool.parameters if p.name == name)
    odd = {str: "nowhere", int: -7, float: -7.5}
    kind = type(field.choices[0]) if field.choices else field.type
    return {name: odd[kind]} if field.item is None and kind in odd else {}


@pytest.mark.parametrize("name", TOOLS)
def test_no_refusal_shows_a_value_as_python_writes_it(name: str) -> None:
    found = list(refusals(name, Random(name)))
    assert len({tool for tool, _ in found}) > TOOLS[name] // 2
    assert [pair for pair in found if PYTHON.search(pair[1])] == []
