"""The file of answers: what is in it after a kill, and who may have it."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.errors import InputError
from provegym.llm.cache import Cache
from provegym.llm.ledger import NOTHING, Spent

WORST = Spent(1, 100, 50)


def keep(cache: Cache, key: str, body: bytes = b"{}", model: str = "m") -> None:
    cache.answered(cache.send(model, WORST), key, model, Spent(1, 10, 5, 4), body)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    cache = Cache(tmp_path / "deep" / "answers.sqlite")
    yield cache
    cache.close()


def test_an_answer_is_found_by_its_key_also_after_reopening(cache: Cache) -> None:
    keep(cache, "a", b"\xff\x00 any bytes")
    assert (cache.get("a"), cache.get("b")) == (b"\xff\x00 any bytes", None)
    cache.close()
    again = Cache(cache.path)
    assert again.get("a") == b"\xff\x00 any bytes"
    again.close()


def test_what_was_spent_is_counted_by_model(cache: Cache) -> None:
    keep(cache, "a")
    keep(cache, "b")
    keep(cache, "c", model="other")
    assert cache.spent("m") == (Spent(2, 20, 10, 8), NOTHING)
    assert cache.spent("other") == (Spent(1, 10, 5, 4), NOTHING)
    assert cache.spent("new") == (NOTHING, NOTHING)


def test_a_request_counts_at_its_worst_from_before_it_is_sent_until_it_is_settled(
    cache: Cache,
) -> None:
    first, second = cache.send("m", WORST), cache.send("m", WORST)
    assert cache.spent("m") == (NOTHING, Spent(2, 200, 100))
    cache.turned_away(first)
    assert cache.spent("m") == (NOTHING, WORST)
    cache.answered(second, "a", "m", Spent(1, 10, 5), b"{}")
    assert cache.spent("m") == (Spent(1, 10, 5), NOTHING)


def test_an_answer_that_cannot_be_kept_leaves_the_request_lost(cache: Cache) -> None:
    keep(cache, "a")
    with pytest.raises(InputError, match="cannot keep answers"):
        keep(cache, "a")
    assert cache.spent("m") == (Spent(1, 10, 5, 4), WORST)


def test_a_file_in_use_is_refused(cache: Cache) -> None:
    with pytest.raises(InputError, match="in use by another process"):
        Cache(cache.path)


def test_a_file_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("dear diary " * 100)
    with pytest.raises(InputError, match="file is not a database"):
        Cache(text)
    assert text.read_text() == "dear diary " * 100
    foreign = tmp_path / "foreign.sqlite"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE shelf (book)")
    db.close()
    before = foreign.read_bytes()
    with pytest.raises(InputError, match="no file of answers"):
        Cache(foreign)
    assert foreign.read_bytes() == before


def test_a_file_of_a_newer_version_is_refused(cache: Cache) -> None:
    cache.close()
    db = sqlite3.connect(cache.path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(InputError, match="no file of answers that this version reads"):
        Cache(cache.path)


def test_a_folder_or_a_place_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "answers.sqlite"):
        with pytest.raises(InputError, match="cannot"):
            Cache(path)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a process that was killed after it had stored twenty answers."""
    folder = tmp_path_factory.mktemp("killed")
    cache = Cache(folder / "live.sqlite")
    for number in range(20):
        keep(cache, str(number), b"%d" % number * 500)
    for name in ("live.sqlite", "live.sqlite-wal"):
        shutil.copy(folder / name, folder / name.replace("live", "dead"))
    cache.close()
    return folder


@given(lost=st.floats(0, 1))
def test_of_a_torn_file_all_answers_up_to_the_tear_are_there(killed: Path, lost: float) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(killed / "dead.sqlite", folder)
        log = (killed / "dead.sqlite-wal").read_bytes()
        (folder / "dead.sqlite-wal").write_bytes(log[: round(len(log) * (1 - lost))])
        cache = Cache(folder / "dead.sqlite")
        found = [cache.get(str(number)) for number in range(20)]
        whole = next((number for number, body in enumerate(found) if body is None), 20)
        assert found == [b"%d" % n * 500 if n < whole else None for n in range(20)]
        assert whole >= 20 * (1 - lost) * 0.5 - 3  # a tear at the end costs no more than the end
        assert cache.spent("m")[0].requests == whole
        cache.close()


def test_nothing_stored_is_missing_after_a_kill(killed: Path) -> None:
    cache = Cache(killed / "dead.sqlite")
    assert cache.spent("m") == (Spent(20, 200, 100, 80), NOTHING)
    cache.close()
