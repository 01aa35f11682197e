"""Every server of the library keeps the contract, and has the number of tools it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

import pytest

from provegym.servers import SERVERS, load, world
from provegym.synth.vain import Values, error
from provegym.world.contract import check
from provegym.world.contract.ranges import pairs
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


RANGES = {
    "list_transactions": ("since", "until"),
    "list_expenses": ("since", "until"),
    "list_events": ("start_date", "end_date"),
    "find_free_slots": ("start_date", "end_date"),
    "list_meeting_rooms": ("free_from", "free_until"),
    "create_event": ("start", "end"),
    "reschedule_event": ("start", "end"),
    "search_emails": ("since", "until"),
    "get_energy_usage": ("since", "until"),
    "get_sensor_history": ("since", "until"),
    "list_issue_worklogs": ("since", "until"),
    "create_sprint": ("starts_on", "ends_on"),
    "list_customer_payments": ("since", "until"),
    "set_price_rule": ("starts_on", "ends_on"),
    "search_posts": ("since", "until"),
    "search_channel_messages": ("since", "until"),
    "get_price_history": ("since", "until"),
    "list_trade_fills": ("since", "until"),
    "search_hotels": ("check_in", "check_out"),
    "list_hotel_rooms": ("check_in", "check_out"),
    "book_hotel_room": ("check_in", "check_out"),
    "change_hotel_dates": ("check_in", "check_out"),
    "list_video_meetings": ("since", "until"),
}


def test_the_contract_finds_every_range_of_the_library() -> None:
    tools = [tool for name in SERVERS for tool in load(name).tools.values()]
    found = {t.name: (low.name, high.name) for t in tools for low, high in pairs(t)}
    assert found == RANGES


@pytest.mark.parametrize("name", SERVERS)
def test_days_in_reverse_are_refused_alike_and_one_day_is_a_range(name: str) -> None:
    session = world(7, (name,)).open()
    for tool in load(name).tools.values():
        if RANGES.get(tool.name) != ("since", "until") or tool.required:
            continue
        told = session.call(tool.name, {"since": "2026-03-06", "until": "2026-03-05"}).value
        assert told["error"]["code"] == "invalid_dates"
        assert "2026-03-06 is after 2026-03-05" in told["error"]["message"]
        assert (
            session.call(tool.name, {"since": "2026-03-05", "until": "2026-03-05"}).outcome == "ok"
        )


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
