"""The card of a data set: what is in it, how it was made, and whether benchmarks were kept out.

A card is Markdown with the front matter that Hugging Face's hub and `datasets` read.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from provegym import __version__
from provegym.dataset.external import SOURCES, Source
from provegym.dataset.stats import Stats, stats
from provegym.errors import InputError, seen
from provegym.records import Manifest, beside, content_hash, read, read_manifest
from provegym.records.files import read_whole
from provegym.types import Task

LICENCE = "apache-2.0"
NAMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")
"""Licences as the hub names them: apache-2.0, cc-by-nc-4.0, other."""
TAGS = ("tool-use", "function-calling", "agents", "reinforcement-learning", "synthetic", "provegym")
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))
"""The hub's size categories, each with the number of rows that it ends below."""
MATCHES = ("tool_names", "schemas", "entities", "sequences", "ngrams")
"""What a decontamination report counts for each benchmark."""


class Report(Struct, frozen=True):
    """A decontamination report: overlaps with each benchmark by what was compared, or the same in
    Markdown. `parent` is the SHA-256 of the file of tasks it was made over, "" if not known.
    """

    benchmarks: tuple[dict[str, Any], ...] = ()
    text: str = ""
    parent: str = ""


class _Lost(Struct):
    """A candidate that became no task."""

    reason: str


class _Origin(Struct):
    """Tasks by teacher, the seeds of their worlds, and how many are certified."""

    teachers: Counter[str]
    worlds: set[int]
    certified: int


def read_report(path: Path) -> Report:
    """The report at `path`. Raises `InputError` where it is missing or something else."""
    made_by = read_manifest(path)
    text = read_whole(path)
    try:
        found = msgspec.json.decode(text, type=Report)
        return replace(found, parent=made_by.parent if made_by else "")
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no decontamination report: {error}") from error


def check_licence(licence: str) -> None:
    """Raise `InputError` for what is no name of a licence."""
    if not NAMED.fullmatch(licence):
        raise InputError(
            f"--licence {seen(licence)} is no licence's name; take letters, digits, ., + and -, "
            "such as cc-by-4.0"
        )


def render(
    tasks: Path,
    library: Mapping[str, Collection[str]],
    splits: Mapping[str, int] | None = None,
    licence: str = LICENCE,
    report: Report | None = None,
    heldout: Sequence[str] = (),
) -> str:
    """The card of the tasks at `tasks`, exported as `splits` (rows by split) if that is given.

    Reads the manifest, conversations and rejections beside the file. Raises `InputError` for a
    file that is missing or broken, and for a licence that has no such name.
    """
    check_licence(licence)
    found = stats(tasks, library)
    origin = _origin(tasks)
    sections = {
        "Composition": _composition(found),
        "Splits": _splits(splits, heldout) if splits else "",
        "Yield": _yield(tasks, found.tasks),
        "How it was made": _making(origin, read_manifest(tasks)),
        "Decontamination": _decontamination(report, content_hash(tasks)),
        "Licences": _licences(licence, origin.teachers),
        "Use": USE if splits else "",
    }
    body = "".join(f"\n## {title}\n\n{text}\n" for title, text in sections.items() if text)
    return f"{_front(found.tasks, licence, splits)}\n# Tool-use tasks\n\n{ABOUT}\n{body}"


ABOUT = (
    "Tasks for agents that use tools over several steps, each over a live, stateful world that a "
    "seed rebuilds: user turns, the tools that are shown, the calls that a correct agent makes "
    "with their results, and the changes that they leave. Made by provegym, an implementation of "
    "PROVE ([arXiv 2606.03892](https://arxiv.org/abs/2606.03892))."
)

USE = """\
```python
from datasets import load_dataset

from provegym.dataset.parquet import task_of

rows = load_dataset("path/to/this/folder", split="train")
tasks = [task_of(row) for row in rows]
```

`id` is a hash of the task's content, the same in every run that makes the task; `task_id` is its
id in the run that made this set. Arguments, results, schemas and changes are strings of JSON."""


def _front(count: int, licence: str, splits: Mapping[str, int] | None) -> str:
    """The front matter. JSON is YAML, so every value is written as JSON."""
    size = next((name for end, name in SIZES if count < end), "n>1M")
    fields: dict[str, Any] = {
        "pretty_name": "Tool-use tasks over live, stateful servers",
        "license": licence,
        "task_categories": ["text-generation"],
        "tags": TAGS,
        "size_categories": [size],
    }
    if splits:
        files = [{"split": name, "path": f"data/{name}.parquet"} for name in splits]
        fields["configs"] = [{"config_name": "default", "data_files": files}]
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in fields.items())
    return f"---\n{lines}---\n"


def _origin(tasks: Path) -> _Origin:
    teachers: Counter[str] = Counter()
    worlds: set[int] = set()
    certified = 0
    for task in read(tasks, Task):
        teachers[task.teacher or "not named"] += 1
        worlds |= {task.seed} if task.servers else set()
        certified += task.certificate.passed
    return _Origin(teachers, worlds, certified)


def _composition(found: Stats) -> str:
    active = found.tasks - found.kinds.get("abstention", 0)
    groups: dict[str, tuple[Mapping[Any, int], int]] = {
        "Kind": (found.kinds, found.tasks),
        "Server that the task is about": (found.servers, found.tasks),
        "Calls in the ground truth": (found.calls, found.tasks),
        "User turns": (found.turns, found.tasks),
        "Information in the first turn, but for abstentions": (found.information, active),
        "Perturbation, but for abstentions": (found.perturbations or {"none": active}, active),
    }
    tables = (
        _table((name, "tasks", "share"), _shared(counts, total))
        for name, (counts, total) in groups.items()
    )
    called, idle = sum(found.called.values()), sum(map(len, found.never_called.values()))
    told = (
        f"{found.tasks} tasks. The ground truths call {called} of the {called + idle} tools of the "
        f"servers they are about; {found.cross_server_share:.1%} of the workflows cross servers."
    )
    return "\n\n".join([told, *tables])


def _splits(splits: Mapping[str, int], heldout: Sequence[str]) -> str:
    parts = [_table(("split", "rows", "share"), _shared(splits, sum(splits.values())))]
    if len(splits) > 1 + bool(heldout):
        parts.append(
            "All tasks of one world seed are in one split, and so are all tasks without a world "
            "whose questions are near duplicates."
        )
    if heldout:
        parts.append(
            f"`heldout` has every task that touches {', '.join(heldout)}; no other split shows "
            "any tool of these. Its worlds may be those of other splits, which have other servers."
        )
    return "\n\n".join(parts)


def _yield(tasks: Path, kept: int) -> str:
    path = beside(tasks, "rejections")
    if not path.exists():
        return "No file of rejected candidates lies beside the tasks."
    lost = Counter(row.reason for row in read(path, _Lost))
    candidates = kept + lost.total()
    told = f"{kept} of {candidates} candidates became tasks ({kept / max(1, candidates):.1%})."
    heads = ("rejected as", "candidates", "share")
    table = _table(heads, _shared(dict(lost.most_common()), candidates))
    return f"{told}\n\n{table}" if lost else told


def _making(origin: _Origin, manifest: Manifest | None) -> str:
    total, seeds = origin.teachers.total(), sorted(origin.worlds)
    rows: list[tuple[str, object]] = [
        ("teacher", ", ".join(f"{name} ({n} tasks)" for name, n in origin.teachers.items())),
        ("certified by replay", f"{origin.certified} of {total} tasks"),
        ("worlds", f"{len(seeds)}, of the seeds {seeds[0]} to {seeds[-1]}" if seeds else "none"),
        ("this card by", f"provegym {__version__}"),
    ]
    if manifest is None:
        unknown = "The tasks have no manifest, so their root seed, settings and cost are not known."
        return f"{_table(('what', 'value'), rows)}\n\n{unknown}"
    cost = ", ".join(f"{name} {value:,.12g}" for name, value in manifest.cost.items())
    if manifest.parent:  # a later step made it, which knows no seed and no world
        rows.append(("taken from the file with SHA-256", manifest.parent))
    else:
        rows.append(("root seed", manifest.seed))
        rows.append(("content of the worlds, SHA-256", manifest.world or "not recorded"))
    rows.append(("cost", cost or "none was recorded"))
    rows.append(("settings, SHA-256", manifest.config or "not recorded"))
    return _table(("what", "value"), rows)


def _decontamination(report: Report | None, tasks: str) -> str:
    """What the report says, and whether it is about these `tasks` (the SHA-256 of their file)."""
    if report is None:
        return "No decontamination report was made: overlap with public benchmarks is not known."
    told = report.text.strip() or _overlaps(report)
    if report.parent in ("", tasks):
        return told
    return f"{told}\n\nThe report was made over another file of tasks (SHA-256 {report.parent})."


def _overlaps(report: Report) -> str:
    heads = ("benchmark", *(name.replace("_", " ") for name in MATCHES))
    rows = [
        (one.get("name", "not named"), *(_count(one.get(key)) for key in MATCHES))
        for one in report.benchmarks
    ]
    return _table(heads, rows) if rows else "The report names no benchmark."


def _licences(licence: str, teachers: Mapping[str, int]) -> str:
    told = (
        f"The tasks are under `{licence}`. Their worlds are generated; people, accounts and "
        "messages in them are invented."
    )
    models = [name for name in teachers if name not in ("offline", "not named", *SOURCES)]
    if models:
        told += f" What {', '.join(models)} wrote is also under the terms of that model."
    imported = [(s.name, teachers[s.name], s.licence, s.url) for s in _sources(teachers)]
    if not imported:
        return told
    also = "Of these, the following are taken from published sets and stay under their licences:"
    return f"{told} {also}\n\n{_table(('set', 'tasks', 'licence', 'where'), imported)}"


def _sources(teachers: Mapping[str, int]) -> list[Source]:
    """The published sets that some tasks were imported from."""
    return [SOURCES[name] for name in teachers if name in SOURCES]


def _count(found: Any) -> object:
    """A number as it is, a list or object by its length."""
    if isinstance(found, list | dict):
        return len(found)
    return "not counted" if found is None else found


def _shared(counts: Mapping[Any, int], total: int) -> list[tuple[object, ...]]:
    return [(name, count, f"{count / max(1, total):.1%}") for name, count in counts.items()]


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    cells = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in cells)


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")
