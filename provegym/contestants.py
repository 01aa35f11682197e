"""Whom the benchmark measures: a model, a policy of ours, or an agent of somebody else.

Each is a `Contestant` for `provegym.evals.benchmark.run`, which any verb may hand on.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from provegym import worlds
from provegym.errors import InputError
from provegym.evals.benchmark import Contestant, Kind
from provegym.records import read_tasks
from provegym.rollout.policies import POLICIES
from provegym.rollout.run import Progress, play_file, rollout_file
from provegym.rollout.summary import TraceSummary


class Effort(Struct, frozen=True):
    """How a contestant plays: trials of each task, episodes at once, whether to retry faults."""

    trials: int = 1
    concurrency: int = 4
    seed: int = 0
    retry_masked: bool = False


def model(
    policy: str,
    effort: Effort,
    *,
    name: str = "",
    base_url: str | None = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
    progress: Progress | None = None,
) -> Contestant:
    """A model behind an endpoint (`openai:MODEL`) or on this machine (`hf:PATH`), or a policy of
    ours. Raises as `provegym.llm.factory.policy_factory` does.
    """
    from provegym.learning import own_policy
    from provegym.llm.factory import policy_factory

    make = own_policy(policy, temperature, max_tokens) or policy_factory(
        policy,
        base_url=base_url,
        temperature=temperature,
        max_tokens=max_tokens,
        concurrency=effort.concurrency,
        seed=effort.seed,
    )
    sampling = {"temperature": temperature, "max_tokens": max_tokens}

    def plays(tasks: Path, traces: Path) -> TraceSummary:
        return rollout_file(
            tasks,
            policy,
            traces,
            open_session=worlds.open_session,
            make_policy=make,
            concurrency=effort.concurrency,
            trials=effort.trials,
            seed=effort.seed,
            settings=sampling,
            world=worlds.content(read_tasks(tasks)),
            retry_masked=effort.retry_masked,
            progress=progress,
        )

    kind: Kind = "policy" if policy in POLICIES else "model"
    return Contestant(name or policy, kind, {"policy": policy, **sampling}, plays)


@contextmanager
def agent(
    command: str, effort: Effort, *, name: str, seconds: float, progress: Progress | None = None
) -> Iterator[Contestant]:
    """An agent that speaks MCP, by its command (see `provegym.gateway.agents`); a gateway serves
    while the block runs. Raises `InputError` for a command that starts no program.
    """
    from provegym.gateway.agents import player

    words = shlex.split(command)
    if not words or not shutil.which(words[0]):
        raise InputError(f"the agent's command {command!r} starts no program; give another one")
    settings = {"agent": command, "seconds": seconds}
    with player(words, seconds) as play:

        def plays(tasks: Path, traces: Path) -> TraceSummary:
            return play_file(
                tasks,
                name,
                traces,
                play,
                end=_nothing,
                concurrency=effort.concurrency,
                trials=effort.trials,
                seed=effort.seed,
                settings=settings,
                world=worlds.content(read_tasks(tasks)),
                retry_masked=effort.retry_masked,
                progress=progress,
            )

        yield Contestant(name, "agent", settings, plays)


async def _nothing() -> None:
    """Agents hold nothing beyond their episodes."""
