from typing import Any

import pytest

from provegym.rewards.equality import MISSING
from provegym.rewards.pointer import replace, resolve, tokens

# The document and the values of RFC 6901, section 5.
DOCUMENT: dict[str, Any] = {
    "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, 'k"l': 6,
    " ": 7, "m~n": 8,
}  # fmt: skip
PLACES: list[tuple[str, Any]] = [
    ("", DOCUMENT), ("/foo", ["bar", "baz"]), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1),
    ("/c%d", 2), ("/e^f", 3), ("/g|h", 4), ("/i\\j", 5), ('/k"l', 6), ("/ ", 7), ("/m~0n", 8),
]  # fmt: skip
NOWHERE = ["foo", "/bar", "/foo/2", "/foo/-", "/foo/-1", "/foo/01", "/foo/+1", "/foo/ 1", "/foo/²",
           "/foo/٣", "/foo/0/0", "/foo/" + "9" * 5000, "/m~1n"]  # fmt: skip


@pytest.mark.parametrize(("pointer", "value"), PLACES)
def test_the_examples_of_the_rfc_resolve(pointer: str, value: object) -> None:
    assert resolve(DOCUMENT, pointer) == value


@pytest.mark.parametrize("pointer", NOWHERE)
def test_a_pointer_to_nothing_finds_nothing(pointer: str) -> None:
    assert resolve(DOCUMENT, pointer) is MISSING


def test_an_escaped_tilde_before_a_one_is_no_slash() -> None:
    assert tokens("/~01") == ("~1",)


def test_null_is_found_and_is_not_nothing() -> None:
    assert resolve({"a": None}, "/a") is None


def test_replacing_changes_a_copy_alone() -> None:
    document = {"a": [{"id": 1}, {"id": 2}], "b": 3}
    assert replace(document, ["a", "1", "id"], 9) == {"a": [{"id": 1}, {"id": 9}], "b": 3}
    assert document == {"a": [{"id": 1}, {"id": 2}], "b": 3}


@pytest.mark.parametrize("path", [["c"], ["a", "2"], ["a", "x"], ["b", "0"]])
def test_replacing_where_the_path_leads_nowhere_changes_nothing(path: list[str]) -> None:
    document = {"a": [1, 2], "b": 3}
    assert replace(document, path, 9) == document
