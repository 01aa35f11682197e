"""Certified tasks for rollouts against a fleet, and what their rollouts give in this process."""

from __future__ import annotations

from pathlib import Path

from provegym import records
from provegym.config import Synth
from provegym.graph.build import build
from provegym.servers import load
from provegym.synth.make import Plan
from provegym.synth.pipeline import synthesize
from provegym.types import Task

SERVERS = ("email", "calendar")


def write_tasks(folder: Path, count: int) -> Path:
    """So many tasks whose ground truth has calls."""
    made, out = folder / "made.jsonl", folder / "tasks.jsonl"
    plan = Plan(7, servers=SERVERS, others=SERVERS)
    synthesize(plan, Synth(limit=2 * count), build([load(name) for name in SERVERS]), made)
    kept = [task for task in records.read(made, Task) if task.ground_truth][:count]
    assert len(kept) == count
    records.write_atomic(out, map(records.encode, kept))
    return out
