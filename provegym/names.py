"""Names that settings hold, looked up before hours are spent."""

from __future__ import annotations

from provegym import servers
from provegym.config import RunConfig, Teacher, changed
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
    for name in names:
        servers.load(name)
    if len(set(names)) < len(names):
        raise InputError(f"{told!r} names a server twice; name each once")
    return names


def teacher_named(
    settings: Teacher, teacher: str | None, changes: dict[str, str | float | None]
) -> Teacher:
    """The settings of the model, whose name is empty for the offline teacher; of the changes those
    that are not None. Raises `UnknownName` for any other teacher.
    """
    kind, _, model = (teacher or "").partition(":")
    if teacher and teacher != "offline" and not (kind == "openai" and model):
        raise UnknownName("teacher", teacher, ["offline", "openai:MODEL"])
    named = {"model": model} if teacher else {}
    return changed(settings, named | {k: v for k, v in changes.items() if v is not None})
