"""What went wrong in an episode, and where first."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from provegym.rewards.explain import CallNote, Explanation

NO_MISTAKE: Final = ""
FAILURES: Final = {
    "malformed": "a call that is no JSON",
    "unknown_tool": "a tool that was not offered",
    "invalid_arguments": "arguments that the schema refuses",
    "tool_error": "a call that the tool refused",
    "unneeded": "a call that is not needed",
    "order": "a call before what it depends on",
    "values": "a call with another value",
    "missing": "a needed call that was not made",
    "state": "another end state",
    "masked": "a fault of ours; not scored",
}
"""Kinds of a first mistake, in words; the outcomes of calls come first."""


class Mistake(Struct, frozen=True):
    """The first one. `position` is the call's, None where it is in no call."""

    kind: str
    position: int | None = None


def of_call(note: CallNote) -> str:
    """The kind of mistake that a call is, "" for none."""
    if note.call.outcome == "infrastructure":
        return "masked"
    if note.call.outcome != "ok":
        return note.call.outcome
    if note.matched is None:
        return "unneeded"
    if note.unsatisfied:
        return "order"
    return NO_MISTAKE if all(c.equal for c in note.arguments) else "values"


def first(explanation: Explanation) -> Mistake:
    """The first mistake of an episode, whose kind is "" where there is none.

    Mistakes in calls come before those that only the end shows: a call that is missing, another
    end state.
    """
    score = explanation.score
    if score.masked:
        at = (n.position for n in explanation.calls if n.call.outcome == "infrastructure")
        return Mistake("masked", next(at, None))
    for note in explanation.calls:
        if kind := of_call(note):
            return Mistake(kind, note.position)
    if explanation.unmatched:
        return Mistake("missing")
    needed = bool(explanation.calls)
    return Mistake("state") if needed and score.state != 1 else Mistake(NO_MISTAKE)
