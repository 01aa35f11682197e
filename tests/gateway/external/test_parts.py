"""The parts that need no server: names, aliases, snapshots, folders, results, settings."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.errors import InputError
from provegym.gateway.external import settings, trees
from provegym.gateway.external.aliases import Aliases
from provegym.gateway.external.names import (
    called_reader,
    noun,
    plural,
    singular,
    tokens,
    tool_names,
)
from provegym.gateway.external.results import answer
from provegym.gateway.external.settings import External
from provegym.gateway.external.snapshot import rows_of

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


# -- names -------------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=90), max_size=12, unique=True), st.sets(st.text(max_size=5)))
def test_every_tool_gets_a_name_of_its_own_that_providers_take(
    given: list[str], taken: set[str]
) -> None:
    found = tool_names("shop", given, taken)
    assert list(found) == given
    assert len(set(found.values())) == len(given)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in found.values())
    assert not taken & set(found.values())


def test_dots_go_and_what_another_server_has_gets_the_servers_name_in_front() -> None:
    found = tool_names("shop", ["items.list", "items_list", "search", "x" * 70], {"search"})
    assert found["items.list"] == "items_list"
    assert found["items_list"] == "items_list_2"
    assert found["search"] == "shop_search"
    assert len(found["x" * 70]) == 64


def test_names_are_read_word_by_word() -> None:
    assert tokens("entityNames") == ("entity", "name")
    assert tokens("HTTPStatus_codes") == ("http", "status", "code")
    assert [noun(n) for n in ("tickets.close", "list_open_tickets", "getUser")] == [
        ("ticket",),
        ("ticket",),
        ("user",),
    ]
    assert [singular(plural(w)) for w in ("entity", "box", "key")] == ["entity", "box", "key"]


@pytest.mark.parametrize(
    ("name", "thing"),
    [
        ("shop.items.list", "item"),
        ("shop.orders.create", "order"),
        ("shop/items/get", "item"),
        ("hub.create_issue", "issue"),
        ("tickets.find_by_owner", "ticket"),
        ("get_item_by_id", "item"),
        ("list", "list"),
    ],
)
def test_a_tool_is_about_the_thing_in_its_own_part_of_the_name(name: str, thing: str) -> None:
    assert noun(name) == (thing,)


def test_a_name_says_that_it_reads_by_a_verb_in_front_or_at_the_end() -> None:
    reading = ("get_item", "git_list_branches", "shop.items.list", "items.by.owner.find")
    assert all(map(called_reader, reading))
    others = ("shop.orders.create", "add_to_list", "orders.update_status", "now.time", "checkout")
    assert not any(map(called_reader, others))


# -- aliases -----------------------------------------------------------------------------------


def test_ids_are_named_in_order_and_lead_back() -> None:
    names = Aliases(("id", "created"), Path("/tmp/a1"), START)
    seen = {"tickets": [{"id": "9f3c-77aa"}, {"id": "b2d1-0000", "created": "2026-11-30T10:00:00"}]}
    names.learn(seen)
    assert names.inward(seen, 2) == {
        "tickets": [{"id": "id-1"}, {"id": "id-2", "created": "2026-03-02T09:02:00+00:00"}]
    }
    assert names.inward({"text": "made b2d1-0000 in /tmp/a1/x", "b2d1-0000": 1}, 0) == {
        "text": "made id-2 in /session/x",
        "id-2": 1,
    }
    assert names.outward({"id": "id-2", "path": "/session/x", "other": "/sessions"}) == {
        "id": "b2d1-0000",
        "path": "/tmp/a1/x",
        "other": "/sessions",
    }


def test_numbers_that_are_minted_are_numbered_only_where_they_are_ids() -> None:
    names = Aliases(("id",), Path("/tmp/a1"), START)
    names.learn({"id": 40817, "size": 40817})
    assert names.inward({"id": 40817, "size": 40817}, 0) == {"id": 1, "size": 40817}
    assert names.outward({"id": 1, "size": 1}) == {"id": 40817, "size": 1}


def test_without_volatile_fields_only_the_folder_is_named() -> None:
    names = Aliases((), Path("/tmp/a1"), START)
    names.learn({"id": "9f3c-77aa"})
    assert names.inward({"id": "9f3c-77aa", "at": "/tmp/a1"}, 0) == {
        "id": "9f3c-77aa",
        "at": "/session",
    }


# -- snapshots and folders ---------------------------------------------------------------------


def test_records_become_rows_by_what_tells_them_apart() -> None:
    found = rows_of(
        {
            "users": [{"id": 1, "name": "Ann"}, {"id": 2, "name": "Ann"}],
            "links": [{"a": 1}, {"a": 1}],
            "empty": [],
            "tags": ["x"],
            "version": 3,
        },
        frozenset(["version"]),
    )
    assert found["users/1"] == {"id": 1, "name": "Ann"}
    assert found["users/2"] == {"id": 2, "name": "Ann"}
    links = [name for name in found if name.startswith("links/")]
    assert len(links) == 2
    assert found["state"] == {"tags": ["x"]}


def test_a_row_that_holds_volatile_values_is_compared_without_them() -> None:
    one = rows_of({"users": [{"name": "Ann", "seen": "now"}]}, frozenset(["seen"]))
    two = rows_of({"users": [{"name": "Ann", "seen": "later"}]}, frozenset(["seen"]))
    assert one == two == {"users/Ann": {"name": "Ann"}}


def test_a_folder_is_put_back_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/a.txt").write_text("one")
    (tmp_path / "run.sh").write_text("#!")
    (tmp_path / "run.sh").chmod(0o755)
    before = trees.take(tmp_path)
    (tmp_path / "kept/a.txt").write_text("two")
    (tmp_path / "new/deep").mkdir(parents=True)
    (tmp_path / "new/deep/b").write_text("b")
    (tmp_path / "run.sh").unlink()
    assert trees.digest(trees.take(tmp_path)) != trees.digest(before)
    trees.put_back(tmp_path, before)
    assert trees.take(tmp_path) == before
    assert (tmp_path / "run.sh").stat().st_mode & 0o777 == 0o755


# -- results -----------------------------------------------------------------------------------


def text(*texts: str, error: bool = False) -> types.CallToolResult:
    blocks: list[types.ContentBlock] = [types.TextContent(type="text", text=t) for t in texts]
    return types.CallToolResult(content=blocks, is_error=error)


def test_a_result_is_its_structure_or_the_json_of_its_text_or_its_text() -> None:
    structured = types.CallToolResult(content=[], structured_content={"a": 1})
    assert answer(structured, 99).value == {"a": 1}
    assert answer(text('{"a": [1]}'), 99).value == {"a": [1]}
    assert answer(text("12"), 99).value == {"text": "12"}
    assert answer(text("one", "two"), 99).value == {"text": "one\ntwo"}


def test_a_picture_is_told_of_and_not_shown() -> None:
    picture = types.ImageContent(type="image", data="A" * 400, mime_type="image/png")
    shown = answer(types.CallToolResult(content=[picture]), 999).value
    assert shown == {"text": "[image: image/png, 300 bytes]"}


def test_a_long_result_is_cut_with_a_note() -> None:
    found = answer(text("word " * 400_000), 1000).value
    assert found["text"] == ("word " * 200) + "... [cut]"
    assert found["cut"] == "2000000 characters in all; ask for less"
    structured = types.CallToolResult(content=[], structured_content={"rows": ["word"] * 5000})
    assert answer(structured, 1000).value["text"].startswith('{"rows":["word"')


def test_an_error_has_its_text_and_says_whether_the_arguments_were_wrong() -> None:
    found = answer(text("no ticket 7", error=True), 99)
    assert (found.error, found.misused) == ("no ticket 7", False)
    assert answer(text("MCP error -32602: Input validation error", error=True), 99).misused


# -- settings ----------------------------------------------------------------------------------


def test_settings_are_read_as_they_were_written(tmp_path: Path) -> None:
    told = External(
        command="npx 'a b' --root {folder}",
        files="start",
        env={"A": 'x"y', "B.C": "2"},
        reset="files",
        volatile=("id",),
        values={"limit": (1, 2.5, True, "ten")},
        seconds=2.5,
    )
    (tmp_path / "start").mkdir()
    path = tmp_path / "provegym.toml"
    path.write_text(settings.table("shop", told))
    assert settings.of(path, "shop") == told
    assert told.words == ["npx", "a b", "--root", "{folder}"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[servers.Shop]\ncommand = "x"', "a server's name is"),
        ("[servers.shop]", "give either `command` or `url`"),
        ('[servers.shop]\ncommand = "x"\nurl = "http://x"', "give either"),
        ('[servers.shop]\nurl = "ftp://x"', "must begin with http"),
        ('[servers.shop]\ncommand = "x \'"', "No closing quotation"),
        ('[servers.shop]\ncommand = "x"\nreset = "files"', "needs `files`"),
        ('[servers.shop]\ncommand = "x"\nfiles = "nowhere"', "there is no folder 'nowhere'"),
        ('[servers.shop]\ncommand = "x"\nseconds = 0', "must be above 0"),
        ('[servers.shop]\ncommand = "x"\nseconds = nan', "seconds = nan"),
        ('[servers.shop]\ncommand = "x {foldr}"', "servers.shop: {foldr} stands for nothing"),
        (
            '[servers.shop]\ncomand = "x"',
            "servers.shop: unknown key 'comand'; did you mean 'command'",
        ),
        ("[servers.shop]\ncommand = 3", "servers.shop: Expected `str`"),
        ('[server.shop]\ncommand = "x"', "tables [servers.NAME] and nothing else"),
        ("[servers", "provegym.toml"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_named(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "provegym.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(why)):
        _ = [settings.of(path, name) for name in settings.tables(path)]
