"""Agents of somebody else as whoever plays tasks: they speak MCP to our gateway."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from provegym import worlds
from provegym.errors import InputError
from provegym.evals.heldout_suite import Plays
from provegym.evals.plan import Settings
from provegym.records import read_tasks
from provegym.rollout.run import Progress, play_file


@contextmanager
def agent(settings: Settings, progress: Progress | None = None) -> Iterator[Plays | None]:
    """The settings' agent, which is started for each episode (see `provegym.gateway.agents`); None
    where they name none. A gateway serves while the block runs.

    Raises `InputError` for a command that starts no program.
    """
    if settings.agent is None:
        yield None
        return
    from provegym.gateway.agents import player

    try:
        words = shlex.split(settings.agent)
    except ValueError as error:
        told = f"--agent {settings.agent!r} cannot be split into words"
        raise InputError(f"{told}: {error}") from error
    if not words or not shutil.which(words[0]):
        raise InputError(
            f"the agent's command {settings.agent!r} starts no program; give another one"
        )
    with player(words, settings.timeout) as play:

        def plays(tasks: Path, traces: Path) -> object:
            return play_file(
                tasks,
                settings.model,
                traces,
                play,
                end=_nothing,
                concurrency=settings.concurrency,
                trials=settings.trials,
                seed=settings.seed,
                settings={"agent": settings.agent, "seconds": settings.timeout},
                world=worlds.content(read_tasks(tasks)),
                retry_masked=True,
                progress=progress,
            )

        yield plays


async def _nothing() -> None:
    """Agents hold nothing beyond their episodes."""
