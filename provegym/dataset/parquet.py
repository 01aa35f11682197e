"""Records as Parquet and back, without loss.

A column has the Arrow type that its field has in Python. What has no fixed type there (arguments,
results, schemas, changes: anything that is a `dict` or `Any`) is a string of JSON.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from msgspec import inspect as kinds

from provegym.dataset.rows import TaskRow
from provegym.errors import InputError
from provegym.records import encode
from provegym.types import Task

BATCH = 256
"""Rows of a row group."""


@contextmanager
def writer(path: Path, row: type[Struct]) -> Iterator[Callable[[Struct], None]]:
    """Write a new file of records of the type `row`; yields the function that adds one.

    The file is forced to disk at the end. Raises `InputError` for a number beyond 64 bits.
    """
    kind, waiting = _struct(row), list[Any]()
    columns = schema(row)

    def flush() -> None:
        file.write_table(_table(waiting, columns))
        waiting.clear()

    def add(record: Struct) -> None:
        waiting.append(_cell(kind, record))
        if len(waiting) == BATCH:
            flush()

    with path.open("wb") as raw:
        with pq.ParquetWriter(raw, columns, compression="zstd") as file:
            yield add
            flush()
        raw.flush()
        os.fsync(raw.fileno())


def schema(row: type[Struct]) -> pa.Schema:
    """The columns of records of the type `row`."""
    return pa.schema([(f.name, _arrow(f.type)) for f in _struct(row).fields])


def task_of(row: Mapping[str, Any]) -> Task:
    """The task of a row, as Arrow, pandas or `datasets` give it, under its own id.

    Raises `InputError` where the row is none of a task.
    """
    try:
        found = msgspec.convert(_value(_struct(TaskRow), row), TaskRow)
    except (KeyError, TypeError, msgspec.MsgspecError) as error:
        raise InputError(f"this row holds no task: {error}") from error
    fields = {name: getattr(found, name) for name in Task.__struct_fields__}
    return Task(**{**fields, "id": found.task_id})


def _struct(row: type[Struct]) -> kinds.StructType:
    found = kinds.type_info(row)
    assert isinstance(found, kinds.StructType)
    return found


def _table(cells: list[Any], columns: pa.Schema) -> pa.Table:
    try:
        return pa.Table.from_pylist(cells, schema=columns)
    except (OverflowError, pa.ArrowInvalid) as error:
        raise InputError(f"Parquet cannot hold these rows: {error}") from error


def _arrow(kind: kinds.Type) -> pa.DataType:
    match kind:
        case kinds.IntType():
            return pa.int64()
        case kinds.FloatType():
            return pa.float64()
        case kinds.BoolType():
            return pa.bool_()
        case kinds.VarTupleType():
            return pa.list_(_arrow(kind.item_type))
        case kinds.StructType():
            return pa.struct([(f.name, _arrow(f.type)) for f in kind.fields])
        case _:
            return pa.string()


def _is_text(kind: kinds.Type) -> bool:
    """Whether values of this kind are text already, and not to be written as JSON."""
    if isinstance(kind, kinds.UnionType):
        return all(isinstance(one, kinds.NoneType) or _is_text(one) for one in kind.types)
    return isinstance(kind, kinds.StrType | kinds.LiteralType)


def _cell(kind: kinds.Type, value: Any) -> Any:
    """A value as Arrow takes it."""
    match kind:
        case kinds.IntType() | kinds.FloatType() | kinds.BoolType():
            return value
        case kinds.VarTupleType():
            return [_cell(kind.item_type, item) for item in value]
        case kinds.StructType():
            return {f.name: _cell(f.type, getattr(value, f.name)) for f in kind.fields}
        case _:
            return value if _is_text(kind) else encode(value).decode()


def _value(kind: kinds.Type, cell: Any) -> Any:
    """A cell as plain JSON types; the way back from `_cell`."""
    match kind:
        case kinds.IntType() | kinds.FloatType() | kinds.BoolType():
            return cell
        case kinds.VarTupleType():
            return [_value(kind.item_type, item) for item in cell]
        case kinds.StructType():
            return {f.name: _value(f.type, cell[f.name]) for f in kind.fields}
        case _:
            return cell if _is_text(kind) else msgspec.json.decode(cell)


def arranged(source: Path, order: Sequence[int], out: Path) -> None:
    """Write the rows of a file in another order, some of them more than once."""
    rows, part = pq.read_table(source), out.with_name(f".{out.name}")
    with pq.ParquetWriter(part, rows.schema, compression="zstd") as file:
        for start in range(0, len(order), BATCH):
            file.write_table(rows.take(pa.array(order[start : start + BATCH])))
    part.replace(out)
