"""JSON Pointers (RFC 6901): read a place in a JSON value, and replace it in a copy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

from provegym.rewards.equality import MISSING


@lru_cache(maxsize=4096)
def steps(pointer: str) -> tuple[tuple[str, int], ...] | None:
    """Each reference token as a key and as an index (-1 where it is none); None as `tokens`."""
    path = tokens(pointer)
    return None if path is None else tuple([(token, _index(token)) for token in path])


@lru_cache(maxsize=4096)
def tokens(pointer: str) -> tuple[str, ...] | None:
    """The unescaped reference tokens of `pointer`; None where it is no JSON Pointer."""
    if not pointer:
        return ()
    if not pointer.startswith("/"):
        return None
    return tuple(t.replace("~1", "/").replace("~0", "~") for t in pointer[1:].split("/"))


def resolve(document: object, pointer: str) -> object:
    """The value at `pointer`, or `MISSING` where there is none (or no such pointer)."""
    path = steps(pointer)
    if path is None:
        return MISSING
    for token, index in path:
        if isinstance(document, dict):
            document = document.get(token, MISSING)
        elif isinstance(document, (list, tuple)) and 0 <= index < len(document):
            document = document[index]
        else:
            return MISSING
    return document


def replace(document: object, path: Sequence[str], value: object) -> object:
    """A copy of `document` with `value` at the tokens `path`; as it was where they lead nowhere."""
    if not path:
        return value
    inner = _step(document, path[0])
    if inner is MISSING:
        return document
    inner = replace(inner, path[1:], value)
    if isinstance(document, dict):
        return {**document, path[0]: inner}
    at = int(path[0])
    return [inner if i == at else item for i, item in enumerate(cast("list[object]", document))]


def _step(document: object, token: str) -> object:
    if isinstance(document, dict):
        return document.get(token, MISSING)
    if isinstance(document, (list, tuple)):
        index = _index(token)
        return document[index] if 0 <= index < len(document) else MISSING
    return MISSING


@lru_cache(maxsize=4096)
def _index(token: str) -> int:
    """Digits without a leading zero (RFC 6901, section 4) as an array index, or -1.

    More than ten digits outnumber any array, and Python refuses to read very many.
    """
    if not (token.isascii() and token.isdigit() and len(token) <= 10):
        return -1
    return int(token) if token == "0" or token[0] != "0" else -1
