"""`provegym train verl`: see that a run can start, start it or go on with it, merge its weights."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from msgspec import Struct

from provegym import records
from provegym.differences import named
from provegym.errors import InfrastructureError, InputError, ManifestMismatch
from provegym.evals.process import ended, tied
from provegym.records.files import alone
from provegym.train.verl import command, episodes, rows
from provegym.train.verl.checks import problems
from provegym.train.verl.device import environment
from provegym.train.verl.settings import Settings
from provegym.train.verl.watch import Watch, last_checkpoint

POLICY = "policy"
LOOK_EVERY = 30.0
"""Seconds between two looks at how the training goes."""

Show = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]


class Trained(Struct, frozen=True):
    """What a run came to: the merged weights, and its episodes with those lost to our faults."""

    policy: str
    steps: int
    episodes: int
    lost: int


def launch(settings: Settings, show: Show, note: Callable[[str], None]) -> Trained:
    """Train, or go on where an earlier run was stopped, and merge the last checkpoint.

    `note` is told what is left out and lost. Raises `InputError` for what keeps the run from
    starting, `ManifestMismatch` for a folder of another run, and `InfrastructureError` where verl
    fails; its checkpoints stay.
    """
    for problem in problems(settings):
        raise InputError(problem)
    folder = settings.run.folder
    with alone(folder / ".lock", f"{folder} is in use by another process; choose another run.out"):
        return _launch(settings, folder, show, note)


def _launch(settings: Settings, folder: Path, show: Show, note: Callable[[str], None]) -> Trained:
    _see_that_it_is_ours(settings, folder)
    for split, _, source, least in settings.sources():
        with show(f"rows of {split}") as advance:
            out = command.rows(settings, split)
            made = rows.prepare(settings, Path(source), out, advance, least)
        for reason, number in made.left_out.items():
            note(f"{source}: {number} tasks are left out, they have {reason}")
        if split == "train" and settings.grpo.curriculum:
            rows.arrange(settings, made, command.learnt(settings))
    _claim(settings, folder)
    records.write_atomic(folder / command.LOOP, [command.agent_loop(settings).encode()])
    if _steps(settings) < settings.grpo.steps:
        watch = Watch(folder, command.checkpoints(settings), note)
        _run(command.command(settings), _environment(settings, folder), "verl", watch.look)
    policy = merge(settings)
    return _summary(settings, policy)


def _manifest(settings: Settings) -> records.Manifest:
    """What makes the run what it is."""
    told = settings.identity()
    return records.Manifest("verl", records.config_hash(told), settings=told)


def _see_that_it_is_ours(settings: Settings, folder: Path) -> None:
    """Raise `ManifestMismatch` for the folder of another run."""
    found, wanted = records.read_manifest(folder / "verl"), _manifest(settings)
    if found and found.config != wanted.config:
        raise ManifestMismatch(
            f"{folder} holds a run with other settings ({named(found.settings, wanted.settings)}); "
            "choose another run.out, or delete it"
        )


def _claim(settings: Settings, folder: Path) -> None:
    """Write down whose folder it is, once the run can start."""
    records.write_manifest(folder / "verl", _manifest(settings))


def _environment(settings: Settings, folder: Path) -> dict[str, str]:
    """The variables of this process and verl's; each start logs to a file of its own."""
    logs = folder / "metrics"
    logs.mkdir(parents=True, exist_ok=True)
    file = logs / f"{len(list(logs.glob('*.jsonl'))):04d}.jsonl"
    told = {"VERL_FILE_LOGGER_PATH": str(file.absolute())}
    return {**os.environ, **told, **environment(settings)}


def _run(
    told: list[str],
    environment: dict[str, str],
    what: str,
    look: Callable[[], None] = lambda: None,
) -> None:
    """Run a command and show on standard error what it says, for standard output is the result's.

    `look` is called again and again while it runs, and once at its end. It does not outlive us:
    otherwise the next start would train beside it. Raises `InfrastructureError` where it fails.
    """
    with subprocess.Popen(tied(told), env=environment, stdout=2) as process:
        try:
            while not ended(process, LOOK_EVERY):
                look()
        finally:
            process.kill()  # where a look or Ctrl-C ended us; nothing where it has ended
    look()
    code = process.returncode
    if code:
        raise InfrastructureError(
            f"{what} ended with exit code {code}, see above; the same command goes on at the last "
            "checkpoint"
        )


def _steps(settings: Settings) -> int:
    return last_checkpoint(command.checkpoints(settings))


def merge(settings: Settings) -> Path:
    """The last checkpoint in Hugging Face's format, in the run's folder `policy-STEPS`."""
    steps = _steps(settings)
    if not steps:
        raise InfrastructureError(f"{command.checkpoints(settings)} holds no checkpoint to merge")
    out = settings.run.folder / f"{POLICY}-{steps}"
    if not (out / "config.json").is_file():
        shards = command.checkpoints(settings) / f"global_step_{steps}" / "actor"
        work = out.with_name(f".{out.name}")
        told = ["--backend", "fsdp", "--local_dir", str(shards), "--target_dir", str(work)]
        merger = [sys.executable, "-m", "verl.model_merger", "merge", *told]
        _run(merger, {**os.environ, **environment(settings)}, "merging")
        os.replace(work, out)
    return out


def _summary(settings: Settings, policy: Path) -> Trained:
    played = episodes.read(settings.run.folder / "episodes")
    lost = sum(bool(row.fault) for row in played)
    return Trained(str(policy), _steps(settings), len(played), lost)
