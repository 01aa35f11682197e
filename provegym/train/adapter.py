"""What the adapters to other people's trainers have in common.

The trainer owns the model and the loop; ours are the task, its live session and the reward.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from provegym.dataset.export import refuse_unfinished
from provegym.errors import InfrastructureError
from provegym.evals.canary import see_no_canary
from provegym.rewards import presets
from provegym.rewards.total import score
from provegym.rollout.loop import Limits
from provegym.rollout.run import load_tasks
from provegym.rollout.steps import Steps
from provegym.train.sessions import opener
from provegym.types import Score, Task, Trace

_PARTS = ("validity", "coverage", "efficiency", "name", "argument", "state", "normalized")


def tasks_of(path: Path) -> list[Task]:
    """The tasks to learn from. Raises `InputError` for a file that is unfinished or broken, and for
    tasks of the benchmark.
    """
    see_no_canary(path)
    refuse_unfinished(path)
    return load_tasks(path)


def preset_named(name: str) -> str:
    """The same, before anything is played for it. Raises `UnknownName` for a preset of no name."""
    presets.preset(name)
    return name


def begin(task: Task, name: str, url: str = "", max_steps: int = 10) -> Steps:
    """An episode called `name`, over a session of this process or of the gateway at `url`.

    `max_steps` limits the assistant messages in one user turn. Raises `InfrastructureError` for a
    gateway that cannot be reached.
    """
    return Steps(task, opener(url)(task), limits=Limits(max_steps=max_steps), trace_id=name)


def judged(task: Task, trace: Trace, preset: str) -> tuple[float, dict[str, float]]:
    """The reward of an episode that is over, 1 at most, and what it is made of.

    Raises `InfrastructureError` for one that a fault of ours ended: there is no reward then.
    """
    found = score(task, trace, preset)
    see_unmasked(trace, found)
    assert found.normalized is not None
    return found.normalized, components(task, trace, found)


def see_unmasked(trace: Trace, found: Score) -> None:
    """Raise `InfrastructureError` for an episode that must not be learnt from."""
    if found.masked:
        last = trace.messages[-1] if trace.messages else {}
        raise InfrastructureError(str(last.get("fault", "a call was lost")))


def components(task: Task, trace: Trace, found: Score) -> dict[str, float]:
    """What a trainer logs of an episode; the same keys for every task."""
    strict = score(task, trace, "strict").normalized
    return {
        **{part: float(getattr(found, part)) for part in _PARTS},
        "strict": float(strict or 0.0),
        "calls": float(len(trace.calls)),
        "malformed": float(sum(call.outcome == "malformed" for call in trace.calls)),
        "finished": float(trace.stop_reason == "done"),
    }


def announcement(tools: Iterable[str]) -> str:
    """What stands before a user turn with which tools appear, where the list that the model was
    shown at the start cannot grow. `tools` are JSON.
    """
    listed = "\n".join(tools)
    return f"From now on there are these tools, too:\n<tools>\n{listed}\n</tools>\n\n"
