"""Names that settings hold, looked up before hours are spent."""

from __future__ import annotations

from provegym import servers
from provegym.config import RunConfig
from provegym.rewards.presets import preset


def check_names(config: RunConfig) -> None:
    """See that servers and presets of those names exist. Raises `UnknownName`."""
    for name in config.run.servers:
        servers.load(name)
    preset(config.grpo.preset)
    preset(config.eval.preset)
