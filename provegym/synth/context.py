"""The sampling context: what there is in a world, for a model to write wishes about (paper 3.2,
step 2).

Discovery calls the read tools of a fresh session: first those that need no argument, then those
that need ids which were shown, then all with arguments drawn at random. What people could name is
kept, with the fields that stand beside it. A sample of that is shown to the model, a larger one of
what the tools at hand take or show.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from random import Random
from typing import Any

import msgspec
from msgspec import Struct

from provegym import servers as library
from provegym.graph.entities import Handle, consumed, handles, produced, unique_label
from provegym.rollout import pointer
from provegym.seeding import rng
from provegym.world.sample import arguments
from provegym.world.session import Session
from provegym.world.tool import Tool
from provegym.world.world import World

DEPTH = 2
"""Rounds of look-ups by ids that earlier ones showed."""
IDS = 3
"""Ids of a kind that one tool is called with."""
PAGE = 50
"""Rows that are asked for where a tool lets one say."""
DRAWS = 8
"""Calls of each tool that are drawn to see what it shows, or for what it works."""
NEAR, FAR = 8, 2
"""Rows of each kind that a context has: of those that the tools at hand take or show, of others."""
LONGEST = 80
"""Characters of a text that a context still shows."""


class Entity(Struct, frozen=True):
    """A thing that people can name: its label, and what the results say about it."""

    kind: str
    id: str
    label: str
    fields: dict[str, Any]
    support: int
    """How many other records of the results speak of it."""


def context(
    seed: int,
    servers: tuple[str, ...],
    tools: Sequence[Tool],
    number: int,
    also: Collection[str] = (),
) -> dict[str, list[dict[str, Any]]]:
    """By kind, a sample of what the world shows: `number` names the sample, `also` are ids that
    it must have.

    Of what the tools take, those come first for which some call of the tools goes through.
    """
    session = library.world(seed, servers).open()
    near = {kind for tool in tools for kind, _ in (*consumed(tool), *produced(tool))}
    apt = _apt(session, tools, rng(seed, "apt", number))
    found = {}
    for kind, known in entities(seed, servers).items():
        rnd = rng(seed, "context", kind, number)
        ordered = sorted(_preferred(known, rnd), key=lambda e: (e.id not in also, e.id not in apt))
        least = sum(e.id in also for e in known)
        chosen = ordered[: max(least, NEAR if kind in near else FAR)]
        found[kind] = [{"name": e.label, **e.fields} for e in chosen]
    return dict(sorted(found.items(), key=lambda pair: (pair[0] not in near, pair[0])))


def _apt(session: Session, tools: Iterable[Tool], rnd: Random) -> set[str]:
    """Ids in calls of the tools that a fresh session accepts."""
    found: set[str] = set()
    for tool in tools:
        state = session.state(session.world.tools[tool.name].place)
        for _ in range(DRAWS):
            given = arguments(tool, state, rnd)
            if session.fork().call(tool.name, given).outcome == "ok":
                values = (given.get(name) for _, name in consumed(tool))
                found |= {v for value in values for v in _listed(value)}
    return found


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _preferred(known: Sequence[Entity], rnd: Random) -> list[Entity]:
    """In random order, those that other records speak of first."""
    return sorted(rnd.sample(known, len(known)), key=lambda e: e.support == 0)


def entities(seed: int, servers: tuple[str, ...]) -> dict[str, tuple[Entity, ...]]:
    """By kind, all that discovery shows of a world and that can be told apart by name."""
    return _entities(library.world(seed, servers))


@lru_cache(maxsize=256)
def _entities(world: World) -> dict[str, tuple[Entity, ...]]:
    session = world.open()
    results = _discover(session, rng(world.seed, "discovery", *world.servers))
    shown = [h for tool, result in results for h in _handles(session, tool, result)]
    spoken = Counter(h.value for h in shown)
    found: defaultdict[str, dict[str, Entity]] = defaultdict(dict)
    for (_, result), own in zip(results, _by_result(session, results), strict=True):
        for h in own:
            if h.label and unique_label(h, shown):
                kept = found[h.entity].get(h.value)
                fields = {**(kept.fields if kept else {}), **_fields(h, result)}
                support = spoken[h.value] - 1
                found[h.entity][h.value] = Entity(h.entity, h.value, h.label, fields, support)
    return {kind: tuple(known.values()) for kind, known in found.items()}


def _by_result(session: Session, results: Iterable[tuple[Tool, Any]]) -> list[list[Handle]]:
    return [_handles(session, tool, result) for tool, result in results]


def _handles(session: Session, tool: Tool, result: Any) -> list[Handle]:
    return handles(tool, result, "", session.world.templates)


def _discover(session: Session, rnd: Random) -> list[tuple[Tool, Any]]:
    """Read tools with what they gave: without arguments, with ids that were shown, and with some
    that are drawn by the types, for much is only shown for the right dates or words.
    """
    tools = [b.tool for b in session.world.tools.values() if b.tool.effect == "read"]
    results: list[tuple[Tool, Any]] = []
    for tool in (t for t in tools if not t.required):
        results += _called(session, tool, [{}])
    late = [t for t in tools if t.required and t.required <= {name for _, name in consumed(t)}]
    done: set[str] = set()
    for _ in range(DEPTH):
        known = defaultdict(list)
        for tool, result in results:
            for h in _handles(session, tool, result):
                known[h.entity].append(h.value)
        for tool in (t for t in late if t.name not in done):
            if given := _given(tool, known, rnd):
                done.add(tool.name)
                results += _called(session, tool, given)
    for tool in tools:
        state = session.state(session.world.tools[tool.name].place)
        results += _called(session, tool, [arguments(tool, state, rnd) for _ in range(DRAWS)])
    return results


def _given(tool: Tool, known: dict[str, list[str]], rnd: Random) -> list[dict[str, Any]]:
    """Up to `IDS` sets of arguments from the ids that were shown."""
    needed = [(entity, name) for entity, name in consumed(tool) if name in tool.required]
    values = {name: sorted(set(known.get(entity, ()))) for entity, name in needed}
    if not all(values.values()):
        return []
    many = {p.name for p in tool.parameters if p.item is not None}
    drawn = [{name: rnd.choice(ids) for name, ids in values.items()} for _ in range(IDS)]
    told = [{n: [v] if n in many else v for n, v in given.items()} for given in drawn]
    return [given for i, given in enumerate(told) if given not in told[:i]]


def _called(
    session: Session, tool: Tool, given: Sequence[dict[str, Any]]
) -> list[tuple[Tool, Any]]:
    page = {"limit": PAGE} if any(p.name == "limit" for p in tool.parameters) else {}
    results = [session.call(tool.name, {**told, **page}) for told in given]
    return [(tool, msgspec.json.decode(r.json())) for r in results if r.outcome == "ok"]


def _fields(handle: Handle, result: Any) -> dict[str, Any]:
    """What stands beside the id in its record and is no id itself."""
    record = pointer.resolve(result, handle.path.rpartition("/")[0])
    if not isinstance(record, dict):
        return {}
    return {
        name: value
        for name, value in record.items()
        if isinstance(value, str | int | float)
        and name != "id"
        and not name.endswith(("_id", "cursor"))
        and 0 < len(str(value)) <= LONGEST
    }
