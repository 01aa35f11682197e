"""JSON Pointers (RFC 6901) in plain JSON values."""

from __future__ import annotations

import re
from typing import Any

_INDEX = re.compile("0|[1-9][0-9]{0,8}")


def resolve(document: Any, pointer: str) -> Any:
    """The value at `pointer`. Raises LookupError where there is none."""
    for token in tokens(pointer):
        document = document[_key(document, token)]
    return document


def replace(document: Any, pointer: str, value: Any) -> Any:
    """A copy of `document` with `value` at `pointer`. Raises LookupError if that leads nowhere."""
    return _replace(document, tokens(pointer), value)


def tokens(pointer: str) -> list[str]:
    """The unescaped reference tokens. Raises LookupError for what is no JSON Pointer."""
    if pointer and not pointer.startswith("/"):
        raise LookupError(f"{pointer!r} is no JSON Pointer: it must be empty or start with '/'")
    return [t.replace("~1", "/").replace("~0", "~") for t in pointer.split("/")[1:]]


def _replace(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    key = _key(document, path[0])
    copy = document.copy()
    copy[key] = _replace(document[key], path[1:], value)
    return copy


def _key(document: Any, token: str) -> Any:
    if isinstance(document, dict) and token in document:
        return token
    if isinstance(document, list) and _INDEX.fullmatch(token) and int(token) < len(document):
        return int(token)
    raise LookupError(f"nothing at {token!r}")
