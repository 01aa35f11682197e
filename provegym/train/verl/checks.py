"""What keeps a run from starting on this machine: versions, GPUs, data, the fleet."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from provegym import records
from provegym.dataset.export import refuse_unfinished
from provegym.errors import InputError, ProvegymError
from provegym.gateway import wire
from provegym.gateway.client import Connection
from provegym.train.sessions import token
from provegym.train.verl import command
from provegym.train.verl.settings import Settings, Source

VERL = "0.9.1"
"""Its agent loop changes with every release."""
VLLM = (0, 18)
"""The oldest that this verl talks to."""
HUB = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)
"""How a model on the Hugging Face hub may be called."""
FLEET_SECONDS = 10.0
"""How long a fleet may take for one answer."""


def problems(settings: Settings) -> Iterator[str]:
    """What keeps the run from starting here, one line each: versions, GPUs, data, the fleet."""
    yield from _packages(settings)
    yield from _gpus(settings) if settings.machine.device == "cuda" else _cpu(settings)
    yield from _files(settings)
    if settings.sessions.url:
        yield from _fleet(settings.sessions.url)
    if _version("verl") == VERL:
        yield from _refused(settings)


def _files(settings: Settings) -> Iterator[str]:
    """Tasks and a local model that cannot be read, and a folder that cannot be made."""
    out = settings.run.folder
    first = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not first.is_dir():
        yield f"run.out: {first} is no folder; choose another place for the run"
    for source in settings.sources():
        yield from _tasks(source)
    model = settings.model.path
    named = HUB.fullmatch(model) is not None and not Path(model).exists()
    if not named and not (Path(model) / "config.json").is_file():
        yield f"model.path: no model at {model!r}; give a folder with config.json, or a hub's name"


def _tasks(source: Source) -> Iterator[str]:
    """A file of tasks that is not there, cannot be read whole, or holds too few."""
    path, setting = source.path, source.setting
    if not Path(path).exists():
        yield f"{setting}: {path} does not exist; make it with `provegym synth --out {path}`"
        return
    try:
        refuse_unfinished(Path(path))
        number = sum(1 for _ in records.read_tasks(path))
    except InputError as error:
        yield f"{setting} = {path!r}: {error}"
        return
    if number < source.least:
        yield (
            f"{setting}: {path} holds {number} tasks, grpo.prompts_per_step is {source.least}; "
            "make more with `provegym synth`"
        )


def _fleet(url: str) -> Iterator[str]:
    """A fleet that does not answer, or not to our token."""
    try:
        with Connection(url, token(), FLEET_SECONDS) as fleet:
            fleet.ask("GET", "/v1/sessions", None, wire.Listed)
    except ProvegymError as error:
        yield f"sessions.url: {error}"


def _refused(settings: Settings) -> Iterator[str]:
    """What verl's own Hydra has against the command, such as a misspelt setting of `machine.hydra`.

    Only Hydra's exceptions: another one would be a fault of ours.
    """
    from hydra import compose, initialize_config_module
    from hydra.errors import HydraException

    words = command.command(settings)[3:]
    try:
        with initialize_config_module("verl.trainer.config", version_base=None):
            compose("ppo_trainer", overrides=words)
    except HydraException as error:
        own = f"machine.hydra = {list(settings.machine.hydra)}"
        what = own if settings.machine.hydra else "this command"
        yield f"verl does not take {what}: {' '.join(str(error).split())[:300]}"


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
    wanted, machine = settings.machine.gpus, settings.machine
    found = _devices()
    if found < wanted:
        yield (
            f"machine.gpus is {wanted}, this machine has {found}; set machine.gpus, or "
            "machine.device = cpu with machine.gpus = 1 to try things out with a tiny model"
        )
    for name in ("tensor_parallel", "sequence_parallel"):
        if wanted % (parallel := getattr(machine, name)):
            yield f"machine.{name} = {parallel} does not divide machine.gpus = {wanted}"


def _cpu(settings: Settings) -> Iterator[str]:
    """One process stands for one GPU."""
    for name in ("gpus", "nodes"):
        if (told := getattr(settings.machine, name)) != 1:
            yield f"machine.{name} is {told}, machine.device = cpu has 1; set machine.{name} = 1"


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
