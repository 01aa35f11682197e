"""Splits that nothing leaks between: whole worlds, questions without a world that are alike, and
servers that only one split knows.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from provegym.dataset.content import content_id
from provegym.dataset.dedupe import JACCARD
from provegym.errors import InputError
from provegym.seeding import derive
from provegym.types import Task

HELDOUT = "heldout"
"""The split of the tasks that touch a held-out server."""


class Origin(NamedTuple):
    """What a task must not share with one of another split. `world` is its seed as text; a task
    without servers has no world, and what stands for it there is its own until `joined`.
    """

    world: str
    servers: frozenset[str]


def origin(task: Task, owners: Mapping[str, str]) -> Origin:
    """The task's world and every server it touches: those that it names, and the `owners` of
    the tools that it shows or calls, distractors included.
    """
    shown = [task.tools, *(turn.tools for turn in task.turns)]
    tools = {tool.function.name for part in shown for tool in part}
    tools |= {call.name for _, call in task.ground_truth}
    world = str(task.seed) if task.servers else content_id(task)
    return Origin(world, frozenset(task.servers) | {owners[t] for t in tools if t in owners})


def joined(origins: Sequence[Origin], said: Mapping[int, Collection[str]]) -> list[Origin]:
    """The origins with one world for tasks without servers whose users say alike things: an index
    of `JACCARD` or more over what they `said` (shingles by place in `origins`), also by way of
    others.
    """
    first = {place: place for place in said}
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for place, shingles in said.items():
        shared = Counter(i for shingle in shingles for i in holders[shingle])
        near = {
            _root(first, i)
            for i, n in shared.items()
            if n >= JACCARD * (len(shingles) + len(said[i]) - n)
        }
        first |= dict.fromkeys([*near, place], min([*near, place]))
        for shingle in shingles:
            holders[shingle].append(place)
    worlds = {place: origins[_root(first, place)].world for place in said}
    return [o._replace(world=worlds.get(i, o.world)) for i, o in enumerate(origins)]


def _root(first: Mapping[int, int], place: int) -> int:
    """The first task of the group."""
    while first[place] != place:
        place = first[place]
    return place


def shares(text: str) -> dict[str, float]:
    """Shares by split, from text like `train=0.9,validation=0.1`.

    Raises `InputError` unless each is named once, is above 0, and they sum to 1.
    """
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = (piece.strip() for piece in part.partition("="))
        if not re.fullmatch(r"\w+", name) or name in (*found, HELDOUT) or not _is_share(number):
            raise InputError(
                f"{part!r} in {text!r} is not the share of a split; write train=0.9,validation=0.1 "
                f"with each name once ({HELDOUT} is the split of --heldout-server)"
            )
        found[name] = float(number)
    if abs(sum(found.values()) - 1) > 1e-9:
        raise InputError(f"the shares in {text!r} sum to {sum(found.values()):g}, not 1")
    return found


def assign(
    origins: Sequence[Origin], wanted: Mapping[str, float], heldout: Collection[str] = ()
) -> list[str]:
    """The split of each task, in order.

    Tasks that touch a server of `heldout` are in the split `HELDOUT`. Of the others, all of one
    world are in one split; which, depends on hashes of the worlds' seeds, and the shares are met
    as nearly as whole worlds allow, those of the small splits first. A world may be both in
    `HELDOUT` and elsewhere: there it has other servers.

    Raises `InputError` where a split would be empty.
    """
    apart = [not origin.servers.isdisjoint(heldout) for origin in origins]
    pairs = list(zip(origins, apart, strict=True))
    sizes = Counter(origin.world for origin, out in pairs if not out)
    split_of = _worlds(sizes, wanted)
    found = [HELDOUT if out else split_of[origin.world] for origin, out in pairs]
    for name in [*wanted, *([HELDOUT] if heldout else [])]:
        if name not in found:
            raise InputError(
                f"no task is left for split {name!r}: {sum(apart)} of {len(origins)} tasks touch "
                f"a held-out server, the others are of {len(sizes)} worlds, and a world is not "
                "divided; ask for fewer splits or make tasks in more worlds"
            )
    return found


def _is_share(text: str) -> bool:
    return re.fullmatch(r"[0-9]*\.?[0-9]+", text) is not None and float(text) > 0


def _worlds(sizes: Mapping[str, int], wanted: Mapping[str, float]) -> dict[str, str]:
    """The split of each world; `sizes` are tasks by world. The largest split takes the rest."""
    left = sorted(sizes, key=lambda world: derive(0, "split", world))
    *small, largest = sorted(wanted, key=lambda name: (wanted[name], name))
    found: dict[str, str] = {}
    for name in small:
        chosen = _nearest([sizes[world] for world in left], wanted[name] * sum(sizes.values()))
        found |= {left[i]: name for i in chosen}
        left = [world for world in left if world not in found]
    return found | dict.fromkeys(left, largest)


def _nearest(sizes: Sequence[int], target: float) -> list[int]:
    """Which of `sizes` have the sum above 0 that is nearest to `target`: the first that do.

    Bit s of `sums[i]` says that some of the first i sizes have the sum s.
    """
    sums = [1]
    for size in sizes:
        sums.append(sums[-1] | sums[-1] << size)
    reached = (s for s in range(1, sum(sizes) + 1) if sums[-1] >> s & 1)
    best = min(reached, key=lambda s: abs(s - target), default=0)
    chosen = []
    for i in reversed(range(len(sizes))):
        if not sums[i] >> best & 1:
            chosen.append(i)
            best -= sizes[i]
    return chosen
