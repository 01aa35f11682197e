"""The run of a whole config: what it leaves, what it refuses, and what a kill does to it."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from provegym import cli, config, records, runs
from provegym.config import RunConfig
from provegym.errors import InputError, ManifestMismatch, UnknownName
from provegym.llm.scripted import ScriptedServer
from provegym.runs import Advance, RunSummary
from provegym.synth.make import Plan
from provegym.types import Score, Task
from tests.synth.competent import Competent

ROOT = Path(__file__).parents[1]

SMALL = """
[run]
name = "small"
seed = 3
policy = "tiny"
servers = ["banking"]
[synth]
limit = 4
world_seeds = 1
tools_per_task = 4
max_prompt_tokens = 4096
[sft]
epochs = 1
[grpo]
steps = 2
group_size = 2
prompts_per_step = 1
learning_rate = 1e-4
beta = 0
max_completion_tokens = 2048
max_reply_tokens = 48
max_result_tokens = 128
max_steps = 2
[eval]
tasks = 3
"""


@contextmanager
def silent(_: str) -> Iterator[Advance]:
    yield lambda done, total: None


def small(folder: Path, *overrides: str) -> RunConfig:
    path = folder / "small.toml"
    path.write_text(SMALL, "utf-8")
    return config.load(path, [f"run.out={folder / 'out'}", *overrides])


def outputs(folder: Path) -> dict[str, bytes]:
    """The files that must not depend on how often a run was killed."""
    names = ("*/tasks.jsonl", "*/conversations.jsonl", "eval/*.jsonl")
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for name in names
        for path in folder.glob(name)
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunConfig, RunSummary]:
    settings = small(tmp_path_factory.mktemp("run"))
    return settings, runs.run(settings, silent)


def test_a_run_leaves_certified_tasks_a_policy_and_scores(
    finished: tuple[RunConfig, RunSummary],
) -> None:
    settings, summary = finished
    folder = settings.run.folder
    assert (summary.train.tasks, summary.heldout.tasks, summary.steps) == (4, 3, 2)
    assert (folder / "grpo" / "policy" / "model.safetensors").is_file()
    for name in ("before", "after"):
        scores = list(records.read(folder / "eval" / f"{name}.scores.jsonl", Score))
        assert [score.preset for score in scores] == ["strict"] * 3
    assert summary.gain["reward"].n == 3
    assert summary.compared is None
    assert summary.report.read_text("utf-8").startswith("<!doctype html>")
    assert summary.peak_memory > 50 * 2**20


def test_training_and_held_out_tasks_share_no_world(
    finished: tuple[RunConfig, RunSummary],
) -> None:
    folder = finished[0].run.folder
    train, heldout = (
        {task.seed for task in records.read(folder / name / "tasks.jsonl", Task)}
        for name in ("train", "heldout")
    )
    assert train
    assert heldout
    assert not train & heldout


def test_a_finished_run_costs_nothing_to_repeat(finished: tuple[RunConfig, RunSummary]) -> None:
    settings, summary = finished
    before = outputs(settings.run.folder)
    again = runs.run(settings, silent)
    assert outputs(settings.run.folder) == before
    assert again.gain == summary.gain
    assert again.reward == summary.reward


def test_the_verbs_read_what_a_run_left(
    finished: tuple[RunConfig, RunSummary], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = finished[0].run.folder
    tasks, before, after = (
        str(folder / name)
        for name in ("heldout/tasks.jsonl", "eval/before.traces.jsonl", "eval/after.traces.jsonl")
    )
    assert cli.call(["eval", tasks, after, "--against", before, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [report["episodes"] for report in told["reports"]] == [3, 3]
    assert told["difference"]["reward"]["n"] == 3
    assert cli.call(["eval", tasks, after]) == 0
    assert "difference" not in capsys.readouterr().out
    (folder / "report.html").unlink()
    assert cli.call(["report", str(folder)]) == 0
    assert (folder / "report.html").is_file()


def halve(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


CUT = {
    "warm/policy/model.safetensors": "model.safetensors is damaged",
    "warm/policy/provegym.json": "provegym.json is damaged",
    "grpo/checkpoints/checkpoint-2/weights.pt": "weights.pt is damaged",
    "grpo/checkpoints/checkpoint-2/trainer_state.json": "trainer_state.json is damaged",
    "grpo/checkpoints/checkpoint-2/sums.json": "sums.json is damaged",
    "warm/checkpoint.pt": "checkpoint.pt': a broken file",
    "grpo/curves.jsonl": "curves.jsonl was finished with 2 rows but has [01];",
}


@pytest.mark.parametrize("name", CUT)
def test_a_file_that_was_cut_is_named(
    name: str, finished: tuple[RunConfig, RunSummary], tmp_path: Path
) -> None:
    settings = small(tmp_path)
    shutil.copytree(finished[0].run.folder, settings.run.folder)
    stage = settings.run.folder / name.partition("/")[0]
    if "checkpoint" in name:  # it is read where training is to go on
        shutil.rmtree(stage / "policy")
    halve(settings.run.folder / name)
    with pytest.raises(InputError, match=CUT[name]):
        runs.run(settings, silent)


def test_without_a_damaged_checkpoint_training_goes_on_at_the_one_before(
    finished: tuple[RunConfig, RunSummary], tmp_path: Path
) -> None:
    settings = small(tmp_path)
    shutil.copytree(finished[0].run.folder, settings.run.folder)
    shutil.rmtree(settings.run.folder / "grpo/policy")
    shutil.rmtree(settings.run.folder / "grpo/checkpoints/checkpoint-2")
    shutil.rmtree(settings.run.folder / "eval")
    runs.run(settings, silent)
    assert outputs(settings.run.folder) == outputs(finished[0].run.folder)


def test_a_report_names_the_broken_line_of_a_curve(
    finished: tuple[RunConfig, RunSummary], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    shutil.copytree(finished[0].run.folder, folder)
    for line, told in (("{", "curves.jsonl:1: no JSON"), ("[]", "curves.jsonl:1: [] is no object")):
        (folder / "grpo" / "curves.jsonl").write_text(f"{line}\n", "utf-8")
        assert cli.call(["report", str(folder)]) == 2
        assert told in capsys.readouterr().err


def test_train_takes_tasks_from_a_file_and_fine_tunes_the_starting_policy(
    finished: tuple[RunConfig, RunSummary], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = finished[0].run.folder
    small(tmp_path)
    overrides = [f"run.out={tmp_path / 'out'}", f"run.start={folder / 'warm' / 'policy'}"]
    arguments = [
        "train",
        str(tmp_path / "small.toml"),
        "--tasks",
        str(folder / "train/tasks.jsonl"),
    ]
    arguments += [part for override in overrides for part in ("--set", override)]
    assert cli.call([*arguments, "--method", "sft"]) == 0
    assert capsys.readouterr().out == f"policy: {tmp_path / 'out' / 'sft' / 'policy'}\n"
    assert cli.call([*arguments, "--method", "dpo"]) == 2
    assert "unknown method 'dpo'; known: grpo, sft" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["run", "train"])
def test_a_start_that_is_no_policy_is_refused_before_anything_is_made(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small(tmp_path)
    tasks = tmp_path / "tasks.jsonl"
    assert cli.call(["synth", "--limit", "1", "--servers", "banking", "--out", str(tasks)]) == 0
    told = [f"run.out={tmp_path / 'out'}", "run.start=/nonexist"]
    options = [part for one in told for part in ("--set", one)]
    options += ["--tasks", str(tasks)] if verb == "train" else []
    assert cli.call([verb, str(tmp_path / "small.toml"), *options]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("error: run.start: '/nonexist' holds no policy of provegym")
    assert not (tmp_path / "out").exists()


def test_other_settings_are_refused_by_their_name(tmp_path: Path) -> None:
    runs.claim(small(tmp_path))
    runs.claim(small(tmp_path))
    with pytest.raises(ManifestMismatch, match=r"holds a run with grpo\.steps 2, but 3 is asked"):
        runs.claim(small(tmp_path, "grpo.steps=3"))


def test_a_run_s_folder_may_be_moved_and_called_by_another_path(tmp_path: Path) -> None:
    runs.claim(small(tmp_path))
    (tmp_path / "out").rename(tmp_path / "moved")
    runs.claim(small(tmp_path, f"run.out={tmp_path}/./moved/"))


def test_a_folder_that_holds_no_run_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = small(tmp_path)
    settings.run.folder.mkdir()
    kept = settings.run.folder / "thesis.md"
    kept.write_text("mine", "utf-8")
    told = ["run", str(tmp_path / "small.toml"), "--set", f"run.out={settings.run.folder}"]
    assert cli.call(told) == 2
    assert "holds something else than a run" in capsys.readouterr().err
    assert list(settings.run.folder.iterdir()) == [kept]


def test_an_empty_folder_may_become_a_run(tmp_path: Path) -> None:
    settings = small(tmp_path)
    settings.run.folder.mkdir()
    (settings.run.folder / ".run.json.k1ll3d").touch()  # of a process that was killed
    runs.claim(settings)
    runs.claim(settings)
    assert (settings.run.folder / "run.json").is_file()


def test_a_run_goes_on_with_another_budget_but_not_with_another_teacher(tmp_path: Path) -> None:
    runs.claim(small(tmp_path, "teacher.model=m", "teacher.budget_tokens=5"))
    runs.claim(small(tmp_path, "teacher.model=m", "teacher.budget_tokens=9", "teacher.timeout=1"))
    with pytest.raises(ManifestMismatch, match=r"holds a run with teacher\.model 'm', but 'n' is"):
        runs.claim(small(tmp_path, "teacher.model=n"))


def test_a_run_with_a_teacher_lets_it_make_all_its_tasks(tmp_path: Path) -> None:
    with ScriptedServer(Competent(Plan(3, ("banking",), ("banking",)), worlds=2)) as server:
        told = small(tmp_path, "teacher.model=m", f"teacher.base_url={server.url}")
        made = runs.synthesize(told, silent)
    for each, count in zip(made, (4, 3), strict=True):
        assert [task.teacher for task in each.tasks()] == ["m"] * count


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("run.servers=['bank']", "unknown server 'bank'"),
        ("grpo.preset=kind", "unknown preset 'kind'"),
        ("eval.preset=kind", "unknown preset 'kind'"),
    ],
)
def test_names_are_looked_up_before_anything_is_written(
    tmp_path: Path, override: str, told: str
) -> None:
    with pytest.raises(UnknownName, match=told):
        runs.run(small(tmp_path, override), silent)
    assert not (tmp_path / "out").exists()


def test_the_ends_of_a_curve_are_a_fifth_each() -> None:
    assert runs.ends([]) == (None, None)
    assert runs.ends([0.25]) == (0.25, 0.25)
    assert runs.ends([0.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.25, 0.75]) == (0.5, 0.5)


@pytest.mark.slow
def test_a_run_killed_ten_times_ends_with_the_same_bytes(tmp_path: Path) -> None:
    smoke = ROOT / "configs" / "smoke.toml"
    begun = time.monotonic()
    assert start(smoke, tmp_path / "whole").wait() == 0
    kill_ten_times(smoke, tmp_path / "killed", time.monotonic() - begun)
    assert outputs(tmp_path / "killed") == outputs(tmp_path / "whole")


@pytest.mark.slow
def test_a_killed_run_of_smollm2_has_the_same_tasks_and_every_row_once(tmp_path: Path) -> None:
    brief = ("synth.limit=8", "grpo.steps=3", "grpo.max_seconds=0", "eval.tasks=4")
    demo, killed, whole = ROOT / "configs" / "demo.toml", tmp_path / "killed", tmp_path / "whole"
    begun = time.monotonic()
    assert start(demo, whole, *brief).wait() == 0
    kill_ten_times(demo, killed, time.monotonic() - begun, *brief)
    for name in ("train", "heldout"):
        tasks = (folder / name / "tasks.jsonl" for folder in (killed, whole))
        assert len({path.read_bytes() for path in tasks}) == 1
    asked = [task.id for task in records.read(killed / "heldout" / "tasks.jsonl", Task)]
    for name in ("before", "after"):
        rows = records.read(killed / "eval" / f"{name}.scores.jsonl", Score)
        assert [row.task_id for row in rows] == asked
    steps = [row["step"] for row in records.read_rows(killed / "grpo" / "curves.jsonl")]
    assert steps == [1, 2, 3]


def kill_ten_times(settings: Path, folder: Path, seconds: float, *overrides: str) -> None:
    """Kill a run at random moments of the time that it takes whole, then let it end."""
    chance = random.Random(11)
    for _ in range(10):
        process = start(settings, folder, *overrides)
        try:
            process.wait(timeout=chance.uniform(1, seconds))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert start(settings, folder, *overrides).wait() == 0


def start(settings: Path, folder: Path, *overrides: str) -> subprocess.Popen[bytes]:
    """The command in a group of its own, for synthesis has a second process."""
    command = ["run", str(settings)]
    for override in (f"run.out={folder}", *overrides):
        command += ["--set", override]
    script = f"from provegym import cli; raise SystemExit(cli.call({command!r}))"
    return subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, start_new_session=True, stdout=subprocess.DEVNULL
    )
