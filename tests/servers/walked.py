"""Random lives of a server's sessions, kept call by call, for tests that look at their rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from provegym.seeding import rng
from provegym.servers import load
from provegym.world.explore import Step, Walk
from provegym.world.session import Session
from provegym.world.world import World

WORLDS, CALLS, EVERY = 3, 200, 40


class Moment(NamedTuple):
    """A state that no later call changes, and the call that led to it (None at the start)."""

    session: Session
    state: Any
    step: Step | None

    def ok(self, tool: str, **arguments: Any) -> Any:
        """What a read gives here."""
        result = self.session.call(tool, arguments)
        assert result.outcome == "ok", result
        return result.builtins()


class Change(NamedTuple):
    """A call that was accepted, and the states around it."""

    before: Any
    after: Any
    step: Step

    def made(self, table: str) -> list[Any]:
        """The rows that the call created."""
        return [row for row in getattr(self.after, table) if row.id not in self.of(table)]

    def of(self, table: str) -> Any:
        """A table before the call."""
        return getattr(self.before, table)

    def kept(self, table: str) -> Iterator[tuple[Any, Any]]:
        """Rows before and after the call, without those that came or went."""
        now = getattr(self.after, table)
        return ((row, now[row.id]) for row in self.of(table) if row.id in now)


@lru_cache(maxsize=1)
def lives(name: str) -> tuple[tuple[Moment, ...], ...]:
    """For each of some worlds, its states from the start on, call by call."""
    server = load(name)
    found: list[tuple[Moment, ...]] = []
    for seed in range(WORLDS):
        session = World(seed, [server]).open()
        walk = Walk(server, session, rng(seed, "lives", name))
        start = _moment(name, session, None)
        found.append((start, *(_moment(name, session, step) for step in walk.steps(CALLS))))
    return tuple(found)


def _moment(name: str, session: Session, step: Step | None) -> Moment:
    copy = session.fork()
    return Moment(copy, copy.state(name), step)


def moments(name: str) -> list[Moment]:
    """Some moments of each life: its start, its end, and a few between."""
    return [moment for life in lives(name) for moment in life[::EVERY]]


def states(name: str) -> list[Any]:
    """The states of some moments of each life."""
    return [moment.state for moment in moments(name)]


def stretches(name: str) -> list[tuple[Any, Any]]:
    """Each of these states with the one before it in the same life."""
    return [(one.state, two.state) for life in lives(name) for one, two in pairwise(life[::EVERY])]


def changes(name: str, *tools: str) -> list[Change]:
    """The accepted calls of the tools that the walks made (by default of all that write)."""
    return [
        Change(before.state, after.state, after.step)
        for life in lives(name)
        for before, after in pairwise(life)
        if after.step is not None
        and after.step.code == "ok"
        and after.step.tool.effect == "write"
        and (not tools or after.step.tool.name in tools)
    ]
