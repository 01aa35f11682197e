"""What commands may write over, and what not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from provegym import cli, records
from provegym.errors import BrokenRecord, InputError, ManifestMismatch
from provegym.llm.scripted import ScriptedServer, fails
from provegym.rollout.summary import summarize
from provegym.types import Call, Task, Trace, Turn
from tests.conftest import Command


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Tasks and traces of one task."""
    tasks, traces = tmp_path / "tasks.jsonl", tmp_path / "traces.jsonl"
    records.write_atomic(tasks, [records.encode(Task("t", "abstention", (Turn("Hello."),)))])
    records.write_atomic(traces, [records.encode(Trace("r", "t", (), stop_reason="done"))])
    return tasks, traces


@pytest.mark.parametrize("verb", ["score", "rescore"])
@pytest.mark.parametrize("which", [0, 1])
def test_an_input_is_never_written_over(
    files: tuple[Path, Path], verb: str, which: int, capsys: pytest.CaptureFixture[str]
) -> None:
    before = [path.read_bytes() for path in files]
    told = ["--tasks", str(files[0]), "--traces", str(files[1]), "--out", str(files[which])]
    assert cli.call([verb, *told]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert [path.read_bytes() for path in files] == before


def test_replayed_traces_never_replace_the_traces_they_are_made_from(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    tasks, traces = files
    named = traces.rename(traces.with_name("s.traces.jsonl"))
    before = named.read_bytes()
    told = ["--tasks", str(tasks), "--traces", str(named), "--out", str(tasks.parent / "s.jsonl")]
    assert cli.call(["rescore", *told]) == 2
    assert "is what this command reads" in capsys.readouterr().err
    assert named.read_bytes() == before


def test_scores_replace_scores_and_nothing_else(files: tuple[Path, Path], tmp_path: Path) -> None:
    told = ["--tasks", str(files[0]), "--traces", str(files[1]), "--out"]
    assert cli.call(["score", *told, str(tmp_path / "s.jsonl")]) == 0
    assert cli.call(["score", *told, str(tmp_path / "s.jsonl")]) == 0
    (tmp_path / "notes.txt").write_text("mine")
    assert cli.call(["score", *told, str(tmp_path / "notes.txt")]) == 2
    assert (tmp_path / "notes.txt").read_text() == "mine"
    records.write_manifest(tmp_path / "notes.txt", records.Manifest("tasks"))
    with pytest.raises(ManifestMismatch, match="holds tasks, not scores"):
        records.check_output(tmp_path / "notes.txt", "scores", ())


@pytest.mark.parametrize("name", ["", ".", "folder"])
def test_a_path_that_names_no_file_is_refused_in_one_line(
    files: tuple[Path, Path],
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.iterdir())
    tasks, traces = map(str, files)
    played = ["--tasks", tasks, "--traces", traces]
    for told in (
        ["synth", "--limit", "1", "--servers", "banking"],
        ["rollout", tasks, "--policy", "noop"],
        ["score", *played],
        ["rescore", *played],
    ):
        assert cli.call([*told, "--out", name]) == 2, told
        written = capsys.readouterr().err
        assert written == f"error: {name or '.'!r} names no file; choose another path\n", told
    assert sorted(tmp_path.iterdir()) == before


def test_pipes_and_devices_are_left_alone(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="is not a plain file"):
        records.write_atomic(pipe, [b"x"])
    with pytest.raises(InputError, match="is not a plain file"):
        records.Store(pipe, Task, records.Manifest("tasks"))
    assert pipe.is_fifo()
    assert not list(tmp_path.glob("*.manifest.json"))


def test_a_folder_is_no_graph_and_a_server_is_named_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.call(["graph", "--servers", "banking", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"error: cannot read {tmp_path}: Is a directory\n"
    assert cli.call(["graph", "--servers", "banking", "--out", str(tmp_path / "g.svg")]) == 2
    assert "is where the picture goes" in capsys.readouterr().err
    twice = ["graph", "--servers", "banking,banking", "--out", str(tmp_path / "graph.json")]
    assert cli.call(twice) == 2
    assert "names a server twice" in capsys.readouterr().err


def test_the_masked_are_counted_even_if_there_is_one_trace() -> None:
    lost = Trace("r", "t", (Call("x", {}, turn=0, step=0, outcome="infrastructure"),))
    assert repr(summarize([lost]).masked) == "1"
    assert repr(summarize([Trace("r", "t", ())]).masked) == "0"


STARTED = [sys.executable, "-c", "from provegym.entry import main; main()"]


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("servers", "list"), "standard output"),
        (("servers", "show", "banking", "--json"), "standard output"),
        (("--help",), "standard output( or a file)?"),
    ],
)
def test_a_full_standard_output_is_one_line_and_exit_code_1(
    arguments: tuple[str, ...], what: str, unbuffered: str
) -> None:
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [*STARTED, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            text=True,
            check=False,
        )
    assert ran.returncode == 1
    assert re.fullmatch(
        rf"error: cannot go on: {what}: No space left on device; make room or choose another "
        r"place, what was written stays\n",
        ran.stderr,
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("shown", ["--version", "--help", "servers show banking --json"])
def test_a_reader_who_leaves_ends_a_command_in_silence(shown: str, unbuffered: str) -> None:
    with subprocess.Popen(
        [*STARTED, *shown.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        text=True,
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == ""


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"\xef\xbb\xbf{}", "byte-order mark"),
        (b'{"id": "\\ud800"}', "stands alone"),
        (b'{"id": "t", "kind": ' + b"[" * 200_000, "nested too deeply"),
        (b'{"id": "r", "task_id": "t", "calls": [{"name": "x", "arguments": {}, "turn": -1, '
         b'"step": 0, "outcome": "ok"}]}', ">= 0"),
        (b'{"id": "", "task_id": "t", "calls": []}', "id is empty"),
    ],
    ids=["bom", "surrogate", "deep", "turn", "nameless"],
)  # fmt: skip
def test_a_broken_line_is_told_by_its_cause(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(line + b"\n")
    with pytest.raises(BrokenRecord, match=f"traces.jsonl:1: .*{reason}"):
        list(records.read_distinct(path, Trace))


def test_a_name_used_twice_is_told_with_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(records.encode(Trace("r", "t", ())) + b"\n\n")
    with path.open("ab") as file:
        file.write(records.encode(Trace("r", "t", ())) + b"\n")
    with pytest.raises(BrokenRecord, match=r"traces.jsonl:3: id 'r' is that of line 1; rename"):
        list(records.read_distinct(path, Trace))


def test_files_without_anything_in_them_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert cli.call(["certify", str(empty)]) == 2
    assert "holds no task" in capsys.readouterr().err
    assert cli.call(["eval", str(empty), str(empty)]) == 2
    assert "holds no trace" in capsys.readouterr().err
    assert cli.call(["graph", "--servers", "", "--out", str(tmp_path / "graph.json")]) == 2
    assert "no server is named; give some of banking, " in capsys.readouterr().err


def test_a_policy_that_nobody_answers_for_ends_in_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks, out = tmp_path / "tasks.jsonl", tmp_path / "traces.jsonl"
    task = Task("t", "abstention", (Turn("Hello"),), servers=("banking",))
    records.write_atomic(tasks, [records.encode(task)])
    rollout = ["rollout", str(tasks), "--policy", "openai:m", "--out", str(out), "--base-url"]
    assert cli.call([*rollout, "http://127.0.0.1:9/v1"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: no endpoint of model 'm' is there, http://127.0.0.1:9/v1: ")
    assert told.count("\n") == 1
    with ScriptedServer(answers=[fails(400, "no")]) as server:
        assert cli.call([*rollout, server.url]) == 1
    assert "error: all 1 episodes were lost to faults" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "{}"),
        ("train", "verl", "{}", "--dry-run"),
        ("graph", "{}"),
        ("graph", "--servers", "budget", "--out", "{}"),
        ("dataset", "import", "when2call", "{}", "--out", "out.jsonl"),
        (
            "dataset",
            "export",
            "tasks.jsonl",
            "--format",
            "hf",
            "--out",
            "o",
            "--decontamination",
            "{}",
        ),
        ("dataset", "stats", "{}"),
        ("eval", "{}.json"),
    ],
    ids=" ".join,
)
def test_a_device_is_refused_as_input_before_it_is_read(
    provegym: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """An endless one would fill the memory; that of the test ends at once."""
    monkeypatch.chdir(tmp_path)
    for name in ("device", "device.json"):
        Path(name).symlink_to("/dev/null")
    task = Task("t", "workflow", (Turn("Hi."),), ("budget",))
    records.write_atomic("tasks.jsonl", [records.encode(task)])
    ran = provegym(*(word.format("device") for word in arguments))
    assert ran.code == 2
    assert re.search(r"error: cannot read device(\.json)?: it is a device, which need not", ran.err)


def test_a_split_never_takes_the_place_of_its_seal(
    provegym: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("recipe.toml").write_text('[run]\nname = "b"\nservers = ["budget"]\n', "utf-8")
    assert provegym("benchmark", "seal", "mine", "--out", "seal.json").code == 0
    before = sorted(tmp_path.iterdir())
    make = ("benchmark", "make", "recipe.toml", "--seal", "seal.json", "--out")
    assert "seal.json is what this command reads" in provegym(*make, "seal.json").err
    assert "recipe.toml is what this command reads" in provegym(*make, "recipe.toml").err
    assert sorted(tmp_path.iterdir()) == before
