"""The certificate of a task: run-time proof that the reward tells right from wrong on it.

Each check is carried out on live sessions; a task that fails one is dropped and counted under
the check's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from provegym.rewards import PRESETS, score
from provegym.seeding import rng
from provegym.synth.replay import Played, replay
from provegym.types import Certificate, GroundCall, Task, Trace
from provegym.world.sample import arguments
from provegym.world.world import World

JUDGES = ("paper", "strict")
"""Every check holds under both presets."""
EPSILON = 1e-9

Calls = Sequence[tuple[int, GroundCall]]


def certify(task: Task, world: World) -> Certificate:
    """Run all checks; `passed` is whether all hold (the second process adds its own)."""
    examiner = _Examiner(task, world)
    checks = examiner.with_calls() if task.ground_truth else examiner.without_calls()
    found = dict(checks)
    best = {name: examiner.totals[name] for name in JUDGES}
    return Certificate(all(found.values()), examiner.played.digest, found, best)


class _Examiner:
    def __init__(self, task: Task, world: World) -> None:
        self.task, self.world = task, world
        self.calls = task.ground_truth
        self.names = {t.function.name for t in task.tools}
        self.names |= {t.function.name for turn in task.turns for t in turn.tools}
        self.played = self._play(self.calls)
        self.totals = self._totals(self.played)

    def _play(self, calls: Iterable[tuple[int, GroundCall]]) -> Played:
        return replay(self.world, calls, self.names)

    def _totals(self, played: Played) -> dict[str, float]:
        trace = played.trace(self.task)
        return {name: _total(self.task, trace, name) for name in JUDGES}

    def _lower(self, calls: Iterable[tuple[int, GroundCall]]) -> bool:
        """Whether these calls score strictly less than the ground truth under both presets."""
        other = self._totals(self._play(calls))
        return all(other[name] < self.totals[name] - EPSILON for name in JUDGES)

    # -- tasks with calls ------------------------------------------------------------------

    def with_calls(self) -> Iterator[tuple[str, bool]]:
        yield "replays_ok", all(c.outcome == "ok" for c in self.played.calls)
        yield (
            "same_results",
            [c.result for c in self.played.calls] == [c.result for _, c in self.calls],
        )
        yield "same_changes", self.played.changes == self.task.final_changes
        yield "scores_maximum", self._is_maximum()
        yield "nothing_is_lower", self._lower([])
        yield "reading_all_is_lower", self._lower(self._reads())
        yield "wrong_value_is_lower", all(map(self._lower, self._wrong()))
        yield (
            "dropped_call_is_lower",
            all(
                self._lower([*self.calls[:i], *self.calls[i + 1 :]]) for i in range(len(self.calls))
            ),
        )
        yield "unknown_tool_is_lower", self._lower([*self.calls, self._unknown()])
        yield "repeats_never_pay", all(map(self._repeat_never_pays, range(len(self.calls))))
        yield "over_budget_is_lower", self._lower(self._over_budget())

    def _is_maximum(self) -> bool:
        trace = self.played.trace(self.task)
        scores = [score(self.task, trace, PRESETS[name]) for name in JUDGES]
        return all(
            s.total is not None
            and s.max_total is not None
            and abs(s.total - s.max_total) < EPSILON
            and s.state == 1
            for s in scores
        )

    def _reads(self) -> Calls:
        session = self.world.open()
        rnd = rng(self.task.seed, "reads", self.task.id)
        reads = [
            b.tool
            for n, b in self.world.tools.items()
            if n in self.names and b.tool.effect == "read"
        ]
        return [
            (0, GroundCall(f"r{i}", t.name, arguments(t, session.state(self._server(t.name)), rnd)))
            for i, t in enumerate(reads)
        ]

    def _server(self, tool: str) -> str:
        return self.world.tools[tool].server.name

    def _wrong(self) -> Iterator[Calls]:
        """For each call with arguments: the same sequence with one value spoilt."""
        for i, (turn, call) in enumerate(self.calls):
            if call.arguments:
                name = sorted(call.arguments)[0]
                refs = {w: r for w, r in call.refs.items() if w.split("/")[1] != name}
                wrong = {**call.arguments, name: _other(call.arguments[name])}
                spoilt = (turn, replace(call, arguments=wrong, refs=refs))
                yield [*self.calls[:i], spoilt, *self.calls[i + 1 :]]

    def _unknown(self) -> tuple[int, GroundCall]:
        return len(self.task.turns) - 1, GroundCall("x", "no_such_tool", {})

    def _repeat_never_pays(self, i: int) -> bool:
        turn, call = self.calls[i]
        again = (turn, replace(call, id="again"))
        played = self._play([*self.calls[: i + 1], again, *self.calls[i + 1 :]])
        totals = self._totals(played)
        never_higher = all(totals[n] <= self.totals[n] + EPSILON for n in JUDGES)
        harmless = played.changes == self.task.final_changes
        return never_higher and (harmless or totals["strict"] < self.totals["strict"] - EPSILON)

    def _over_budget(self) -> Calls:
        turn, call = self.calls[-1]
        spare = len(self.calls) // 2 + len(self.calls) % 2
        return [*self.calls, *((turn, replace(call, id=f"e{i}")) for i in range(spare + 1))]

    # -- tasks without ---------------------------------------------------------------------

    def without_calls(self) -> Iterator[tuple[str, bool]]:
        yield "silence_scores_one", all(self.totals[n] == 1 for n in JUDGES)
        reads = self._reads()[:1] or [self._unknown()]
        others = self._totals(self._play(reads))
        yield "any_call_scores_zero", all(others[n] == 0 for n in JUDGES)
        yield "nothing_changes", not self.task.final_changes


def _total(task: Task, trace: Trace, preset: str) -> float:
    total = score(task, trace, PRESETS[preset]).total
    assert total is not None, "a replay has no infrastructure fault"
    return total


def _other(value: Any) -> Any:
    """A value of the same type that is not equal."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, list):
        return [_other(item) for item in value] or ["x"]
    return {} if isinstance(value, dict) and value else f"{value}x"
