"""A server over stdio that writes its state's digest to a file when its client has left.

Over stdio there is no control API to ask. Run as a script: FILE is its one argument.
"""

from __future__ import annotations

import sys
from pathlib import Path

from provegym import servers
from provegym.gateway import stdio
from provegym.gateway.settings import Settings
from provegym.world.session import Session


class Noted(Session):
    """A session that notes its digest as it is closed."""

    def close(self) -> None:
        """Note the digest, then end."""
        Path(sys.argv[1]).write_text(self.digest())
        super().close()


def open_noted(seed: int, names: tuple[str, ...]) -> Noted:
    """A session as the gateway opens it."""
    return Noted(servers.world(seed, names))


if __name__ == "__main__":
    stdio.serve(Settings(seed=7, servers=("banking",)), open_noted)
