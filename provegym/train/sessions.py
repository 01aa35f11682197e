"""Where the episodes of a trainer that is not ours take their sessions from."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import provegym
from provegym import worlds
from provegym.gateway.client import Connection
from provegym.gateway.external.places import register as register_servers
from provegym.rollout.run import SessionOpener

PATIENCE_SECONDS = 60.0
"""For a fleet that is still starting."""


@lru_cache(maxsize=8)
def opener(url: str) -> SessionOpener:
    """Opens sessions of this process, or of the gateway at `url`.

    This process knows the external servers of the folder that the run was started in.
    """
    if not url:
        register_servers(Path.cwd())
        return worlds.open_session
    return lambda task: connection(url).open(task.seed, task.servers)


@lru_cache(maxsize=8)
def connection(url: str) -> Connection:
    """The connection of this process to a gateway."""
    return provegym.connect(url, token(), patience=PATIENCE_SECONDS)


def token() -> str | None:
    """What a gateway knows us by: `PROVEGYM_TOKEN`."""
    return os.environ.get("PROVEGYM_TOKEN")
