"""What a file of tasks shares with benchmarks, with the evidence, and the file without it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from provegym import records
from provegym.dataset.benchmarks import Benchmark
from provegym.dataset.overlap import ASPECTS, NAMED, NGRAM, SET, STRICT_NGRAM, Item, of_task
from provegym.errors import InputError
from provegym.types import Task

EXAMPLES = 20
"""Hits of one aspect that a report lists, those of most tasks first."""
PLACES = 5
"""Tasks and items that are named for each of them."""
WIDTH = 80
"""Characters of a hit that the text shows."""
DROPPED_FOR = ("entities", "ngrams", "strict_ngrams")
"""What a task is dropped for: things that a model could know by heart. Names and parameters of
tools, and runs of calls, are those of a domain."""


class Hit(Struct, frozen=True):
    """One thing that tasks and items of a benchmark share; some of them are named."""

    what: str
    tasks: int
    task_ids: tuple[str, ...]
    items: tuple[str, ...]


class Overlap(Struct, frozen=True):
    """Different things shared with one benchmark, by aspect; `items` is how many tasks it has."""

    name: str
    version: str
    items: int
    tool_names: int
    schemas: int
    entities: int
    sequences: int
    ngrams: int
    strict_ngrams: int
    tasks: dict[str, int]
    """How many of our tasks share any, by aspect."""
    examples: dict[str, tuple[Hit, ...]]


class Report(Struct, frozen=True):
    """What a file of tasks shares with benchmarks; `text` says it in Markdown."""

    tasks: int
    benchmarks: tuple[Overlap, ...]
    contaminated: tuple[str, ...]
    """Ids of the tasks that share an entity or words in a row."""
    text: str


Places = dict[str, list[str]]
"""Where each thing stands: ids of tasks or items."""


def decontaminate(tasks: Iterable[Task], benchmarks: Sequence[Benchmark]) -> Report:
    """Compare every task with every item."""
    theirs = [_places(benchmark.items) for benchmark in benchmarks]
    shared: list[dict[str, Places]] = [{aspect: {} for aspect in ASPECTS} for _ in benchmarks]
    seen, contaminated = 0, dict[str, None]()
    for item in map(of_task, tasks):
        seen += 1
        for aspect, parts in ASPECTS.items():
            ours = parts(item)
            for places, found in zip(theirs, shared, strict=True):
                hits = ours & places[aspect].keys()
                for what in hits:
                    found[aspect].setdefault(what, []).append(item.id)
                if hits and aspect in DROPPED_FOR:
                    contaminated[item.id] = None
    overlaps = tuple(map(_overlap, benchmarks, theirs, shared))
    text = _text(seen, overlaps, len(contaminated))
    return Report(seen, overlaps, tuple(contaminated), text)


def _places(items: Iterable[Item]) -> dict[str, Places]:
    """By aspect, where each thing of a benchmark stands."""
    found: dict[str, Places] = {aspect: {} for aspect in ASPECTS}
    for item in items:
        for aspect, parts in ASPECTS.items():
            for what in parts(item):
                found[aspect].setdefault(what, []).append(item.id)
    return found


def _overlap(benchmark: Benchmark, theirs: dict[str, Places], shared: dict[str, Places]) -> Overlap:
    return Overlap(
        benchmark.name,
        benchmark.version,
        len({item.id for item in benchmark.items if item.texts}),
        **{aspect: len(hits) for aspect, hits in shared.items()},
        tasks={aspect: len(set().union(*hits.values())) for aspect, hits in shared.items()},
        examples={aspect: _examples(hits, theirs[aspect]) for aspect, hits in shared.items()},
    )


def _examples(hits: Places, theirs: Places) -> tuple[Hit, ...]:
    most = sorted(hits.items(), key=lambda hit: (-len(hit[1]), hit[0]))[:EXAMPLES]
    return tuple(
        Hit(what, len(tasks), tuple(tasks[:PLACES]), tuple(theirs[what][:PLACES]))
        for what, tasks in most
    )


# -- in words ----------------------------------------------------------------------------------

_RULES = (
    f"Tool names are compared without their class and in one case, sets of parameter names from "
    f"{SET} names on, smaller ones with the tool's name. An entity is a value of an argument, a "
    f"result, a change or a data base, or a word of a user's, that is a code, an address or a long "
    f"number, or a text of {NAMED} words or more; dates, amounts, and names of people and places "
    f"are common property. Call sequences are runs of two calls or more in the ground truth. "
    f"Words in a row of what users say are compared without case and punctuation: {NGRAM} as for "
    f"GPT-3 (arXiv 2005.14165, appendix C) and, more strictly, {STRICT_NGRAM}."
)


def _text(tasks: int, overlaps: Sequence[Overlap], contaminated: int) -> str:
    heads = ["benchmark", "version", "tasks", "tool names", "parameter sets", "entities"]
    heads += ["call sequences", f"{NGRAM} words", f"{STRICT_NGRAM} words"]
    rows = [[o.name, o.version, f"{o.items:,}", *_counts(o)] for o in overlaps]
    table = [heads, ["---"] * len(heads), *rows]
    lines = [f"| {' | '.join(row)} |" for row in table]
    told = [line for o in overlaps for line in _told(o)]
    end = (
        f"{contaminated:,} of {tasks:,} tasks share an entity or "
        f"{STRICT_NGRAM} words in a row with a benchmark."
    )
    return "\n".join([*lines, "", *told, *([""] if told else []), end, "", _RULES])


def _counts(overlap: Overlap) -> list[str]:
    return [f"{getattr(overlap, aspect):,}" for aspect in ASPECTS]


def _told(overlap: Overlap) -> list[str]:
    """What is shared, one line an aspect."""
    return [
        f"- {overlap.name}, {aspect.replace('_', ' ')}: " + ", ".join(map(_shown, hits))
        for aspect, hits in overlap.examples.items()
        if hits
    ]


def _shown(hit: Hit) -> str:
    what = hit.what if len(hit.what) <= WIDTH else f"{hit.what[:WIDTH]}..."
    return f"`{what.replace('`', ' ')}` ({hit.tasks:,} task{'s' * (hit.tasks != 1)})"


# -- files -------------------------------------------------------------------------------------


def decontaminate_file(
    tasks: Path, benchmarks: Sequence[Benchmark], out: Path, drop: Path | None = None
) -> Report:
    """Write the report, and with `drop` the tasks that are not contaminated to that path.

    Raises `InputError` for a broken task file, and for an output that may not be replaced before
    anything is written.
    """
    records.check_output(out, "decontamination", (tasks,))
    if drop:
        records.check_output(drop, "tasks", (tasks,))
        if drop.resolve() == out.resolve():
            raise InputError(f"{out} cannot hold both the report and the tasks; name two files")
    found = decontaminate(records.read_tasks(tasks), benchmarks)
    versions = records.config_hash([[b.name, b.version] for b in benchmarks])
    made = records.Manifest(
        "decontamination",
        config=versions,
        parent=records.content_hash(tasks),
        complete=True,
        rows=1,
    )
    records.write_manifest(out, made)  # first: a kill must not leave a file without one
    records.write_atomic(out, [msgspec.json.format(records.encode(found), indent=2)])
    if drop:
        gone = set(found.contaminated)
        rows = records.read(tasks, Task)
        kept = [records.encode(task) for task in rows if task.id not in gone]
        made = msgspec.structs.replace(made, kind="tasks", rows=len(kept))
        records.write_manifest(drop, made)
        records.write_atomic(drop, kept)
    return found
