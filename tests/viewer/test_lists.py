"""Pages of an index: filters, their counts, search, orders, another file beside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from provegym.errors import UnknownName
from provegym.viewer.index import Index, Table
from provegym.viewer.lists import PAGE, Shape, Wanted, page

COLUMNS = {"id": "TEXT", "task": "TEXT", "policy": "TEXT", "server": "TEXT", "reward": "REAL"}
SHAPE = Shape(
    facets=("policy", "server"),
    shown=("id", "reward"),
    orders={"file": "r.n", "worst": "r.reward, r.n", "lost": "r.reward - other, r.n"},
    searched=("id",),
    several=frozenset({"server"}),
)
ROWS = [
    {"id": "a", "task": "1", "policy": "old", "server": "bank", "reward": 0.5},
    {"id": "b", "task": "2", "policy": "old", "server": "bank,mail", "reward": 0.25},
    {"id": "C", "task": "3", "policy": "new", "server": "mail", "reward": 1.0},
    {"id": "d", "task": "4", "policy": "new", "server": "mailbox", "reward": 0.75},
]


def index(path: Path, rows: list[dict[str, Any]]) -> Index:
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    found = Index(path, Table(COLUMNS, indexed=("task",)), msgspec.json.decode)
    found.update()
    return found


@pytest.fixture
def made(tmp_path: Path) -> Index:
    return index(tmp_path / "a.jsonl", ROWS)


def ids(made: Index, **wanted: Any) -> list[str]:
    return [row["id"] for row in page(made, SHAPE, Wanted(**wanted)).rows]


def test_without_a_question_all_are_there_in_the_order_of_the_file(made: Index) -> None:
    found = page(made, SHAPE, Wanted())
    assert [row["id"] for row in found.rows] == ["a", "b", "C", "d"]
    assert found.total == 4
    assert found.facets["policy"] == {"new": 2, "old": 2}
    assert found.facets["server"] == {"bank": 2, "mail": 2, "mailbox": 1}


def test_filters_join_and_each_is_counted_under_the_others(made: Index) -> None:
    found = page(made, SHAPE, Wanted(filters={"policy": "old", "server": "mail"}))
    assert [row["id"] for row in found.rows] == ["b"]
    assert found.total == 1
    assert found.facets["policy"] == {"new": 1, "old": 1}  # of those with mail
    assert found.facets["server"] == {"bank": 2, "mail": 1}  # of the old


def test_a_name_is_not_found_within_a_longer_one(made: Index) -> None:
    assert ids(made, filters={"server": "mailbox"}) == ["d"]
    assert ids(made, filters={"server": "box"}) == []


def test_search_takes_small_letters_for_large_ones_and_counts_what_it_leaves(made: Index) -> None:
    found = page(made, SHAPE, Wanted(text="c"))
    assert [row["id"] for row in found.rows] == ["C"]
    assert found.facets["policy"] == {"new": 1}
    assert ids(made, text="%") == []  # no pattern


def test_text_of_a_question_is_never_sql(made: Index) -> None:
    for text in ("' OR 1=1 --", '"; DROP TABLE rows; --'):
        assert ids(made, text=text) == []
        assert ids(made, filters={"policy": text}) == []
    assert len(ids(made)) == 4


def test_an_order_sorts(made: Index) -> None:
    assert ids(made, order="worst") == ["b", "a", "d", "C"]


def test_another_file_gives_its_mean_reward_of_the_same_task(made: Index, tmp_path: Path) -> None:
    others = [
        {**ROWS[0], "reward": 1.0},
        {**ROWS[0], "reward": 0.0},
        {**ROWS[2], "reward": 0.0},
    ]
    other = index(tmp_path / "b.jsonl", others)
    found = page(made, SHAPE, Wanted(order="lost", against=other.place))
    beside = {row["id"]: row["other"] for row in found.rows}
    assert beside == {"a": 0.5, "b": None, "C": 0.0, "d": None}
    assert [row["id"] for row in found.rows][2:] == ["a", "C"]  # 0 lost, then 1 gained


def test_pages_follow_each_other_without_a_gap(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "id": str(i)} for i in range(2 * PAGE + 3)]
    made = index(tmp_path / "a.jsonl", rows)
    found = [name for k in range(3) for name in ids(made, offset=k * PAGE)]
    assert found == [row["id"] for row in rows]


def test_orders_and_filters_that_do_not_exist_are_refused(made: Index) -> None:
    with pytest.raises(UnknownName, match=r"unknown order 'r\.n; DROP'"):
        page(made, SHAPE, Wanted(order="r.n; DROP"))
    with pytest.raises(UnknownName, match="unknown filter 'id'"):
        page(made, SHAPE, Wanted(filters={"id": "a"}))
