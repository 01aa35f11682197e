"""A small live world to train on: lamps in rooms, and tasks that switch them."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any, Literal

import pytest
import torch

from provegym.rollout.run import SessionOpener
from provegym.train import sft, tiny
from provegym.types import GroundCall, Task, Turn
from provegym.world.cast import Cast
from provegym.world.server import Seeds, Server, State
from provegym.world.session import Session
from provegym.world.table import Row, table
from provegym.world.tool import refuse, tool
from provegym.world.world import World

torch.set_num_threads(1)

ROOMS = ("kitchen", "hall", "attic")
Room = Literal["kitchen", "hall", "attic"]


class Lamp(Row, frozen=True):
    level: int


class Lamps(State):
    server = "lights"
    lamps = table(Lamp, "lamp")


@tool("write", phrases=("Set {room} to {level}",))
def set_lamp(lamps: Lamps, room: Room, level: int) -> Lamp:
    """Set a lamp to a level. It stays so.

    Args:
        room: Where the lamp is.
        level: From 0 to 9.
    """
    if not 0 <= level <= 9:
        refuse("no_such_level", f"level {level} is not within 0 to 9")
    return lamps.lamps.put(Lamp(room, level))


@tool("read", phrases=("How bright is {room}",))
def get_lamp(lamps: Lamps, room: Room) -> Lamp:
    """Read a lamp's level.

    Args:
        room: Where the lamp is.
    """
    return lamps.lamps[room]


def _seed(cast: Cast, rnd: Random) -> Seeds:
    return {"lamps": [Lamp(room, 0) for room in ROOMS]}


def _violations(state: Any) -> Iterable[str]:
    return ()


SERVER = Server(
    "lights", "Lamps", Lamps, {t.name: t for t in (set_lamp, get_lamp)}, _seed, _violations
)


def lamp_task(number: int, room: str, level: int) -> Task:
    call = GroundCall(f"g{number}", "set_lamp", {"room": room, "level": level})
    session = World(0, [SERVER]).open()
    session.call(call.name, call.arguments)
    return Task(
        id=f"lamp{number}",
        kind="workflow",
        turns=(Turn(f"Set the lamp in the {room} to {level}.", (call,), "Done."),),
        servers=("lights",),
        tools=tuple(session.tools()),
        final_changes=session.changes(),
    )


def _open(task: Task) -> Session:
    return World(task.seed, [SERVER]).open()


@pytest.fixture(scope="session")
def open_session() -> SessionOpener:
    """Opens the world of the lamps."""
    return _open


@pytest.fixture(scope="session")
def tasks() -> list[Task]:
    """One lamp to switch each; which one, a small model learns late."""
    return [lamp_task(number, room, 4) for number, room in enumerate(ROOMS)]


@pytest.fixture(scope="session")
def tokenizer(tasks: list[Task], open_session: SessionOpener) -> Any:
    return tiny.tokenizer(sft.texts(tasks, open_session))


@pytest.fixture
def fresh(tokenizer: Any) -> Any:
    """A tiny model that knows nothing."""
    return tiny.model(tokenizer, seed=1)
