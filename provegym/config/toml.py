"""TOML as it is read, and as the command line overrides it; nothing is checked yet."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from provegym.errors import InputError
from provegym.records.files import read_whole


def told(path: str | Path, overrides: Iterable[str] = ()) -> dict[str, Any]:
    """A TOML file with overrides, not checked yet. Raises `InputError`."""
    settings = read_toml(Path(path))
    for change in overrides:
        override(settings, change)
    return settings


def read_toml(path: Path) -> dict[str, Any]:
    """A file's tables; a path of the project's own configs is found anywhere. Raises
    `InputError`.
    """
    package = Path(__file__).parents[1]  # in an installation `configs/` lies in it, else beside it
    places = (path, package / path, package.parent / path)
    text = read_whole(next(filter(Path.exists, places), path))
    try:
        return tomllib.loads(text.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not TOML: {error}") from error


def override(settings: dict[str, Any], change: str) -> None:
    """Put a value like `grpo.steps=20` into its table. Raises `InputError`."""
    key, equals, text = change.partition("=")
    *tables, name = key.strip().split(".")
    if not equals or not name or not all(tables):
        raise InputError(f"{change!r} is not an override; write it like grpo.steps=20")
    for table in tables:
        settings = settings.setdefault(table, {})
        if not isinstance(settings, dict):
            raise InputError(f"{change!r} is not an override: {table} is not a table")
    settings[name] = _value(text.strip())


def _value(text: str) -> object:
    """A TOML value; text that is none (a bare word or a path) is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
