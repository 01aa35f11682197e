"""Record files: what is refused, what survives a kill or a full disk, what resuming keeps."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from pydantic import BaseModel

from provegym import records
from provegym.errors import BrokenRecord, InputError, ManifestMismatch, seen
from provegym.records import Manifest, Store, manifest
from provegym.types import Call, GroundCall, Task, Trace, Turn


class Row(Struct, frozen=True):
    id: str
    text: str = ""
    value: Any = None


MADE = Manifest("rows", config="c" * 64, seed=7, world="w" * 64, parent="p" * 64)


def row(number: int) -> Row:
    """Rows of uneven length, so that offsets hit every place inside a line."""
    return Row(f"r{number}", "ä" * (number * 7 % 23), {"n": number})


def fill(path: Path, count: int) -> None:
    """What a stage does: write the rows that are not there yet, then say it is finished."""
    with Store(path, Row, MADE) as store:
        for number in range(count):
            if f"r{number}" not in store.keys:
                store.append(row(number))
        store.finish({"calls": 2})


def ids(path: Path) -> list[str]:
    return [found.id for found in records.read(path, Row)]


# --- reading -------------------------------------------------------------------------------


def test_what_is_written_reads_back_equal(tmp_path: Path) -> None:
    trace = Trace("t1", "k1", (Call("f", {"a": 2**63, "b": 10**30}, 0, 1, "ok", [None, "é"]),))
    records.write_atomic(tmp_path / "x.jsonl", [records.encode(trace)])
    assert list(records.read(tmp_path / "x.jsonl", Trace)) == [trace]


def test_blank_lines_and_a_missing_last_newline_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"id":"a"}\n\n{"id":"b"}\n  \n{"id":"c"}')
    assert ids(path) == ["a", "b", "c"]


def test_unknown_fields_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"id":"a","from_the_future":{"x":[1]}}\n')
    assert list(records.read(path, Row)) == [Row("a")]


DEEP = b"[" * 100_000 + b"]" * 100_000
BROKEN = {
    "not UTF-8": b'{"id":"\xff"}',
    "not UTF-8 in a field that is skipped": b'{"id":"a","other":"\xff"}',
    "NaN": b'{"id":"a","value":NaN}',
    "infinite": b'{"id":"a","value":1e999}',
    "lone surrogate": b'{"id":"\\ud800 and more"}',
    "too deep": b'{"id":"a","value":' + DEEP + b"}",
    "too deep in a field that is skipped": b'{"id":"a","other":' + DEEP + b"}",
    "torn": b'{"id":"a","te',
    "not an object": b"[1]",
    "wrong type": b'{"id":3}',
    "missing field": b'{"text":"a"}',
    "two objects": b'{"id":"a"} {"id":"b"}',
}


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_line_is_refused_by_its_number_after_the_good_ones(
    tmp_path: Path, line: bytes
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"id":"good"}\n\n' + line + b'\n{"id":"later"}\n')
    reading = records.read(path, Row)
    assert next(reading) == Row("good")
    with pytest.raises(BrokenRecord, match=r"x\.jsonl:3: .") as caught:
        next(reading)
    assert (caught.value.path, caught.value.line) == (str(path), 3)


def test_a_wrong_type_names_the_field(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"id":"a","kind":"workflow","turns":[{"calls":[{"id":4}]}]}\n')
    with pytest.raises(
        BrokenRecord, match=r"`int` - at `\$\.turns\[0\]\.calls\[0\]\.id`;.* Task is wanted$"
    ):
        next(records.read(path, Task))


@pytest.mark.parametrize("type_", [Task, Trace, Row])
def test_a_newer_schema_is_refused_even_where_the_rest_no_longer_fits(
    tmp_path: Path, type_: type
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"schema":2,"turns":"told otherwise"}\n')
    with pytest.raises(BrokenRecord, match="schema 2 is newer than 1; upgrade provegym"):
        next(records.read(path, type_))


def test_a_task_without_schema_counts_as_schema_1(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"id":"a","kind":"abstention","turns":[{"user":"hi"}]}\n')
    assert list(records.read(path, Task)) == [Task("a", "abstention", (Turn("hi"),))]


def test_a_device_is_no_file_of_records(tmp_path: Path) -> None:
    endless = tmp_path / "endless.jsonl"
    endless.symlink_to("/dev/zero")
    with pytest.raises(InputError, match=r"endless\.jsonl: it is a device"):
        next(records.read(endless, Row))
    with pytest.raises(InputError, match="it is a device"):
        records.content_hash(endless)


@pytest.mark.parametrize("name", ["absent.jsonl", "."])
def test_a_file_that_cannot_be_opened_is_one_clear_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"cannot read .*: (No such file|Is a directory)"):
        next(records.read(tmp_path / name, Row))


@given(st.binary(max_size=80))
def test_any_bytes_give_records_or_one_broken_record(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(content)
    try:
        found = list(records.read(path, Row))
    except BrokenRecord as error:
        lines = [error.line]
    else:
        lines = [1]
        assert all(isinstance(record, Row) for record in found)
    assert 1 <= lines[0] <= content.count(b"\n") + 1


# --- writing -------------------------------------------------------------------------------


def test_write_atomic_makes_folders_and_leaves_nothing_else(tmp_path: Path) -> None:
    records.write_atomic(tmp_path / "a" / "b" / "x", [b"one", b"two"])
    records.write_atomic(tmp_path / "a" / "b" / "x", [b"three"])
    assert (tmp_path / "a" / "b" / "x").read_bytes() == b"three\n"
    assert os.listdir(tmp_path / "a" / "b") == ["x"]


def test_a_failing_source_leaves_the_old_file(tmp_path: Path) -> None:
    def lines() -> Iterator[bytes]:
        yield b"new"
        raise ZeroDivisionError

    path = tmp_path / "x"
    path.write_bytes(b"old\n")
    with pytest.raises(ZeroDivisionError):
        records.write_atomic(path, lines())
    assert path.read_bytes() == b"old\n"
    assert os.listdir(tmp_path) == ["x"]


def test_a_place_that_cannot_be_written_is_one_clear_error() -> None:
    with pytest.raises(InputError, match="cannot write /dev/null/x: "):
        records.write_atomic("/dev/null/x", [b""])


@pytest.mark.parametrize("bad", ["\ud800", ("x", object())])
def test_what_json_cannot_hold_is_refused_when_encoded(bad: object) -> None:
    with pytest.raises(InputError, match="a Row cannot be written as JSON"):
        records.encode(Row("a", value=bad))


def test_too_deep_a_value_is_refused_when_encoded() -> None:
    value: object = 0
    for _ in range(10_000):
        value = [value]
    with pytest.raises(InputError, match="a Row cannot be written as JSON"):
        records.encode(Row("a", value=value))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB; only root may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting a tmpfs is not allowed here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_leaves_the_old_file_and_no_rubbish(small_disk: Path) -> None:
    path = small_disk / "x"
    records.write_atomic(path, [b"old"])
    with pytest.raises(InputError, match=r"cannot write .*/x: No space left on device"):
        records.write_atomic(path, [b"new" * 1000] * 100)
    assert path.read_bytes() == b"old\n"
    assert os.listdir(small_disk) == ["x"]


def test_a_full_disk_stops_a_store_at_a_whole_row_and_room_resumes_it(small_disk: Path) -> None:
    path, ballast = small_disk / "x.jsonl", small_disk / "ballast"
    ballast.write_bytes(b"0" * 40_000)
    with pytest.raises(InputError, match=r"cannot write .*: No space left on device"):
        fill(path, 400)
    kept = path.read_bytes()
    assert kept.endswith(b"}\n")
    ballast.unlink()
    fill(path, 400)
    assert path.read_bytes().startswith(kept)
    assert ids(path) == [f"r{number}" for number in range(400)]


# --- resuming ------------------------------------------------------------------------------


def test_a_file_cut_at_any_byte_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    fill(path, 12)
    whole = path.read_bytes()
    started = records.read_manifest(path)
    assert started is not None
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        records.write_manifest(path, MADE)
        fill(path, 12)
        assert path.read_bytes() == whole, f"cut at byte {cut}"


WRITER = """
import sys
sys.path[:0] = [{root!r}, {tests!r}]
import test_records
test_records.fill(test_records.Path({path!r}), 1500)
"""


def writer(path: Path) -> subprocess.Popen[bytes]:
    script = WRITER.format(
        root=str(Path(__file__).parents[1]),
        tests=str(Path(__file__).parent),
        path=str(path),
    )
    return subprocess.Popen([sys.executable, "-c", script])


def test_a_writer_killed_again_and_again_ends_with_the_same_bytes(tmp_path: Path) -> None:
    whole, path = tmp_path / "whole.jsonl", tmp_path / "x.jsonl"
    fill(whole, 1500)
    size, chance = whole.stat().st_size, random.Random(5)
    path.touch()
    kills = 0
    for share in (0.1, 0.3, 0.6, 0.8):
        at = int(size * (share + chance.random() / 10))
        with writer(path) as process:
            while path.stat().st_size < at and process.poll() is None:
                pass
            process.kill()
        kills += process.returncode == -signal.SIGKILL
    assert kills == 4
    assert writer(path).wait() == 0
    assert path.read_bytes() == whole.read_bytes()


@given(st.lists(st.sampled_from("abcdef"), max_size=12), st.lists(st.booleans(), min_size=12))
@settings(max_examples=40, deadline=None)
def test_no_row_is_lost_or_doubled_however_often_a_store_is_reopened(
    tmp_path_factory: pytest.TempPathFactory, keys: list[str], reopen: list[bool]
) -> None:
    path = tmp_path_factory.mktemp("store") / "x.jsonl"
    store = Store(path, Row, MADE)
    for key, again in zip(keys, reopen, strict=False):
        if key not in store.keys:
            store.append(Row(key))
        if again:
            store.close()
            store = Store(path, Row, MADE)
    store.close()
    assert ids(path) == list(dict.fromkeys(keys))


def test_a_key_can_be_written_once(tmp_path: Path) -> None:
    with Store(tmp_path / "x.jsonl", Row, MADE) as store:
        store.append(Row("a"))
        with pytest.raises(InputError, match=r"x\.jsonl already has a row with id 'a'"):
            store.append(Row("a"))
    assert ids(tmp_path / "x.jsonl") == ["a"]


def test_a_file_with_a_doubled_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    fill(path, 1)
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(InputError, match="has two rows with id 'r0'"):
        Store(path, Row, MADE)


def test_a_broken_line_in_the_middle_is_reported_and_left(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    fill(path, 2)
    content = b"oops\n" + path.read_bytes()
    path.write_bytes(content)
    with pytest.raises(BrokenRecord, match=r"x\.jsonl:1: "):
        Store(path, Row, MADE)
    assert path.read_bytes() == content


def test_a_second_writer_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    with (
        Store(tmp_path / "x.jsonl", Row, MADE),
        pytest.raises(InputError, match="is being written by another process"),
    ):
        Store(tmp_path / "x.jsonl", Row, MADE)
    Store(tmp_path / "x.jsonl", Row, MADE).close()


# --- manifests -----------------------------------------------------------------------------


def test_finishing_records_rows_and_the_cost_of_all_runs(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with Store(path, Row, MADE) as store:
        store.append(Row("a"))
        store.sync({"calls": 1, "usd": 0.5})
        assert not store.complete
    with Store(path, Row, MADE) as store:
        store.append(Row("b"))
        store.finish({"calls": 2})
    with Store(path, Row, MADE) as store:
        assert store.complete
    assert records.read_manifest(path) == msgspec.structs.replace(
        MADE, complete=True, rows=2, cost={"calls": 3, "usd": 0.5}
    )


@pytest.mark.parametrize(
    ("field", "old", "new"),
    [
        ("kind", "'rows'", "other"),
        ("config", "'ccccccccccccccccccc...'", "d" * 64),
        ("seed", "7", 8),
        ("world", "'wwwwwwwwwwwwwwwwwww...'", "v" * 64),
        ("parent", "'ppppppppppppppppppp...'", "q" * 64),
        ("schema", "1", 2),
    ],
)
def test_what_made_the_file_must_be_the_same_to_resume_it(
    tmp_path: Path, field: str, old: str, new: str | int
) -> None:
    path = tmp_path / "x.jsonl"
    fill(path, 1)
    before = path.read_bytes()
    with pytest.raises(ManifestMismatch) as caught:
        Store(path, Row, msgspec.structs.replace(MADE, **{field: new}))
    message = str(caught.value)
    assert f"was made with {manifest.IDENTITY[field]} {old}, but " in message
    assert f" but {seen(new, 24)} is asked for now" in message
    assert "delete it with x.jsonl.manifest.json or choose another output path" in message
    assert path.read_bytes() == before


def test_a_file_of_other_settings_is_refused_by_what_differs(tmp_path: Path) -> None:
    path, told = tmp_path / "x.jsonl", {"synth": {"limit": 12, "shares": [1, 2], "edges": "llm"}}
    made = msgspec.structs.replace(MADE, settings=told)
    with Store(path, Row, made) as store:
        store.append(Row("a"))
    other = {"synth": {"limit": 20, "shares": [1, 2]}, "engine": "x" * 99}
    with pytest.raises(ManifestMismatch) as caught:
        Store(path, Row, msgspec.structs.replace(made, config="d" * 64, settings=other))
    assert str(caught.value).startswith(
        f"{path} was made with other settings (synth.limit: 12, now 20; "
        f'synth.edges: "llm", now null; engine: null, now "{"x" * 59}...); delete it with'
    )


def test_a_file_without_a_manifest_is_never_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"id":"a"}\n{"torn')
    with pytest.raises(ManifestMismatch, match="has no manifest beside it"):
        Store(path, Row, MADE)
    assert path.read_bytes() == b'{"id":"a"}\n{"torn'


def test_a_finished_file_that_lost_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    fill(path, 3)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    with pytest.raises(ManifestMismatch, match="was finished with 3 rows but has 2"):
        Store(path, Row, MADE)


def test_a_file_deleted_by_its_owner_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    fill(path, 3)
    path.unlink()
    with Store(path, Row, msgspec.structs.replace(MADE, seed=8)) as store:
        assert not store.complete
        assert store.keys == set()
    found = records.read_manifest(path)
    assert found is not None
    assert found.seed == 8


def test_a_finished_file_without_rows_stays_finished(tmp_path: Path) -> None:
    fill(tmp_path / "x.jsonl", 0)
    with Store(tmp_path / "x.jsonl", Row, MADE) as store:
        assert store.complete


def test_a_broken_manifest_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl.manifest.json").write_text('{"kind":1}')
    with pytest.raises(BrokenRecord, match=r"x\.jsonl\.manifest\.json:1: Expected `str`"):
        records.read_manifest(tmp_path / "x.jsonl")


# --- hashes --------------------------------------------------------------------------------


def test_content_hash_is_the_sha256_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert records.content_hash(tmp_path / "x") == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-4, "abc"
    )


def test_config_hash_is_that_of_the_canonical_json() -> None:
    canonical = b'{"a":[1,2.5],"b":{"c":null,"d":"\\u00e9"}}'
    value = {"b": {"d": "é", "c": None}, "a": (1, 2.5)}
    assert records.config_hash(value) == hashlib.sha256(canonical).hexdigest()


def test_config_hash_sees_through_models_and_structs() -> None:
    class Settings(BaseModel):
        id: str
        text: str
        value: int

    plain = {"id": "a", "text": "b", "value": 1}
    assert records.config_hash(Settings(id="a", text="b", value=1)) == records.config_hash(plain)
    assert records.config_hash(Row("a", "b", 1)) == records.config_hash(plain)


def test_config_hash_refuses_numbers_that_json_lacks() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        records.config_hash({"a": float("nan")})


def test_a_file_that_was_cut_off_says_so_and_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(b'{"id":"a"}\n{"id":"b", "x"')
    with pytest.raises(BrokenRecord) as caught:
        list(records.read(path, dict))
    told = "the file ends in the middle of this record; remove the line, or make the file anew"
    assert str(caught.value) == f"{path}:2: {told}"
    path.write_bytes(b'{"id":"a"\n{"id":"b"}\n')  # no end of the file
    with pytest.raises(BrokenRecord, match=r":1: Input data was truncated$"):
        list(records.read(path, dict))


def test_tasks_whose_ground_truth_cannot_be_are_not_read(tmp_path: Path) -> None:
    calls = (GroundCall("a", "look", after=("b",)), GroundCall("b", "look", after=("a",)))
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(records.encode(Task("t", "workflow", (Turn("Look.", calls),))) + b"\n")
    with pytest.raises(InputError, match=r"task t: ground calls wait for each other \('a', 'b', "):
        list(records.read_tasks(path))
