"""What keeps a conversation out: errors in replay, and secrets out of nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from provegym.synth.machine import Spoken
from provegym.synth.replay import Moment
from provegym.world.world import World

MAX_ERROR_RATE = 0.3
"""A conversation is kept below this share of calls that fail in replay (paper, figure 2)."""

_canonical = msgspec.json.Encoder(order="sorted").encode


def error_rate(start: Moment, turns: Iterable[Spoken]) -> float:
    """Share of a conversation's calls that fail in a replay; empty results do not count."""
    calls = failed = 0
    for intent in (made.intent for turn in turns for made in turn.made):
        outcome, _, start = start.call(intent.name, intent.arguments)
        calls, failed = calls + 1, failed + (outcome != "ok")
    return failed / calls if calls else 0.0


def secrets_are_traceable(world: World, turns: Sequence[Spoken]) -> bool:
    """Whether every sensitive value stood in an earlier user turn or an earlier result."""
    if not any(world.tools[m.intent.name].tool.sensitive for t in turns for m in t.made):
        return True
    known = ""
    for turn in turns:
        known += "\n" + turn.user
        for made in turn.made:
            tool = world.tools[made.intent.name].tool
            secrets = [made.intent.arguments.get(name) for name in tool.sensitive]
            if any(s is not None and str(s) not in known for s in secrets):
                return False
            known += "\n" + _canonical(made.result).decode()
    return True
