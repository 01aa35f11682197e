"""Random sequences of calls to every server: what each may come to, and that it can be replayed."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import msgspec
import pytest

from provegym.seeding import rng
from provegym.servers import SERVERS, load
from provegym.types import Changes
from provegym.world.sample import arguments
from provegym.world.world import World

encode = msgspec.json.encode
WORLDS, CALLS = 8, 30
ALLOWED = {"ok", "tool_error"}
"""What a sampled call may come to: its name is known and its arguments are of their types."""


class Sequence(NamedTuple):
    """The calls of one session, what they gave, and how the session ended."""

    calls: list[tuple[str, bytes]]
    answers: list[tuple[str, bytes]]
    end: tuple[str, Changes]


def drawn(world: World, number: int) -> Sequence:
    """Sampled calls over all tools of a world's only server, made in a fresh session."""
    (server,), session = world.servers.values(), world.open()
    state, rnd = session.state(server.name), rng(world.seed, "sequence", number)
    tools, made = list(server.tools.values()), Sequence([], [], ("", {}))
    for _ in range(CALLS):
        tool = rnd.choice(tools)
        text = encode(arguments(tool, state, rnd))
        result = session.call(tool.name, text)
        made.calls.append((tool.name, text))
        made.answers.append((result.outcome, result.json()))
    assert list(server.violations(state)) == [], made.calls
    return made._replace(end=(session.digest(), session.changes()))


def replayed(world: World, calls: list[tuple[str, bytes]]) -> Sequence:
    """The same calls in another session."""
    session = world.open()
    results = [session.call(name, text) for name, text in calls]
    answers: list[tuple[str, bytes]] = [(result.outcome, result.json()) for result in results]
    return Sequence(calls, answers, (session.digest(), session.changes()))


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SERVERS)
def test_sequences_of_30_calls_keep_the_invariants_and_replay(name: str, count: int) -> None:
    worlds = [World(seed, [load(name)]) for seed in range(WORLDS)]
    outcomes: Counter[str] = Counter()
    for number in range(count):
        world = worlds[number % WORLDS]
        made = drawn(world, number)
        same = replayed(world, made.calls) == made  # apart: a diff of two sequences takes minutes
        assert same, f"sequence {number} came to something else the second time"
        outcomes.update(outcome for outcome, _ in made.answers)
    assert outcomes.keys() <= ALLOWED
    assert outcomes["ok"] > outcomes["tool_error"]
