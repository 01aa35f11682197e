"""Total: the weighted sum of the components, as one `Score` (paper section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from provegym.ground import check_ground
from provegym.rewards.argument import argument
from provegym.rewards.coverage import coverage
from provegym.rewards.efficiency import efficiency
from provegym.rewards.matching import match
from provegym.rewards.name import name
from provegym.rewards.presets import PRESETS, Preset
from provegym.rewards.presets import preset as preset_of
from provegym.rewards.state import state
from provegym.rewards.validity import validity
from provegym.types import GroundCall, Score, Task, Trace

_MASKED: Final = (None,) * 9
_NOTHING: Final = (0.0,) * 6
"""Validity, coverage, efficiency, name, argument and state where no call is needed."""


def score(task: Task, trace: Trace, preset: Preset | str = "paper") -> Score:
    """The reward of `trace` on `task`; a pure function of the two records.

    An episode that our own failure touched is masked: it has no numbers, rather than a 0. A task
    that needs no call rewards exactly the trace without any. Raises `UnknownName` for a preset
    that does not exist and `InputError` for a task whose ground truth cannot be (see
    `provegym.ground`).
    """
    chosen = preset if isinstance(preset, Preset) else PRESETS.get(preset) or preset_of(preset)
    if is_masked(trace):
        return Score(trace.id, task.id, chosen.name, *_MASKED, masked=True)
    check_ground(task)
    truth = task.ground_truth
    if not truth:
        total = 0.0 if trace.calls else 1.0
        return Score(trace.id, task.id, chosen.name, *_NOTHING, total, 1.0, total)
    return _weigh(task, trace, chosen, truth)


def is_masked(trace: Trace) -> bool:
    """Whether our own failure touched the episode, so that it must not be learnt from."""
    for call in trace.calls:
        if call.outcome == "infrastructure":
            return True
    return trace.stop_reason == "infrastructure"


def _weigh(
    task: Task, trace: Trace, preset: Preset, turned: Sequence[tuple[int, GroundCall]]
) -> Score:
    truth = [ground for _, ground in turned]
    mu = match(turned, trace.calls, ok_only=preset.match_ok, from_turn=preset.match_turn)
    calls, needed = trace.calls, len(truth)
    over = max(len(calls), needed) if preset.pad_calls else len(calls)
    valid, named = validity(calls, over), name(truth, calls, over)
    covered = coverage(truth, mu)
    penalty = efficiency(len(calls), needed, preset.alpha, preset.beta)
    filled = argument(truth, calls, mu, needed if preset.pad_pairs else len(mu))
    reached = state(trace.final_changes, task.final_changes, covered)
    total = (
        preset.w_validity * valid
        + preset.w_coverage * covered
        + preset.w_efficiency * penalty
        + preset.w_name * named
        + preset.w_argument * filled
        + preset.w_state * reached
    )
    components = (valid, covered, penalty, named, filled, reached)
    best = preset.max_total
    return Score(trace.id, task.id, preset.name, *components, total, best, total / best)
