"""Places to be filled: exactly so many tasks of each kind, server, information and length.

Place k is about server k mod n. A candidate that becomes no task leaves its place to a later one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from provegym.config import Synth
from provegym.seeding import rng
from provegym.types import Information, Kind

K = TypeVar("K")


class Place(Struct, frozen=True):
    """What the task of one place must be."""

    kind: Kind
    information: Information = "complete"
    missing: bool = False
    """Whether the first turn lacks a tool."""
    calls: int = 0
    """Calls of its ground truth."""


class Queue:
    """Which place each candidate is for: the first ones one each, later ones those that are left.

    `rejected` are the numbers of candidates that became no task.
    """

    def __init__(self, places: int, rejected: Iterable[int] = ()) -> None:
        self._places = places
        self._left: list[int] = []
        for i in sorted(rejected):
            self.leave(i)

    @property
    def known(self) -> int:
        """How many candidates have a place so far."""
        return self._places + len(self._left)

    def place(self, i: int) -> int:
        """The place of candidate `i`."""
        return i if i < self._places else self._left[i - self._places]

    def leave(self, i: int) -> None:
        """Candidate `i`, the next to be decided, became no task."""
        self._left.append(self.place(i))


def places(settings: Synth, seed: int) -> list[Place] | None:
    """As many places as tasks are wanted, shuffled; None where the settings have no `mix`."""
    if not settings.mix:
        return None
    rnd = rng(seed, "places")
    kinds = parted(settings.limit, settings.mix.kinds)
    active = _active(settings, kinds["workflow"], kinds["clarification"], rnd)
    shares = parted(len(active), settings.mix.lengths)
    lengths = [calls for calls, count in shares.items() for _ in range(count)]
    rnd.shuffle(lengths)
    found = [replace(p, calls=calls) for p, calls in zip(active, lengths, strict=True)]
    found += [Place("abstention")] * kinds["abstention"]
    rnd.shuffle(found)
    return found


def _active(settings: Synth, workflows: int, waiting: int, rnd: Random) -> list[Place]:
    """Places of tasks that have calls.

    Those that wait for their second turn lack a tool or a value, in the proportion of the
    settings' shares of the two. Where more tasks are to lack a value than may wait, the rest are
    workflows whose first turn can be met in part.
    """
    told = parted(workflows + waiting, settings.information.model_dump())
    lacking = {"tool": settings.perturb.missing_function, "value": told["missing_required"]}
    lacking["value"] /= max(1, workflows + waiting)
    hidden = max(parted(waiting, lacking)["tool"], waiting - told["missing_required"])
    partly = told["missing_required"] - (waiting - hidden)
    levels: tuple[Information, ...] = ("complete", "minimal")
    full = [level for level in levels for _ in range(told[level])]
    rnd.shuffle(full)
    return [
        *(Place("clarification", information, missing=True) for information in full[:hidden]),
        *[Place("clarification", "missing_required")] * (waiting - hidden),
        *[Place("workflow", "missing_required")] * partly,
        *(Place("workflow", information) for information in full[hidden:]),
    ]


def parted(total: int, shares: Mapping[K, float]) -> dict[K, int]:
    """`total` parted in the proportion of the shares, by the largest remainders."""
    whole = sum(shares.values()) or 1
    exact = {name: total * share / whole for name, share in shares.items()}
    found = {name: int(share) for name, share in exact.items()}
    behind = sorted(exact, key=lambda name: found[name] - exact[name])
    for name in behind[: total - sum(found.values())]:
        found[name] += 1
    return found
