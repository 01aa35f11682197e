"""A room: a session that others reach by its id, with the task it is for and the tools it shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from provegym import servers, worlds
from provegym.rollout import loop
from provegym.types import Task, Tool
from provegym.world.sessions import Sessions


class Session(loop.Session, Protocol):
    """What a room needs of a session besides an episode's needs."""

    def tools(self) -> list[Tool]:
        """Schemas of the tools on offer."""
        ...

    def fork(self) -> Session:
        """An independent session with the same state."""
        ...

    def snapshot(self) -> Any:
        """The state now."""
        ...

    def restore(self, snapshot: Any) -> None:
        """Back to a snapshot."""
        ...

    def reset(self) -> None:
        """Back to the start."""
        ...


Rooms = Sessions["Room"]
"""All rooms of a process, by id."""


class Room:
    """A session and what is shown of it.

    A room of a task offers the task's own (perturbed) tools, those of its first turn until `enter`
    moves on; any other room offers all tools of its servers.
    """

    def __init__(self, session: Session, task: Task | None = None, turn: int = 0) -> None:
        self.session = session
        self.task = task
        self.enter(turn)

    def enter(self, turn: int) -> None:
        """The user turn (0-based) that calls belong to from now on; its tools join those shown."""
        self.turn = turn
        if self.task is None:
            self.tools = tuple(self.session.tools())
        else:
            self.tools = loop.tools_at(self.task, turn)
            self.session.offer([tool.function.name for tool in self.tools])

    def fork(self) -> Room:
        """An independent room with the same state."""
        return Room(self.session.fork(), self.task, self.turn)

    def close(self) -> None:
        """End the session; it stays closed."""
        self.session.close()


Open = Callable[[int, tuple[str, ...]], Session]
"""A private session at the start of the world of that seed and those servers."""


def open_world(seed: int, names: tuple[str, ...]) -> Session:
    """A session of the library's worlds. Raises `UnknownName` for a server."""
    return servers.world(seed, names).open()


def room_of(task: Task) -> Room:
    """A room for a task. Raises `UnknownName` for a server."""
    return Room(worlds.open_session(task), task)
