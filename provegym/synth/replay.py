"""Playing calls again on a fresh world, references taken from the replay's own results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct

from provegym.rollout import pointer
from provegym.types import Call, Changes, GroundCall, Outcome, Task, Trace
from provegym.world.session import Session
from provegym.world.world import World

_encode = msgspec.json.Encoder().encode


class Moment:
    """A state that calls lead to from a world's start.

    Each call is made once at each moment, on a fork of its session, and what came of it is kept:
    a replay that differs from another in one call executes only what that call may change.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._known: dict[tuple[str, bytes], tuple[Outcome, Any, Moment]] = {}

    def call(self, name: str, arguments: dict[str, Any]) -> tuple[Outcome, Any, Moment]:
        """The call's outcome, its result and the moment after it: the same one after a call that
        changed nothing.
        """
        key = name, _encode(arguments)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._made(*key)
        return found

    def _made(self, name: str, arguments: bytes) -> tuple[Outcome, Any, Moment]:
        bound = self.session.world.tools.get(name)
        reads = bound is None or bound.tool.effect == "read"
        session = self.session if reads else self.session.fork()
        result = session.call(name, arguments)
        changed = not reads and result.outcome == "ok"
        return result.outcome, result.builtins(), Moment(session) if changed else self

    @cached_property
    def changes(self) -> Changes:
        """What differs from the world's start, in canonical form."""
        return self.session.changes()

    @cached_property
    def digest(self) -> str:
        """Hash of the whole state."""
        return self.session.digest()


class Played(Struct, frozen=True):
    """What a replay gave: the calls as a trace has them, and the moment they led to."""

    calls: tuple[Call, ...]
    end: Moment
    results: dict[str, Any] = {}
    """Results of the executed calls by id."""

    def trace(self, task: Task) -> Trace:
        """The replay as a trace of the task."""
        return Trace(f"{task.id}/replay", task.id, self.calls, final_changes=self.end.changes)


def start_of(world: World, offered: Iterable[str] | None = None) -> Moment:
    """The start of a fresh session in which the tools named are on offer (None: all are)."""
    session = world.open()
    session.offer(offered)
    return Moment(session)


def replay(start: Moment | Played, calls: Iterable[tuple[int, GroundCall]]) -> Played:
    """Make the calls (each with its turn) one after the other, or go on with a replay."""
    before = start if isinstance(start, Played) else Played((), start)
    made, moment, results = list(before.calls), before.end, before.results.copy()
    for turn, call in calls:
        arguments = resolved(call, results) if call.refs else call.arguments
        outcome, result, moment = moment.call(call.name, arguments)
        if outcome == "ok":
            results[call.id] = result
        made.append(Call(call.name, arguments, turn, len(made), outcome, result))
    return Played(tuple(made), moment, results)


def resolved(call: GroundCall, results: dict[str, Any]) -> dict[str, Any]:
    """The arguments, each reference replaced by the value in `results` where there is one."""
    arguments: Any = call.arguments
    for where, ref in call.refs.items():
        if ref.call not in results:
            continue
        try:
            value = pointer.resolve(results[ref.call], ref.path)
            arguments = pointer.replace(arguments, where, value)
        except LookupError:
            continue  # the recorded value stands, as in the reward
    return dict(arguments)


def dependencies(start: Moment, calls: Sequence[GroundCall]) -> list[tuple[str, ...]]:
    """For each call the calls that must come before it: its sources, and every earlier write
    without which it is refused (proved by leaving that write out).
    """
    found: list[set[str]] = [{ref.call for ref in call.refs.values()} for call in calls]
    tools = start.session.world.tools
    for i, left_out in enumerate(calls[:-1]):
        if tools[left_out.name].tool.effect == "read":
            continue
        before = replay(start, [(0, call) for call in calls[:i]])
        played = replay(before, [(0, call) for call in calls[i + 1 :]]).calls
        for j in range(i + 1, len(calls)):
            if played[j - 1].outcome != "ok":
                found[j].add(left_out.id)
    order = [call.id for call in calls]
    return [tuple(sorted(after, key=order.index)) for after in found]
