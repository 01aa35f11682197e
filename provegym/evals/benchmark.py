"""Provegym as a benchmark: one split of tasks, the same measures for every model and agent.

The seed of the published split is sealed: whoever runs it keeps a secret, and only a commitment to
that secret is published. So nobody can train on the split's worlds, and once the secret is told
everybody can see that the tasks were not chosen afterwards.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

import provegym
from provegym import worlds
from provegym.errors import InputError, ManifestMismatch, seen
from provegym.evals.canary import CANARY
from provegym.evals.heldout import Report, measure_file, report
from provegym.evals.heldout_suite import TASKS, TRACES
from provegym.evals.stats import Estimate
from provegym.records import (
    Manifest,
    check_output,
    content_hash,
    encode,
    manifest_path,
    read,
    read_manifest,
    read_tasks,
    write_atomic,
    write_manifest,
)

FLOOR, CEILING = "noop", "oracle"
"""Policies that are measured beside every entry: silence, and the ground truth."""
SECRET = re.compile(r"[0-9a-f]{64}")
NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""Of a split: it stands in tables and in file names."""
OWN = "own"
"""The split of tasks that are not the published ones."""

Kind = Literal["model", "agent", "policy"]


# -- the sealed split ----------------------------------------------------------------------------


class Seal(Struct, frozen=True, forbid_unknown_fields=True):
    """The secret of a split: 32 random bytes in hex."""

    split: str
    secret: str

    @property
    def commitment(self) -> str:
        """What is published of it: SHA-256 in hex, which binds the secret and does not tell it."""
        return self._hash("commitment").hex()

    @property
    def seed(self) -> int:
        """The root of the split's tasks, in 63 bits."""
        return int.from_bytes(self._hash("seed")[:8], "big") >> 1

    def _hash(self, purpose: str) -> bytes:
        text = "\x1f".join(("provegym benchmark", purpose, self.split, self.secret))
        return hashlib.sha256(text.encode()).digest()


class Split(Struct, frozen=True, forbid_unknown_fields=True):
    """What is published of a split; hashes are SHA-256 in hex.

    `tasks_hash` is of the file of tasks, `world` of the content of their worlds: other versions of
    the servers make other tasks from the same seed.
    """

    name: str
    commitment: str
    tasks: int
    tasks_hash: str
    world: str
    version: str
    canary: str


def new_seal(split: str, out: Path) -> Seal:
    """A new secret in a file. Raises `InputError` where the file is there already, for a name that
    is none and for one that means other tasks already.
    """
    if not NAME.fullmatch(split):
        raise InputError(
            f"{seen(split)} is no name of a split: take letters, digits, _, . and -, at most 64 of "
            "them, such as my-split-1"
        )
    if split in (published().name, OWN):
        raise InputError(f"{split!r} is what boards call other tasks already; take another name")
    if out.exists():
        raise InputError(f"{out} is there already; a lost seal cannot be made again")
    seal = Seal(split, secrets.token_hex(32))
    write_atomic(out, [encode(seal)])
    out.chmod(0o600)
    return seal


def read_seal(path: Path) -> Seal:
    """The seal in a file. Raises `InputError` for one whose secret is none, and for one that does
    not belong to the published split of its name.
    """
    found = next(read(path, Seal), None)
    if found is None:
        raise InputError(f"{path} holds no seal; make one with `provegym benchmark seal`")
    if not SECRET.fullmatch(found.secret):
        size = len(found.secret)  # most of a sound one is not shown either
        told = repr(found.secret) if size <= 16 else f"a text of {size} characters"
        raise InputError(
            f"{path}: secret is {told}, should be 64 hex digits in lower case; make one with "
            "`provegym benchmark seal`"
        )
    known = published()
    if found.split == known.name and found.commitment != known.commitment:
        raise InputError(
            f"{path} is not the seal of {known.name}: its commitment is {found.commitment}, "
            f"published is {known.commitment}"
        )
    return found


@lru_cache
def published() -> Split:
    """The published split."""
    return msgspec.json.decode(Path(__file__).with_name("split.json").read_bytes(), type=Split)


@contextmanager
def seeds_untold() -> Iterator[None]:
    """A refusal of files that another seal made names no seed: who knows it knows the tasks."""
    try:
        yield
    except ManifestMismatch as error:
        told = re.sub(r"seed: -?\d+, now -?\d+", "seed", str(error))
        raise ManifestMismatch(told) from None  # the cause would tell


def mark(made: Path, out: Path, seal: Seal) -> Split:
    """Write the tasks of `made` to `out` with the canary in each line; what may be published."""
    check_output(out, "tasks", (made,))
    lines = [msgspec.json.decode(line) for line in made.read_bytes().splitlines()]
    write_atomic(out, (encode({**line, "canary": CANARY}) for line in lines))
    found = read_manifest(made)
    told = found or Manifest("tasks", seed=seal.seed, complete=True, rows=len(lines))
    write_manifest(out, told)
    for path in (made, out, manifest_path(made), manifest_path(out)):
        if path.exists():
            path.chmod(0o600)  # they hold the seed
    return Split(
        name=seal.split,
        commitment=seal.commitment,
        tasks=len(lines),
        tasks_hash=content_hash(out),
        world=worlds.content(read_tasks(out)),
        version=provegym.__version__,
        canary=CANARY,
    )


# -- who is measured, and what came of it --------------------------------------------------------


class Contestant(NamedTuple):
    """Who is measured: a name on the board, what it is, and what shapes it (sampling, command)."""

    name: str
    kind: Kind
    settings: dict[str, Any]


class Entry(Struct, frozen=True):
    """One line of a leaderboard, with all that must be equal for two to be compared.

    `scores` are those of `provegym.evals.heldout`, `floor` and `ceiling` the success of silence
    and of the ground truth on the same tasks.
    """

    name: str
    kind: Kind
    split: str
    tasks: int
    tasks_hash: str
    world: str
    trials: int
    seed: int
    version: str
    date: str
    settings: dict[str, Any]
    scores: dict[str, Estimate]
    pass_hat: dict[int, Estimate]
    floor: Estimate
    ceiling: Estimate
    canary: str = CANARY

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What a later entry replaces an earlier one by."""
        return self.name, self.tasks_hash, self.trials, self.seed


def entry(folder: Path, who: Contestant, *, trials: int, seed: int, date: str) -> Entry:
    """What came of a measurement whose tasks and traces lie in `folder`, those of silence and of
    the ground truth in folders of their names. `date` is today's (ISO 8601).
    """
    tasks, found = folder / TASKS, _measured(folder)
    ends = {end: _measured(folder / end) for end in (FLOOR, CEILING)}
    return Entry(
        name=who.name,
        kind=who.kind,
        split=split_of(tasks),
        tasks=found.overall["success"].n,
        tasks_hash=content_hash(tasks),
        world=worlds.content(read_tasks(tasks)),
        trials=trials,
        seed=seed,
        version=provegym.__version__,
        date=date,
        settings=who.settings,
        scores=found.overall,
        pass_hat=found.pass_hat,
        floor=ends[FLOOR].overall["success"],
        ceiling=ends[CEILING].overall["success"],
    )


def enter(entry: Entry, board: Path) -> None:
    """Add a line to a leaderboard; one of the same name, tasks, trials and seed is replaced."""
    known = read_board(board) if board.exists() else []
    kept = [other for other in known if other.key != entry.key]
    write_atomic(board, map(encode, [*kept, entry]))


def read_board(board: Path) -> list[Entry]:
    """The entries of a leaderboard (JSON Lines)."""
    return list(read(board, Entry))


def _measured(folder: Path) -> Report:
    return report(folder.name, *measure_file(folder / TASKS, folder / TRACES))


def split_of(tasks: Path) -> str:
    """The split that a file of tasks is: the published one, whole, or `OWN`."""
    known = published()
    return known.name if content_hash(tasks) == known.tasks_hash else OWN


def compared(entries: Sequence[Entry]) -> Iterator[tuple[Entry, list[Entry]]]:
    """Entries in groups that may be compared (same tasks, worlds and trials), best first; each
    group with one of its entries, for what they have in common.
    """
    groups: dict[tuple[str, str, int], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.tasks_hash, entry.world, entry.trials), []).append(entry)
    for group in groups.values():
        yield group[0], sorted(group, key=lambda e: (-e.scores["success"].mean, e.name))
