"""Why a trace has the score it has: the same matching and comparisons, call by call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from provegym.rewards.argument import expected, referred
from provegym.rewards.equality import MISSING, equal
from provegym.rewards.matching import is_matchable, match
from provegym.rewards.pointer import tokens
from provegym.rewards.presets import Preset
from provegym.rewards.presets import preset as preset_of
from provegym.rewards.total import is_masked, score
from provegym.rewards.validity import THIRDS
from provegym.types import Call, GroundCall, Score, Task, Trace


class Comparison(Struct, frozen=True):
    """One argument of a matched call. `refs` are the sources, as `call` + `path`, whose values in
    the policy's own run stand in `wanted`; without any, it is the recorded value.
    """

    key: str
    made: Any
    wanted: Any
    equal: bool
    refs: tuple[str, ...] = ()


class CallNote(Struct, frozen=True):
    """What one call made counted for.

    `validity` is its level, None for our failure. `matched` is the ground-truth call it stands
    for, or None for the `reason`. `satisfied` and `unsatisfied` are the dependencies of that call
    that were and were not matched at an earlier position.
    """

    position: int
    call: Call
    validity: float | None
    matched: str | None = None
    reason: str = ""
    satisfied: tuple[str, ...] = ()
    unsatisfied: tuple[str, ...] = ()
    arguments: tuple[Comparison, ...] = ()


class Unmatched(Struct, frozen=True):
    """A ground-truth call that no call made stands for, and why."""

    turn: int
    ground: GroundCall
    reason: str


class Explanation(Struct, frozen=True):
    """A score with the reasons for it; `provegym.rewards.render.render` makes it readable."""

    score: Score
    calls: tuple[CallNote, ...]
    unmatched: tuple[Unmatched, ...]


def explain(task: Task, trace: Trace, preset: Preset | str = "paper") -> Explanation:
    """The score of `trace` on `task` and what it comes from. Raises as `score` does."""
    chosen = preset if isinstance(preset, Preset) else preset_of(preset)
    result = score(task, trace, chosen)
    view = _View(task, trace, chosen)
    notes = tuple(view.note(position) for position in range(len(trace.calls)))
    return Explanation(result, notes, tuple(view.unmatched()))


class _View:
    """One trace matched against one task."""

    def __init__(self, task: Task, trace: Trace, preset: Preset) -> None:
        self.truth, self.calls, self.preset = task.ground_truth, trace.calls, preset
        self.masked = is_masked(trace)
        self.mu = (
            {}
            if self.masked
            else match(self.truth, self.calls, ok_only=preset.match_ok, from_turn=preset.match_turn)
        )
        self.by_position = {
            self.mu[ground.id]: ground for _, ground in self.truth if ground.id in self.mu
        }

    def note(self, position: int) -> CallNote:
        call, ground = self.calls[position], self.by_position.get(position)
        level = None if call.outcome == "infrastructure" else THIRDS[call.outcome] / 3
        if ground is None:
            return CallNote(position, call, level, reason=self._why_call(call))
        done = [self.mu.get(other, position) < position for other in ground.after]
        return CallNote(
            position,
            call,
            level,
            matched=ground.id,
            satisfied=tuple(o for o, ok in zip(ground.after, done, strict=True) if ok),
            unsatisfied=tuple(o for o, ok in zip(ground.after, done, strict=True) if not ok),
            arguments=tuple(self._compare(ground, call)),
        )

    def unmatched(self) -> list[Unmatched]:
        return [
            Unmatched(turn, ground, self._why_ground(turn, ground))
            for turn, ground in self.truth
            if ground.id not in self.mu
        ]

    def _compare(self, ground: GroundCall, call: Call) -> list[Comparison]:
        wanted, refs = expected(ground, self.calls, self.mu), self._refs_used(ground)
        return [
            Comparison(
                key,
                call.arguments[key],
                value,
                equal(value, call.arguments[key]),
                tuple(refs.get(key, ())),
            )
            for key, value in wanted.items()
        ]

    def _refs_used(self, ground: GroundCall) -> Mapping[str, list[str]]:
        used: dict[str, list[str]] = {}
        for pointer, ref in ground.refs.items():
            path = tokens(pointer)
            if path and referred(ground, ref, self.calls, self.mu) is not MISSING:
                used.setdefault(path[0], []).append(ref.call + ref.path)
        return used

    def _why_call(self, call: Call) -> str:
        if self.masked:
            return "the episode is masked"
        if not is_matchable(call):
            return _unmatchable(call)
        same_tool = [(turn, ground) for turn, ground in self.truth if ground.name == call.name]
        if not same_tool:
            return "the task needs no call of this tool"
        return "; ".join(
            f"{ground.id}: {self._obstacle(turn, ground, call) or self._taken(ground)}"
            for turn, ground in same_tool
        )

    def _why_ground(self, turn: int, ground: GroundCall) -> str:
        if self.masked:
            return "the episode is masked"
        same_tool = [(p, call) for p, call in enumerate(self.calls) if call.name == ground.name]
        if not same_tool:
            return "no call of this tool was made"
        return "; ".join(
            f"call {p}: {self._obstacle(turn, ground, call) or self._used(p)}"
            for p, call in same_tool
        )

    def _obstacle(self, turn: int, ground: GroundCall, call: Call) -> str:
        """Why `call`, of the same tool, may not stand for `ground`; empty where it may."""
        if not is_matchable(call):
            return _unmatchable(call)
        lacking = sorted(ground.arguments.keys() - call.arguments.keys())
        if lacking:
            return f"lacks {', '.join(lacking)}"
        if self.preset.match_ok and call.outcome != "ok":
            return f"a match must be ok, not {call.outcome}"
        if self.preset.match_turn and call.turn < turn:
            return f"made in turn {call.turn}, needed from turn {turn} on"
        return ""

    def _taken(self, ground: GroundCall) -> str:
        return f"call {self.mu[ground.id]} stands for it"

    def _used(self, position: int) -> str:
        return f"stands for {self.by_position[position].id}"


def _unmatchable(call: Call) -> str:
    if call.outcome == "unknown_tool":
        return "no tool of that name was offered"
    return "the arguments are not a JSON object"
