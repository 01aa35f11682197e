"""JSON equality of two argument values."""

from __future__ import annotations

from types import NoneType
from typing import Final
from unicodedata import normalize

MISSING: Final = object()
"""Stands for a value that is not there; equal to no JSON value."""

SCALARS: Final = frozenset({str, int, float, bool, NoneType})
"""The types of JSON values that hold no others."""


def equal(a: object, b: object) -> bool:
    """Whether two JSON values are equal.

    Numbers by value (1 = 1.0), exactly, however large; booleans only with booleans; strings
    after Unicode NFC and trimming of outer white space; arrays in order; object keys as they are.
    Nesting may be of any depth, since a policy chooses it.
    """
    if type(a) in SCALARS:
        return _equal_scalars(a, b)
    pairs: list[tuple[object, object]] = [(a, b)]
    while pairs:
        a, b = pairs.pop()
        if isinstance(a, dict):
            if not isinstance(b, dict) or a.keys() != b.keys():
                return False
            pairs.extend((a[key], b[key]) for key in a)
        elif isinstance(a, (list, tuple)):
            if not isinstance(b, (list, tuple)) or len(a) != len(b):
                return False
            pairs.extend(zip(a, b, strict=True))
        elif not _equal_scalars(a, b):
            return False
    return True


def _equal_scalars(a: object, b: object) -> bool:
    if isinstance(a, str):
        return isinstance(b, str) and normalize("NFC", a).strip() == normalize("NFC", b).strip()
    if a is None or isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return isinstance(a, (int, float)) and isinstance(b, (int, float)) and a == b
