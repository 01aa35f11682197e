"""What a file of traces holds, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from provegym.rollout.reply import STRICT_FORMS
from provegym.types import Trace, Usage


class TraceSummary(Struct, frozen=True):
    """Counts over traces. `masked` are those our own faults hit; `faults` says which, how often.

    `call_forms` counts assistant messages by the form of their calls and `lenient` those that
    only lenient parsing understood.
    """

    traces: int
    masked: int
    calls: int
    outcomes: dict[str, int]
    stop_reasons: dict[str, int]
    call_forms: dict[str, int]
    lenient: int
    faults: dict[str, int]
    usage: Usage


def is_masked(trace: Trace) -> bool:
    """Whether a fault of ours hit the episode, so that it has no score."""
    return trace.stop_reason == "infrastructure" or any(
        call.outcome == "infrastructure" for call in trace.calls
    )


def last_fault(trace: Trace) -> str:
    """The fault that the trace tells of last; a server's, where it tells of none."""
    told = [str(message["fault"]) for message in trace.messages if "fault" in message]
    return told[-1] if told else "a server's fault"


def summarize(traces: Iterable[Trace]) -> TraceSummary:
    """Count, in one pass."""
    totals: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    stops: Counter[str] = Counter()
    forms: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for trace in traces:
        totals.update(traces=1, masked=int(is_masked(trace)), calls=len(trace.calls))
        totals.update(read=trace.usage.prompt_tokens, written=trace.usage.completion_tokens)
        outcomes.update(call.outcome for call in trace.calls)
        stops[trace.stop_reason] += 1
        forms.update(str(m["call_form"]) for m in trace.messages if "call_form" in m)
        faults.update(str(m["fault"]) for m in trace.messages if "fault" in m)
    return TraceSummary(
        traces=totals["traces"],
        masked=totals["masked"],
        calls=totals["calls"],
        outcomes=dict(outcomes),
        stop_reasons=dict(stops),
        call_forms=dict(forms),
        lenient=sum(n for form, n in forms.items() if form not in STRICT_FORMS),
        faults=dict(faults),
        usage=Usage(totals["read"], totals["written"]),
    )
