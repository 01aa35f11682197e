"""The worlds of the library's servers: what the episodes of a task are played on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache

from provegym.servers import load
from provegym.types import Task
from provegym.world.session import Session
from provegym.world.world import World


@lru_cache(maxsize=1024)
def world(servers: tuple[str, ...], seed: int) -> World:
    """The world of these servers and seed, built once. Raises `UnknownName` for a server."""
    return World(seed, [load(name) for name in servers])


def open_session(task: Task) -> Session:
    """A private session of the task's world, at its start. Raises `UnknownName` for a server."""
    return world(task.servers, task.seed).open()


def content(tasks: Iterable[Task]) -> str:
    """SHA-256, in hex, over the content of every world that the tasks are played on."""
    places = {(task.servers, task.seed) for task in tasks}
    digests = sorted(world(servers, seed).digest for servers, seed in places)
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()
