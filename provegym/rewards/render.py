"""An explanation as plain text."""

from __future__ import annotations

import json
from collections.abc import Iterator

from provegym.rewards.explain import CallNote, Comparison, Explanation, Unmatched
from provegym.types import Score

WIDTH = 120
"""Characters of a value that are shown."""

COMPONENTS = ("validity", "coverage", "efficiency", "name", "argument", "state")


def render(explanation: Explanation) -> str:
    """The explanation as lines of text, without a newline at the end."""
    lines = list(_score_lines(explanation.score))
    for note in explanation.calls:
        lines.extend(_call_lines(note))
    lines.extend(_unmatched_line(missing) for missing in explanation.unmatched)
    return "\n".join(lines)


def _score_lines(score: Score) -> Iterator[str]:
    head = f"trace {score.trace_id} on task {score.task_id}, preset {score.preset}: "
    if score.total is None or score.max_total is None or score.normalized is None:
        yield head + "masked, since our own failure touched the episode"
        return
    yield head + f"total {score.total:.4f} of {score.max_total:g} ({score.normalized:.1%})"
    yield "  " + "  ".join(f"{name} {getattr(score, name):.4f}" for name in COMPONENTS)


def _call_lines(note: CallNote) -> Iterator[str]:
    call = note.call
    level = "" if note.validity is None else f", validity {note.validity:.2f}"
    fate = f"stands for {note.matched}" if note.matched else f"stands for nothing ({note.reason})"
    name = call.name if call.name.isidentifier() else shown(call.name)
    place = f"turn {call.turn} step {call.step}"
    yield f"call {note.position} {name}, {place}: {call.outcome}{level}, {fate}"
    if note.satisfied:
        yield f"    comes after {', '.join(note.satisfied)}, as it must"
    if note.unsatisfied:
        yield f"    does not come after {', '.join(note.unsatisfied)}, as it must"
    yield from map(_comparison_line, note.arguments)


def _comparison_line(comparison: Comparison) -> str:
    source = f" (own result {', '.join(comparison.refs)})" if comparison.refs else ""
    made, wanted = shown(comparison.made), shown(comparison.wanted)
    if comparison.equal:
        return f"    {comparison.key}: {made} equals {wanted}{source}"
    return f"    {comparison.key}: {made} differs from {wanted}{source}"


def _unmatched_line(missing: Unmatched) -> str:
    ground = missing.ground
    return f"missing {ground.id} {ground.name}, turn {missing.turn}: {missing.reason}"


def shown(value: object) -> str:
    """A JSON value on one line, cut after `WIDTH` characters."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):  # deeper, or an integer longer, than Python writes out
        return "(too deep or too long to show)"
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."
