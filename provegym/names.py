"""Names that settings hold, looked up before hours are spent."""

from __future__ import annotations

from provegym import servers
from provegym.config import RunConfig
from provegym.errors import InputError, UnknownName
from provegym.rewards.presets import preset


def check_names(config: RunConfig) -> None:
    """See that servers and presets of those names exist. Raises `UnknownName`."""
    for name in config.run.servers:
        servers.load(name)
    preset(config.grpo.preset)
    preset(config.eval.preset)


def servers_of(names: str | None) -> tuple[str, ...]:
    """Server names with commas between, all for None. Raises `UnknownName`, and `InputError` for
    one named twice.
    """
    if names is None:
        return (*servers.SERVERS,)
    found = tuple(name.strip() for name in names.split(","))
    for name in found:
        servers.load(name)
    if len(set(found)) < len(found):
        raise InputError(f"{names!r} names a server twice; name each once")
    return found


def model_of(teacher: str) -> str:
    """The model of a teacher `openai:MODEL`. Raises `UnknownName` for any other teacher."""
    kind, _, model = teacher.partition(":")
    if kind != "openai" or not model:
        raise UnknownName("teacher", teacher, ["openai:MODEL"])
    return model
