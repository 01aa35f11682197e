"""Created rows get names that depend on their content alone."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from provegym.world.numbering import number, rename

Rows = dict[str, dict[str, Any]]
TABLES = ("shop.lines", "shop.orders")


@st.composite
def linked_rows(draw: st.DrawFn) -> list[tuple[str, dict[str, Any]]]:
    """Up to six rows over two tables, with few distinct contents and any links between them."""
    count = draw(st.integers(1, 6))
    links = st.lists(st.integers(0, count - 1), max_size=2)
    return [
        (
            draw(st.sampled_from(TABLES)),
            {"text": draw(st.sampled_from("ab")), "links": draw(links)},
        )
        for _ in range(count)
    ]


def canonical(
    rows: list[tuple[str, dict[str, Any]]], seeded: list[int], order: list[int], salt: int
) -> dict[str, Any]:
    """The rows under other ids, created in another order, in canonical form."""
    ids = [f"row_{Random(salt * 100 + i).randrange(10**9)}" for i in range(len(rows))]
    created: dict[str, Rows] = {table: {} for table in TABLES}
    for i in order:
        table, row = rows[i]
        created[table][ids[i]] = {**row, "links": [ids[k] for k in row["links"]]}
    changed = {"shop.carts": {"cart_1": {"items": [ids[i] for i in seeded]}}}
    names, _ = number(created, changed)
    table_of = {
        table: {names[key]: rename(row, names) for key, row in rows.items()}
        for table, rows in created.items()
    }
    return {**table_of, "shop.carts": rename(changed["shop.carts"], names)}


@given(linked_rows(), st.data())
def test_any_order_and_any_ids_give_the_same_names(
    rows: list[tuple[str, dict[str, Any]]], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(rows))))
    seeded = data.draw(st.lists(st.sampled_from(order), max_size=2))
    plain = canonical(rows, seeded, list(range(len(rows))), 1)
    assert canonical(rows, seeded, order, 2) == plain


def links(created: Rows) -> dict[str, Any]:
    """The canonical links of rows of one table that differ in their links alone."""
    names, _ = number({"t": created}, {})
    return {names[key]: rename(row["to"], names) for key, row in created.items()}


def test_two_rings_are_told_apart_though_every_row_looks_alike() -> None:
    two, three = {"a": "b", "b": "a"}, {"c": "d", "d": "e", "e": "c"}
    one_way = links({k: {"to": v} for k, v in {**two, **three}.items()})
    other_way = links({k: {"to": v} for k, v in {**three, **two}.items()})
    assert one_way == other_way


def test_rows_are_numbered_within_their_table_by_content() -> None:
    created = {"t": {"x": {"text": "b"}, "y": {"text": "a"}}, "u": {"z": {"text": "c"}}}
    assert number(created, {}) == ({"y": "+1", "x": "+2", "z": "+1"}, False)


def test_identical_rows_are_told_apart_by_what_mentions_them() -> None:
    lines = {"x": {"text": "same"}, "y": {"text": "same"}}
    orders = {"p": {"line": "y", "note": "a"}, "q": {"line": "x", "note": "b"}}
    names, mentioned = number({"lines": lines, "orders": orders}, {})
    assert mentioned
    swapped = {"p": {"line": "x", "note": "a"}, "q": {"line": "y", "note": "b"}}
    others, _ = number({"lines": lines, "orders": swapped}, {})
    assert names["y"] == others["x"] != names["x"] == others["y"]


def test_many_alike_rows_that_all_mention_each_other_end_in_time() -> None:
    keys = [f"k{i}" for i in range(16)]
    created = {"t": {key: {"to": [k for k in keys if k != key]} for key in keys}}
    assert sorted(number(created, {})[0].values()) == sorted(f"+{i}" for i in range(1, 17))


def test_a_text_that_looks_like_a_name_is_no_reference() -> None:
    assert rename({"note": "+1"}, {"x": "+1"}) == {"note": "+1"}
    assert rename(["x", {"y": ["x"]}], {"x": "+1"}) == ["+1", {"y": ["+1"]}]


def test_an_id_is_found_however_json_writes_it() -> None:
    created = {"t": {'a "b"\n': {"text": "1"}}, "u": {"é": {"to": 'a "b"\n'}}}
    assert number(created, {}) == ({'a "b"\n': "+1", "é": "+1"}, True)
