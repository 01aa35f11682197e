"""Where external servers are found: the tables of `provegym.toml`, told to `SERVERS`.

Nothing heavy is imported and nothing is started here.
"""

from __future__ import annotations

from pathlib import Path

from provegym.errors import InputError, seen
from provegym.gateway.external import settings
from provegym.servers import SERVERS

LIBRARY = "provegym.gateway.external.library"


def register(folder: Path) -> list[str]:
    """Add the servers of the folder's `provegym.toml`, if it has one, to `SERVERS`; their names.

    Raises `InputError` for a broken file and, once all others are known, for a name that a server
    of the library has or that none can have.
    """
    path = (folder / settings.FILE).resolve()
    found = settings.tables(path)
    wrong = {name: why for name in found if (why := _wrong(name))}
    for name in found.keys() - wrong.keys():
        enter(name, path)
    for why in wrong.values():
        raise InputError(f"{path}: {why}")
    return list(found)


def _wrong(name: str) -> str:
    """Why no server of a `provegym.toml` can be called so; empty if one can."""
    if not settings.NAME.fullmatch(name):
        return f"servers.{seen(name)}: {settings.NAMED}"
    taken = not SERVERS.get(name, LIBRARY).startswith(LIBRARY)
    return f"there is a server {name!r} already; take another name" if taken else ""


def enter(name: str, path: Path) -> None:
    """Add one server of a `provegym.toml` to `SERVERS`."""
    SERVERS[name] = f"{LIBRARY}:{name}@{path}"
