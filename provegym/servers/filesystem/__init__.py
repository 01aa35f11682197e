"""A shared file system as POSIX has it, with a trash and versions."""

from __future__ import annotations

from provegym.servers.filesystem import (
    tools_browse,
    tools_history,
    tools_sharing,
    tools_text,
    tools_tree,
)
from provegym.servers.filesystem.seed import seed
from provegym.servers.filesystem.state import Disk, violations
from provegym.world.server import Server, collect

SERVER = Server(
    name="filesystem",
    title="File system",
    state=Disk,
    tools={
        **collect(tools_browse),
        **collect(tools_text),
        **collect(tools_tree),
        **collect(tools_sharing),
        **collect(tools_history),
    },
    seed=seed,
    violations=violations,
)
