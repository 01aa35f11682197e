"""Many episodes at once, into one trace file that can be taken up again after a kill."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from provegym import loops
from provegym.errors import InfrastructureError, InputError
from provegym.records import (
    Manifest,
    Store,
    config_hash,
    content_hash,
    encode,
    plain,
    read,
    read_tasks,
    write_atomic,
    write_manifest,
)
from provegym.rollout.loop import (
    DEFAULT_LIMITS,
    OUR_FAULTS,
    Limits,
    Session,
    fault_message,
    run_episode,
)
from provegym.rollout.reply import PolicyFactory, aclose
from provegym.rollout.summary import TraceSummary, is_masked, last_fault, summarize
from provegym.seeding import derive
from provegym.types import Task, Trace

SessionOpener = Callable[[Task], Session]
"""Opens a fresh session of a task's world; raises `InfrastructureError` for our faults."""
Progress = Callable[[int, int], None]
"""Called with the number of traces written so far and the number wanted."""
MOST_LOST = 20
"""Episodes lost to faults before any is played to its end, after which going on is in vain."""


class Job(NamedTuple):
    """One episode to play."""

    task: Task
    trial: int
    policy: str
    root_seed: int

    @property
    def trace_id(self) -> str:
        """`task/policy/trial`: the key of the trace."""
        return f"{self.task.id}/{self.policy}/{self.trial}"

    @property
    def seed(self) -> int:
        """The episode's seed, in 31 bits (samplers and endpoints take no more)."""
        return derive(self.root_seed, "rollout", self.task.id, self.trial) % 2**31


Play = Callable[[Job], Awaitable[Trace]]
"""Plays one episode. Faults of ours are told by a masked trace (`masked`)."""


def rollout_file(
    tasks: Path,
    policy: str,
    out: Path,
    *,
    open_session: SessionOpener,
    make_policy: PolicyFactory,
    concurrency: int = 16,
    trials: int = 1,
    seed: int = 0,
    limits: Limits = DEFAULT_LIMITS,
    settings: Mapping[str, Any] | None = None,
    world: str = "",
    retry_masked: bool = False,
    progress: Progress | None = None,
) -> TraceSummary:
    """Play every task `trials` times with the policy called `policy`; traces go to `out`.

    Rows stand in the order of the tasks, whatever finished first, and each is written once all
    before it are; so a killed run goes on where it stopped. `concurrency` episodes run at once.
    `settings` is what else shapes the policy (sampling, weights) and `world` the hash of the
    worlds' content: both stand in the manifest. Our faults are masked and counted; with
    `retry_masked` the episodes that an earlier run lost so are played again, and stand last.

    Raises `InputError` for bad numbers, a broken or doubled task or a file that another
    configuration made, `BudgetSpent` and `EndpointDown` from the policy, and `InfrastructureError`
    where the first `MOST_LOST` episodes are all lost to faults; what was written stays.
    """

    async def one(job: Job) -> Trace:
        return await play(job, open_session, make_policy, limits)

    return play_file(
        tasks,
        policy,
        out,
        one,
        end=lambda: aclose(make_policy),
        concurrency=concurrency,
        trials=trials,
        seed=seed,
        settings={"limits": limits, "settings": dict(settings or {})},
        world=world,
        retry_masked=retry_masked,
        progress=progress,
    )


def play_file(
    tasks: Path,
    policy: str,
    out: Path,
    play: Play,
    *,
    end: Callable[[], Awaitable[None]],
    concurrency: int,
    trials: int,
    seed: int,
    settings: Mapping[str, Any],
    world: str,
    retry_masked: bool,
    progress: Progress | None,
) -> TraceSummary:
    """The same for any way to play an episode; `end` is awaited when all are over."""
    jobs = _jobs(tasks, policy, trials, seed)
    if concurrency < 1:
        raise InputError(f"concurrency is {concurrency}; it must be at least 1")
    told = {"policy": policy, "trials": trials, **settings}
    made_by = Manifest(
        "traces",
        config=config_hash(told),
        seed=seed,
        world=world,
        parent=content_hash(tasks),
        settings=plain(told),
    )
    if retry_masked and out.exists():
        _forget_masked(out, made_by)
    with Store(out, Trace, made_by) as store:
        if not store.complete:
            run = _Run(store, jobs, play, end, progress)
            loops.run(run.all(concurrency))
    return summarize(read(out, Trace))


def _forget_masked(out: Path, made_by: Manifest) -> None:
    """Take the masked traces out of a file, which is incomplete from then on."""
    with Store(out, Trace, made_by) as store:
        kept = [trace for trace in read(out, Trace) if not is_masked(trace)]
        write_manifest(out, replace(store.manifest, complete=False))
        write_atomic(out, map(encode, kept))


def load_tasks(path: Path) -> list[Task]:
    """The tasks of a file. Raises `InputError` if two have one id, or where there is none."""
    return list(read_tasks(path))


async def play(
    job: Job,
    open_session: SessionOpener,
    make_policy: PolicyFactory,
    limits: Limits = DEFAULT_LIMITS,
) -> Trace:
    """One job's trace. A session that cannot be opened gives a masked one."""
    try:
        session = open_session(job.task)
    except OUR_FAULTS as fault:
        return masked(job, fault)
    return await run_episode(
        job.task,
        session,
        make_policy(job.task, job.seed),
        limits=limits,
        trace_id=job.trace_id,
        policy_name=job.policy,
        seed=job.seed,
    )


def masked(job: Job, fault: Exception) -> Trace:
    """The trace of an episode that a fault of ours kept from being played."""
    return Trace(
        job.trace_id,
        job.task.id,
        (),
        policy=job.policy,
        seed=job.seed,
        messages=(fault_message(fault, job.trace_id),),
        stop_reason="infrastructure",
    )


def _jobs(tasks: Path, policy: str, trials: int, seed: int) -> list[Job]:
    if trials < 1:
        raise InputError(f"trials is {trials}; it must be at least 1")
    loaded = load_tasks(tasks)
    return [Job(task, trial, policy, seed) for task in loaded for trial in range(trials)]


class _Run:
    """Workers over one list of jobs; the traces are written in its order."""

    def __init__(
        self,
        store: Store[Trace],
        jobs: Sequence[Job],
        play: Play,
        end: Callable[[], Awaitable[None]],
        progress: Progress | None,
    ) -> None:
        self._store, self._wanted, self._progress = store, len(jobs), progress
        self._play, self._end = play, end
        self._todo = [job for job in jobs if job.trace_id not in store.keys]
        self._done: dict[int, Trace] = {}
        self._written = self._lost = 0
        self._played = False
        self._tokens = {"prompt_tokens": 0.0, "completion_tokens": 0.0}

    async def all(self, concurrency: int) -> None:
        start = time.monotonic()
        queue = iter(enumerate(self._todo))
        at_once = min(concurrency, len(self._todo))
        workers = [asyncio.create_task(self._work(queue)) for _ in range(at_once)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            await self._end()
        self._store.finish({"seconds": time.monotonic() - start, **self._tokens})

    async def _work(self, queue: Iterator[tuple[int, Job]]) -> None:
        for place, job in queue:
            trace = await self._play(job)
            self._done[place] = trace
            self._write_ready()
            self._see_that_some_are_played(trace)

    def _see_that_some_are_played(self, trace: Trace) -> None:
        """Raise `InfrastructureError` where all episodes so far were lost to faults."""
        self._lost += is_masked(trace)
        self._played = self._played or not is_masked(trace)
        if self._lost >= MOST_LOST and not self._played:
            raise InfrastructureError(
                f"the first {self._lost} episodes were all lost to faults that are not the "
                f"policy's, the last to {last_fault(trace)}; mend the cause and run the same "
                "command again with --retry-masked"
            )

    def _write_ready(self) -> None:
        """Write what no earlier episode is missing for."""
        while self._written in self._done:
            trace = self._done.pop(self._written)
            self._store.append(trace)
            self._written += 1
            for name in self._tokens:
                self._tokens[name] += getattr(trace.usage, name)
            if self._progress:
                self._progress(len(self._store.keys), self._wanted)
