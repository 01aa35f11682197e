"""Frozen rows, and tables that are copied row by row on the first write.

A `Template` holds the rows of one table as a seed made them and is shared by every session of
that world. A `Table` is one session's view of it: the overlay `own` holds only the rows that
the session created, replaced or deleted, so the overlay *is* the change set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from provegym.seeding import derive

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_MINTED = 4096
"""So many ids of a template's new rows are kept ready; a session that makes more leaves none."""


class Row(Struct, frozen=True, gc=False):
    """A row of a table; `id` is its key.

    `label` says how a person names such a row, as a template over fields that tools show
    ("the {nickname} account"); empty where people have no name for it. Rows hold no row that
    holds them, so the cycle collector need not walk them.
    """

    label: ClassVar[str] = ""
    told: ClassVar[bool] = True
    """Whether a session's changes tell of such rows."""

    id: str


R = TypeVar("R", bound=Row)

Overlay = dict[str, Row | None]
"""Row by id; None is a deleted row."""

Undo = list[tuple[dict[str, Any], str, Any]]
"""What to put back: the dict, its key, the value before (or `_UNCHANGED`: no such key)."""

_UNCHANGED: Any = object()


class Template(Generic[R]):
    """One table as the seed made it, with look-ups by field that are built once and shared."""

    __slots__ = ("_indexes", "_minted", "ids", "name", "prefix", "row", "rows", "seed")

    def __init__(
        self, name: str, prefix: str, row: type[R], rows: Iterable[R], seed: int = 0
    ) -> None:
        self.name = name
        self.prefix = prefix
        self.row = row
        self.seed = seed
        self.rows: dict[str, R] = {row.id: row for row in rows}
        self.ids: tuple[str, ...] = tuple(self.rows)
        self._indexes: dict[str, dict[Any, tuple[R, ...]]] = {}
        self._minted: dict[int, str] = {}

    def index(self, field: str) -> dict[Any, tuple[R, ...]]:
        """Rows by the value of `field`, in insertion order."""
        index = self._indexes.get(field)
        if index is None:
            lists: dict[Any, list[R]] = {}
            for row in self.rows.values():
                lists.setdefault(getattr(row, field), []).append(row)
            index = self._indexes[field] = {key: tuple(rows) for key, rows in lists.items()}
        return index

    def fresh_id(self, count: int) -> str:
        """The id of the created row number `count`: the same in every session of this seed."""
        minted = self._minted.get(count)
        if minted is None:
            number = derive(self.seed, "id", self.name, count)
            letters = "".join(_LETTERS[(number >> 5 * i) & 31] for i in range(6))
            minted = f"{self.prefix}_{letters}"
            if count < _MINTED:
                self._minted[count] = minted
        return minted


class Table(Generic[R]):
    """One session's view of a table. Writes go to the overlay and to the undo log."""

    __slots__ = ("_base", "_minted", "_undo", "own", "template")

    def __init__(self, template: Template[R], undo: Undo, minted: dict[str, int]) -> None:
        self.template = template
        self.own: dict[str, R | None] = {}
        """Rows created, replaced or (None) deleted by this session."""
        self._base = template.rows
        self._undo = undo
        self._minted = minted

    @property
    def prefix(self) -> str:
        """What ids of this table start with."""
        return self.template.prefix

    def get(self, row_id: str) -> R | None:
        """The row of that id, or None."""
        row = self.own.get(row_id, _UNCHANGED)
        return self._base.get(row_id) if row is _UNCHANGED else row

    def is_seeded(self, row: R) -> bool:
        """Whether it is the very row that the seed made, which all sessions share."""
        return self._base.get(row.id) is row

    def __getitem__(self, row_id: str) -> R:
        row: R | None = self.own.get(row_id, _UNCHANGED)
        if row is _UNCHANGED:
            return self._base[row_id]
        if row is None:
            raise KeyError(row_id)
        return row

    def __contains__(self, row_id: str) -> bool:
        return self.get(row_id) is not None

    def __iter__(self) -> Iterator[R]:
        """All rows: the seed's in their order, then the session's own."""
        if not self.own:
            return iter(self._base.values())
        return self._merged()

    def _merged(self) -> Iterator[R]:
        own = self.own
        for key, base in self._base.items():
            row = own.get(key, base)
            if row is not None:
                yield row
        for key, row in own.items():
            if row is not None and key not in self._base:
                yield row

    def __len__(self) -> int:
        base = self._base
        more = sum((row is not None) - (key in base) for key, row in self.own.items())
        return len(base) + more

    def where(self, **equal: Any) -> list[R]:
        """Rows whose fields equal the given values, in the table's order but for rows that
        came to match by a write: those stand last. The first field goes through an index.
        """
        wanted = iter(equal.items())
        found = self._indexed(*next(wanted))
        for name, value in wanted:
            found = [row for row in found if getattr(row, name) == value]
        return found

    def _indexed(self, field: str, value: Any) -> list[R]:
        base, own = self.template.index(field).get(value, ()), self.own
        if not own:
            return list(base)
        stale, joined = False, []
        for key, row in own.items():
            before = self._base.get(key)
            matched = before is not None and getattr(before, field) == value
            stale |= matched
            if not matched and row is not None and getattr(row, field) == value:
                joined.append(row)
        return self._current(base, field, value) + joined if stale else [*base, *joined]

    def _current(self, base: Iterable[R], field: str, value: Any) -> list[R]:
        """Those of the seed's rows that still match, as they are now."""
        now = [self.own.get(row.id, row) for row in base]
        return [row for row in now if row is not None and getattr(row, field) == value]

    def any_id(self, rnd: Random) -> str | None:
        """The id of some row, None where there is none; rows written to are drawn more often."""
        ids, own = self.template.ids, self.own
        total = len(ids) + len(own)
        for _ in range(8 if total else 0):
            place = rnd.randrange(total)
            row_id = ids[place] if place < len(ids) else list(own)[place - len(ids)]
            if own.get(row_id, row_id) is not None:
                return row_id
        alive = [row.id for row in self]
        return rnd.choice(alive) if alive else None

    def new_id(self) -> str:
        """A fresh id: the same one for the same seed and the same writes before it."""
        minted, name = self._minted, self.template.name
        count = minted.get(name, 0)
        self._undo.append((minted, name, count or _UNCHANGED))
        new = self.template.fresh_id(count)
        while new in self.own or new in self._base:
            count += 1
            new = self.template.fresh_id(count)
        minted[name] = count + 1
        return new

    def put(self, row: R) -> R:
        """Create or replace a row."""
        own, key = self.own, row.id
        self._undo.append((own, key, own.get(key, _UNCHANGED)))
        own[key] = row
        return row

    def update(self, row: R, **fields: Any) -> R:
        """Replace some fields of a row."""
        row = replace(row, **fields)
        own, key = self.own, row.id
        self._undo.append((own, key, own.get(key, _UNCHANGED)))
        own[key] = row
        return row

    def delete(self, row_id: str) -> None:
        """Remove a row; KeyError if there is none.

        A created row leaves a None too: were its key dropped, undoing the deletion would put the
        row in another place of the order.
        """
        if row_id not in self:
            raise KeyError(row_id)
        own = self.own
        self._undo.append((own, row_id, own.get(row_id, _UNCHANGED)))
        own[row_id] = None


def roll_back(undo: Undo) -> None:
    """Undo the logged writes, latest first, and empty the log."""
    for changed, key, before in reversed(undo):
        if before is _UNCHANGED:
            changed.pop(key, None)
        else:
            changed[key] = before
    undo.clear()


class table(Generic[R]):
    """Declares a table of a server's state: `accounts = table(Account, "acc")`.

    Ids minted for new rows start with `prefix`.
    """

    def __init__(self, row: type[R], prefix: str) -> None:
        self.row = row
        self.prefix = prefix
        self.name = self.ref = ""

    def __set_name__(self, owner: Any, name: str) -> None:
        self.name, self.ref = name, f"{owner.server}.{name}"

    def __get__(self, state: Any, owner: type | None = None) -> Table[R]:
        view: Table[R] = state.table_of(self.ref)
        setattr(state, self.name, view)
        return view
