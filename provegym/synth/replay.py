"""Playing calls again on a fresh world, references taken from the replay's own results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from provegym.rollout import pointer
from provegym.types import Call, Changes, GroundCall, Task, Trace
from provegym.world.session import Session
from provegym.world.world import World


class Played(Struct, frozen=True):
    """What a replay gave: the calls as a trace has them, the changes, the state's digest."""

    calls: tuple[Call, ...]
    changes: Changes
    digest: str

    def trace(self, task: Task) -> Trace:
        """The replay as a trace of the task."""
        return Trace(f"{task.id}/replay", task.id, self.calls, final_changes=self.changes)


def replay(
    world: World, calls: Iterable[tuple[int, GroundCall]], offered: Iterable[str] | None = None
) -> Played:
    """Make the calls (each with its turn) on a fresh session, in order."""
    session = world.open()
    session.offer(offered)
    results: dict[str, Any] = {}
    made = [_make(session, turn, i, call, results) for i, (turn, call) in enumerate(calls)]
    return Played(tuple(made), session.changes(), session.digest())


def _make(
    session: Session, turn: int, step: int, call: GroundCall, results: dict[str, Any]
) -> Call:
    arguments = resolved(call, results)
    result = session.call(call.name, arguments)
    value = result.builtins()
    if result.outcome == "ok":
        results[call.id] = value
    return Call(call.name, arguments, turn, step, result.outcome, value)


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


def dependencies(world: World, calls: Sequence[GroundCall]) -> list[tuple[str, ...]]:
    """For each call the calls that must come before it: its sources, and every earlier write
    without which it is refused (proved by leaving that write out).
    """
    found: list[set[str]] = [{ref.call for ref in call.refs.values()} for call in calls]
    for i, left_out in enumerate(calls[:-1]):
        if not _writes(world, left_out):
            continue
        rest = [(0, c) for c in (*calls[:i], *calls[i + 1 :])]
        played = replay(world, rest).calls
        for j in range(i + 1, len(calls)):
            if played[j - 1].outcome != "ok":
                found[j].add(left_out.id)
    order = [call.id for call in calls]
    return [tuple(sorted(after, key=order.index)) for after in found]


def _writes(world: World, call: GroundCall) -> bool:
    return world.tools[call.name].tool.effect == "write"
