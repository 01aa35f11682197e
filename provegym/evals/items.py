"""What one evaluation asks for and what came of it, item by item, on disk from the first.

An item is one try at one question of a benchmark. It stands in the file once, when it is finished
and judged; what failed because of us never stands there, so that running the same command again
asks for it anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from provegym.evals.harness import Environment
from provegym.llm.relay import Answerer

State = Literal["scored", "overflow", "user_fault"]
"""`overflow`: the conversation outgrew the model's window, which scores what it scores.
`user_fault`: the simulated user failed, which says nothing about the model."""
Policy = Literal["noop", "oracle"]


class Item(Struct, frozen=True):
    """One judged try. `id` is PART/NAME/TRIAL; `score` is None where there is nothing to judge."""

    id: str
    part: str
    name: str
    trial: int
    score: float | None
    state: State = "scored"
    detail: str = ""


Advance = Callable[[int, int], None]
"""Told how many items of a part are answered, and of how many."""


class Job(Struct, frozen=True):
    """What a driver is to run: `wanted` are the names of items by part, each tried `trials` times.

    `folder` is the driver's own, for what the harness writes; `data` is the user's folder of data
    `model` that of the embedding model and `source` a checkout
    of the benchmark, for a harness that ships none. `temperature` None is
    the benchmark's own.
    """

    environment: Environment
    wanted: Mapping[str, Sequence[str]]
    folder: Path
    trials: int = 1
    seed: int = 0
    concurrency: int = 4
    temperature: float | None = None
    data: Path | None = None
    model: Path | None = None
    source: Path | None = None
    advance: Advance = lambda done, of: None


Roles = Mapping[str, Answerer]
"""Who answers: the role "agent", and where the benchmark has one, "user"."""
Keep = Callable[[Item], None]
"""Takes a judged item. One that is known already is told again without harm."""


def key(part: str, name: str, trial: int) -> str:
    """The id of an item."""
    return f"{part}/{name}/{trial}"


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a file that a killed process may have left torn; none without a file."""
    if not path.is_file():
        return
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue  # what a killed process had not finished is asked for again
        if isinstance(row, dict):
            yield row


def by_part(items: Iterable[Item]) -> dict[str, list[Item]]:
    """Items by their part, parts in the order in which they come."""
    found: dict[str, list[Item]] = {}
    for item in items:
        found.setdefault(item.part, []).append(item)
    return found
