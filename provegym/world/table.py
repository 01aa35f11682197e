"""Frozen rows, and tables that are copied row by row on the first write.

A `Template` holds the rows of one table as a seed made them and is shared by every session of
that world. A `Table` is one session's view of it: the overlay `own` holds only the rows that
the session created, replaced or deleted, so the overlay *is* the change set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace


class Row(Struct, frozen=True):
    """A row of a table; `id` is its key.

    `label` says how a person names such a row, as a template over fields that tools show
    ("the {nickname} account"); empty where people have no name for it.
    """

    label: ClassVar[str] = ""

    id: str


R = TypeVar("R", bound=Row)
S = TypeVar("S")

Overlay = dict[str, Row | None]
"""Row by id; None is a deleted row."""

_UNCHANGED: Any = object()


class Template(Generic[R]):
    """One table as the seed made it, with look-ups by field that are built once and shared."""

    __slots__ = ("_indexes", "name", "prefix", "row", "rows")

    def __init__(self, name: str, prefix: str, row: type[R], rows: Iterable[R]) -> None:
        self.name = name
        self.prefix = prefix
        self.row = row
        self.rows: dict[str, R] = {row.id: row for row in rows}
        self._indexes: dict[str, dict[Any, tuple[R, ...]]] = {}

    def index(self, field: str) -> dict[Any, tuple[R, ...]]:
        """Rows by the value of `field`, in insertion order."""
        index = self._indexes.get(field)
        if index is None:
            lists: dict[Any, list[R]] = {}
            for row in self.rows.values():
                lists.setdefault(getattr(row, field), []).append(row)
            index = self._indexes[field] = {key: tuple(rows) for key, rows in lists.items()}
        return index


class Table(Generic[R]):
    """One session's view of a table. Writes go to the overlay and to the undo log."""

    __slots__ = ("_base", "_mint", "_own", "_template", "_undo")

    def __init__(
        self,
        template: Template[R],
        own: Overlay,
        undo: list[tuple[Overlay, str, Any]],
        mint: Callable[[Template[Any]], str],
    ) -> None:
        self._template = template
        self._base: dict[str, R] = template.rows
        self._own: dict[str, R | None] = own  # type: ignore[assignment]
        self._undo = undo
        self._mint = mint

    def get(self, row_id: str) -> R | None:
        """The row of that id, or None."""
        if self._own:
            row = self._own.get(row_id, _UNCHANGED)
            if row is not _UNCHANGED:
                return row
        return self._base.get(row_id)

    def __getitem__(self, row_id: str) -> R:
        row = self.get(row_id)
        if row is None:
            raise KeyError(row_id)
        return row

    def __contains__(self, row_id: str) -> bool:
        return self.get(row_id) is not None

    def __iter__(self) -> Iterator[R]:
        """All rows: the seed's in their order, then the session's own."""
        if not self._own:
            return iter(self._base.values())
        return self._merged()

    def _merged(self) -> Iterator[R]:
        own = self._own
        for key, base in self._base.items():
            row = own.get(key, base)
            if row is not None:
                yield row
        for key, row in own.items():
            if row is not None and key not in self._base:
                yield row

    def __len__(self) -> int:
        own = self._own
        gone = sum(row is None and key in self._base for key, row in own.items())
        new = sum(row is not None and key not in self._base for key, row in own.items())
        return len(self._base) + new - gone

    def where(self, **equal: Any) -> list[R]:
        """Rows whose fields equal the given values; the first one goes through an index."""
        (field, value), *rest = equal.items()
        found = self._indexed(field, value)
        for name, wanted in rest:
            found = [row for row in found if getattr(row, name) == wanted]
        return found

    def _indexed(self, field: str, value: Any) -> list[R]:
        base = self._template.index(field).get(value, ())
        own = self._own
        if not own:
            return list(base)
        kept = [row for row in base if row.id not in own]
        changed = (row for row in own.values() if row is not None)
        return kept + [row for row in changed if getattr(row, field) == value]

    def new_id(self) -> str:
        """A fresh id: the same one for the same seed and the same writes before it."""
        return self._mint(self._template)

    def put(self, row: R) -> R:
        """Create or replace a row."""
        own = self._own
        self._undo.append((own, row.id, own.get(row.id, _UNCHANGED)))  # type: ignore[arg-type]
        own[row.id] = row
        return row

    def update(self, row: R, **fields: Any) -> R:
        """Replace some fields of a row."""
        return self.put(replace(row, **fields))

    def delete(self, row_id: str) -> None:
        """Remove a row; KeyError if there is none."""
        if row_id not in self:
            raise KeyError(row_id)
        own = self._own
        self._undo.append((own, row_id, own.get(row_id, _UNCHANGED)))  # type: ignore[arg-type]
        if row_id in self._base:
            own[row_id] = None
        else:
            del own[row_id]


def roll_back(undo: list[tuple[Overlay, str, Any]]) -> None:
    """Undo the logged writes, latest first, and empty the log."""
    for own, key, before in reversed(undo):
        if before is _UNCHANGED:
            own.pop(key, None)
        else:
            own[key] = before
    undo.clear()


class table(Generic[R]):
    """Declares a table of a server's state: `accounts = table(Account, "acc")`.

    Ids minted for new rows start with `prefix`.
    """

    def __init__(self, row: type[R], prefix: str) -> None:
        self.row = row
        self.prefix = prefix
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, state: Any, owner: type | None = None) -> Table[R]:
        view: Table[R] = state._open_table(self.name)
        state.__dict__[self.name] = view
        return view
