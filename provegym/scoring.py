"""The scoring stage: tasks and traces in, scores out, all as JSON Lines.

It needs no manifest (and writes one), opens no server and reads only what the reward is defined on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import fsum
from pathlib import Path

from msgspec import Struct

from provegym import records
from provegym.errors import InputError
from provegym.pairs import pairs
from provegym.rewards.explain import explain as explain_trace
from provegym.rewards.presets import Preset
from provegym.rewards.presets import preset as preset_of
from provegym.rewards.render import render
from provegym.rewards.total import score
from provegym.types import Score, Task, Trace

MEANS = ("validity", "coverage", "efficiency", "name", "argument", "state", "total", "normalized")
"""The numbers of a `Score` that a summary averages."""


class ScoreSummary(Struct, frozen=True):
    """What a file of scores holds. Means are over the traces that are not masked, None of none.

    `explained` is the text file with the reasons, if they were asked for.
    """

    preset: str
    count: int
    masked: int
    means: dict[str, float | None]
    explained: Path | None = None


def score_files(
    tasks: Path, traces: Path, preset: str, out: Path, explain: bool = False
) -> ScoreSummary:
    """Score every trace, in order, into `out`; with `explain`, the reasons into a text beside it.

    Raises `UnknownName` for the preset, `BrokenRecord` for a line that cannot be read, and
    `InputError` for a file without traces, a trace whose task is not among the tasks (see
    `provegym.pairs`) or a task id used twice. `out` is written whole or not at all, and replaces
    nothing but scores.
    """
    chosen = preset_of(preset)
    records.check_output(out, "scores", (tasks, traces))
    known = {task.id: task for task in records.read_distinct(tasks, Task)}
    scores: list[Score] = []
    records.write_atomic(out, _lines(pairs(known, tasks, traces), chosen, scores, traces))
    made_by = records.Manifest(
        "scores",
        config=records.config_hash(chosen),
        parent=records.content_hash(traces),
        complete=True,
        rows=len(scores),
    )
    records.write_manifest(out, made_by)
    explained = out.with_suffix(".explain.txt") if explain else None
    if explained:
        records.write_atomic(explained, _reasons(pairs(known, tasks, traces), chosen))
    return summarize(scores, chosen.name, explained)


def summarize(scores: list[Score], preset: str, explained: Path | None = None) -> ScoreSummary:
    """Count, masked and means of the scores of one preset."""
    counted = [row for row in scores if not row.masked]
    means = {
        field: fsum(getattr(row, field) for row in counted) / len(counted) if counted else None
        for field in MEANS
    }
    return ScoreSummary(preset, len(scores), len(scores) - len(counted), means, explained)


def _lines(
    played: Iterable[tuple[Task, Trace]], preset: Preset, scores: list[Score], traces: Path
) -> Iterator[bytes]:
    """Each score as it is made, which is also added to `scores`. Raises `InputError` if none is."""
    for task, trace in played:
        scores.append(score(task, trace, preset))
        yield records.encode(scores[-1])
    if not scores:
        raise InputError(f"{traces} holds no trace; make some with `provegym rollout`")


def _reasons(played: Iterable[tuple[Task, Trace]], preset: Preset) -> Iterator[bytes]:
    for task, trace in played:
        yield f"{render(explain_trace(task, trace, preset))}\n".encode(errors="backslashreplace")
