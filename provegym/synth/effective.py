"""The ground truth of a conversation that a model played: the calls that had an effect.

Failed calls go, repeats that told nothing new go, and so do look-ups that nothing used. What is
left is replayed: each call must succeed again, and all must lead to the same state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from provegym.synth.grounding import Known
from provegym.synth.machine import Made, Spoken
from provegym.synth.offline import Rejected
from provegym.synth.replay import Moment, dependencies, replay
from provegym.types import Changes, GroundCall, Ref
from provegym.world.tool import Tool
from provegym.world.world import Bound

SHORTEST = 4
"""Characters from which on a value is no trivial one, which could stand anywhere by chance."""

Tools = Mapping[str, Bound]
Calls = list[tuple[int, GroundCall]]
"""Calls with their turns."""


class _Kept(Struct, frozen=True):
    """A call that was executed, in which turn, and whether it must stay."""

    turn: int
    made: Made
    fixed: bool


def truth(
    start: Moment, turns: Sequence[Spoken], goals: Sequence[Collection[str]], changes: Changes
) -> list[tuple[GroundCall, ...]]:
    """By turn, the calls that count. `goals` are, by turn, the tools whose calls are wanted for
    their own sake; `changes` is what the whole conversation came to.

    Raises `Rejected` where they do not lead there on a fresh world.
    """
    kept = _distinct(start, turns, goals)
    calls = _numbered(start, turns, kept)
    while loose := _unused(calls, kept):
        kept = [k for i, k in enumerate(kept) if i != loose[-1]]
        calls = _numbered(start, turns, kept)
    played = replay(start, calls)
    if any(call.outcome != "ok" for call in played.calls):
        raise Rejected("effective:refused")
    if played.end.changes != changes:
        raise Rejected("effective:other_state")
    _see_no_guess(start.session.world.tools, turns, calls)
    after = dependencies(start, [call for _, call in calls])
    found = [
        (turn, replace(call, after=before, result=played.results[call.id]))
        for (turn, call), before in zip(calls, after, strict=True)
    ]
    return [tuple(call for t, call in found if t == i) for i in range(len(turns))]


def _distinct(
    start: Moment, turns: Sequence[Spoken], goals: Sequence[Collection[str]]
) -> list[_Kept]:
    """The executed calls without those that told nothing new and changed nothing.

    A turn with a goal keeps the last one at least, for by it the assistant answered.
    """
    kept: list[_Kept] = []
    seen: list[tuple[str, Any, Any]] = []
    moment = start
    for i, (turn, wanted) in enumerate(zip(turns, goals, strict=True)):
        worked = [m for m in turn.made if m.outcome == "ok"]
        gave_up = _gave_up(turn)
        if gave_up and not worked:
            raise Rejected("gave_up_without_look_ups")
        latest = {m.intent.name: m for m in worked}
        mine: list[_Kept] = []
        for made in worked:
            name, given = made.intent.name, made.intent.arguments
            _, _, after = moment.call(name, given)
            told, idle = (name, given, made.result), after.changes == moment.changes
            moment = after
            if idle and (told in seen or _writes(start, name)):
                continue
            seen.append(told)
            goal = name in wanted and latest[name] is made
            mine.append(_Kept(i, made, not idle or gave_up or goal))
        if wanted and worked and not any(k.fixed for k in mine):
            mine = [k for k in mine if k.made is not worked[-1]]
            mine.append(_Kept(i, worked[-1], True))
        kept += mine
    return kept


def _gave_up(turn: Spoken) -> bool:
    """Whether the turn ended in words after a call that failed."""
    return bool(turn.made) and turn.made[-1].outcome != "ok"


def _writes(start: Moment, name: str) -> bool:
    return start.session.world.tools[name].tool.effect == "write"


def _unused(calls: Calls, kept: Sequence[_Kept]) -> list[int]:
    """Places of look-ups that may go, since no later call uses them."""
    used = {ref.call for _, call in calls for ref in call.refs.values()}
    pairs = enumerate(zip(calls, kept, strict=True))
    return [i for i, ((_, call), k) in pairs if not k.fixed and call.id not in used]


def _numbered(start: Moment, turns: Sequence[Spoken], kept: Sequence[_Kept]) -> Calls:
    """Ground calls in order, with what their arguments refer to."""
    tools = start.session.world.tools
    said = ""
    calls: Calls = []
    for i, turn in enumerate(turns):
        said += "\n" + turn.user
        for k in (k for k in kept if k.turn == i):
            intent = k.made.intent
            refs = _refs(tools[intent.name].tool, intent.arguments, calls, Known([said]))
            call = GroundCall(f"g{len(calls)}", intent.name, intent.arguments, (), refs)
            calls.append((i, replace(call, result=k.made.result)))
    return calls


# -- where arguments come from -----------------------------------------------------------------


def _refs(tool: Tool, given: dict[str, Any], before: Calls, said: Known) -> dict[str, Ref]:
    """For each argument that a result showed and no user said, the latest result that did."""
    chosen = {p.name for p in tool.parameters if p.choices or (p.item and p.item.choices)}
    found = {}
    for path, value in leaves(given):
        if path.split("/")[1] in chosen or _trivial(value) or said.holds(str(value)):
            continue
        source = next((r for _, call in reversed(before) if (r := _shown(call, value))), None)
        if source:
            found[path] = source
    return found


def _shown(call: GroundCall, value: Any) -> Ref | None:
    """Where the result shows the value, as the id of a record if it does."""
    paths = [path for path, shown in leaves(call.result) if shown == value]
    best = sorted(paths, key=lambda path: not path.endswith("/id"))
    return Ref(call.id, best[0]) if best else None


def _trivial(value: Any) -> bool:
    return isinstance(value, bool) or value is None or len(str(value)) < SHORTEST


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(JSON Pointer, value) of all in a JSON value that is no object and no array."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, f"{path}/{name.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list | tuple):
        for i, inner in enumerate(value):
            yield from leaves(inner, f"{path}/{i}")
    else:
        yield path, value


def _see_no_guess(tools: Tools, turns: Sequence[Spoken], calls: Calls) -> None:
    """Raise `Rejected` where a text or an amount in a call was neither said nor shown before."""
    heard: list[str] = []
    said = -1
    for turn, call in calls:
        heard += [t.user for t in turns[said + 1 : turn + 1]]
        said = turn
        tool = tools[call.name].tool
        if any(_guessed(tool, path, value, Known(heard)) for path, value in leaves(call.arguments)):
            raise Rejected("argument_out_of_nowhere")
        heard += [str(value) for _, value in leaves(call.result)]


def _guessed(tool: Tool, path: str, value: Any, heard: Known) -> bool:
    """Whether free text or an amount of money is nobody's; other values a policy can work out."""
    p = next(p for p in tool.parameters if p.name == path.split("/")[1])
    inner = p.item or p
    if inner.type is not str or inner.ref or inner.choices or tool.defaults.get(p.name) == value:
        return False
    if inner.format and inner.format.name == "money":
        return bool(heard.strays(value))
    text = inner.format.name == "text" if inner.format else tool.effect == "write"
    return text and not heard.holds(value)
