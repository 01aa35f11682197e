"""`provegym add`: settings are written once the server has really been listed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from provegym.errors import InputError
from provegym.gateway.external import settings
from provegym.gateway.external.connection import NotOpened
from provegym.gateway.external.learned import Learned, alone
from provegym.gateway.external.library import Site
from provegym.gateway.external.places import enter
from provegym.gateway.external.settings import External
from provegym.records import write_atomic
from provegym.servers import SERVERS


def add(folder: Path, name: str, told: External, news: Callable[[str], None]) -> Learned:
    """Find out about the server and add it to the folder's `provegym.toml`; `news` is told what
    goes on.

    Raises `InputError` for a name that is taken, settings that do not fit and what is no MCP
    server, `ServerFault` where the server does not start; nothing is written then.
    """
    path = (folder / settings.FILE).resolve()
    _check_free(name, path)
    if bool(told.command.strip()) == bool(told.url):
        raise InputError(f"server {name}: give either --command or --url")
    settings.check(name, told, folder, f"server {name}")
    site = Site(name, path, told)
    try:
        learned = site.learned(news)
    except NotOpened as error:
        raise InputError(str(error)) from error
    finally:
        site.close()
    with alone(path.parent):  # another `add` may have written meanwhile
        _check_free(name, path)
        before = path.read_text("utf-8").rstrip("\n") + "\n\n" if path.exists() else ""
        lines = (before + settings.table(name, told)).splitlines()
        write_atomic(path, [line.encode() for line in lines])
    enter(name, path)
    return learned


def _check_free(name: str, path: Path) -> None:
    if name in SERVERS or name in settings.tables(path):
        raise InputError(f"there is a server {name!r} already; take another name")
