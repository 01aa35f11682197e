"""What was found out about an external server, kept in a file beside `provegym.toml`."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import msgspec
from msgspec import Struct

from provegym.errors import InputError
from provegym.gateway.external.settings import External
from provegym.gateway.external.snapshot import Rows
from provegym.records import write_atomic
from provegym.world.tool import Effect

VERSION = 3
"""Of the file; another one is found out anew."""


class Foreigner(Struct, frozen=True):
    """A tool of an external server."""

    name: str
    """As policies know it."""
    real: str
    """As the server knows it."""
    title: str
    description: str
    schema: dict[str, Any]
    """Its parameters, portable."""
    renamed: dict[str, str]
    """The server's own name of each argument that is called otherwise here."""
    nulls: tuple[str, ...]
    """Arguments that the server demands, as null where they are not given."""
    effect: Effect
    why: str
    """What the effect was taken from: settings, annotation, probing or caution."""
    returns: dict[str, Any] = {}
    """The schema of its results, portable; empty where nothing is known."""
    takes: dict[str, str] = {}
    """By path in the arguments (`/relations/*/from`), the entity that a text there names."""
    shows: dict[str, str] = {}
    """By path in the result, the entity that a text there names."""


class Entity(Struct, frozen=True):
    """Things of one kind that the server knows; `label` is the field that people name one by, empty
    where they say the value itself.
    """

    name: str
    label: str = ""


class Start(Struct, frozen=True):
    """What there is at the start: the names of each entity with their labels, and the snapshot."""

    values: dict[str, dict[str, str]] = {}
    rows: Rows = {}


class Learned(Struct, frozen=True):
    """All that was found out."""

    identity: str
    """Hash of the settings and of the files that it was found out with."""
    listing: str
    """Hash of the tools as the server lists them."""
    title: str
    tools: tuple[Foreigner, ...]
    entities: tuple[Entity, ...]
    starts: dict[int, Start]
    """By seed; one for all where the server does not look at it."""
    words: tuple[str, ...] = ()
    """Texts that were seen, to search by."""
    notes: tuple[str, ...] = ()
    """What the user may want to know."""
    version: int = VERSION


def identity(told: External, content: str) -> str:
    """Hash of the settings and of the content of the files."""
    text = msgspec.json.encode([VERSION, told, content], order="sorted")
    return hashlib.sha256(text).hexdigest()


def fingerprint(tools: Sequence[types.Tool]) -> str:
    """Hash of what a server says of its tools, whatever their order."""
    told = sorted((tool.name, tool.model_dump_json(exclude_none=True)) for tool in tools)
    return hashlib.sha256(msgspec.json.encode(told)).hexdigest()


def path_of(home: Path, name: str) -> Path:
    """Where it is kept for a server of the `provegym.toml` in that folder."""
    return home / ".provegym" / f"{name}.json"


def load(path: Path, wanted: str) -> Learned | None:
    """What is kept there, None where it was found out with something else than `wanted`."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Learned)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    return found if (found.version, found.identity) == (VERSION, wanted) else None


def names(path: Path) -> set[str]:
    """Names of the tools of whatever is kept there."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Learned)
    except (OSError, msgspec.MsgspecError):
        return set()
    return {tool.name for tool in found.tools}


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Wait until nobody else finds out about a server of the folder's `provegym.toml`. One at a
    time, for the names of one server's tools depend on those of the others.
    """
    folder = os.open(home, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def save(learned: Learned, path: Path) -> None:
    """Keep it, whole or not at all."""
    text = msgspec.json.format(msgspec.json.encode(learned), indent=1)
    write_atomic(path, [text])
