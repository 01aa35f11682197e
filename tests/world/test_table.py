"""A copy-on-write table is a dict of rows, with an undo log beneath."""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from provegym.world.table import Row, Table, Template, Undo, roll_back


class Item(Row, frozen=True):
    colour: str
    size: int


SEEDED = [Item(f"it_{i}", "red" if i % 3 else "blue", i) for i in range(8)]
COLOURS = st.sampled_from(("red", "blue", "green"))


def open_table() -> tuple[Table[Item], Undo]:
    undo: Undo = []
    return Table(Template("shop.items", "it", Item, SEEDED, seed=3), undo, {}), undo


class TableIsADict(RuleBasedStateMachine):
    """Random writes, commits and roll-backs on a table and on a plain dict."""

    rows = Bundle("rows")

    @initialize()
    def start(self) -> None:
        self.table, self.undo = open_table()
        self.model: dict[str, Item] = {row.id: row for row in SEEDED}
        self.committed = dict(self.model)

    @rule(target=rows, key=st.sampled_from([row.id for row in SEEDED]))
    def seeded(self, key: str) -> str:
        return key

    @rule(target=rows, colour=COLOURS, size=st.integers(0, 3))
    def create(self, colour: str, size: int) -> str:
        row = self.table.put(Item(self.table.new_id(), colour, size))
        self.model[row.id] = row
        return row.id

    @rule(key=rows, colour=COLOURS)
    def update(self, key: str, colour: str) -> None:
        if key in self.model:
            self.model[key] = self.table.update(self.model[key], colour=colour)

    @rule(key=rows)
    def delete(self, key: str) -> None:
        if key in self.model:
            self.table.delete(key)
            del self.model[key]
        else:
            with pytest.raises(KeyError):
                self.table.delete(key)

    @rule()
    def commit(self) -> None:
        self.undo.clear()
        self.committed = dict(self.model)

    @rule()
    def refuse(self) -> None:
        roll_back(self.undo)
        self.model = dict(self.committed)

    @invariant()
    def same_rows(self) -> None:
        assert {row.id: row for row in self.table} == self.model
        assert len(list(self.table)) == len(self.table) == len(self.model)

    @rule(key=rows)
    def same_look_up(self, key: str) -> None:
        assert self.table.get(key) == self.model.get(key)
        assert (key in self.table) == (key in self.model)

    @rule(colour=COLOURS, size=st.integers(0, 8))
    def same_selection(self, colour: str, size: int) -> None:
        by_colour = {row.id for row in self.model.values() if row.colour == colour}
        found = [row.id for row in self.table.where(colour=colour)]
        assert len(found) == len(set(found))
        assert set(found) == by_colour
        both = {row.id for row in self.table.where(size=size, colour=colour)}
        assert both == {key for key in by_colour if self.model[key].size == size}

    @rule(seed=st.integers(0, 99))
    def drawn_ids_are_alive(self, seed: int) -> None:
        assert self.table.any_id(Random(seed)) in {*self.model, *([] if self.model else [None])}


TestTableIsADict = TableIsADict.TestCase

WRITES: list[Callable[[Table[Item]], Any]] = [
    lambda t: t.put(Item(t.new_id(), "green", 1)),
    lambda t: t.update(t["it_1"], size=99),
    lambda t: t.delete("it_2"),
    lambda t: t.delete(next(row.id for row in t if row.id not in t.template.rows)),
]


@pytest.mark.parametrize("write", WRITES)
def test_undoing_leaves_the_very_same_order_and_the_very_same_ids(
    write: Callable[[Table[Item]], Any],
) -> None:
    table, undo = open_table()
    for _ in range(3):
        table.put(Item(table.new_id(), "blue", 5))
    undo.clear()
    before, own = list(table), copy.copy(table.own)
    write(table)
    roll_back(undo)
    assert list(table) == before
    assert list(table.own.items()) == list(own.items())
    first = table.new_id()
    roll_back(undo)
    assert table.new_id() == first


def test_a_template_never_changes() -> None:
    table, _ = open_table()
    rows, blue = dict(table.template.rows), table.template.index("colour")["blue"]
    for row in list(table):
        table.update(row, colour="green")
        table.delete(row.id)
    assert table.template.rows == rows
    assert table.template.index("colour")["blue"] == blue


def test_an_updated_row_keeps_its_place_in_a_selection() -> None:
    table, _ = open_table()
    table.update(table["it_0"], size=7)
    assert [row.id for row in table.where(colour="blue")] == ["it_0", "it_3", "it_6"]


def test_a_fresh_id_is_none_that_a_row_has() -> None:
    table, _ = open_table()
    twin, _ = open_table()
    taken = twin.new_id()
    table.put(Item(taken, "red", 1))
    assert table.new_id() != taken


def test_a_template_keeps_only_the_first_ids_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    table, _ = open_table()
    usual = [table.new_id() for _ in range(6)]
    monkeypatch.setattr("provegym.world.table._MINTED", 4)
    twin, _ = open_table()
    assert [twin.new_id() for _ in range(6)] == usual
    assert len(twin.template._minted) == 4


def test_only_the_very_row_that_the_seed_made_is_seeded() -> None:
    table, _ = open_table()
    row = table["it_0"]
    assert table.is_seeded(row)
    assert not table.is_seeded(table.update(row, size=row.size + 1))
    assert table.is_seeded(row)
    assert not table.is_seeded(table.put(Item(table.new_id(), "red", 1)))
