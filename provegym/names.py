"""Names that settings hold, looked up before hours are spent."""

from __future__ import annotations

import os
from typing import Any, get_args

from provegym import servers
from provegym.config import Engine, RunConfig, Teacher, changed, presets
from provegym.config import preset as preset_of
from provegym.errors import InputError, UnknownName
from provegym.rewards.presets import preset


def check_names(config: RunConfig) -> None:
    """See that servers and presets of those names exist. Raises `UnknownName`."""
    for name in config.run.servers:
        servers.load(name)
    preset(config.grpo.preset)
    preset(config.eval.preset)


def servers_named(told: str | None) -> tuple[str, ...]:
    """Server names with commas between, those of the library where nothing is told. Raises
    `UnknownName`, and `InputError` for one named twice.
    """
    if told is None:
        return servers.library()
    names = tuple(name.strip() for name in told.split(","))
    if not any(names):
        raise InputError(
            f"no server is named; give some of {', '.join(servers.SERVERS)}, or leave it out"
        )
    for name in names:
        servers.load(name)
    if len(set(names)) < len(names):
        raise InputError(f"{told!r} names a server twice; name each once")
    return names


def engine_named(told: str) -> Engine:
    """What computes. Raises `UnknownName`."""
    known: tuple[Engine, ...] = get_args(Engine)
    for engine in known:
        if engine == told:
            return engine
    raise UnknownName("engine", told, [*known])


def teacher_named(
    settings: Teacher, teacher: str | None, changes: dict[str, str | float | None]
) -> Teacher:
    """The settings of the model, whose name is empty for the offline teacher; of the changes those
    that are not None. Raises `UnknownName` for any other teacher.
    """
    given = {name: value for name, value in changes.items() if value is not None}
    if teacher is None:
        return changed(settings, given)
    return changed(Teacher(), _own(settings) | _named(teacher) | given)


def served(teacher: Teacher) -> None:
    """See that the model, if there is one, can be asked. Raises `InputError` where a teacher with
    a short name has no endpoint, for a base URL that is none, and for a key that is missing.
    """
    if teacher.preset and not (teacher.base_url or os.environ.get("OPENAI_BASE_URL")):
        raise InputError(
            f"no endpoint is named for the teacher {teacher.preset}: start one with "
            f"`{preset_of(teacher.preset).launch}` and set "
            "OPENAI_BASE_URL=http://127.0.0.1:8000/v1, or take --teacher offline"
        )
    if teacher.model:
        from provegym.llm.client import address

        address(teacher.base_url)


def _own(settings: Teacher) -> dict[str, Any]:
    """What the settings hold besides what their preset brought."""
    brought = preset_of(settings.preset).teacher if settings.preset else {}
    told = settings.model_dump(mode="json", exclude_defaults=True, exclude={"preset"})
    return {name: value for name, value in told.items() if brought.get(name) != value}


def _named(teacher: str) -> dict[str, Any]:
    kind, _, model = teacher.partition(":")
    if kind == "openai" and model:
        return {"model": model}
    if teacher == "offline":
        return {"model": ""}
    if teacher in presets():
        return {"preset": teacher, **preset_of(teacher).teacher}
    raise UnknownName("teacher", teacher, ["offline", *presets(), "openai:MODEL"])
