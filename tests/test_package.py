"""What is installed: the wheel's files, what it costs to start, and a newcomer's first steps."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import provegym
from provegym import bench

ROOT = Path(__file__).parents[1]
HERE = Path(provegym.__file__).parents[1]
HELD = ("prompts", "static", "adapters", "presets")
"""Folders of the package whose files are no code."""

package = bench.load("package")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as the build backend makes it, without a network."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel")
    out = tmp_path_factory.mktemp("dist")
    build = ["-m", "hatchling", "build", "--target", "wheel", "--directory", str(out)]
    subprocess.run([sys.executable, *build], check=True, cwd=ROOT, capture_output=True)
    return next(out.glob("provegym-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's packages, to stand before the checkout on the path."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def run(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of the installed package, from a folder that knows no checkout."""
    script = "from provegym.entry import main; main()"
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=folder,
        text=True,
        capture_output=True,
        check=False,
    )


def test_the_wheel_holds_every_file_of_the_package_and_the_configs(wheel: Path) -> None:
    kept = {"__pycache__", ".mypy_cache", ".ruff_cache"}
    files = {p.relative_to(ROOT) for p in (ROOT / "provegym").rglob("*") if p.is_file()}
    configs = {p.relative_to(ROOT) for p in (ROOT / "configs").rglob("*.toml")}
    wanted = {str(p) for p in files if not kept & set(p.parts)}
    wanted |= {f"provegym/{p}" for p in configs}
    held = set(zipfile.ZipFile(wheel).namelist())
    assert wanted - held == set()
    assert "provegym/py.typed" in held
    assert len(configs) > 10
    for folder in HELD:
        assert any(f"/{folder}/" in name and not name.endswith(".py") for name in held)
    others = {name.split("/")[0] for name in held}
    assert others == {
        "provegym",
        "provegym_verifiers",
        f"provegym-{provegym.__version__}.dist-info",
    }


def test_one_version_stands_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert cited
    assert project["version"] == cited[1] == provegym.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", provegym.__version__)


def test_an_installation_finds_the_shipped_configs_and_yours_first(
    installed: Path, tmp_path: Path
) -> None:
    told = run(installed, tmp_path, "train", "verl", "configs/paper/qwen3-8b.toml", "--dry-run")
    assert told.returncode == 0, told.stderr
    assert "optim.lr=5e-08" in told.stdout
    mine = tmp_path / "configs" / "paper" / "qwen3-8b.toml"
    mine.parent.mkdir(parents=True)
    shipped = (ROOT / "configs" / "paper" / mine.name).read_text("utf-8")
    mine.write_text(shipped.replace("learning_rate = 5e-8", "learning_rate = 2e-6"), "utf-8")
    told = run(installed, tmp_path, "train", "verl", "configs/paper/qwen3-8b.toml", "--dry-run")
    assert "optim.lr=2e-06" in told.stdout


def test_a_config_that_is_nowhere_is_one_line_and_2(installed: Path, tmp_path: Path) -> None:
    told = run(installed, tmp_path, "run", "configs/nope.toml")
    assert told.returncode == 2
    assert told.stderr == "error: cannot read configs/nope.toml: No such file or directory\n"


def test_an_installation_makes_tasks_and_scores_them(installed: Path, tmp_path: Path) -> None:
    told = ("--limit", "2", "--seed", "7", "--servers", "budget", "--out", "t.jsonl")
    made = run(installed, tmp_path, "synth", *told)
    assert made.returncode == 0, made.stderr
    assert "2 certified tasks" in made.stdout
    where = subprocess.run(
        [sys.executable, "-c", "import provegym; print(provegym.__file__)"],
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=tmp_path,
        text=True,
        capture_output=True,
        check=True,
    )
    assert Path(where.stdout.strip()).is_relative_to(installed)


def test_an_import_and_the_help_take_no_more_cpu_than_they_may() -> None:
    for figure in package.starts(Path(sys.executable), str(HERE), repeats=3):
        assert figure.value <= figure.target, figure


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_a_script_for_its_completion(
    shell: str, tmp_path: Path, installed: Path
) -> None:
    told = subprocess.run(
        [sys.executable, "-c", "from provegym.entry import main; main()"],
        env={
            **os.environ,
            "PYTHONPATH": str(installed),
            "_PROVEGYM_COMPLETE": f"source_{shell}",
        },
        text=True,
        capture_output=True,
        check=True,
    )
    assert "_PROVEGYM_COMPLETE" in told.stdout
    assert f"complete_{shell}" in told.stdout


def test_the_dockerfile_has_no_finding() -> None:
    tool = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which(
        "hadolint"
    )
    if tool is None:
        pytest.skip("hadolint is not installed")
    told = subprocess.run([tool, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout) == (0, "")


def test_the_image_runs_as_nobody_and_from_a_pinned_base() -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert len(bases) == 2
    assert all(re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", base) for base in bases)
    last = text.rpartition("FROM ")[2]
    assert re.search(r"^USER [1-9]\d+$", last, re.MULTILINE)


@pytest.mark.slow
def test_a_newcomer_finds_every_page_as_it_is(wheel: Path) -> None:
    subprocess.run([ROOT / ".ci" / "newcomer", wheel], check=True)


@pytest.mark.slow
def test_the_core_is_small_and_quick_to_install() -> None:
    missed = [figure for figure in package.measure() if figure.value > figure.target]
    assert missed == []
