"""provegym: reinforcement learning for multi-step tool use on live, stateful tool servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from provegym.gateway.client import Connection

__version__ = "0.1.0"


def connect(
    url: str, token: str | None = None, patience: float = 0.0, direct: bool = False
) -> Connection:
    """A connection to a gateway; its `open` gives sessions like those of this process.

    Raises `InputError` for what is no URL. The gateway is asked at the first use; one that is
    still starting, and refuses connections, is waited for during `patience` seconds. `direct`
    asks the workers of a fleet themselves, not through its front: for clients that reach them.
    """
    from provegym.gateway.client import Connection

    return Connection(url, token, patience=patience, direct=direct)
