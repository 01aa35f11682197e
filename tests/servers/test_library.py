"""What every server of the library holds to beyond the contract, in 40 worlds each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import pytest

from provegym.seeding import rng
from provegym.servers import SERVERS, load
from provegym.world.sample import arguments
from provegym.world.server import Server
from provegym.world.session import Result
from provegym.world.tool import Tool
from provegym.world.world import World

WORLDS, MOST = 40, 32
"""Worlds of each server, and how many of them are most."""
FEWER = {
    "place_food_order": 24,  # the seeded cart is empty, sold out, too small or of a closed kitchen
    "apply_coupon": 24,  # the seeded cart is empty, or the only coupons left are past their day
    "remove_coupon": 24,  # three carts in eight have no coupon
    **dict.fromkeys(("remove_from_cart", "update_cart_line", "place_order"), 28),  # an empty cart
    **dict.fromkeys(("book_flight", "change_flight"), 28),  # sold out, left, or without a passport
}
"""For tools whose success hangs on what the world is like rather than on the arguments."""
NOT_ALWAYS = {
    *("list_events", "list_invitations", "list_directory", "get_sensor_history"),
    *("list_nearby_places", "list_reachable_places", "list_roads"),
    *("list_addresses", "list_returns", "list_vehicle_trips", "get_channel_thread"),
    *("search_social_users", "get_social_feed", "get_post", "list_social_notifications"),
}
"""Searches that find something in most worlds; all others do in each."""
ROWS, LARGER = 300, {"filesystem": 500, "issue_tracker": 600, "retail_chain": 500}
"""Rows of a seeded world."""
SCHEMAS = 18_000
"""Characters of all schemas of a server: 4,500 tokens at four characters each, a safe reading of
JSON for the tokenizers in use."""
RESULT = 1200
"""Characters of what a read gives that is not asked for more."""


class Call(NamedTuple):
    """A tool called with its own sample in an untouched world."""

    tool: Tool
    given: dict[str, Any]
    result: Result


class Sampled(NamedTuple):
    """A server, its worlds, and one call of each tool in each of them."""

    server: Server
    worlds: list[World]
    calls: list[Call]

    def reads(self) -> Iterator[Call]:
        return (call for call in self.calls if call.tool.effect == "read")


@pytest.fixture(scope="module", params=SERVERS)
def sampled(request: pytest.FixtureRequest) -> Sampled:
    server = load(request.param)
    worlds = [World(seed, [server]) for seed in range(WORLDS)]
    calls = [sample(server, tool, world) for tool in server.tools.values() for world in worlds]
    return Sampled(server, worlds, calls)


def sample(server: Server, tool: Tool, world: World) -> Call:
    session = world.open()
    given = arguments(tool, session.state(server.name), rng(world.seed, "sample", tool.name))
    return Call(tool, given, session.call(tool.name, given))


def rare(sampled: Sampled, good: Counter[str]) -> dict[str, int]:
    """The tools that did well in fewer than most worlds."""
    return {name: good[name] for name in sampled.server.tools if good[name] < FEWER.get(name, MOST)}


def test_seeded_worlds_are_large_and_sound(sampled: Sampled) -> None:
    server = sampled.server
    for world in sampled.worlds:
        assert sum(len(table.rows) for table in world.templates.values()) >= LARGER.get(
            server.name, ROWS
        )
        assert list(server.violations(world.open().state(server.name))) == [], world.seed


def test_sampled_arguments_succeed_in_most_worlds(sampled: Sampled) -> None:
    good = Counter(call.tool.name for call in sampled.calls if call.result.outcome == "ok")
    assert rare(sampled, good) == {}


def test_sampled_searches_find_something_in_most_worlds(sampled: Sampled) -> None:
    good = Counter(c.tool.name for c in sampled.calls if c.result.builtins().get("total") != 0)
    assert rare(sampled, good) == {}
    assert {n for n in sampled.server.tools if good[n] < WORLDS} <= NOT_ALWAYS


def test_schemas_are_short(sampled: Sampled) -> None:
    schemas = [tool.schema for tool in sampled.server.tools.values()]
    assert len(msgspec.json.encode(schemas)) < SCHEMAS


def test_results_are_short_unless_more_is_asked_for(sampled: Sampled) -> None:
    sizes = {call.tool.name: 0 for call in sampled.reads()}
    for call in sampled.reads():
        if not call.given.keys() & {"limit", "cursor"}:
            sizes[call.tool.name] = max(sizes[call.tool.name], len(call.result.json()))
    for world in sampled.worlds:
        for name in sizes:
            if not sampled.server.tools[name].required:
                plain = world.open().call(name, {})
                assert plain.outcome == "ok", plain
                sizes[name] = max(sizes[name], len(plain.json()))
    assert {name: size for name, size in sizes.items() if size >= RESULT} == {}


def test_no_phrase_ends_with_a_full_stop(sampled: Sampled) -> None:
    phrases = [text for tool in sampled.server.tools.values() for text in tool.phrases]
    assert [text for text in phrases if text.endswith(".")] == []
