"""Files of tasks for other tools, written whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from provegym import records
from provegym.dataset import card, split
from provegym.dataset.content import content_id
from provegym.dataset.dedupe import shingles
from provegym.dataset.rows import FORMATS, Entry, Format
from provegym.errors import InputError, ManifestMismatch, UnknownName
from provegym.records import Manifest
from provegym.records.files import WRITTEN_BY_ANOTHER, hold
from provegym.types import Task

KIND = "export"
WHOLE = "train"
"""The one split of tasks that are not split."""

Library = Mapping[str, Collection[str]]
"""By server, the names of its tools."""
Add = Callable[[Struct], object]


class Plan(Struct, frozen=True):
    """What is asked for: a format, and shares by split and servers kept apart, if any."""

    format: str
    shares: dict[str, float] = {}
    heldout: tuple[str, ...] = ()
    licence: str = card.LICENCE

    @property
    def is_folder(self) -> bool:
        """Whether several files are written: one a split, or a Hugging Face data set."""
        return bool(self.shares or self.heldout or self.format == "hf")

    def file(self, split: str) -> str:
        """Where the rows of a split lie in the folder."""
        place = "data/" if self.format == "hf" else ""
        return f"{place}{split}{FORMATS[self.format].suffix}"


class Exported(Struct, frozen=True):
    """What was written: rows by split, of so many tasks."""

    out: str
    format: str
    tasks: int
    rows: dict[str, int]


class _Place(NamedTuple):
    """What the first pass over the tasks finds out about one."""

    id: str
    split: str


def export(
    tasks: Path,
    out: Path,
    plan: Plan,
    library: Library,
    *,
    report: Path | None = None,
    unfinished: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Exported:
    """Write the tasks to `out`: a file, or a folder where `plan` asks for splits or a card.

    `report` is a decontamination report for the card. A file of tasks that is not finished is
    refused unless `unfinished`. An earlier export at `out` is replaced, and nothing else is.

    Raises `UnknownName` for the format or a server, `InputError` for a file, a split, a licence or
    a place that cannot be, or that another process exports to, `ManifestMismatch` where `out` is
    something else.
    """
    if plan.format not in FORMATS:
        raise UnknownName("format", plan.format, [*FORMATS])
    write = _writer(FORMATS[plan.format])  # says at once if a library is missing
    _check(tasks, out, plan, library, unfinished)
    if report and plan.format != "hf":
        raise InputError(f"{report} goes into the card of --format hf; {plan.format} has no card")
    told = card.read_report(report) if report else None
    places = _survey(tasks, plan, library)
    made_by = Manifest(
        KIND,
        records.config_hash(plan),
        parent=records.content_hash(tasks),
        settings=records.plain(plan),
    )
    with _alone(out) as work:
        with _placed(out, work, plan.is_folder):
            rows = _write(tasks, places, plan, work / out.name, write, progress)
            if plan.format == "hf":
                text = card.render(tasks, library, rows, plan.licence, told, plan.heldout)
                (work / out.name / "README.md").write_text(text, "utf-8")
            made_by = replace(made_by, rows=sum(rows.values()))
            # Before the move: a kill between the two leaves nothing that is refused next time.
            records.write_manifest(out, made_by)
        records.write_manifest(out, replace(made_by, complete=True))
    return Exported(str(out), plan.format, len(places), rows)


def refuse_unfinished(tasks: Path) -> None:
    """Raise `InputError` for a file whose manifest says that there is more to come."""
    manifest = records.read_manifest(tasks)
    if manifest and not manifest.complete:
        raise InputError(
            f"{tasks} is unfinished; let the command that makes it end, or take what there is "
            "with --unfinished"
        )


def _check(tasks: Path, out: Path, plan: Plan, library: Library, unfinished: bool) -> None:
    card.check_licence(plan.licence)
    for name in plan.heldout:
        if name not in library:
            raise UnknownName("server", name, sorted(library))
    if not unfinished:
        refuse_unfinished(tasks)
    if plan.is_folder:
        _check_folder(tasks, out)
        return
    records.check_output(out, KIND, (tasks,))
    suffix = FORMATS[plan.format].suffix
    if out.suffix != suffix:
        raise InputError(f"{out} does not end in {suffix}, as files of --format {plan.format} do")


def _check_folder(tasks: Path, out: Path) -> None:
    """See that `out` may be replaced by a folder, and that no input goes with it."""
    if not out.name or (out.exists() and not out.is_dir()):
        raise InputError(f"{str(out)!r} is no folder to be; choose another path for the folder")
    if tasks.resolve().is_relative_to(out.resolve()):
        raise InputError(f"{tasks} lies in {out}, which is replaced; choose another folder")
    found = records.read_manifest(out)
    if out.is_dir() and any(out.iterdir()) and (found is None or found.kind != KIND):
        raise ManifestMismatch(
            f"{out} holds something else than an export; delete it or choose another folder"
        )


def _survey(tasks: Path, plan: Plan, library: Library) -> list[_Place]:
    """The id and split of each task. Raises `InputError` for tasks that cannot be exported."""
    owners = {tool: name for name, its in library.items() for tool in its}
    first: dict[str, str] = {}
    origins, said = list[split.Origin](), dict[int, frozenset[str]]()
    for task in records.read_tasks(tasks):
        if not task.turns:
            raise InputError(f"{tasks}: task {task.id!r} has no user turn; remove it")
        if not task.servers:
            said[len(origins)] = shingles(task)
        origins.append(split.origin(task, owners))
        name = content_id(task)
        if name in first:
            raise InputError(
                f"{tasks}: tasks {first[name]!r} and {task.id!r} are the same but for their ids; "
                "remove one"
            )
        first[name] = task.id
    splits = split.assign(split.joined(origins, said), plan.shares or {WHOLE: 1.0}, plan.heldout)
    return [_Place(*pair) for pair in zip(first, splits, strict=True)]


def _write(
    tasks: Path,
    places: list[_Place],
    plan: Plan,
    target: Path,
    writer: Callable[[Path, type[Struct]], AbstractContextManager[Add]],
    progress: Callable[[int, int], None],
) -> dict[str, int]:
    """Write all rows into the file or folder `target`; the number of rows by split."""
    form = FORMATS[plan.format]
    names = [*plan.shares] or [WHOLE]
    written: Counter[str] = Counter()
    with ExitStack() as stack:
        add = {}
        for name in [*names, *([split.HELDOUT] if plan.heldout else [])]:
            path = target / plan.file(name) if plan.is_folder else target
            path.parent.mkdir(parents=True, exist_ok=True)
            add[name] = stack.enter_context(writer(path, form.row))
        pairs = zip(records.read(tasks, Task), places, strict=True)
        for done, (task, (name, its)) in enumerate(pairs, start=1):
            for row in form.rows(Entry(task, name, its, written[its])):
                add[its](row)
                written[its] += 1
            progress(done, len(places))
    return {name: written[name] for name in add}


def _writer(form: Format) -> Callable[[Path, type[Struct]], AbstractContextManager[Add]]:
    if form.suffix == ".parquet":
        from provegym.dataset import parquet

        return parquet.writer
    return _lines


@contextmanager
def _lines(path: Path, row: type[Struct]) -> Iterator[Add]:
    """Write a new file of JSON Lines; yields the function that adds a record."""
    with path.open("wb") as file:
        yield lambda record: file.write(records.encode(record) + b"\n")
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _alone(out: Path) -> Iterator[Path]:
    """An empty folder beside `out` to work in, which is locked, so that no two processes make the
    same. What a kill leaves of it is removed by the next export.
    """
    work = out.with_name(f".{out.name}.new")
    handle = _locked(work, out)
    try:
        for left in work.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)  # still locked: who comes now finds none or waits
        os.close(handle)


def _locked(work: Path, out: Path) -> int:
    """The handle of the folder `work`, made and locked. Raises `InputError`."""
    try:
        work.mkdir(parents=True, exist_ok=True)
        handle = os.open(work, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _cannot_write(out, error) from error
    told = WRITTEN_BY_ANOTHER.format(out)
    try:
        hold(handle, told)
        if _lies_at(handle, work):
            return handle
        raise InputError(told)  # it was just removed by who had it
    except InputError:
        os.close(handle)
        raise


def _lies_at(handle: int, place: Path) -> bool:
    """Whether an open folder is still the one of that name."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), place.stat())
    return False


@contextmanager
def _placed(out: Path, work: Path, is_folder: bool) -> Iterator[None]:
    """What the block makes in `work` under the name of `out` becomes `out`.

    A kill leaves the old `out`, the new one or, in the moment between two folders, none.
    """
    old = out.with_name(f".{out.name}.old")
    try:
        yield
        shutil.rmtree(old, ignore_errors=True)
        if is_folder and out.exists():
            os.rename(out, old)
        os.replace(work / out.name, out)
        _sync(out.parent)
    except OSError as error:
        raise _cannot_write(out, error) from error
    finally:
        if out.exists():
            shutil.rmtree(old, ignore_errors=True)


def _cannot_write(out: Path, error: OSError) -> InputError:
    why = error.strerror or error
    return InputError(f"cannot write {out}: {why}; make room or choose another path")


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
