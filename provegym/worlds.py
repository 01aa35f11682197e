"""What the episodes of a task are played on: sessions of the library's worlds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from provegym.servers import world
from provegym.types import Task
from provegym.world.session import Session
from provegym.world.world import World


def world_of(task: Task) -> World:
    """The world that the task is about. Raises `UnknownName` for a server."""
    return world(task.seed, task.servers)


def open_session(task: Task) -> Session:
    """A private session of the task's world, at its start. Raises `UnknownName` for a server."""
    return world_of(task).open()


def content(tasks: Iterable[Task]) -> str:
    """SHA-256, in hex, over the content of every world that the tasks are played on."""
    return digest_of({(task.seed, task.servers) for task in tasks})


def digest_of(places: Iterable[tuple[int, tuple[str, ...]]]) -> str:
    """SHA-256, in hex, over the content of worlds that are given as seed and servers."""
    digests = sorted(world(seed, servers).digest for seed, servers in places)
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()
