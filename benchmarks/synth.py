"""Certified tasks a second on one core: planned, played, replayed, certified, and replayed again
as the second process does it.

Run `python -m benchmarks.synth`, or `provegym bench`.
"""

from __future__ import annotations

from time import process_time

import msgspec

from provegym import servers
from provegym.config import Synth
from provegym.dataset.dedupe import Duplicates
from provegym.graph.build import build
from provegym.synth.make import Candidate, Maker, Plan
from provegym.synth.twin import digest
from provegym.types import Task
from provegym.world.world import content_hash, templates

TARGET = 200
"""Certified tasks a second a core, over at least 40 seeds of worlds."""
NAMES = ("banking", "calendar", "filesystem", "shopping")
SEEDS = 40
CANDIDATES = 2000


def measure(candidates: int = CANDIDATES) -> dict[str, float]:
    """Tasks a second of CPU time, the second process's included; worlds are built within it."""
    graph = build([servers.load(name) for name in NAMES], worlds=1, tries=1)
    settings = Synth(limit=candidates, world_seeds=SEEDS, tools_per_task=8)
    maker = Maker(Plan(0, NAMES, NAMES), settings, graph)
    start = process_time()
    kept = [c for i in range(candidates) if isinstance(c := maker.make(i), Candidate)]
    seen = Duplicates()
    for candidate in kept:
        if not seen.has(candidate.task):
            seen.add(candidate.task)
    made = process_time() - start
    lines = [msgspec.json.encode(candidate.task) for candidate in kept]
    forget_worlds()
    start = process_time()
    again = [digest(msgspec.json.decode(line, type=Task)) for line in lines]
    assert again == [candidate.task.certificate.digest for candidate in kept]
    replayed = process_time() - start
    return {
        "certified tasks": len(kept) / (made + replayed),
        "certified tasks, first process": len(kept) / made,
        "yield": len(kept) / candidates,
    }


def forget_worlds() -> None:
    """The second process builds its own worlds."""
    servers.worlds.cache_clear()
    templates.cache_clear()
    content_hash.cache_clear()


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name}: {value:,.2f}")
