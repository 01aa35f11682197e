"""The file server: POSIX rules, sizes, permissions, trash and versions."""

from __future__ import annotations

from typing import Any

import pytest

from provegym.servers.filesystem import SERVER
from provegym.world.session import Session
from tests.servers.disk_calls import code, disk_of, ok, world


def sound(session: Session) -> None:
    assert list(SERVER.violations(session.state("filesystem"))) == []


def text(session: Session, path: str) -> str:
    return str(ok(session, "read_file", path=path)["content"])


# -- paths --------------------------------------------------------------------------------------


def test_paths_are_absolute_or_relative_to_the_working_directory_or_the_home(lab: Session) -> None:
    home = disk_of(lab).me.home
    assert ok(lab, "print_working_directory")["path"] == f"{home}/lab"
    for path in ("a.txt", "./sub/../a.txt", "~/lab/a.txt", f"{home}//lab/a.txt"):
        assert ok(lab, "stat_path", path=path)["path"] == f"{home}/lab/a.txt"
    assert ok(lab, "stat_path", path="/../..")["path"] == "/"
    ok(lab, "change_directory", path="sub")
    assert code(lab, "read_file", path="a.txt") == "no_such_file"
    assert text(lab, "inner.txt") == "inside\n"


def test_links_are_followed_on_the_way_and_dangling_or_looping_ones_are_refused(
    lab: Session,
) -> None:
    ok(lab, "make_symlink", target="sub", path="way")
    assert text(lab, "way/inner.txt") == "inside\n"
    link = ok(lab, "read_link", path="way")
    assert (link["target"], link["resolved"].rpartition("/")[2]) == ("sub", "sub")
    ok(lab, "make_symlink", target="nowhere", path="dangling")
    assert code(lab, "read_file", path="dangling") == "no_such_file"
    assert ok(lab, "stat_path", path="dangling")["size"] == len("nowhere")
    assert code(lab, "read_file", path="~/loop") == "symlink_loop"
    ok(lab, "delete_file", path="way")
    assert text(lab, "sub/inner.txt") == "inside\n"


def test_a_slash_after_a_file_is_refused(lab: Session) -> None:
    assert code(lab, "read_file", path="a.txt/") == "not_a_directory"


def test_listing_is_sorted_paged_and_hides_dot_names(lab: Session) -> None:
    ok(lab, "create_file", path=".hidden")
    page = ok(lab, "list_directory", limit=3)
    names = [entry["path"].rpartition("/")[2] for entry in page["entries"]]
    assert (names, page["total"]) == (["a.txt", "b.txt", "empty"], 4)
    rest = ok(lab, "list_directory", limit=3, cursor=page["next_cursor"])
    assert [entry["path"].rpartition("/")[2] for entry in rest["entries"]] == ["sub"]
    assert rest["next_cursor"] == ""
    assert ok(lab, "list_directory", hidden="show")["total"] == 5
    largest = ok(lab, "list_directory", sort_by="size")["entries"][0]
    assert (largest["path"].rpartition("/")[2], largest["size"]) == ("a.txt", 27)
    assert code(lab, "list_directory", cursor="third") == "invalid_cursor"


def test_the_tree_is_indented_to_its_depth(lab: Session) -> None:
    drawn = ok(lab, "show_tree")
    assert drawn["tree"] == "a.txt\nb.txt\nempty/\nsub/\n  inner.txt"
    assert (drawn["directories"], drawn["files"]) == (2, 3)
    assert ok(lab, "show_tree", depth=1)["tree"] == "a.txt\nb.txt\nempty/\nsub/"


def test_find_takes_a_pattern_a_kind_a_tag_and_a_size(lab: Session) -> None:
    def found(**given: Any) -> list[str]:
        entries = ok(lab, "find_files", **given)["entries"]
        return [entry["path"].rpartition("/lab")[2] for entry in entries]

    ok(lab, "tag_path", path="b.txt", tag="final")
    assert found(name="*.txt") == ["/a.txt", "/b.txt", "/sub/inner.txt"]
    assert found(kind="directory") == ["", "/empty", "/sub"]
    assert found(tag="final") == ["/b.txt"]
    assert found(larger_than=17) == ["/a.txt"]
    assert found(larger_than=16) == ["/a.txt", "/b.txt"]


def test_search_gives_each_matching_line_with_its_number(lab: Session) -> None:
    matches = ok(lab, "search_text", text="apples")["matches"]
    assert [(m["line"], m["text"]) for m in matches] == [(2, "9 apples"), (3, "9 apples")]
    assert ok(lab, "search_text", text="PEARS")["total"] == 0
    assert ok(lab, "search_text", text="PEARS", case="ignore")["total"] == 2


def test_search_and_find_leave_out_what_may_not_be_read(lab: Session) -> None:
    assert ok(lab, "search_text", text="salaries", path="~")["total"] == 0
    assert ok(lab, "find_files", path="/var/backups", name="*")["total"] == 1
    assert ok(lab, "find_files", path="/var/backups", name="etc.txt")["total"] == 0


# -- text ---------------------------------------------------------------------------------------


def test_counts_are_those_of_wc(lab: Session) -> None:
    # "10 pears\n9 apples\n9 apples\n": 9 + 9 + 9 bytes
    counts = ok(lab, "count_words", path="a.txt")
    assert (counts["lines"], counts["words"], counts["size"]) == (3, 6, 27)


def test_size_is_in_bytes_of_utf8(lab: Session) -> None:
    assert ok(lab, "create_file", path="c.txt", content="é€")["size"] == 2 + 3 + 1


def test_head_and_tail_take_whole_lines(lab: Session) -> None:
    assert ok(lab, "head_file", path="a.txt", lines=1)["content"] == "10 pears\n"
    assert ok(lab, "tail_file", path="a.txt", lines=2)["content"] == "9 apples\n9 apples\n"
    assert ok(lab, "tail_file", path="a.txt", lines=50)["lines"] == 3


def test_sorting_by_text_differs_from_sorting_by_number(lab: Session) -> None:
    ok(lab, "sort_lines", path="b.txt", order="descending")
    assert text(lab, "b.txt") == "8 plums\n10 pears\n"
    ok(lab, "sort_lines", path="b.txt", order="descending", key="number")
    assert text(lab, "b.txt") == "10 pears\n8 plums\n"
    ok(lab, "sort_lines", path="a.txt", key="number", duplicates="drop")
    assert text(lab, "a.txt") == "9 apples\n10 pears\n"
    ok(lab, "create_file", path="n.txt", content="-2 a\n1.5 b\nnone\n-10 c\n1.25 d")
    ok(lab, "sort_lines", path="n.txt", key="number")
    assert text(lab, "n.txt") == "-10 c\n-2 a\nnone\n1.25 d\n1.5 b\n"


def test_replacing_counts_every_occurrence(lab: Session) -> None:
    assert ok(lab, "replace_text", path="a.txt", old="apples", new="figs")["replacements"] == 2
    assert text(lab, "a.txt") == "10 pears\n9 figs\n9 figs\n"


def test_a_diff_shows_removed_and_added_lines(lab: Session) -> None:
    diff = ok(lab, "diff_files", first="a.txt", second="b.txt")
    assert (diff["identical"], diff["removed"], diff["added"]) == (False, 2, 1)
    assert diff["diff"] == "@@ -2,2 +2 @@\n-9 apples\n-9 apples\n+8 plums"
    assert ok(lab, "diff_files", first="a.txt", second="~/lab/a.txt")["identical"]


def test_checksums_are_the_published_ones(lab: Session) -> None:
    ok(lab, "create_file", path="nothing")
    ok(lab, "create_file", path="abc", content="abc")

    def checksum(path: str, algorithm: str) -> str:
        return str(ok(lab, "checksum_file", path=path, algorithm=algorithm)["checksum"])

    # RFC 1321 A.5: MD5 ("")
    assert checksum("nothing", "md5") == "d41d8cd98f00b204e9800998ecf8427e"
    assert checksum("abc", "md5") == "0bee89b07a248e27c83fc3d5951213c1"
    assert checksum("abc", "sha1") == "03cfd743661f07975fa2f1220c5194cbaff48451"
    expected = "edeaaff3f1774ad2888673770c6d64097e391bc362d7d6fb34982ddf0efd18cb"
    assert checksum("abc", "sha256") == expected


def test_only_a_newline_ends_a_line(lab: Session) -> None:
    ok(lab, "create_file", path="odd", content="b\u2028c\r\na")
    assert ok(lab, "head_file", path="odd", lines=1)["content"] == "b\u2028c\r\n"
    ok(lab, "sort_lines", path="odd")
    assert text(lab, "odd") == "a\nb\u2028c\r\n"


def test_the_parts_of_a_split_file_join_to_the_same_text(lab: Session) -> None:
    parts = ok(lab, "split_file", path="a.txt", lines=2)["parts"]
    assert [part.rpartition("/")[2] for part in parts] == ["a.txt.aa", "a.txt.ab"]
    assert text(lab, "a.txt.ab") == "9 apples\n"
    ok(lab, "join_files", paths=parts, destination="again.txt")
    assert text(lab, "again.txt") == text(lab, "a.txt")


# -- the tree -----------------------------------------------------------------------------------


def test_moving_onto_a_directory_moves_into_it(lab: Session) -> None:
    moved = ok(lab, "move_path", source="a.txt", destination="sub")
    assert moved["path"].endswith("/lab/sub/a.txt")
    assert code(lab, "stat_path", path="a.txt") == "no_such_file"
    ok(lab, "move_path", source="sub", destination="renamed")
    assert text(lab, "renamed/a.txt").startswith("10 pears")
    sound(lab)


def test_nothing_moves_or_is_copied_into_itself(lab: Session) -> None:
    for destination in ("sub", "sub/deeper", "./sub/../sub/deeper"):
        assert code(lab, "move_path", source="sub", destination=destination) == "into_itself"
        assert code(lab, "copy_path", source="sub", destination=destination) == "into_itself"
    ok(lab, "move_path", source="sub", destination="empty")


def test_overwriting_replaces_only_like_by_like(lab: Session) -> None:
    ok(lab, "create_file", path="empty/sub", content="a file")
    assert code(lab, "move_path", source="a.txt", destination="b.txt") == "file_exists"
    over = {"if_exists": "overwrite"}
    assert code(lab, "move_path", source="sub", destination="b.txt", **over) == "not_a_directory"
    assert code(lab, "move_path", source="sub", destination="empty", **over) == "not_a_directory"
    ok(lab, "move_path", source="empty/sub", destination="loose")
    ok(lab, "move_path", source="loose", destination="b.txt", **over)
    assert text(lab, "b.txt") == "a file\n"
    sound(lab)


def test_a_copied_directory_is_a_second_one_of_the_user(lab: Session) -> None:
    before = ok(lab, "show_quota")["used"]
    copied = ok(lab, "copy_path", source="sub", destination="twin")
    assert (copied["entries"], copied["size"]) == (2, 7)
    ok(lab, "append_file", path="twin/inner.txt", text="more")
    assert text(lab, "sub/inner.txt") == "inside\n"
    assert ok(lab, "show_quota")["used"] == before + 7 + 5


def test_copying_over_a_file_keeps_its_old_text_as_a_version(lab: Session) -> None:
    ok(lab, "copy_path", source="a.txt", destination="b.txt", if_exists="overwrite")
    assert text(lab, "b.txt") == text(lab, "a.txt")
    ok(lab, "restore_version", path="b.txt", version=1)
    assert text(lab, "b.txt") == "10 pears\n8 plums\n"


def test_only_an_empty_directory_goes_without_its_contents(lab: Session) -> None:
    assert code(lab, "remove_directory", path="sub") == "not_empty"
    assert ok(lab, "remove_directory", path="empty")["entries"] == 1
    assert ok(lab, "remove_directory", path="sub", contents="delete") == {
        "removed": disk_of(lab).me.home + "/lab/sub",
        "entries": 2,
        "freed": 7,
    }


def test_the_working_directory_cannot_be_removed_but_moves_with_its_tree(lab: Session) -> None:
    for name in ("remove_directory", "move_to_trash"):
        assert code(lab, name, path="~/lab") == "directory_busy"
    ok(lab, "move_path", source="~/lab", destination="~/moved")
    assert ok(lab, "print_working_directory")["path"].endswith("/moved")


def test_an_archive_has_the_size_of_a_ustar_file_and_gives_the_tree_back(lab: Session) -> None:
    # two headers, one block of data, two empty blocks
    packed = ok(lab, "create_archive", path="sub", archive="sub.tar")
    assert (packed["members"], packed["size"]) == (2, 5 * 512)
    unpacked = ok(lab, "extract_archive", path="sub.tar", destination="empty")
    assert unpacked["total"] == 2
    assert text(lab, "empty/sub/inner.txt") == "inside\n"
    assert code(lab, "extract_archive", path="sub.tar", destination="empty") == "file_exists"
    assert code(lab, "read_file", path="sub.tar") == "binary_file"
    sound(lab)


def test_disk_usage_adds_up(lab: Session) -> None:
    usage = ok(lab, "disk_usage")
    # a.txt 27, b.txt 17, sub/inner.txt 7
    assert (usage["total_size"], usage["files"]) == (51, 3)
    assert [entry["size"] for entry in usage["largest"]] == [27, 17, 7, 0]
    assert ok(lab, "disk_usage", path="a.txt")["total_size"] == 27


# -- permissions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "mode", "end"),
    [
        ("644", "600", "600"),
        ("644", "u+x", "744"),
        ("644", "go-r", "600"),
        ("755", "a=r", "444"),
        ("640", "u=rw,g+w,o=r", "664"),
        ("444", "+w", "644"),
        ("755", "+t", "1755"),
        ("777", "o=", "770"),
    ],
)
def test_modes_change_as_chmod_says(lab: Session, start: str, mode: str, end: str) -> None:
    ok(lab, "create_file", path="m")
    if start != "644":
        ok(lab, "change_mode", path="m", mode=start)
    assert ok(lab, "change_mode", path="m", mode=mode)["mode"] == end


def test_permissions_are_written_as_ls_writes_them(lab: Session) -> None:
    assert ok(lab, "stat_path", path="a.txt")["permissions"] == "rw-r--r--"
    assert ok(lab, "stat_path", path="/tmp")["permissions"] == "rwxrwxrwt"


def test_each_access_is_checked_against_the_bits(lab: Session) -> None:
    ok(lab, "change_mode", path="a.txt", mode="200")
    assert code(lab, "read_file", path="a.txt") == "permission_denied"
    ok(lab, "append_file", path="a.txt", text="blind")
    ok(lab, "change_mode", path="a.txt", mode="400")
    assert code(lab, "append_file", path="a.txt", text="no") == "permission_denied"
    ok(lab, "change_mode", path="sub", mode="600")
    assert code(lab, "read_file", path="sub/inner.txt") == "permission_denied"
    ok(lab, "change_mode", path="sub", mode="500")
    assert text(lab, "sub/inner.txt") == "inside\n"
    assert code(lab, "delete_file", path="sub/inner.txt") == "permission_denied"
    assert code(lab, "create_file", path="sub/new") == "permission_denied"


def test_only_one_class_of_the_bits_counts(lab: Session) -> None:
    ok(lab, "change_mode", path="a.txt", mode="077")
    assert code(lab, "read_file", path="a.txt") == "permission_denied"


def test_in_a_sticky_directory_only_the_owner_removes() -> None:
    session = world(0).open()
    me = disk_of(session).me.id
    entries = ok(session, "find_files", path="/tmp", name="upload_*")["entries"]
    other = next(e["path"] for e in entries if not e["path"].endswith(f"_{me}.txt"))
    assert code(session, "delete_file", path=other) == "permission_denied"
    ok(session, "create_file", path="/tmp/mine.txt")
    ok(session, "delete_file", path="/tmp/mine.txt")


def test_a_given_file_counts_for_the_new_owner(lab: Session) -> None:
    disk = disk_of(lab)
    other = max((u for u in disk.users if u.id != disk.me.id), key=lambda u: u.quota - u.used)
    before = ok(lab, "show_quota")["used"]
    ok(lab, "change_owner", path="a.txt", owner=other.id)
    assert ok(lab, "show_quota")["used"] == before - 27
    assert disk.users[other.id].used == other.used + 27
    assert code(lab, "change_owner", path="a.txt", owner=disk.me.id) == "permission_denied"
    assert code(lab, "append_file", path="a.txt", text="mine?") == "permission_denied"


# -- trash, versions, quota -----------------------------------------------------------------------


def test_the_trash_gives_back_what_was_thrown_away(lab: Session) -> None:
    item = ok(lab, "move_to_trash", path="sub")
    assert code(lab, "read_file", path="sub/inner.txt") == "no_such_file"
    latest = ok(lab, "list_trash", query="lab")["items"]
    assert [entry["trash_id"] for entry in latest] == [item["trash_id"]]
    before = lab.snapshot()
    ok(lab, "create_file", path="sub")
    assert code(lab, "restore_from_trash", trash_id=item["trash_id"]) == "file_exists"
    lab.restore(before)
    ok(lab, "restore_from_trash", trash_id=item["trash_id"])
    assert text(lab, "sub/inner.txt") == "inside\n"
    assert code(lab, "restore_from_trash", trash_id=item["trash_id"]) == "not_in_trash"


def test_the_trash_counts_for_the_quota_until_it_is_emptied(lab: Session) -> None:
    before = ok(lab, "show_quota")
    ok(lab, "move_to_trash", path="a.txt")
    thrown = ok(lab, "show_quota")
    assert (thrown["used"], thrown["in_trash"]) == (before["used"], before["in_trash"] + 27)
    freed = ok(lab, "empty_trash")
    assert freed["freed"] == thrown["in_trash"]
    assert ok(lab, "show_quota")["used"] == before["used"] - freed["freed"]
    assert (ok(lab, "list_trash")["total"], freed["left"]) == (0, 0)
    sound(lab)


def test_what_was_thrown_away_today_outlasts_an_emptying_of_old_things(lab: Session) -> None:
    item = ok(lab, "move_to_trash", path="a.txt")
    ok(lab, "empty_trash", older_than_days=1)
    assert [e["trash_id"] for e in ok(lab, "list_trash")["items"]] == [item["trash_id"]]


def test_each_change_of_a_text_keeps_the_one_before(lab: Session) -> None:
    ok(lab, "write_file", path="sub/inner.txt", content="second")
    ok(lab, "append_file", path="sub/inner.txt", text="third")
    versions = ok(lab, "list_versions", path="sub/inner.txt")["versions"]
    assert [(v["version"], v["first_line"], v["size"]) for v in versions] == [
        (2, "second", 7),
        (1, "inside", 7),
    ]
    assert ok(lab, "restore_version", path="sub/inner.txt", version=1)["saved_as"] == 3
    assert text(lab, "sub/inner.txt") == "inside\n"
    ok(lab, "restore_version", path="sub/inner.txt", version=3)
    assert text(lab, "sub/inner.txt") == "second\nthird\n"


def test_a_refused_copy_of_a_directory_leaves_nothing_behind(lab: Session) -> None:
    _fill(lab, leave=6)
    before = lab.digest()
    assert code(lab, "copy_path", source="sub", destination="twin") == "quota_exceeded"
    assert lab.digest() == before
    ok(lab, "delete_file", path="filler")
    ok(lab, "copy_path", source="sub", destination="twin")


def _fill(session: Session, leave: int) -> None:
    free = ok(session, "show_quota")["free"]
    ok(session, "create_file", path="filler", content="x" * (free - leave - 1))
    assert ok(session, "show_quota")["free"] == leave
