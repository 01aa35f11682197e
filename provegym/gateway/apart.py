"""What a policy wrote, told apart from the batch that carries it.

JSON has one verdict for a whole text: arguments that are nested too deep, hold half a character or
NaN would take the calls of all other sessions with them. Here they become a string with their text,
which the control API takes as well, and of which the session itself says that it is malformed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from provegym.gateway.wire import NO_JSON

T = TypeVar("T")

TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|\{|\}|\[|\]|,|"', re.DOTALL)
"""Strings and marks of JSON (RFC 8259, 2); a quote alone begins a string that never ends. It never
goes back, so that no text takes longer than its length.
"""
CALL = 3
"""So many levels deep are the members of a call: in an object, in an array, in an object."""
STEP = {b"{": 1, b"[": 1, b"}": -1, b"]": -1}
AFTER_KEY = re.compile(rb"[ \t\n\r]*:[ \t\n\r]*")
OF_POLICY = (b'"arguments"', b'"name"')
"""The members of a call that a policy writes."""

_text_of = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


async def decoded(decode: Callable[[bytes], T], body: bytes) -> T:
    """A batch. Raises what `decode` does for one that is none, also without what policies wrote."""
    try:
        return decode(body)
    except msgspec.ValidationError:
        raise
    except NO_JSON:  # a long text takes seconds, which others do not wait for
        return decode(await asyncio.to_thread(apart, body))


def apart(body: bytes) -> bytes:
    """The same batch, with everything that a policy wrote as a sound string."""
    pieces, end = [], 0
    for start, stop in _values(body):
        pieces += [body[end:start], _sound(body[start:stop])]
        end = stop
    return b"".join((*pieces, body[end:]))


def _values(body: bytes) -> Iterator[tuple[int, int]]:
    """Where the values of `OF_POLICY` begin and end."""
    depth, last, start = 0, b"", -1
    for found in TOKEN.finditer(body):
        token = found[0]
        if token == b'"':
            return
        if start >= 0 and depth == CALL and token in (b",", b"}"):
            yield start, found.start()
            start = -1
        depth += STEP.get(token, 0)
        if depth == CALL and last in (b"{", b",") and token in OF_POLICY:
            colon = AFTER_KEY.match(body, found.end())
            start = colon.end() if colon else -1
        last = token


def _sound(value: bytes) -> bytes:
    """A string of JSON in place of a value: the very one, where the value is one already."""
    value = value.strip()
    try:
        _text_of(value)
    except NO_JSON:
        return _encode(value.decode("utf-8", "backslashreplace"))
    return value
