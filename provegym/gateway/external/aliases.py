"""Stable names for what differs from run to run, so that the same calls show the same results.

A minted id gets a name by the order in which writes and snapshots show it; arguments that use the
name are sent with the id. Times become the session's, and the private folder is `/session`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

FOLDER = "/session"
"""What the policy sees for the session's private folder."""
_SHOWN_FOLDER = re.compile(rf"{FOLDER}(?![\w-])")
SURE = 8
"""Characters from which on an id is also found within a longer text."""


class Aliases:
    """The names that one process's values have."""

    def __init__(self, volatile: Collection[str], folder: Path, start: datetime) -> None:
        self._volatile, self._folder, self._start = frozenset(volatile), str(folder), start
        self._shown: dict[Any, Any] = {}
        self._real: dict[Any, Any] = {}
        self._counts: dict[str, int] = {}

    def copy(self) -> Aliases:
        """The names as they are now."""
        twin = Aliases(self._volatile, Path(self._folder), self._start)
        twin._shown, twin._real = dict(self._shown), dict(self._real)
        twin._counts = dict(self._counts)
        return twin

    def learn(self, value: Any) -> None:
        """Name the volatile values of a result that have no name yet, in its order."""
        for field, found in _members(value):
            if field in self._volatile and found not in self._shown and _is_id(found):
                self._counts[field] = count = self._counts.get(field, 0) + 1
                name = count if isinstance(found, int) else f"{field}-{count}"
                self._shown[found], self._real[name] = name, found

    def inward(self, value: Any, writes: int) -> Any:
        """A result of the process as the policy sees it after so many writes."""
        now = (self._start + timedelta(minutes=writes)).isoformat()
        text = self._shown_text if self._volatile else self._shown_folder
        return _mapped(value, text, self._number(now))

    def outward(self, value: Any) -> Any:
        """An argument of the policy as the process knows it."""
        return _mapped(value, self._real_text, lambda field, found: self._id_number(field, found))

    def _number(self, now: str) -> Callable[[str, Any], Any]:
        def shown(field: str, found: Any) -> Any:
            if field not in self._volatile:
                return found
            if isinstance(found, str):
                return now if _is_time(found) else found
            return self._shown.get(found, 0 if isinstance(found, float) else found)

        return shown

    def _id_number(self, field: str, found: Any) -> Any:
        known = field in self._volatile and isinstance(found, int)
        return self._real.get(found, found) if known else found

    def _shown_text(self, text: str) -> str:
        text = self._shown_folder(text)
        if text in self._shown:
            return str(self._shown[text])
        for real, name in self._shown.items():
            if isinstance(real, str) and len(real) >= SURE and real in text:
                text = text.replace(real, name)
        return text

    def _shown_folder(self, text: str) -> str:
        return text.replace(self._folder, FOLDER)

    def _real_text(self, text: str) -> str:
        return str(self._real.get(text, _SHOWN_FOLDER.sub(self._folder, text)))


def _members(value: Any) -> list[tuple[str, Any]]:
    """(field, scalar) of every member of every object, in order."""
    found: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        for name, inner in value.items():
            found += _members(inner) if isinstance(inner, dict | list) else [(name, inner)]
    elif isinstance(value, list):
        for inner in value:
            found += _members(inner)
    return found


def _mapped(
    value: Any, text: Callable[[str], str], scalar: Callable[[str, Any], Any], field: str = ""
) -> Any:
    if isinstance(value, dict):
        return {text(name): _mapped(inner, text, scalar, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_mapped(inner, text, scalar, field) for inner in value]
    found = scalar(field, value)
    return text(found) if isinstance(found, str) else found


def _is_id(value: Any) -> bool:
    """Whether it can be a name's owner: a text that is no time, or a whole number."""
    if isinstance(value, str):
        return bool(value) and not _is_time(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text) is not None
    except ValueError:
        return False
