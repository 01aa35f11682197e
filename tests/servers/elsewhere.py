"""What other processes make of a server's world."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
from provegym.servers.{name} import SERVER
from provegym.world.world import World
import sys
sys.stdout.write(World({seed}, [SERVER]).digest)
"""


def digests_elsewhere(name: str, seed: int) -> set[str]:
    """The digests of the server's world in two processes whose hash seeds differ."""
    command = [sys.executable, "-c", PROGRAM.format(name=name, seed=seed)]
    path = os.pathsep.join(sys.path)
    return {
        subprocess.run(
            command,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
