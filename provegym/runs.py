"""`provegym run`: all stages of one config, each taken up where an earlier run stopped.

    graph.json                      which tool feeds which
    train/tasks.jsonl               certified tasks of the servers that are trained on
    heldout/tasks.jsonl             on worlds never trained on, the held-out server included
    warm/policy                     the starting policy, where the config names none
    grpo/policy, grpo/curves.jsonl  the trained policy and a row a step
    sft/policy                      the comparison, if asked for
    eval/NAME.traces.jsonl          the held-out tasks as `before`, `after` and `sft` played them
    eval/NAME.scores.jsonl          and their scores
    report.html                     all of it on one page

A stage whose files are complete is not run again, so a finished run costs nothing to repeat.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import fmean

from msgspec import Struct

from provegym import learning, records, servers, terminal, worlds
from provegym.config import RunConfig, Synth, Teacher
from provegym.differences import differences
from provegym.errors import ManifestMismatch
from provegym.evals.heldout import Measure, Report, difference, measure_file, report
from provegym.evals.stats import Estimate
from provegym.graph.edges import Graph
from provegym.names import check_names, served
from provegym.report import page
from provegym.report.data import settings_of_run
from provegym.rollout.run import rollout_file
from provegym.scoring import ScoreSummary, score_files
from provegym.synth import pipeline
from provegym.synth.crew import answers_beside, cluster, studio
from provegym.synth.graphs import graph_of
from provegym.synth.make import Plan
from provegym.types import Task

Advance = Callable[[int, int], None]
Show = Callable[[str], AbstractContextManager[Advance]]
"""Opens a progress display under a label."""

ENDS = 0.2
"""Share of the steps at either end that the training reward is compared over."""


class Synthesized(Struct, frozen=True):
    """A file of certified tasks and what became of the candidates."""

    path: Path
    summary: pipeline.Summary

    def tasks(self) -> list[Task]:
        """The tasks, read anew."""
        return list(records.read(self.path, Task))


class Measured(Struct, frozen=True):
    """How a policy did on the held-out tasks."""

    traces: Path
    scores: ScoreSummary
    report: Report
    episodes: list[Measure]


class RunSummary(Struct, frozen=True):
    """What a run ended with.

    `reward` is the normalized training reward, a mean over the first and the last fifth of the
    `steps`. `gain` is after minus before on the held-out tasks, by metric, and `compared` the
    policy fine-tuned on the same tasks, if asked for. `peak_memory` is in bytes, of this process.
    """

    folder: Path
    report: Path
    train: pipeline.Summary
    heldout: pipeline.Summary
    steps: int
    reward: tuple[float | None, float | None]
    before: Measured
    after: Measured
    gain: dict[str, Estimate]
    compared: Measured | None
    peak_memory: int


def run(config: RunConfig, show: Show) -> RunSummary:
    """Run every stage of `config` into its folder.

    Raises `UnknownName` for a server or preset, `ManifestMismatch` where the folder holds a run
    of other settings, and what the stages raise.
    """
    check_names(config)
    learning.see_start(config)
    served(config.teacher)
    claim(config)
    train, heldout = synthesize(config, show)
    tasks, folder = train.tasks(), config.run.folder
    start = learning.starting_policy(config, tasks, show)
    before = evaluate(config, heldout.path, start, "before", show)
    trained = learning.optimize(config, tasks, start, show)
    after = evaluate(config, heldout.path, trained, "after", show)
    compared = None
    if config.sft.compare:
        tuned = learning.baseline(config, tasks, start, folder / "sft", show)
        compared = evaluate(config, heldout.path, tuned, "sft", show)
    rewards = learning.rewards(folder)
    return RunSummary(
        folder=folder,
        report=page.write(folder),
        train=train.summary,
        heldout=heldout.summary,
        steps=len(rewards),
        reward=ends(rewards),
        before=before,
        after=after,
        gain=difference(before.episodes, after.episodes),
        compared=compared,
        peak_memory=peak_memory(),
    )


def warm_start(config: RunConfig, show: Show, target: Path | None = None) -> Path:
    """Make the adapter that other runs start from, by fine-tuning on the config's tasks.

    It replaces the shipped one unless `target` names another folder.
    """
    from provegym.train import warmstart

    check_names(config)
    served(config.teacher)
    claim(config)
    folder = config.run.folder
    graph = _graph(config, show)
    plan = Plan(config.run.seed, config.run.servers, config.run.servers)
    tasks = _synthesized(plan, config.synth, config.teacher, graph, folder / "train", show).tasks()
    trained = learning.fine_tune(config, tasks, None, folder / "warm", show)
    recipe = config.model_dump(mode="json")
    return warmstart.ship(trained, tasks, recipe, target or warmstart.SHIPPED)


def claim(config: RunConfig) -> None:
    """Make the run's folder and note its settings there, or see that they are the same.

    Raises `ManifestMismatch` for a folder that holds a run of other settings or something else.
    """
    folder = config.run.folder
    path = folder / "run.json"
    wanted = config.identity()
    if not path.exists():
        if folder.exists() and not (folder.is_dir() and all(map(_is_part, folder.iterdir()))):
            raise ManifestMismatch(
                f"{folder} holds something else than a run; choose another run.out"
            )
        records.write_atomic(path, [json.dumps(wanted, indent=2).encode()])
        return
    for key, old, new in differences(settings_of_run(folder), wanted):
        raise ManifestMismatch(
            f"{folder} holds a run with {key} {old!r}, but {new!r} is asked for now; "
            "delete it or choose another run.out"
        )


def _is_part(path: Path) -> bool:
    """Whether it is what `provegym train` leaves, or a killed process that was to note settings."""
    return path.name in ("warm", "grpo", "sft") or path.name.startswith(".run.json.")


def synthesize(config: RunConfig, show: Show) -> tuple[Synthesized, Synthesized]:
    """The tasks to train on and those to evaluate on, whose worlds have other seeds."""
    folder, everywhere, trained = config.run.folder, config.run.servers, trained_on(config)
    graph = _graph(config, show)
    unseen = config.synth.model_copy(update={"limit": config.eval.tasks})
    first = Plan(config.run.seed, trained, trained)
    second = Plan(config.run.seed, everywhere, everywhere, config.synth.world_seeds)
    return (
        _synthesized(first, config.synth, config.teacher, graph, folder / "train", show),
        _synthesized(second, unseen, config.teacher, graph, folder / "heldout", show),
    )


def trained_on(config: RunConfig) -> tuple[str, ...]:
    """The servers that tasks to train on are about."""
    return tuple(name for name in config.run.servers if name != config.run.heldout_server)


def more_tasks(config: RunConfig, plan: Plan, synth: Synth, name: str, show: Show) -> Path:
    """Another file of tasks in the run's folder, over its graph."""
    graph, folder = _graph(config, show), config.run.folder / name
    return _synthesized(plan, synth, config.teacher, graph, folder, show).path


def _graph(config: RunConfig, show: Show) -> Graph:
    path, asked = config.run.folder / "graph.json", config.teacher
    loaded = [servers.load(name) for name in config.run.servers]
    answers = answers_beside(path, asked)
    with show("graph") as advance:
        return graph_of(loaded, path, config.synth.edges, asked, answers, advance, terminal.note)


def _synthesized(
    plan: Plan, settings: Synth, teacher: Teacher, graph: Graph, folder: Path, show: Show
) -> Synthesized:
    path = folder / "tasks.jsonl"
    with (
        cluster(settings.engine) as computing,
        studio(teacher, path, terminal.note) as model,
        show(f"{folder.name} tasks") as advance,
    ):
        summary = pipeline.synthesize(plan, settings, graph, path, advance, model, computing)
    return Synthesized(path, summary)


def evaluate(config: RunConfig, tasks: Path, policy: Path, name: str, show: Show) -> Measured:
    """Let a policy play the held-out tasks, greedily, and score and measure what it did."""
    traces = config.run.folder / "eval" / f"{name}.traces.jsonl"
    with show(f"evaluate {name}") as advance:
        rollout_file(
            tasks,
            name,
            traces,
            open_session=worlds.open_session,
            make_policy=learning.Player(config, policy),
            concurrency=config.eval.concurrency,
            trials=config.eval.trials,
            seed=config.run.seed,
            limits=learning.loop_limits(config),
            settings={"weights": learning.weights_hash(policy)},
            world=worlds.content(records.read(tasks, Task)),
            progress=advance,
        )
    scores = score_files(
        tasks, traces, config.eval.preset, traces.with_name(f"{name}.scores.jsonl")
    )
    episodes, masked = measure_file(tasks, traces)
    found = report(name, episodes, masked)
    return Measured(traces, scores, found, episodes)


def ends(values: list[float]) -> tuple[float | None, float | None]:
    """Means of the first and the last fifth of a curve; None where it is empty."""
    if not values:
        return None, None
    count = max(1, round(len(values) * ENDS))
    return fmean(values[:count]), fmean(values[-count:])


def peak_memory() -> int:
    """The most memory that this process held so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # elsewhere in KiB
