"""Exports: every format, read back by what it is for; written whole or not at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from datasets import load_dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from provegym import cli, cli_dataset, records
from provegym.dataset import parquet
from provegym.dataset.content import content_id
from provegym.dataset.export import Exported, Plan, export
from provegym.dataset.rows import Entry, TaskRow, task_rows
from provegym.errors import InputError, ManifestMismatch
from provegym.records import Manifest, read_manifest, write_manifest
from provegym.types import (
    Certificate,
    Function,
    GroundCall,
    Perturbations,
    Ref,
    Task,
    Tool,
    Turn,
)

ROOT = Path(__file__).parents[2]
PAY_TOOL = Tool(Function("pay", "To pay.", {"type": "object", "properties": {"to": {}}}))
FIND = GroundCall("g9", "find", {})
PAY = GroundCall("g0", "pay", {"to": "Zoë"}, ("g9",), {"/to": Ref("g9", "/id")}, {"id": None})
LATE = Task(
    "late",
    "clarification",
    (Turn("Pay Zoë", (), "I cannot."), Turn("Now you can", (FIND, PAY), "Done.", (PAY_TOOL,))),
    ("bank",),
    seed=4,
)


def tasks_of(path: Path) -> list[Task]:
    return list(records.read(path, Task))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def exported(tasks: Path, out: Path, form: str, **more: Any) -> Exported:
    return export(tasks, out, Plan(form, **more), {})


def loaded(kind: str, path: Path, cache: Path) -> Any:
    return load_dataset(kind, data_files=str(path), split="train", cache_dir=str(cache))


def write(folder: Path, *tasks: Task) -> Path:
    path = folder / "tasks.jsonl"
    records.write_atomic(path, map(records.encode, tasks))
    return path


# --- whole tasks ---------------------------------------------------------------------------


def test_json_lines_read_back_equal_and_are_a_file_of_tasks(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out.jsonl"
    told = exported(made, out, "jsonl")
    assert told == Exported(str(out), "jsonl", 24, {"train": 24})
    rows = lines(out)
    back = [replace(t, id=row["task_id"]) for t, row in zip(tasks_of(out), rows, strict=True)]
    assert back == tasks_of(made)
    assert [row["id"] for row in rows] == [content_id(task) for task in back]


def test_parquet_reads_back_equal_through_datasets(made: Path, tmp_path: Path) -> None:
    exported(made, tmp_path / "out.parquet", "parquet")
    rows = loaded("parquet", tmp_path / "out.parquet", tmp_path)
    assert list(map(parquet.task_of, rows)) == tasks_of(made)
    assert rows["id"][:] == [content_id(task) for task in tasks_of(made)]
    assert rows.features["turns"].feature["calls"].feature["arguments"].dtype == "string"


def test_datasets_loads_json_lines_too(made: Path, tmp_path: Path) -> None:
    exported(made, tmp_path / "out.jsonl", "jsonl")
    rows = loaded("json", tmp_path / "out.jsonl", tmp_path)
    assert [row["turns"] for row in rows] == [row["turns"] for row in lines(tmp_path / "out.jsonl")]
    assert rows["task_id"][:] == [task.id for task in tasks_of(made)]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=4), JSON, max_size=3)


@settings(max_examples=40)
@given(arguments=OBJECTS, result=JSON, schema=OBJECTS, scores=st.floats(0, 2), late=st.booleans())
def test_whatever_a_task_holds_comes_back_from_parquet(
    tmp_path_factory: pytest.TempPathFactory,
    arguments: dict[str, Any],
    result: Any,
    schema: dict[str, Any],
    scores: float,
    late: bool,
) -> None:
    call = replace(PAY, arguments=arguments, result=result)
    shown = (Tool(Function("pay", "", schema)),)
    task = replace(
        LATE,
        turns=(Turn("Pay", (PAY, call), "", shown if late else ()), Turn()),
        tools=shown,
        final_changes={"bank.accounts": {"+1": arguments, "a": None}},
        certificate=Certificate(True, "d", {"ok": late}, {"strict": scores}),
        perturbations=Perturbations(3, late, "pay" if late else None),
    )
    path = tmp_path_factory.getbasetemp() / "any.parquet"
    with parquet.writer(path, TaskRow) as add:
        for row in task_rows(Entry(task, "hash", "train", 0)):
            add(row)
    (cells,) = pq.read_table(path).to_pylist()
    assert parquet.task_of(cells) == task


def test_rows_beyond_one_batch_keep_their_order(tmp_path: Path) -> None:
    path = write(tmp_path, *(replace(LATE, id=f"t{i}", seed=i) for i in range(600)))
    exported(path, tmp_path / "out.parquet", "parquet")
    file = pq.ParquetFile(tmp_path / "out.parquet")
    assert [file.metadata.row_group(i).num_rows for i in range(3)] == [256, 256, 88]
    assert file.read(["seed"])["seed"].to_pylist() == list(range(600))


def test_a_number_that_parquet_cannot_hold_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, replace(LATE, seed=2**63))
    with pytest.raises(InputError, match="Parquet cannot hold these rows"):
        exported(path, tmp_path / "out.parquet", "parquet")
    assert sorted(os.listdir(tmp_path)) == ["tasks.jsonl"]


def test_a_row_of_something_else_is_no_task() -> None:
    with pytest.raises(InputError, match="this row holds no task"):
        parquet.task_of({"id": "a", "text": "b"})


# --- splits and data sets ------------------------------------------------------------------


def test_no_world_and_no_tool_of_a_held_out_server_leaks_into_training(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        "dataset",
        "export",
        str(made),
        "--format",
        "jsonl",
        "--out",
        str(tmp_path / "set"),
    ]
    more = ["--split", "train=0.7,validation=0.3", "--heldout-server", "banking"]
    assert cli.call([*arguments, *more]) == 0
    told = capsys.readouterr().out
    found = {
        name: tasks_of(tmp_path / f"set/{name}.jsonl")
        for name in ("train", "validation", "heldout")
    }
    assert told.splitlines()[-1] == f"24 tasks in 24 rows: {tmp_path / 'set'}"
    assert sorted(os.listdir(tmp_path / "set")) == [
        "heldout.jsonl",
        "train.jsonl",
        "validation.jsonl",
    ]
    assert sum(map(len, found.values())) == 24
    assert not {t.seed for t in found["train"]} & {t.seed for t in found["validation"]}
    banking = set(cli_dataset.library()[0]["banking"])

    def touches(task: Task) -> bool:
        tools = [*task.tools, *(tool for turn in task.turns for tool in turn.tools)]
        names = {tool.function.name for tool in tools} | {c.name for _, c in task.ground_truth}
        return "banking" in task.servers or bool(names & banking)

    assert not any(touches(task) for name in ("train", "validation") for task in found[name])
    assert all(map(touches, found["heldout"]))


def test_a_data_set_folder_loads_by_its_card(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    plan = Plan("hf", {"train": 0.75, "validation": 0.25}, ("banking",))
    told = export(made, out, plan, cli_dataset.library()[0])
    loaded = load_dataset(str(out), cache_dir=str(tmp_path / "cache"))
    assert {name: len(rows) for name, rows in loaded.items()} == told.rows
    assert [*told.rows] == ["train", "validation", "heldout"]
    back = {row["id"]: parquet.task_of(row) for rows in loaded.values() for row in rows}
    assert back == {content_id(task): task for task in tasks_of(made)}


# --- written whole or not at all -----------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from provegym import records
from provegym.dataset import export as stage, rows
tasks, out, form, place = sys.argv[1:]
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
def dying(function, number):
    def counted(*arguments):
        counted.left -= 1
        if not counted.left:
            die()
        return function(*arguments)
    counted.left = number
    return counted
if place == "rows":
    form_ = rows.FORMATS[form]
    rows.FORMATS[form] = form_._replace(rows=dying(form_.rows, 20))
elif place == "before the move":
    os.replace = dying(os.replace, 2)  # the first one is the manifest's
elif place == "between two folders":
    os.rename = lambda *names: (os.replace(*names), die())
else:
    stage._sync = die
stage.export(Path(tasks), Path(out), stage.Plan(form), {})
"""


@pytest.mark.parametrize(
    ("form", "place"),
    [
        ("parquet", "rows"),
        ("jsonl", "before the move"),
        ("hf", "rows"),
        ("hf", "between two folders"),
        ("hf", "after the move"),
    ],
)
def test_a_killed_export_leaves_no_half_and_is_made_again(
    made: Path, tmp_path: Path, form: str, place: str
) -> None:
    whole, out = (tmp_path / name / "set.jsonl" for name in ("whole", "out"))
    if form != "jsonl":
        whole, out = (path.with_suffix(".parquet") for path in (whole, out))
    exported(made, whole, form)
    exported(write(tmp_path, LATE), out, form)  # an older one, to be replaced
    older = content(out)
    command = [sys.executable, "-c", KILLED, str(made), str(out), form, place]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    left = {"between two folders": {}, "after the move": content(whole)}.get(place, older)
    assert content(out) == left
    exported(made, out, form)
    assert content(out) == content(whole)
    assert sorted(os.listdir(out.parent)) == [out.name, f"{out.name}.manifest.json"]
    assert read_manifest(out) == read_manifest(whole)


@pytest.mark.parametrize("form", ["hf", "jsonl"])
def test_a_second_export_to_one_place_is_refused_while_the_first_goes_on(
    made: Path, tmp_path: Path, form: str
) -> None:
    out, alone = tmp_path / "twice" / "out.jsonl", tmp_path / "alone" / "out.jsonl"
    refused: list[str] = []

    def meanwhile(done: int, total: int) -> None:
        with pytest.raises(InputError) as refusal:
            exported(write(tmp_path, LATE), out, form)
        refused.append(str(refusal.value))

    export(made, out, Plan(form), {}, progress=meanwhile)
    assert {*refused} == {
        f"{out} is being written by another process; wait for it or choose another output path"
    }
    exported(made, alone, form)
    assert content(out) == content(alone)
    assert read_manifest(out) == read_manifest(alone)
    assert sorted(os.listdir(out.parent)) == [out.name, f"{out.name}.manifest.json"]
    exported(made, out, form)  # and nothing is left that would refuse the next


def content(path: Path) -> dict[str, bytes]:
    """Every file of a folder, or the one file, by its place; nothing where there is none."""
    files = path.rglob("*") if path.is_dir() else [path]
    return {str(f.relative_to(path)): f.read_bytes() for f in files if f.is_file()}


def test_a_full_disk_is_one_line_and_leaves_what_was_there(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    exported(write(tmp_path, LATE), out, "jsonl")
    before = out.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"cannot write .*out\.jsonl: No space left"):
        exported(made, out, "jsonl")
    assert out.read_bytes() == before
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_an_export_with_other_splits_leaves_no_old_split_behind(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    exported(made, out, "jsonl", shares={"train": 0.5, "dev": 0.25, "test": 0.25})
    exported(made, out, "jsonl", shares={"train": 0.5, "test": 0.5})
    assert sorted(os.listdir(out)) == ["test.jsonl", "train.jsonl"]


def test_nothing_but_an_export_is_replaced(made: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    mine.write_text("mine\n")
    with pytest.raises(ManifestMismatch, match=r"mine\.jsonl holds something without a manifest"):
        exported(made, mine, "jsonl")
    with pytest.raises(ManifestMismatch, match="holds something else than an export"):
        exported(made, tmp_path, "hf")
    with pytest.raises(InputError, match="is no folder to be"):
        exported(made, mine, "hf")
    with pytest.raises(InputError, match="is what this command reads"):
        exported(made, made, "jsonl")
    assert os.listdir(tmp_path) == ["mine.jsonl"]
    assert mine.read_text() == "mine\n"


def test_a_folder_is_not_replaced_by_what_is_read_from_it(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    exported(made, out, "jsonl", shares={"train": 0.5, "test": 0.5})
    with pytest.raises(InputError, match=r"lies in .*set, which is replaced"):
        exported(out / "train.jsonl", out, "hf")
    assert sorted(os.listdir(out)) == ["test.jsonl", "train.jsonl"]


# --- what is refused -----------------------------------------------------------------------


def test_an_unfinished_file_of_tasks_is_refused_unless_asked_for(tmp_path: Path) -> None:
    path, out = write(tmp_path, LATE), tmp_path / "out.jsonl"
    write_manifest(path, Manifest("tasks"))
    with pytest.raises(InputError, match=r"tasks\.jsonl is unfinished; .* --unfinished"):
        exported(path, out, "jsonl")
    assert export(path, out, Plan("jsonl"), {}, unfinished=True).tasks == 1


def test_tasks_that_are_the_same_but_for_their_ids_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, LATE, replace(LATE, id="again", teacher="other"))
    with pytest.raises(InputError, match="tasks 'late' and 'again' are the same but for their ids"):
        exported(path, tmp_path / "out.jsonl", "jsonl")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--format", "csv"], "unknown format 'csv'; known: jsonl, parquet, hf, trl, verl"),
        (["--format", "hf", "--heldout-server", "bank"], "unknown server 'bank'; known: banking"),
        (["--format", "verl"], "out.jsonl does not end in .parquet, as files of --format verl do"),
        (["--format", "jsonl", "--split", "train=2"], "the shares in 'train=2' sum to 2, not 1"),
        (["--format", "jsonl", "--split", "a=0.5,b=0.5"], "no task is left for split 'b'"),
        (["--format", "jsonl", "--decontamination", "r.json"], "r.json goes into the card of"),
        (["--format", "hf", "--decontamination", "r.json"], "cannot read r.json: No such file"),
    ],
)
def test_a_wrong_wish_is_one_line_and_2_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], told: str
) -> None:
    path = write(tmp_path, LATE)
    out = str(tmp_path / "out.jsonl")
    assert cli.call(["dataset", "export", str(path), "--out", out, *more]) == 2
    ran = capsys.readouterr()
    assert (ran.out, ran.err.count("\n")) == ("", 1)
    assert told in ran.err
    assert os.listdir(tmp_path) == ["tasks.jsonl"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "holds no task"),
        ("{broken\n", r"tasks\.jsonl:1: "),
        ('{"id":"a","kind":"abstention","turns":[]}\n', "task 'a' has no user turn"),
    ],
)
def test_a_broken_or_empty_file_is_named(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=told):
        exported(path, tmp_path / "out.jsonl", "jsonl")
    assert os.listdir(tmp_path) == ["tasks.jsonl"]


def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "provegym.dataset.parquet")
    monkeypatch.delattr("provegym.dataset.parquet")
    path = write(tmp_path, LATE)
    arguments = ["dataset", "export", str(path), "--format"]
    assert cli.call([*arguments, "verl", "--out", str(tmp_path / "out.parquet")]) == 2
    assert capsys.readouterr().err == "error: pyarrow is needed: pip install 'provegym[data]'\n"
    assert cli.call([*arguments, "openai", "--out", str(tmp_path / "out.jsonl")]) == 0


def test_json_tells_a_program_what_was_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = write(tmp_path, LATE), tmp_path / "out.jsonl"
    arguments = ["--format", "openai", "--out", str(out), "--json"]
    assert cli.call(["dataset", "export", str(path), *arguments]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"out": str(out), "format": "openai", "tasks": 1, "rows": {"train": 2}}
    found = read_manifest(out)
    assert found is not None
    assert (found.kind, found.complete, found.rows) == ("export", True, 2)
    assert (found.settings["format"], found.settings["shares"]) == ("openai", {})
    assert found.parent == records.content_hash(path)
