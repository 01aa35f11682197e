"""`provegym.toml`: a table `[servers.NAME]` for each external server."""

from __future__ import annotations

import math
import re
import shlex
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from provegym.errors import InputError, UnknownName, seen
from provegym.gateway.external import files

FILE = "provegym.toml"
NAME = re.compile(r"[a-z][a-z0-9_]{0,23}")
"""Names of servers; short, for a tool's name may need it in front."""
NAMED = "a server's name is a-z, 0-9 and _, at most 24 characters, the first of them a letter"
FILES = "files"
"""Stands for the private folder as what is put back, or as what shows the state."""
FOLDER, HOME = "{folder}", "{home}"
"""Stand in `command` and `env` for the session's private folder and for that of provegym.toml."""

_PLACEHOLDER = re.compile(r"(?<!\$)\{[a-z_]+\}")


class External(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How one external server is started, reset and read. Either `command` or `url`."""

    command: str = ""
    """What starts it over stdio, in the session's private folder."""
    url: str = ""
    """Where it listens over Streamable HTTP."""
    title: str = ""
    """What it is, for people; the server's own title if empty."""
    files: str = ""
    """A folder below that of provegym.toml whose content every session starts with."""
    env: dict[str, str] = {}
    """Environment variables of the process, besides PATH, HOME, USER, LOGNAME, SHELL and TERM."""
    forward: tuple[str, ...] = ()
    """Names of variables of ours that are passed on."""
    token: str = ""
    """Name of the variable of ours that holds the bearer token of `url`."""
    reset: str = "restart"
    """How a process goes back to its start: `restart` it (or connect anew), put the `files` back,
    or call the tool of that name."""
    snapshot: str = ""
    """A tool that needs no argument and shows the whole state, or `files`: the private folder."""
    volatile: tuple[str, ...] = ()
    """Fields whose values differ from run to run: minted ids, times."""
    hide: tuple[str, ...] = ()
    """Tools that no task shows."""
    read: tuple[str, ...] = ()
    """Tools that only read, whatever they say of themselves."""
    write: tuple[str, ...] = ()
    """Tools that write, whatever they say of themselves."""
    probe: bool = True
    """Whether tools may be called to learn of them; never for a `url` unless `reset` is a tool."""
    values: dict[str, tuple[str | int | float | bool, ...]] = {}
    """Values that parameters of these names may take."""
    seeded: bool = False
    """Whether what it starts with depends on PROVEGYM_SEED."""
    seconds: float = 30.0
    """Longest that a call, or a start, may take."""
    processes: int = 8
    """Most processes or connections at once."""
    warm: int = 1
    """Processes that are started ahead of need."""
    most_characters: int = 65_536
    """Characters of a result that are kept."""

    @property
    def words(self) -> list[str]:
        """The command's words."""
        return shlex.split(self.command)

    @property
    def shows_state(self) -> str:
        """The tool that shows the whole state, if one does."""
        return "" if self.snapshot == FILES else self.snapshot

    @property
    def may_probe(self) -> bool:
        """Whether calls to learn of it harm nobody."""
        return self.probe and (not self.url or self.reset != "restart")


def tables(path: Path) -> dict[str, Any]:
    """The tables of a `provegym.toml` by server, as they stand there; none where there is no such
    file.

    Raises `InputError` for a file that holds something else. What a table says is looked at by
    `of`, so that a mistake in one stops nobody who needs another.
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    try:
        whole = tomllib.loads(text.decode())
    except UnicodeDecodeError as error:
        line = text[: error.start].count(b"\n") + 1
        raise InputError(f"{path}: line {line} is not UTF-8; save the file as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}") from error
    found = whole.get("servers", {})
    if whole.keys() - {"servers"} or not isinstance(found, dict):
        raise InputError(f"{path}: it may hold tables [servers.NAME] and nothing else")
    return found


def _told(name: str, table: Any, path: Path) -> External:
    """One server's settings."""
    known = External.__struct_fields__
    for key in table if isinstance(table, dict) else ():
        if key not in known:
            near = get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            raise InputError(f"{path}: servers.{name}: unknown key {key!r}; {hint}")
    try:
        told = msgspec.convert(table, External)
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: servers.{name}: {error}") from error
    check(name, told, path.parent, f"{path}: servers.{name}")
    return told


def check(name: str, told: External, home: Path, at: str) -> None:
    """Raise `InputError` for settings that cannot be meant in the folder `home`; `at` says where
    they stand.
    """
    if not NAME.fullmatch(name):
        raise InputError(f"{at}: {NAMED}, not {seen(name)}")
    if bool(told.command.strip()) == bool(told.url):
        raise InputError(f"{at}: give either `command` or `url`")
    try:
        shlex.split(told.command)
    except ValueError as error:
        raise InputError(f"{at}: command {told.command!r}: {error}") from error
    if told.url and not told.url.startswith(("http://", "https://")):
        raise InputError(f"{at}: url {told.url!r} must begin with http:// or https://")
    if told.reset == "files" and not told.files:
        raise InputError(f'{at}: reset = "files" needs `files`, the folder that is put back')
    if told.files:
        files.check(told.files, home, at)
    if not math.isfinite(told.seconds):
        raise InputError(f"{at}: seconds = {told.seconds} is no length of time")
    for text in (told.command, *told.env.values()):
        for unknown in set(_PLACEHOLDER.findall(text)) - {FOLDER, HOME}:
            raise InputError(f"{at}: {unknown} stands for nothing; known: {FOLDER} and {HOME}")
    if min(told.seconds, told.processes, told.most_characters) <= 0 or told.warm < 0:
        raise InputError(f"{at}: seconds, processes and most_characters must be above 0")


def of(path: Path, name: str) -> External:
    """The settings of one server. Raises `UnknownName`, and `InputError` for a mistake in them."""
    found = tables(path)
    if name not in found:
        raise UnknownName(f"server in {path}", name, sorted(found))
    return _told(name, found[name], path)


def table(name: str, told: External) -> str:
    """The settings as a table of `provegym.toml`."""
    plain: dict[str, Any] = msgspec.to_builtins(told)
    lines = [f"{key} = {_toml(value)}" for key, value in plain.items()]
    return "\n".join([f"[servers.{name}]", *lines, ""])


def _toml(value: Any) -> str:
    """A value in TOML: strings, numbers and arrays are written as in JSON."""
    if isinstance(value, dict):
        inner = (f"{msgspec.json.encode(k).decode()} = {_toml(v)}" for k, v in value.items())
        return f"{{ {', '.join(inner)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return msgspec.json.encode(value).decode()
