"""What keeps a conversation out: errors in replay, secrets out of nowhere, near duplicates."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from provegym.synth.machine import Spoken
from provegym.synth.replay import Moment
from provegym.types import Task
from provegym.world.world import World

MAX_ERROR_RATE = 0.3
"""A conversation is kept below this share of calls that fail in replay (paper, figure 2)."""
JACCARD = 0.7
"""Two tasks whose sets of calls overlap at least this much are duplicates (paper 3.2, step 5)."""

_canonical = msgspec.json.Encoder(order="sorted").encode


def error_rate(start: Moment, turns: Iterable[Spoken]) -> float:
    """Share of a conversation's calls that fail in a replay; empty results do not count."""
    calls = failed = 0
    for intent in (made.intent for turn in turns for made in turn.made):
        outcome, _, start = start.call(intent.name, intent.arguments)
        calls, failed = calls + 1, failed + (outcome != "ok")
    return failed / calls if calls else 0.0


def secrets_are_traceable(world: World, turns: Sequence[Spoken]) -> bool:
    """Whether every sensitive value stood in an earlier user turn or an earlier result."""
    if not any(world.tools[m.intent.name].tool.sensitive for t in turns for m in t.made):
        return True
    known = ""
    for turn in turns:
        known += "\n" + turn.user
        for made in turn.made:
            tool = world.tools[made.intent.name].tool
            secrets = [made.intent.arguments.get(name) for name in tool.sensitive]
            if any(s is not None and str(s) not in known for s in secrets):
                return False
            known += "\n" + _canonical(made.result).decode()
    return True


class Duplicates:
    """The calls of the tasks kept so far, by call: finds those a new task overlaps with."""

    def __init__(self, tasks: Iterable[Task] = ()) -> None:
        self._sizes: list[int] = []
        self._holders: defaultdict[bytes, list[int]] = defaultdict(list)
        for task in tasks:
            self.add(task)

    def add(self, task: Task) -> None:
        """Remember a task."""
        marks = fingerprint(task)
        for mark in marks:
            self._holders[mark].append(len(self._sizes))
        self._sizes.append(len(marks))

    def has(self, task: Task) -> bool:
        """Whether the Jaccard index with some task is at least `JACCARD`."""
        marks = fingerprint(task)
        shared = Counter(i for mark in marks for i in self._holders.get(mark, ()))
        return any(n / (len(marks) + self._sizes[i] - n) >= JACCARD for i, n in shared.items())


def fingerprint(task: Task) -> frozenset[bytes]:
    """The set of (tool, arguments) of the ground truth; the user turns if it has no calls."""
    calls = task.ground_truth
    if not calls:
        return frozenset(turn.user.encode() for turn in task.turns)
    return frozenset(_canonical([c.name, c.arguments]) for _, c in calls)
