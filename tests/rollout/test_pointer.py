"""JSON Pointers, with the examples of RFC 6901 section 5."""

from __future__ import annotations

from typing import Any

import pytest

from provegym.rollout.pointer import replace, resolve

RFC = {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "m~n": 8}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", RFC),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/c%d", 2),
        ("/m~0n", 8),
    ],
)
def test_pointers_resolve_as_the_rfc_says(pointer: str, value: Any) -> None:
    assert resolve(RFC, pointer) == value


@pytest.mark.parametrize(
    "pointer", ["/foo/2", "/foo/01", "/foo/-", "/foo/x", "/no", "/a~1b/c", "foo"]
)
def test_a_pointer_that_leads_nowhere_is_a_lookup_error(pointer: str) -> None:
    with pytest.raises(LookupError):
        resolve(RFC, pointer)
    with pytest.raises(LookupError):
        replace(RFC, pointer, None)


def test_replacing_copies_only_the_way_there() -> None:
    document = {"a": [{"b": 1}, {"c": 2}], "d": {}}
    changed = replace(document, "/a/0/b", 9)
    assert changed == {"a": [{"b": 9}, {"c": 2}], "d": {}}
    assert document["a"] == [{"b": 1}, {"c": 2}]
    assert changed["d"] is document["d"]
