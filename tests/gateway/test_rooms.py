"""What a room adds to a session: recorded calls, keys, snapshots by name."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from provegym import servers
from provegym.errors import InputError, ServerFault, SessionClosed
from provegym.gateway.rooms import KEYS, SNAPSHOTS, Room, open_world
from provegym.rewards import score
from provegym.rollout.loop import run_episode
from provegym.rollout.policies import oracle
from provegym.types import Function, GroundCall, Task, Tool, Turn
from provegym.world.session import Result

DEPOSIT = {"account_id": "acc_1", "amount": "5.00"}


def contact(name: str) -> dict[str, Any]:
    return {"title": name}


def room(task: Task | None = None) -> Room:
    return Room(open_world(7, ("email",)), task)


def folder(room: Room, name: str, key: str | None = None) -> Result:
    return room.call("create_folder", {"name": name}, key)
