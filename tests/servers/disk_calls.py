"""Sessions of the file server and how tests talk to them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from provegym.servers.filesystem import SERVER
from provegym.servers.filesystem.state import Disk
from provegym.world.session import Session
from provegym.world.world import World

ROOMY = 40_000


@lru_cache(maxsize=64)
def world(seed: int) -> World:
    return World(seed, [SERVER])


def disk_of(session: Session) -> Disk:
    state = session.state("filesystem")
    assert isinstance(state, Disk)
    return state


@lru_cache(maxsize=1)
def roomy_seed() -> int:
    return next(
        seed for seed in range(200) if ok(world(seed).open(), "show_quota")["free"] == ROOMY
    )


def ok(session: Session, name: str, /, **given: Any) -> Any:
    result = session.call(name, given)
    assert result.outcome == "ok", (name, given, result.builtins())
    return result.builtins()


def code(session: Session, name: str, /, **given: Any) -> str:
    result = session.call(name, given)
    assert result.outcome == "tool_error", (name, given, result.builtins())
    return str(result.builtins()["error"]["code"])
