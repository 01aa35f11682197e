"""What a user must keep to themselves is marked as such, and no server ever shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from provegym.seeding import rng
from provegym.servers import SERVERS, load
from provegym.world.explore import Walk
from provegym.world.world import World

GIVEN = {
    "withdraw_cash": {"pin"},
    "operate_door_lock": {"pin"},
    "pair_device": {"setup_code"},
    "set_passenger_passport": {"passport_number"},
}
"""The parameters of each tool that are secrets."""
KEPT: dict[str, Callable[[Any], list[str]]] = {
    "banking": lambda bank: [card.number for card in bank.cards],
    "iot_devices": lambda house: [device.setup_code for device in house.devices],
    "travel_booking": lambda travel: [p.passport_number for p in travel.passengers],
}
"""The secrets in a server's rows."""
CALLS = 2000


def test_the_secret_parameters_of_the_library_are_these() -> None:
    tools = [tool for name in SERVERS for tool in load(name).tools.values()]
    assert {tool.name: set(tool.sensitive) for tool in tools if tool.sensitive} == GIVEN


@pytest.mark.parametrize("name", KEPT)
def test_no_result_tells_a_secret_that_the_call_did_not_bring(name: str) -> None:
    server, session = load(name), World(3, [load(name)]).open()
    secrets = [secret for secret in KEPT[name](session.state(name)) if secret]
    assert len(secrets) >= 2
    accepted = 0
    for step in Walk(server, session, rng(3, "secrets", name)).steps(CALLS):
        text, said = step.result.json().decode(), str(step.arguments)
        assert [s for s in secrets if s in text and s not in said] == [], step
        assert '"pin":' not in text
        accepted += step.code == "ok"
    assert accepted > CALLS // 4
