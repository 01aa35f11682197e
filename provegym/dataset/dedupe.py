"""Exact and near duplicates among tasks: by what is called, and by what the user says."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from provegym import records
from provegym.dataset.overlap import words_of
from provegym.types import Certificate, Task

JACCARD = 0.7
"""Two tasks whose sets of calls overlap at least this much are duplicates (paper 3.2, step 5), and
so are two whose users say as many of the same `SHINGLE` words in a row."""
SHINGLE = 3
BANDS, ROWS = 32, 4
"""MinHash over 128 permutations: of the pairs at `JACCARD`, 1 - (1 - 0.7 ** 4) ** 32 are met, all
but one in 6,500, and each is then judged by its exact index."""

_canonical = msgspec.json.Encoder(order="sorted").encode


class Dropped(Struct, frozen=True):
    """A task that is left out, and the earlier one that it repeats.

    `similarity` is the Jaccard index over what `reason` names, 1 for the same task.
    """

    id: str
    reason: Literal["exact", "calls", "turns"]
    of: str
    similarity: float


class Summary(Struct, frozen=True):
    """What became of a file of tasks: how many stay, and how many go by reason."""

    tasks: int
    kept: int
    dropped: dict[str, int]
    listed: str
    """The file that lists the dropped ones."""


class Duplicates:
    """The calls of the tasks kept so far, by call: finds those a new task overlaps with."""

    def __init__(self, tasks: Iterable[Task] = ()) -> None:
        self._kept: list[tuple[str, int]] = []
        self._holders: defaultdict[bytes, list[int]] = defaultdict(list)
        for task in tasks:
            self.add(task)

    def add(self, task: Task) -> None:
        """Remember a task."""
        marks = fingerprint(task)
        for mark in marks:
            self._holders[mark].append(len(self._kept))
        self._kept.append((task.id, len(marks)))

    def has(self, task: Task) -> bool:
        """Whether the Jaccard index with some task is at least `JACCARD`."""
        return self.nearest(task) is not None

    def nearest(self, task: Task) -> tuple[str, float] | None:
        """The most similar task, the first of several, and the index; None below `JACCARD`."""
        marks = fingerprint(task)
        shared = Counter(i for mark in marks for i in self._holders.get(mark, ()))
        scored = [(n / (len(marks) + self._kept[i][1] - n), -i) for i, n in shared.items()]
        index, place = max(scored, default=(0.0, 0))
        return (self._kept[-place][0], index) if index >= JACCARD else None


def fingerprint(task: Task) -> frozenset[bytes]:
    """The set of (tool, arguments) of the ground truth; the user turns if it has no calls."""
    calls = task.ground_truth
    if not calls:
        return frozenset(turn.user.encode() for turn in task.turns)
    return frozenset(_canonical([c.name, c.arguments]) for _, c in calls)


class Sayings:
    """What the users of the tasks kept so far say, hashed so that alike ones are met."""

    def __init__(self) -> None:
        from datasketch import MinHash, MinHashLSH

        self._empty = MinHash(num_perm=BANDS * ROWS)
        self._buckets = MinHashLSH(num_perm=BANDS * ROWS, params=(BANDS, ROWS))
        self._shingles: list[tuple[str, frozenset[str]]] = []

    def nearest_or_add(self, task: Task) -> tuple[str, float] | None:
        """The most similar task and the index, or None below `JACCARD`: then it is added."""
        said = shingles(task)
        hashed = self._empty.copy()
        hashed.update_batch([shingle.encode() for shingle in said])
        scored = [(_jaccard(said, self._shingles[i][1]), -i) for i in self._buckets.query(hashed)]
        index, place = max(scored, default=(0.0, 0))
        if index >= JACCARD:
            return self._shingles[-place][0], index
        self._buckets.insert(len(self._shingles), hashed)
        self._shingles.append((task.id, said))
        return None


def shingles(task: Task) -> frozenset[str]:
    """Every `SHINGLE` words in a row of a user turn, and turns of fewer words whole."""
    said = (words_of(turn.user) for turn in task.turns)
    return frozenset(
        " ".join(words[i : i + SHINGLE])
        for words in said
        for i in range(max(1, len(words) - SHINGLE + 1))
    )


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)


def dedupe(tasks: Iterable[Task]) -> Iterator[tuple[Task, Dropped | None]]:
    """Each task with why it is left out, None where it stays: the first of each kind does."""
    contents: dict[bytes, str] = {}
    calls, sayings = Duplicates(), Sayings()
    for task in tasks:
        content = _content(task)
        if content in contents:
            yield task, Dropped(task.id, "exact", contents[content], 1.0)
        elif near := calls.nearest(task):
            yield task, Dropped(task.id, "calls", *near)
        elif near := sayings.nearest_or_add(task):
            yield task, Dropped(task.id, "turns", *near)
        else:
            contents[content] = task.id
            calls.add(task)
            yield task, None


def _content(task: Task) -> bytes:
    """A hash of the task without its name and its certificate."""
    bare = msgspec.structs.replace(task, id="", certificate=Certificate())
    return hashlib.sha256(_canonical(bare)).digest()


def dedupe_file(tasks: Path, out: Path) -> Summary:
    """Write the tasks that stay to `out`, and which went and why to `dropped.jsonl` beside it.

    Raises `InputError` for a broken task file or an output that may not be replaced; both files
    are written whole or not at all.
    """
    listed = records.beside(out, "dropped")
    records.check_output(out, "tasks", (tasks,))
    records.check_output(listed, "dropped", (tasks,))
    kept, dropped = list[bytes](), list[Dropped]()
    for task, why in dedupe(records.read_tasks(tasks)):
        if why:
            dropped.append(why)
        else:
            kept.append(records.encode(task))
    _write(listed, "dropped", [records.encode(why) for why in dropped], tasks)
    _write(out, "tasks", kept, tasks)
    counts = Counter(why.reason for why in dropped)
    total = len(kept) + len(dropped)
    return Summary(total, len(kept), dict(counts.most_common()), str(listed))


def _write(path: Path, kind: str, lines: list[bytes], parent: Path) -> None:
    """The manifest goes first: a kill in between must not leave a file without one."""
    hashed = records.content_hash(parent)
    made = records.Manifest(kind, parent=hashed, complete=True, rows=len(lines))
    records.write_manifest(path, made)
    records.write_atomic(path, lines)
