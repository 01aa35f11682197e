"""The folder that each session starts with: where it may lie, and how it is copied."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path

import pytest

from provegym.errors import InputError
from provegym.gateway.external import files, folders
from provegym.gateway.external.connection import Connection
from provegym.gateway.external.settings import External


@pytest.fixture
def start(tmp_path: Path) -> Path:
    """A folder that anybody may read, with links of three kinds."""
    folder = tmp_path / "start"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/one.txt").write_text("tea")
    (folder / "near.txt").symlink_to("deep/one.txt")
    (folder / "nowhere").symlink_to("/no/such/file")
    os.mkfifo(folder / "pipe")
    folder.chmod(0o755)
    return folder


@pytest.fixture
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where private folders are made."""
    folder = tmp_path / "private"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def connection(home: Path) -> Connection:
    told = External(command=f"{sys.executable} -c 0", files="start")
    return Connection("desk", told, home, 0)


def test_the_copy_is_for_this_user_alone_and_holds_what_links_lead_to(
    start: Path, private: Path
) -> None:
    copied = folders.private()
    files.copy(start, copied)
    assert copied.parent == private.resolve()
    assert stat.S_IMODE(copied.stat().st_mode) == 0o700
    assert sorted(p.name for p in copied.iterdir()) == ["deep", "near.txt", "nowhere"]
    assert not (copied / "near.txt").is_symlink()
    assert (copied / "near.txt").read_text() == "tea"
    assert (copied / "nowhere").readlink() == Path("/no/such/file")
    files.check("start", start.parent, "here")


def test_a_session_has_such_a_copy_while_it_lives(start: Path, private: Path) -> None:
    opened = connection(start.parent).start()
    assert stat.S_IMODE(opened.folder.stat().st_mode) == 0o700
    assert (opened.folder / "deep/one.txt").exists()
    opened.close()
    assert opened.ended(60)
    assert list(private.iterdir()) == []


@pytest.mark.parametrize("error", [OSError(28, "No space left on device", "x"), KeyboardInterrupt])
def test_a_copy_that_fails_leaves_nothing_behind(
    start: Path,
    private: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException | type[BaseException],
) -> None:
    def fails(source: Path, target: Path) -> None:
        target.write_text("half")
        raise error

    monkeypatch.setattr("shutil.copy2", fails)
    expected = InputError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as caught:
        connection(start.parent).start()
    assert list(private.iterdir()) == []
    if expected is InputError:
        assert str(caught.value) == "server desk: cannot copy x: No space left on device"


def refused(named: str, home: Path) -> str:
    with pytest.raises(InputError) as caught:
        files.check(named, home, "here")
    return str(caught.value)


@pytest.mark.parametrize("named", ["/etc", "..", "../..", ".", "start/..", "out"])
def test_only_a_folder_below_that_of_the_settings_is_copied(start: Path, named: str) -> None:
    (start.parent / "out").symlink_to("/etc")
    told = f"here: files = {named!r} is no folder below {start.parent}; copy it there"
    assert refused(named, start.parent) == told


def test_a_folder_that_is_not_there_or_links_to_the_outside_is_refused(start: Path) -> None:
    home = start.parent
    assert refused("other", home) == f"here: there is no folder 'other' in {home}"
    (start / "deep/hosts").symlink_to("/etc")
    assert refused("start", home).startswith(f"here: {start}/deep/hosts is a link to /etc, outside")


def test_what_is_too_much_to_copy_is_refused(start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = start.parent
    with (start / "big").open("wb") as file:
        file.truncate(files.MOST_BYTES - 6)
    files.check("start", home, "here")  # with twice the three letters of tea
    (start / "more").write_text("x")
    assert refused("start", home) == (
        "here: files = 'start' holds more than 20,000 files or 128 MiB, and is copied for each "
        "session; give a smaller folder"
    )
    (start / "big").unlink()
    (start / "deep/again").symlink_to(start)  # one that never ends
    monkeypatch.setattr(files, "MOST_FILES", 50)
    assert "more than 50 files" in refused("start", home)
