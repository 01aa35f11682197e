"""A server whose state is files: the folder is put back, and shows what changed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from provegym import servers
from provegym.errors import ServerFault
from provegym.gateway.external import settings
from provegym.gateway.external.places import register
from provegym.gateway.external.settings import External
from provegym.world.world import World

pytestmark = pytest.mark.usefixtures("known_servers")

TOLD = External(
    command=f"{sys.executable} {Path(__file__).with_name('notebook.py')} {{folder}}",
    files="start",
    reset="files",
    snapshot="files",
    hide=("get_secret", "show_login"),
)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a notebook of two notes."""
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "start/deep").mkdir(parents=True)
    (folder / "start/one.txt").write_text("buy tea")
    (folder / "start/deep/two.txt").write_text("call Ann")
    (folder / settings.FILE).write_text(settings.table("notebook", TOLD))
    return folder


@pytest.fixture
def world(notebook: Path) -> World:
    register(notebook)
    return servers.world(0, ("notebook",))


def test_paths_are_the_same_in_every_session_and_name_what_is_there(world: World) -> None:
    shown = world.open().call("list_notes", {}).value
    assert shown == {"result": ["/session/deep/two.txt", "/session/one.txt"]}
    read = world.open().call("read_note", {"path": "/session/one.txt"}).value
    assert read == {"result": "buy tea"}
    known = {name: list(t.rows) for name, t in world.templates.items()}
    assert known["notebook.notes"] == ["/session/deep/two.txt", "/session/one.txt"]
    effects = {t.name: t.effect for t in world.servers["notebook"].tools.values()}
    assert effects == {
        "list_notes": "read",
        "read_note": "read",
        "write_note": "write",
        "drop_note": "write",
    }


def test_changes_are_those_of_the_files(world: World) -> None:
    session = world.open()
    session.call("write_note", {"path": "/session/new.txt", "text": "hi"})
    session.call("write_note", {"path": "/session/one.txt", "text": "buy milk"})
    twin = session.fork()
    session.call("drop_note", {"path": "/session/deep/two.txt"})
    assert session.changes() == {
        "notebook.records": {
            "+1": {"value": {"text": "hi"}},
            "deep/two.txt": None,
            "one.txt": {"value": {"text": "buy milk"}},
        }
    }
    assert twin.call("read_note", {"path": "/session/deep/two.txt"}).outcome == "ok"
    session.reset()
    assert session.call("read_note", {"path": "/session/one.txt"}).value == {"result": "buy tea"}
    assert session.call("read_note", {"path": "/session/new.txt"}).outcome == "tool_error"


def test_what_a_refused_call_left_behind_is_undone(world: World) -> None:
    session = world.open()
    refused = session.call("write_note", {"path": "/session/one.txt", "text": "long " * 9})
    assert refused.outcome == "tool_error"
    assert "/session/one.txt: too long" in refused.value["error"]["message"]
    assert session.changes() == {}
    assert session.call("read_note", {"path": "/session/one.txt"}).value == {"result": "buy tea"}


def test_the_files_are_part_of_the_worlds_identity(world: World, tmp_path: Path) -> None:
    (tmp_path / "start").mkdir()
    (tmp_path / "start/one.txt").write_text("buy tea")
    (tmp_path / settings.FILE).write_text(settings.table("notebook", TOLD))
    register(tmp_path)
    other = World(0, [servers.load("notebook")])
    assert other.digest != world.digest


def test_a_secret_that_a_server_tells_stands_in_no_result_and_no_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTE_TOKEN", "s3cr3t-of-mine")
    told = External(
        command=TOLD.command, reset="restart", probe=False, forward=("NOTE_TOKEN",), warm=0
    )
    (tmp_path / settings.FILE).write_text(settings.table("notebook", told))
    register(tmp_path)
    session = World(0, [servers.load("notebook")]).open()
    assert session.call("show_login", {}).value == {"use": "Bearer $NOTE_TOKEN"}
    with pytest.raises(ServerFault, match="bad token") as caught:
        session.call("get_secret", {})
    assert "s3cr3t-of-mine" not in str(caught.value)
    assert "$NOTE_TOKEN" in str(caught.value)
