"""The certificate of a task: run-time proof that the reward tells right from wrong on it.

Each check is carried out on live sessions; a task that fails one is dropped and counted under
the check's name. Every check holds under both presets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from provegym.rewards import PRESETS, score
from provegym.seeding import rng
from provegym.synth.replay import Moment, Played, replay, start_of
from provegym.types import Certificate, Changes, GroundCall, Score, Task
from provegym.world.sample import arguments, value
from provegym.world.session import Session
from provegym.world.tool import Effect, Tool
from provegym.world.world import World

JUDGES = ("paper", "strict")
NOTED = frozenset(["deterministic"])
"""Checks that say something of a task and keep none out."""
EPSILON = 1e-9
_DRAWS = 4
"""Values of a parameter's type that are drawn to find one that differs."""

Calls = Sequence[tuple[int, GroundCall]]
Variant = tuple[int, Calls]


def certify(task: Task, world: World, start: Moment | None = None) -> Certificate:
    """Run all checks; `passed` is whether all hold (the second process adds its own).

    `start` is the moment to replay from, with the task's tools on offer; a fresh one by default.
    """
    examiner = _Examiner(task, start or start_of(world, task_tools(task)))
    checks = examiner.with_calls() if task.ground_truth else examiner.without_calls()
    found = dict(checks)
    return Certificate(not failed(found), examiner.played.end.digest, found, examiner.totals)


def failed(checks: Mapping[str, bool]) -> list[str]:
    """The checks that do not hold and ought to."""
    return [name for name, passed in checks.items() if not passed and name not in NOTED]


def task_tools(task: Task) -> list[str]:
    """Names of all tools that the task shows in some turn."""
    shown = [task.tools, *(turn.tools for turn in task.turns)]
    return [tool.function.name for tools in shown for tool in tools]


class _Examiner:
    """Replays the ground truth and what a policy might do instead.

    A variant is (i, calls): the first `i` calls of the ground truth, then these.
    """

    def __init__(self, task: Task, start: Moment) -> None:
        self.task, self.start = task, start
        self.calls = task.ground_truth
        self.last = len(task.turns) - 1
        self.rnd = rng(task.seed, "certify", task.id)
        self.until = [Played((), start)]
        for call in self.calls:
            self.until.append(replay(self.until[-1], [call]))
        self.played = self.until[-1]
        self.scores = self._scores(self.played)
        self.totals = _totals(self.scores)

    def _scores(self, played: Played) -> list[Score]:
        trace = played.trace(self.task)
        return [score(self.task, trace, PRESETS[name]) for name in JUDGES]

    def _lower(self, variant: Variant) -> bool:
        """Whether these calls score strictly less than the ground truth."""
        i, calls = variant
        other = _totals(self._scores(replay(self.until[i], calls)))
        return all(other[name] < self.totals[name] - EPSILON for name in JUDGES)

    # -- tasks with calls ------------------------------------------------------------------

    def with_calls(self) -> Iterator[tuple[str, bool]]:
        made, n, goal = self.played.calls, len(self.calls), self.task.final_changes
        yield "replays_ok", all(c.outcome == "ok" for c in made)
        differing = self._differing()
        yield "same_results", differing <= self._idle()
        if self._outside():
            yield "deterministic", not differing
        yield "same_changes", self.played.end.changes == goal
        yield "not_done_at_start", not goal or not _holds(self.start.session, goal)
        yield "scores_maximum", self._is_maximum()
        yield "nothing_is_lower", self._lower((0, []))
        yield "reading_all_is_lower", self._lower((0, self._sampled("read")))
        yield "wrong_value_is_lower", all(map(self._lower, self._wrong()))
        dropped = ((i, self.calls[i + 1 :]) for i in range(n))
        yield "dropped_call_is_lower", all(map(self._lower, dropped))
        yield "unknown_tool_is_lower", self._lower((n, [self._unknown()]))
        yield "extra_never_pays", all(map(self._never_pays, self._extra()))
        yield "repeat_never_pays", all(map(self._never_pays, self._repeated()))
        yield "over_budget_is_lower", self._lower((n, self._over_budget()))

    def _differing(self) -> set[str]:
        """Ids of the calls that did not give again what the ground truth says they gave."""
        pairs = zip(self.played.calls, self.calls, strict=True)
        return {call.id for made, (_, call) in pairs if made.result != call.result}

    def _outside(self) -> bool:
        """Whether a server of the world runs outside, so that results may differ."""
        return any(server.outside for server in self.start.session.world.servers.values())

    def _idle(self) -> set[str]:
        """Ids of the calls of servers outside that may give something else each time: those that
        only read, and whose results no other call uses.
        """
        known = self.start.session.world.tools
        used = {ref.call for _, call in self.calls for ref in call.refs.values()}
        bound = {call.id: known[call.name] for _, call in self.calls if call.name in known}
        reading = {i for i, b in bound.items() if b.server.outside and b.tool.effect == "read"}
        return reading - used

    def _is_maximum(self) -> bool:
        totals = [(s.total or 0, s.max_total or 0) for s in self.scores]
        reached = all(s.state == 1 for s in self.scores)
        return reached and all(abs(a - b) < EPSILON for a, b in totals)

    def _sampled(self, effect: Effect) -> Calls:
        """A plausible call of every tool on offer that reads (or writes), in the last turn."""
        tools = [t for t in self._offered() if t.effect == effect]
        return [(self.last, self._plausible(i, t)) for i, t in enumerate(tools)]

    def _offered(self) -> list[Tool]:
        known = self.start.session.world.tools
        return [known[name].tool for name in task_tools(self.task) if name in known]

    def _unserved(self) -> Calls:
        """A call of every tool that is shown, but that no server of the world has."""
        known = self.start.session.world.tools
        names = [name for name in task_tools(self.task) if name not in known]
        return [(self.last, GroundCall("x", name, {})) for name in names]

    def _plausible(self, i: int, tool: Tool) -> GroundCall:
        state = self.start.session.state(self._server(tool.name))
        return GroundCall(f"x{i}", tool.name, arguments(tool, state, self.rnd))

    def _server(self, tool: str) -> str:
        return self.start.session.world.tools[tool].place

    def _wrong(self) -> Iterator[Variant]:
        """For each call with arguments: the ground truth with one of its values spoilt."""
        for i, (turn, call) in enumerate(self.calls):
            if call.arguments:
                name = self.rnd.choice(list(call.arguments))
                refs = {w: r for w, r in call.refs.items() if w.split("/")[1] != name}
                wrong = {**call.arguments, name: self._other(call, name)}
                spoilt = replace(call, arguments=wrong, refs=refs)
                yield i, [(turn, spoilt), *self.calls[i + 1 :]]

    def _other(self, call: GroundCall, name: str) -> Any:
        """Another value of the same type, a plausible one if a few draws give it."""
        given = call.arguments[name]
        bound = self.start.session.world.tools.get(call.name)
        known = {p.name: p for p in bound.tool.parameters} if bound else {}
        if bound is None or name not in known:
            return _spoilt(given)
        state = self.start.session.state(bound.place)
        drawn = (value(known[name], state, self.rnd) for _ in range(_DRAWS))
        return next((v for v in drawn if v != given), _spoilt(given))

    def _unknown(self) -> tuple[int, GroundCall]:
        return self.last, GroundCall("x", "no_such_tool", {})

    def _extra(self) -> Iterator[Variant]:
        """After the ground truth, one more call: of a tool that reads, and of one that writes."""
        for effect in ("read", "write"):
            tools = [t for t in self._offered() if t.effect == effect]
            if tools:
                extra = self._plausible(0, self.rnd.choice(tools))
                yield len(self.calls), [(self.last, extra)]

    def _repeated(self) -> Iterator[Variant]:
        for i, (turn, call) in enumerate(self.calls, 1):
            yield i, [(turn, replace(call, id="again")), *self.calls[i:]]

    def _never_pays(self, variant: Variant) -> bool:
        """Never more than the ground truth; less under strict if it ends in another state."""
        i, calls = variant
        played = replay(self.until[i], calls)
        other = _totals(self._scores(played))
        never_higher = all(other[n] <= self.totals[n] + EPSILON for n in JUDGES)
        harmless = played.end.changes == self.played.end.changes
        return never_higher and (harmless or other["strict"] < self.totals["strict"] - EPSILON)

    def _over_budget(self) -> Calls:
        """The last call again, once more often than the budget forgives."""
        turn, call = self.calls[-1]
        spare = len(self.calls) // 2 + len(self.calls) % 2
        return [(turn, replace(call, id=f"e{i}")) for i in range(spare + 1)]

    # -- tasks without ---------------------------------------------------------------------

    def without_calls(self) -> Iterator[tuple[str, bool]]:
        yield "silence_scores_one", all(self.totals[n] == 1 for n in JUDGES)
        sampled = (*self._sampled("read"), *self._sampled("write"))
        calls = [self._unknown(), *sampled, *self._unserved()]
        yield "any_call_scores_zero", all(map(self._scores_zero, calls))
        yield "nothing_changes", not self.task.final_changes

    def _scores_zero(self, call: tuple[int, GroundCall]) -> bool:
        scores = self._scores(replay(self.start, [call]))
        return set(_totals(scores).values()) == {0.0}


def _totals(scores: Sequence[Score]) -> dict[str, float]:
    """Totals by preset; a replay has no infrastructure fault, so none is masked."""
    return {s.preset: s.total for s in scores if s.total is not None}


def _holds(start: Session, changes: Changes) -> bool:
    """Whether all of the wanted changes are so already at the start."""
    tables = start.world.templates
    return all(
        table in tables and _row_holds(tables[table].rows, key, fields)
        for table, rows in changes.items()
        for key, fields in rows.items()
    )


def _row_holds(rows: dict[str, Any], key: str, fields: dict[str, Any] | None) -> bool:
    """A deleted row is not there, a changed one has the values, a created one has a like."""
    if fields is None:
        return key not in rows
    likes = rows.values() if key.startswith("+") else [rows[k] for k in (key,) if k in rows]
    return any(
        all(msgspec.to_builtins(getattr(row, name)) == wanted for name, wanted in fields.items())
        for row in likes
    )


def _spoilt(given: Any) -> Any:
    """A value of the same type that is not equal."""
    if isinstance(given, bool):
        return not given
    if isinstance(given, int | float):
        return given + 1
    if isinstance(given, list):
        return [_spoilt(item) for item in given] or ["x"]
    return {} if isinstance(given, dict) and given else f"{given}x"
