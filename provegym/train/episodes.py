"""Live episodes for training: many at once in one event loop, each over its own session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from provegym import loops
from provegym.rollout import run
from provegym.rollout.loop import Limits as LoopLimits
from provegym.rollout.run import Job, SessionOpener
from provegym.train.policy import Demonstrator, LocalPolicies, LocalPolicy
from provegym.types import Score, Task, Trace

DEMONSTRATION = "demonstration"
"""The policy's name of a job that follows the ground truth."""
Rewarder = Callable[[Task, Trace], Score]


@dataclass(frozen=True)
class Episode:
    """What one rollout left. Infrastructure faults leave a masked score."""

    task: Task
    policy: LocalPolicy | Demonstrator
    trace: Trace
    score: Score

    @property
    def sampled(self) -> bool:
        """Whether the policy itself played it."""
        return self.trace.policy != DEMONSTRATION


def play(
    jobs: Sequence[Job],
    policies: LocalPolicies,
    open_session: SessionOpener,
    reward: Rewarder,
    limits: LoopLimits,
) -> list[Episode]:
    """Roll out all jobs concurrently, each over a session of its own; in the order of the jobs."""

    async def one(job: Job) -> Episode:
        shown = job.policy == DEMONSTRATION
        policy = policies.demonstrator(job.task) if shown else policies(job.task, job.seed)
        trace = await run.play(job, open_session, lambda *_: policy, limits)
        return Episode(job.task, policy, trace, reward(job.task, trace))

    async def everyone() -> list[Episode]:
        return await asyncio.gather(*map(one, jobs))

    return loops.run(everyone())
