"""A run of ablations: each cell once, whatever is killed, one by one or all together."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from provegym import cli, config
from provegym.ablation import cells, run
from provegym.ablation.cells import Place
from provegym.config import RunConfig
from provegym.errors import InputError, ManifestMismatch, UnknownName
from provegym.runs import Advance

ROOT = Path(__file__).parents[2]
SMOKE = ROOT / "configs" / "ablations-smoke.toml"


@contextmanager
def silent(_: str) -> Iterator[Advance]:
    yield lambda done, total: None


def smoke(folder: Path, *overrides: str) -> RunConfig:
    return config.load(SMOKE, [f"run.out={folder}", *overrides])


def outputs(folder: Path) -> dict[str, bytes]:
    """The files that must not depend on how often a run was killed."""
    names = ("ablations.md", "*/tasks.jsonl", "*/*/*/eval/*.jsonl")
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for name in names
        for path in folder.glob(name)
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> run.Summary:
    return run.run(smoke(tmp_path_factory.mktemp("ablations")), silent)


def test_each_cell_is_trained_and_played_on_the_same_tasks(finished: run.Summary) -> None:
    assert finished.done == ["tiny/base/1", "tiny/full/1", "tiny/sft/1"]
    assert finished.missing == []
    folder = finished.folder / "tiny"
    assert (folder / "full/1/grpo/policy/model.safetensors").is_file()
    assert (folder / "sft/1/sft/policy/model.safetensors").is_file()
    assert not (folder / "sft/1/grpo").exists()
    manifests = [
        json.loads((path / "eval/after.traces.jsonl.manifest.json").read_text())
        for path in folder.glob("*/1")
    ]
    assert len(manifests) == 3
    assert len({told["parent"] for told in manifests}) == 1
    page = finished.report.read_text()
    assert "| `full` - `base` |" in page
    assert "do not reproduce the paper's numbers" in page
    assert page.count("not testable at this size") == 13


KILLED = """
import os, signal, sys
from provegym import cli, learning, runs
evaluate, begun = runs.evaluate, []
def die(*told):
    begun.append(told)
    if len(begun) == 2:  # the first cell is trained and not yet played
        os.kill(os.getpid(), signal.SIGKILL)
    return evaluate(*told)
runs.evaluate = die
cli.call(["run", *sys.argv[1:]])
"""


def test_a_killed_run_goes_on_where_it_was_and_ends_the_same(
    finished: run.Summary, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", KILLED, str(SMOKE), "--set", f"run.out={tmp_path}"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    policy = tmp_path / "tiny/full/1/grpo/policy/model.safetensors"
    trained = policy.stat().st_mtime_ns
    again = run.run(smoke(tmp_path), silent)
    assert policy.stat().st_mtime_ns == trained
    assert again.done == finished.done
    assert outputs(tmp_path) == outputs(finished.folder)


def test_a_finished_run_trains_nothing_again_and_reports_anew(
    finished: run.Summary, capsys: pytest.CaptureFixture[str]
) -> None:
    before = outputs(finished.folder)
    finished.report.unlink()
    assert cli.call(["report", str(finished.folder)]) == 0
    assert capsys.readouterr().out == f"report: {finished.report}\n"
    command = ["run", str(SMOKE), "--set", f"run.out={finished.folder}", "--cell", "tiny/sft"]
    assert cli.call([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["done"] == finished.done
    assert outputs(finished.folder) == before


def test_seeds_and_cells_may_be_added_and_settings_not_changed(finished: run.Summary) -> None:
    from provegym import runs

    runs.claim(smoke(finished.folder, "ablations.tiny.seeds=3"))
    runs.claim(smoke(finished.folder, "ablations.tiny.cells=['full', 'strict']"))
    with pytest.raises(ManifestMismatch, match=r"ablations\.warm_tasks 6, but 7 is asked for"):
        runs.claim(smoke(finished.folder, "ablations.warm_tasks=7"))


def test_cells_are_named_by_the_start_of_their_path_and_done_seed_by_seed(tmp_path: Path) -> None:
    told = smoke(tmp_path, "ablations.tiny.seeds=2")
    assert [str(p.path) for p in cells.places(told)] == [
        *("tiny/base/1", "tiny/full/1", "tiny/sft/1"),
        *("tiny/base/2", "tiny/full/2", "tiny/sft/2"),
    ]
    assert [p.seed for p in cells.places(told, ["tiny/sft"])] == [1, 2]
    assert cells.places(told, ["tiny/sft/2"]) == [Place("tiny", "sft", 2)]
    with pytest.raises(UnknownName, match="unknown cell 'tiny/strict'"):
        cells.places(told, ["tiny/strict"])


def test_a_config_without_ablations_has_no_cells(tmp_path: Path) -> None:
    told = config.load(ROOT / "configs" / "smoke.toml")
    with pytest.raises(InputError, match=r"smoke has no \[ablations\]"):
        cells.places(told, ["tiny"])


def test_a_cell_differs_from_full_in_one_thing(tmp_path: Path) -> None:
    told = config.load(ROOT / "configs" / "ablations.toml", [f"run.out={tmp_path}"])
    full = cells.settings(told, Place("tiny", "full", 1)).model_dump()
    for name, recipe in cells.RECIPES.items():
        other = cells.settings(told, Place("tiny", name, 1)).model_dump()
        assert other["run"].pop("out") == str(tmp_path / "tiny" / name / "1")
        other["run"]["out"] = full["run"]["out"]
        assert other["grpo"].pop("preset") == recipe.preset
        other["grpo"]["preset"] = full["grpo"]["preset"]
        assert other == full
    assert cells.settings(told, Place("smollm2", "full", 2)).run.start == "shipped"


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("ablations.tiny.cells=['sft']", "cells lacks full"),
        ("ablations.tiny.cells=['full', 'full']", "cells names one twice"),
        ("ablations.tiny.seeds=0", "ablations.tiny.seeds is 0"),
        ("ablations.tiny.cells=['full', 'all']", "ablations.tiny.cells"),
    ],
)
def test_settings_that_make_no_table_are_refused(tmp_path: Path, override: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        smoke(tmp_path, override)
