"""Duplicates among tasks, with similarities worked out by hand."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym import cli, records
from provegym.dataset.dedupe import Dropped, dedupe, dedupe_file, shingles
from provegym.errors import InputError, ManifestMismatch
from provegym.types import Certificate, GroundCall, Task, Turn

WORDS = "Please move twenty dollars from the Everyday account to the Household account today"


def task(name: str, user: str, *numbers: int, **given: Any) -> Task:
    """A task that calls `look` with each of the numbers."""
    calls = tuple(GroundCall(f"g{n}", "look", {"n": n}) for n in numbers)
    return Task(name, "workflow", (Turn(user, calls),), **given)


def dropped(tasks: Iterable[Task]) -> list[Dropped]:
    return [why for _, why in dedupe(tasks) if why]


def write(path: Path, tasks: Iterable[Task]) -> Path:
    records.write_atomic(path, map(records.encode, tasks))
    return path


def test_the_same_task_under_another_name_and_certificate_is_dropped() -> None:
    again = task("b", "Look.", 1, certificate=Certificate(passed=True, digest="d"))
    assert dropped([task("a", "Look.", 1), again]) == [Dropped("b", "exact", "a", 1.0)]


def test_tasks_that_share_seven_tenths_of_their_calls_repeat_the_most_similar_one() -> None:
    tasks = [
        task("a", "one", *range(10)),
        task("b", "two", *range(4, 11)),  # shares 6 of 11 with a
        task("c", "three", *range(7)),  # shares 7 of 10 with a, 3 of 11 with b
        task("d", "four", *range(4, 12)),  # shares 7 of 8 with b, 6 of 12 with a
        task("e", "five", *range(6), 20),  # shares 6 of 11 with a
    ]
    assert dropped(tasks) == [Dropped("c", "calls", "a", 0.7), Dropped("d", "calls", "b", 0.875)]


def test_users_who_say_nearly_the_same_are_dropped_though_the_calls_differ() -> None:
    # Thirteen words have eleven runs of three; another last word changes one: 10 of 12 are shared.
    near, far = (WORDS.replace("today", "soon"), WORDS.replace("Household", "Bills"))
    assert len(shingles(task("a", WORDS))) == 11
    tasks = [task("a", WORDS, 1), task("b", near, 2), task("c", far, 3)]
    assert dropped(tasks) == [Dropped("b", "turns", "a", 10 / 12)]  # c shares 8 of 14


def test_the_task_that_is_named_is_the_one_that_is_alike() -> None:
    first, second, third = (f"{WORDS[:-6]} {word}" for word in "abc")
    tasks = [task("o", "Show the weather", 1), task("a", first, 2), task("p", "Stop it now", 3)]
    tasks += [task("b", second, 4), task("c", third, 5)]
    assert [(why.id, why.of) for why in dropped(tasks)] == [("b", "a"), ("c", "a")]
    calls = [task("o", "x", 1), task("a", "y", 2, 3, 4, 5, 6, 7, 8), task("b", "z", *range(2, 12))]
    assert [(why.id, why.of) for why in dropped(calls)] == [("b", "a")]  # 7 of 10


def test_case_and_punctuation_make_no_difference_to_what_users_say() -> None:
    louder = task("b", WORDS.upper() + "!", 2)
    assert dropped([task("a", WORDS, 1), louder]) == [Dropped("b", "turns", "a", 1.0)]


def test_turns_of_one_word_count_whole_and_runs_do_not_cross_turns() -> None:
    turns = (Turn("Yes!"), Turn("Go on now then"))
    assert shingles(Task("a", "workflow", turns)) == {"yes", "go on now", "on now then"}


def test_a_task_that_was_dropped_drops_no_other() -> None:
    tasks = [task("a", "x", *range(10)), task("b", "y", *range(7)), task("c", "z", *range(6))]
    assert [why.id for why in dropped(tasks)] == ["b"]  # c shares 6 of 7 with b, 6 of 10 with a


sets = st.lists(st.sets(st.integers(0, 8), min_size=1, max_size=6), max_size=12)


@given(sets)
def test_whatever_stays_is_unlike_all_that_stays_and_whatever_goes_is_like_one(
    drawn: list[set[int]],
) -> None:
    tasks = [task(str(i), f"w{i} x{i} y{i} z{i}", *some) for i, some in enumerate(drawn)]
    judged = list(dedupe(tasks))
    kept = {t.id: drawn[int(t.id)] for t, why in judged if why is None}
    for t, why in judged:
        others = {name: some for name, some in kept.items() if name != t.id}
        near = {name: _jaccard(drawn[int(t.id)], some) for name, some in others.items()}
        if why is None:
            assert all(index < 0.7 for index in near.values())
        else:
            assert why.similarity == near[why.of] >= 0.7


def _jaccard(one: set[int], other: set[int]) -> float:
    return len(one & other) / len(one | other)


def test_the_file_of_those_that_stay_has_a_list_of_the_others_beside_it(tmp_path: Path) -> None:
    first, last = task("a", "Look.", 1), task("z", "Now something else", 2)
    path = write(tmp_path / "tasks.jsonl", [first, task("b", "Look.", 1), last])
    summary = dedupe_file(path, tmp_path / "unique.jsonl")
    assert list(records.read(tmp_path / "unique.jsonl", Task)) == [first, last]
    assert (summary.tasks, summary.kept, summary.dropped) == (3, 2, {"exact": 1})
    assert Path(summary.listed) == tmp_path / "unique.dropped.jsonl"
    assert list(records.read(summary.listed, Dropped)) == [Dropped("b", "exact", "a", 1.0)]
    made = records.read_manifest(tmp_path / "unique.jsonl")
    assert made is not None
    assert (made.kind, made.rows, made.complete) == ("tasks", 2, True)
    assert made.parent == records.content_hash(path)


def test_it_never_writes_over_its_input_or_what_something_else_made(tmp_path: Path) -> None:
    path = write(tmp_path / "tasks.jsonl", [task("a", "Look.", 1)])
    other = write(tmp_path / "other.jsonl", [task("q", "Look.", 1)])
    before = path.read_bytes(), other.read_bytes()
    with pytest.raises(InputError, match="is what this command reads"):
        dedupe_file(path, path)
    with pytest.raises(ManifestMismatch, match="something without a manifest"):
        dedupe_file(path, other)
    assert (path.read_bytes(), other.read_bytes()) == before


def cut_after(writes: int) -> Callable[[str, Path], None]:
    """`os.replace` that is killed instead of putting one more file in its place than that."""
    real, left = os.replace, iter(range(writes))

    def replace(old: str, new: Path) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        real(old, new)

    return replace


def test_a_run_cut_off_between_its_files_can_be_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "tasks.jsonl", [task("a", "Look.", 1), task("b", "Look.", 1)])
    dedupe_file(path, tmp_path / "whole.jsonl")
    whole = (tmp_path / "whole.jsonl").read_bytes()
    for last in range(4):  # two files and their manifests
        out = tmp_path / f"{last}.jsonl"
        monkeypatch.setattr(os, "replace", cut_after(last))
        with pytest.raises(KeyboardInterrupt):
            dedupe_file(path, out)
        monkeypatch.undo()
        dedupe_file(path, out)
        assert out.read_bytes() == whole


def test_the_command_counts_by_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = [task("a", WORDS, 1), task("b", WORDS, 1), task("c", WORDS, 2)]
    path, out = write(tmp_path / "tasks.jsonl", tasks), tmp_path / "out.jsonl"
    assert cli.call(["dataset", "dedupe", str(path), "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert re.search(r"^exact +1\nturns +1$", told, re.MULTILINE)
    assert told.endswith(f"1 of 3 tasks stay: {out}\ndropped: {tmp_path / 'out.dropped.jsonl'}\n")
    assert cli.call(["dataset", "dedupe", str(path), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dropped"] == {"exact": 1, "turns": 1}


def test_rows_are_kept_as_they_were(tmp_path: Path) -> None:
    rich = msgspec.structs.replace(task("a", "Look.", 1), persona="brief", seed=7)
    path = write(tmp_path / "tasks.jsonl", [rich])
    dedupe_file(path, tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == path.read_bytes()
