"""Sessions that a person plays in the page: call, undo, fork."""

from __future__ import annotations

import secrets
import time
from threading import Lock
from typing import Any

import msgspec
from msgspec import Struct

from provegym import servers
from provegym.errors import InputError, LimitReached, UnknownName
from provegym.seeding import rng
from provegym.viewer import worlds
from provegym.viewer.changed import START, Change, between
from provegym.world.sample import arguments
from provegym.world.session import Session, Snapshot
from provegym.world.sessions import Sessions

MOST_SESSIONS = 200
"""Games alive at once; each lasts half an hour without use, or until there are more than these."""
MOST_STEPS = 1000
"""Calls of one game."""


class Step(Struct, frozen=True):
    """A call made and what came of it; `changes` are those of this call alone."""

    name: str
    arguments: Any
    outcome: str
    result: Any
    changes: list[Change]


class Game:
    """A session with the steps that led to its state, each of which can be taken back."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.steps: list[tuple[Step, Snapshot]] = []
        """Each step with the state before it."""
        self.lock = Lock()

    def call(self, name: str, told: Any) -> Step:
        """Call a tool with a JSON value. Raises `LimitReached`, and what the session raises."""
        if len(self.steps) >= MOST_STEPS:
            raise LimitReached(f"{MOST_STEPS} calls were made; undo some, or open another session")
        before = self.session.snapshot()
        text = told if isinstance(told, dict) else msgspec.json.encode(told)
        result = self.session.call(name, text)
        made = between(self.session.world, before, self.session.snapshot())
        step = Step(name, told, result.outcome, result.builtins(), made)
        self.steps.append((step, before))
        return step

    def undo(self) -> None:
        """Take the last step back. Raises `InputError` where there is none."""
        if not self.steps:
            raise InputError("there is no call to take back")
        _, before = self.steps.pop()
        self.session.restore(before)

    def fork(self) -> Game:
        """Another game in the same state, with the same steps behind it."""
        twin = Game(self.session.fork())
        twin.steps = list(self.steps)
        return twin

    def example(self, name: str, number: int) -> dict[str, Any]:
        """Arguments that a tool may well take in this state; another number gives others. Raises
        `UnknownName`.
        """
        bound = self.session.world.tools.get(name)
        if bound is None:
            raise UnknownName("tool", name, list(self.session.world.tools))
        twin = self.session.fork()  # sampling reads alone, but reading may open tables
        return arguments(bound.tool, twin.state(bound.place), rng(number, "example", name))

    def close(self) -> None:
        """End it."""
        self.session.close()

    def shown(self) -> dict[str, Any]:
        """Its world, steps and changes as JSON."""
        world = self.session.world
        return {
            "seed": world.seed,
            "servers": list(world.servers),
            "now": self.session.now.isoformat(),
            "user": msgspec.to_builtins(world.cast.user),
            "tools": [
                {"server": b.place, **worlds.tool(b.tool)} for name, b in world.tools.items()
            ],
            "tables": list(worlds.tables(self.session)),
            "steps": [msgspec.to_builtins(step) for step, _ in self.steps],
            "changes": between(world, START, self.session.snapshot()),
            "digest": self.session.digest(),
        }


class Games:
    """The games that are alive, by ids that nobody can guess; any thread may ask."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._sessions: Sessions[Game] = Sessions(time.monotonic, lambda: secrets.token_urlsafe(12))

    def keep(self, game: Game) -> str:
        """Keep a game and return its id. The one that was unused the longest makes room for it."""
        with self._lock:
            alive = self._sessions.items()
            if len(alive) >= MOST_SESSIONS:
                self._sessions.close(alive[0][0])
            return self._sessions.add(game)

    def get(self, name: str) -> Game:
        """The game of an id. Raises `SessionError`."""
        with self._lock:
            return self._sessions.get(name)

    def close(self, name: str) -> None:
        """End a game. Raises `SessionError`."""
        with self._lock:
            self._sessions.close(name)


def opened(seed: int, names: tuple[str, ...]) -> Game:
    """A game at a world's start. Raises `UnknownName`, and `InputError` for no server."""
    if not names:
        raise InputError("name a server to play with")
    return Game(servers.world(seed, tuple(dict.fromkeys(names))).open())
