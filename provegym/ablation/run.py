"""`provegym run` of a config with `[ablations]`: every cell trained and played, then the table.

    graph.json, train/, heldout/          as in any run; all cells are played on heldout/
    train-written/tasks.jsonl             the tasks of the second teacher
    warm/tasks.jsonl                      what `tiny` learns the form of calls from
    tiny/base/1/                          the policy that the cells of seed 1 start from
    tiny/full/1/                          one training of one cell
    tiny/full/1/done.json                 written last; a cell without it is not in the table
    ablations.md                          the table, and the paper's claims beside it

A cell that is done is not trained again, one that was cut short goes on, and each may be run alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any

from msgspec import Struct

from provegym import learning, records, runs
from provegym.ablation import page
from provegym.ablation.cells import BASE, RECIPES, Place, places, settings
from provegym.config import RunConfig
from provegym.names import check_names, served
from provegym.records import read_rows
from provegym.synth.make import Plan
from provegym.types import Task

WARM, WRITTEN = "warm", "train-written"


class Summary(Struct, frozen=True):
    """What a run of ablations ended with: its folder, its table, and the cells that are done."""

    folder: Path
    report: Path
    done: list[str]
    missing: list[str]


def run(config: RunConfig, show: runs.Show, only: Sequence[str] = ()) -> Summary:
    """Train and play the cells of `config`, or `only` those named like `tiny/full` or `tiny`.

    Raises as `runs.run` does, and `UnknownName` for a cell that the config has not.
    """
    check_names(config)
    learning.see_start(config)
    served(config.teacher)
    wanted = places(config, only)
    runs.claim(config)
    files = _tasks(config, wanted, show)
    for place in wanted:
        if not is_done(config, place):
            _train(config, place, files, show)
    everything = places(config)
    return Summary(
        config.run.folder,
        page.write(config.run.folder),
        [str(p.path) for p in everything if is_done(config, p)],
        [str(p.path) for p in everything if not is_done(config, p)],
    )


def is_done(config: RunConfig, place: Place) -> bool:
    """Whether the cell was trained and played to its end."""
    return (config.run.folder / place.path / page.DONE).is_file()


def _tasks(config: RunConfig, wanted: Sequence[Place], show: runs.Show) -> dict[str, Path]:
    """The files of tasks by the folder's name; each has worlds, or words, of its own."""
    train, heldout = runs.synthesize(config, show)
    found = {"train": train.path, "heldout": heldout.path}
    told, trained = config.ablations, runs.trained_on(config)
    if any(RECIPES[p.cell].tasks == WRITTEN for p in wanted if p.cell != BASE):
        synth = config.synth.model_copy(update={"style": "written"})
        plan = Plan(config.run.seed, trained, trained)
        found[WRITTEN] = runs.more_tasks(config, plan, synth, WRITTEN, show)
    if told and any(p.policy == "tiny" for p in wanted):
        synth = config.synth.model_copy(update={"limit": told.warm_tasks})
        plan = Plan(config.run.seed, trained, trained, 2 * config.synth.world_seeds)
        found[WARM] = runs.more_tasks(config, plan, synth, WARM, show)
    return found


def _train(config: RunConfig, place: Place, files: dict[str, Path], show: runs.Show) -> None:
    """One training, its held-out episodes, and the note that it is done."""
    told = settings(config, place)
    if place.cell == BASE:
        policy = _start(config, place, files, show)
    else:
        policy = _taught(config, place, files, show)
    found = runs.evaluate(told, files["heldout"], policy, "after", show)
    folder = told.run.folder
    note = {
        "policy": place.policy,
        "cell": place.cell,
        "seed": place.seed,
        "episodes": found.report.episodes,
        "masked": found.report.masked,
        **_training(folder),
    }
    records.write_atomic(folder / page.DONE, [json.dumps(note, indent=2).encode()])


def _start(config: RunConfig, place: Place, files: dict[str, Path], show: runs.Show) -> Path:
    """The policy that the cells of this seed start from, made where there is none yet."""
    base = settings(config, Place(place.policy, BASE, place.seed))
    tasks = _read(files[WARM]) if WARM in files else []
    return learning.starting_policy(base, tasks, show)


def _taught(config: RunConfig, place: Place, files: dict[str, Path], show: runs.Show) -> Path:
    """The policy of a cell."""
    told, recipe = settings(config, place), RECIPES[place.cell]
    tasks = _read(files[recipe.tasks])
    tasks = tasks[: ceil(recipe.data * len(tasks))]
    policy = _start(config, place, files, show)
    if recipe.sft:
        policy = learning.baseline(told, tasks, policy, told.run.folder / "sft", show)
    return learning.optimize(told, tasks, policy, show) if recipe.grpo else policy


def _read(path: Path) -> list[Task]:
    return list(records.read(path, Task))


def _training(folder: Path) -> dict[str, Any]:
    """What the curves tell: steps, seconds, episodes lost, groups that taught nothing, alarms."""
    steps = read_rows(folder / "grpo" / "curves.jsonl")
    every = [*steps, *read_rows(folder / "sft" / "curves.jsonl")]
    every += read_rows(folder / "warm" / "curves.jsonl")
    flat = [row["zero_variance"] for row in steps if row["zero_variance"] is not None]
    alarms = [row["collapse"] for row in steps if row["collapse"]]
    return {
        "steps": len(steps),
        "seconds": round(sum(row.get("seconds", 0.0) for row in every), 1),
        "lost": sum(row["masked"] for row in steps),
        "zero_variance": sum(flat) / len(flat) if flat else None,
        "collapse": alarms[0] if alarms else "",
    }
