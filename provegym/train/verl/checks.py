"""What keeps a run from starting on this machine: versions, GPUs, data."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from provegym.train.verl.settings import Settings

VERL = "0.9.1"
"""Its agent loop changes with every release."""
VLLM = (0, 18)
"""The oldest that this verl talks to."""


def problems(settings: Settings) -> Iterator[str]:
    """What keeps the run from starting here, one line each: versions, GPUs, data."""
    yield from _packages(settings)
    if settings.machine.device == "cuda":
        yield from _gpus(settings)
    for name, path in _sources(settings).items():
        if not Path(path).is_file():
            yield f"run.{name}: {path} does not exist; make it with `provegym synth --out {path}`"


def _packages(settings: Settings) -> Iterator[str]:
    found = _version("verl")
    if found != VERL:
        yield (
            f"verl {VERL} is needed, {found or 'none'} is installed: in an environment of its "
            "own, pip install 'provegym[verl]'"
        )
    if _version("trl"):
        yield "trl is installed, and verl's workers do not start beside it; use another environment"
    if settings.machine.device == "cuda":
        vllm = _version("vllm")
        if tuple(map(int, re.findall(r"\d+", vllm)[:2])) < VLLM:
            least = ".".join(map(str, VLLM))
            have = vllm or "none"
            yield f"vllm {least} or newer is needed, {have} is installed: pip install vllm"


def _gpus(settings: Settings) -> Iterator[str]:
    wanted, parallel = settings.machine.gpus, settings.machine.tensor_parallel
    found = _devices()
    if found < wanted:
        yield (
            f"machine.gpus is {wanted}, this machine has {found}; set machine.gpus, or "
            "machine.device = cpu to try things out with a tiny model"
        )
    if wanted % parallel:
        yield f"machine.tensor_parallel = {parallel} does not divide machine.gpus = {wanted}"


def _devices() -> int:
    if importlib.util.find_spec("torch") is None:
        return 0
    import torch

    return torch.cuda.device_count()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _sources(settings: Settings) -> dict[str, str]:
    told = {"tasks": settings.run.tasks, "validation": settings.run.validation}
    return {name: path for name, path in told.items() if path}
