"""Each refusal that a tool of the file server declares occurs, and changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from provegym.servers.filesystem import SERVER
from provegym.world.session import Session
from tests.servers.disk_calls import ROOMY, code, disk_of, ok, roomy_seed, world
from tests.servers.talk import declared


def _fill(session: Session, leave: int) -> None:
    free = ok(session, "show_quota")["free"]
    ok(session, "create_file", path="filler", content="x" * (free - leave - 1))
    assert ok(session, "show_quota")["free"] == leave


BASE: dict[str, dict[str, Any]] = {
    "change_directory": {"path": "sub"},
    "list_directory": {"path": "sub"},
    "show_tree": {"path": "sub"},
    "stat_path": {"path": "a.txt"},
    "find_files": {"path": "sub"},
    "search_text": {"path": "sub", "text": "inside"},
    "disk_usage": {"path": "sub"},
    "read_link": {"path": "~/trips"},
    "create_file": {"path": "new.txt"},
    "read_file": {"path": "a.txt"},
    "write_file": {"path": "a.txt", "content": "x"},
    "append_file": {"path": "a.txt", "text": "x"},
    "head_file": {"path": "a.txt"},
    "tail_file": {"path": "a.txt"},
    "count_words": {"path": "a.txt"},
    "sort_lines": {"path": "a.txt", "order": "descending"},
    "replace_text": {"path": "a.txt", "old": "apples", "new": "figs"},
    "diff_files": {"first": "b.txt", "second": "a.txt"},
    "checksum_file": {"path": "a.txt"},
    "split_file": {"path": "a.txt", "lines": 2},
    "join_files": {"paths": ["a.txt", "b.txt"], "destination": "new.txt"},
    "make_directory": {"path": "new"},
    "remove_directory": {"path": "empty"},
    "delete_file": {"path": "a.txt"},
    "move_path": {"source": "a.txt", "destination": "new.txt"},
    "copy_path": {"source": "a.txt", "destination": "new.txt"},
    "make_symlink": {"target": "a.txt", "path": "new"},
    "create_archive": {"path": "sub", "archive": "new.tar"},
    "extract_archive": {"path": "packed.tar", "destination": "empty"},
    "change_mode": {"path": "a.txt", "mode": "600"},
    "change_owner": {"path": "a.txt", "owner": "root"},
    "tag_path": {"path": "a.txt", "tag": "review"},
    "move_to_trash": {"path": "a.txt"},
    "restore_from_trash": {"trash_id": "?", "destination": "new"},
    "list_versions": {"path": "b.txt"},
    "restore_version": {"path": "b.txt", "version": 1},
}
"""Arguments that succeed; `?` is the id of something in the trash."""

MAIN = {
    **{"diff_files": "second", "move_path": "source", "copy_path": "source"},
    **{"restore_from_trash": "destination"},
}
"""The parameter that takes the wrong path where it is not `path`."""

WRONG_PATH = {
    "no_such_file": "nowhere/x",
    "not_a_directory": "b.txt/x",
    "permission_denied": "/var/backups/etc.txt",
    "is_a_directory": "sub",
    "binary_file": "packed.tar",
}

SPECIAL: dict[tuple[str, str], dict[str, Any]] = {
    ("change_directory", "no_change"): {"path": "."},
    ("read_link", "not_a_symlink"): {"path": "a.txt"},
    ("create_file", "file_exists"): {"path": "a.txt"},
    ("write_file", "no_change"): {"content": "10 pears\n9 apples\n9 apples"},
    ("sort_lines", "no_change"): {"order": "ascending"},
    ("replace_text", "no_change"): {"new": "apples"},
    ("replace_text", "text_not_found"): {"old": "mango"},
    ("split_file", "file_exists"): {"path": "cut.txt"},
    ("split_file", "too_short"): {"lines": 3},
    ("join_files", "no_such_file"): {"paths": ["a.txt", "nowhere"]},
    ("join_files", "not_a_directory"): {"paths": ["a.txt", "b.txt/x"]},
    ("join_files", "permission_denied"): {"destination": "/etc/new"},
    ("join_files", "is_a_directory"): {"paths": ["a.txt", "sub"]},
    ("join_files", "binary_file"): {"paths": ["a.txt", "packed.tar"]},
    ("join_files", "file_exists"): {"destination": "sub"},
    ("join_files", "too_few_files"): {"paths": ["a.txt"]},
    ("make_directory", "file_exists"): {"path": "sub"},
    ("make_directory", "permission_denied"): {"path": "/etc/new"},
    ("remove_directory", "not_a_directory"): {"path": "a.txt"},
    ("remove_directory", "not_empty"): {"path": "sub"},
    ("remove_directory", "directory_busy"): {"path": "."},
    ("move_path", "file_exists"): {"destination": "b.txt"},
    ("move_path", "is_a_directory"): {
        "source": "clash/sub",
        "destination": ".",
        "if_exists": "overwrite",
    },
    ("move_path", "into_itself"): {"source": "sub", "destination": "sub/x"},
    ("move_path", "no_change"): {"destination": "a.txt", "if_exists": "overwrite"},
    ("move_path", "not_empty"): {
        "source": "other/sub",
        "destination": ".",
        "if_exists": "overwrite",
    },
    ("move_path", "directory_busy"): {"source": "/", "destination": "new"},
    ("copy_path", "file_exists"): {"destination": "b.txt"},
    ("copy_path", "is_a_directory"): {
        "source": "sub",
        "destination": "b.txt",
        "if_exists": "overwrite",
    },
    ("copy_path", "into_itself"): {"source": "sub", "destination": "sub/x"},
    ("copy_path", "no_change"): {"destination": "a.txt", "if_exists": "overwrite"},
    ("make_symlink", "file_exists"): {"path": "b.txt"},
    ("create_archive", "file_exists"): {"archive": "packed.tar"},
    ("create_archive", "invalid_name"): {"archive": "new.zip"},
    ("extract_archive", "file_exists"): {"destination": "."},
    ("extract_archive", "not_an_archive"): {"path": "a.txt"},
    ("change_mode", "no_change"): {"mode": "644"},
    ("change_owner", "unknown_user"): {"owner": "nobody"},
    ("change_owner", "unknown_group"): {"group": "nobodies"},
    ("tag_path", "no_change"): {"tag": "none"},
    ("move_to_trash", "directory_busy"): {"path": "."},
    ("restore_from_trash", "not_in_trash"): {"trash_id": "trs_none00"},
    ("restore_from_trash", "file_exists"): {"destination": "a.txt"},
    ("restore_version", "no_such_version"): {"version": 9},
    ("restore_version", "no_change"): {"version": 2},
}
"""What to change in the arguments of BASE so that the tool is refused with the code."""

DECLARED = declared(SERVER)
ELSEWHERE = {("change_owner", "quota_exceeded"), ("change_owner", "no_change")}
ELSEWHERE |= {("empty_trash", "trash_empty")}


@pytest.fixture
def bench(lab: Session) -> Session:
    ok(lab, "create_archive", path="sub", archive="packed.tar")
    ok(lab, "write_file", path="b.txt", content="once")
    ok(lab, "write_file", path="b.txt", content="twice")
    ok(lab, "restore_version", path="b.txt", version=2)
    ok(lab, "create_file", path="cut.txt", content="1\n2\n3")
    ok(lab, "create_file", path="cut.txt.aa")
    ok(lab, "make_directory", path="other/sub", parents="create")
    ok(lab, "make_directory", path="clash")
    ok(lab, "create_file", path="clash/sub", content="a file")
    return lab


def _arguments(session: Session, name: str) -> dict[str, Any]:
    given = dict(BASE[name])
    if "trash_id" in given:
        given["trash_id"] = ok(session, "list_trash")["items"][0]["trash_id"]
    return given


@pytest.mark.parametrize("name", BASE)
def test_the_arguments_that_the_refusals_start_from_succeed(bench: Session, name: str) -> None:
    if name == "change_owner":
        assert disk_of(bench).users["root"].quota > ROOMY
    ok(bench, name, **_arguments(bench, name))


@pytest.mark.parametrize(("name", "refusal"), [p for p in DECLARED if p not in ELSEWHERE])
def test_every_declared_refusal_occurs(bench: Session, name: str, refusal: str) -> None:
    given = _arguments(bench, name)
    special = SPECIAL.get((name, refusal))
    if refusal == "quota_exceeded":
        given |= {"content": "x" * 60} if "content" in given or name == "create_file" else {}
        given |= {"new": "x" * 60} if "new" in given else {}
        given |= {"version": 1} if name == "restore_version" else {}
        _fill(bench, leave=1)
    elif special is not None:
        given |= special
    else:
        given[MAIN.get(name, "path")] = WRONG_PATH[refusal]
    before = bench.digest()
    assert code(bench, name, **given) == refusal
    assert bench.digest() == before


def test_ownership_is_refused_where_the_new_owner_has_no_room_or_nothing_changes() -> None:
    session = world(roomy_seed()).open()
    disk = disk_of(session)
    assert code(session, "change_owner", path="~", owner=disk.me.id) == "no_change"
    other = min((u for u in disk.users if u.id != disk.me.id), key=lambda u: u.quota - u.used)
    size = other.quota - other.used + 1
    ok(session, "create_file", path="~/big", content="x" * (size - 1))
    assert code(session, "change_owner", path="~/big", owner=other.id) == "quota_exceeded"


def test_an_empty_trash_cannot_be_emptied() -> None:
    session = world(2).open()
    ok(session, "empty_trash")
    assert code(session, "empty_trash") == "trash_empty"
