"""What an installation costs: its size, its time, that of an import and of `provegym --help`.

Run `python -m benchmarks.package`; pip gets the core's dependencies from its index. Times are of
CPU, since those of the wall depend on the network and on who else is at work.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SIZE = 90.0
"""Megabytes of the core with all that it needs, compiled by pip."""
INSTALL = 20.0
IMPORT = 0.15
HELP = 0.3


class Figure(NamedTuple):
    """A value with the target that it may at most have."""

    what: str
    value: float
    target: float
    unit: str


def cpu(command: Sequence[str | Path], path: str = "") -> float:
    """Seconds of CPU of a command and its children, with `path` to find modules in. Raises
    CalledProcessError if it fails.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = {**os.environ, "PYTHONPATH": path}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/", env=told)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def megabytes(folder: Path) -> float:
    """What the disk holds of a folder."""
    files = (path.lstat() for path in folder.rglob("*") if not path.is_dir())
    return sum(512 * stat.st_blocks for stat in files) / 1e6


def starts(python: Path, path: str = "", repeats: int = 5) -> Iterator[Figure]:
    """An import and the help, by an interpreter that finds provegym in `path`; medians, warm."""
    for what, words, target in (
        ("import provegym", ["-c", "import provegym"], IMPORT),
        ("provegym --help", ["-c", HELPS], HELP),
    ):
        seconds = median(cpu([python, *words], path) for _ in range(repeats))
        yield Figure(what, seconds, target, "s of CPU")


HELPS = "import sys; sys.argv[1:] = ['--help']; from provegym.entry import main; main()"
"""What the console script does."""


def measure() -> Iterator[Figure]:
    """Build the wheel, install it in a bare environment, and measure that."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run(
            [*pip, "wheel", "--no-deps", "--wheel-dir", folder, ROOT], check=True, cwd=folder
        )
        wheel = next(folder.glob("*.whl"))
        venv.create(folder / "env", with_pip=True, symlinks=True)
        bare, python = megabytes(folder / "env"), folder / "env" / "bin" / "python"
        spent = cpu([python, "-m", "pip", "--quiet", "install", wheel])
        yield Figure("core install, size", megabytes(folder / "env") - bare, SIZE, "MB")
        yield Figure("core install, time", spent, INSTALL, "s of CPU")
        yield from starts(python)


if __name__ == "__main__":
    for figure in measure():
        print(f"{figure.what}: {figure.value:.3f} {figure.unit} (target {figure.target})")
