"""Where external servers are found: the tables of `provegym.toml`, told to `SERVERS`.

Nothing heavy is imported and nothing is started here.
"""

from __future__ import annotations

from pathlib import Path

from provegym.errors import InputError
from provegym.gateway.external import settings
from provegym.servers import SERVERS

LIBRARY = "provegym.gateway.external.library"


def register(folder: Path) -> list[str]:
    """Add the servers of the folder's `provegym.toml`, if it has one, to `SERVERS`; their names.

    Raises `InputError` for a broken file and, once all others are known, for a name that a server
    of the library has.
    """
    path = (folder / settings.FILE).resolve()
    found = settings.tables(path)
    taken = [name for name in found if not SERVERS.get(name, LIBRARY).startswith(LIBRARY)]
    for name in (name for name in found if name not in taken):
        enter(name, path)
    if taken:
        raise InputError(f"{path}: there is a server {taken[0]!r} already; take another name")
    return list(found)


def enter(name: str, path: Path) -> None:
    """Add one server of a `provegym.toml` to `SERVERS`."""
    SERVERS[name] = f"{LIBRARY}:{name}@{path}"
