"""The library of tool servers: one folder each, found by name in `SERVERS`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module

from provegym.errors import InputError, ServerFault, UnknownName
from provegym.world.server import Server
from provegym.world.world import World

SERVERS: dict[str, str] = {
    "banking": "provegym.servers.banking",
    "budget": "provegym.servers.budget",
    "calendar": "provegym.servers.calendar",
    "crm": "provegym.servers.crm",
    "email": "provegym.servers.email",
    "filesystem": "provegym.servers.filesystem",
    "food_delivery": "provegym.servers.food_delivery",
    "iot_devices": "provegym.servers.iot_devices",
    "issue_tracker": "provegym.servers.issue_tracker",
    "maps": "provegym.servers.maps",
    "marketplace": "provegym.servers.marketplace",
    "payments": "provegym.servers.payments",
    "retail_chain": "provegym.servers.retail_chain",
    "shopping": "provegym.servers.shopping",
    "social_media": "provegym.servers.social_media",
    "team_chat": "provegym.servers.team_chat",
    "trading": "provegym.servers.trading",
    "travel_booking": "provegym.servers.travel_booking",
    "vehicle": "provegym.servers.vehicle",
    "video_meeting": "provegym.servers.video_meeting",
}
"""Where each server lives: a module that holds `SERVER`, or `MODULE:TEXT` for one whose
`server(TEXT)` makes it, the same one for the same text.
"""


def library() -> tuple[str, ...]:
    """The servers that belong to the project or live in a module; not those that run outside."""
    return tuple(name for name, place in SERVERS.items() if ":" not in place)


def load(name: str) -> Server:
    """The server of that name; UnknownName lists the valid ones."""
    if name not in SERVERS:
        raise UnknownName("server", name, sorted(SERVERS))
    place, _, told = SERVERS[name].partition(":")
    module = import_module(place)
    server: Server = module.server(told) if told else module.SERVER
    return server


def usable(left_out: Callable[[str], None]) -> dict[str, Server]:
    """All servers by name; `left_out` is told of each that cannot be used, and why."""
    found = {}
    for name in SERVERS:
        try:
            found[name] = load(name)
        except (InputError, ServerFault) as error:
            left_out(f"{name} is left out: {error}")
    return found


def world(seed: int, names: tuple[str, ...]) -> World:
    """The world of these servers under one cast; UnknownName for a server there is none of."""
    return worlds(seed, tuple(map(load, names)))


@lru_cache(maxsize=128)
def worlds(seed: int, chosen: tuple[Server, ...]) -> World:
    """By the servers themselves: one outside may have the name of another folder's.

    More are not kept than there are tables for (`provegym.world.world.templates`); one whose
    tables are there is made anew in microseconds.
    """
    return World(seed, chosen)


def vocabulary(names: tuple[str, ...]) -> tuple[set[str], set[str]]:
    """The tools of these servers and their tables, as `server.table`; `UnknownName` as `load`."""
    loaded = [load(name) for name in names]
    tables = {f"{one.name}.{table}" for one in loaded for table in one.state.tables()}
    return {tool for one in loaded for tool in one.tools}, tables


@lru_cache(maxsize=1)
def prefixes() -> tuple[str, ...]:
    """What the ids of each table of the library start with."""
    states = [load(name).state for name in library()]
    return tuple(sorted({table.prefix for state in states for table in state.tables().values()}))
