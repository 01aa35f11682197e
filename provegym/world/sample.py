"""Arguments for a tool in one state of the world, drawn by its types and its own sampler.

What `tool.sample` says is taken as it is. The rest is drawn from the types: ids of live rows,
choices, numbers within their bounds, times near the session's clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import lru_cache
from random import Random
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct

from provegym.world.fields import MONEY, SENSITIVE, Field, fields_of, money
from provegym.world.server import Server, State
from provegym.world.table import Template
from provegym.world.tool import Tool

OPTIONAL_RATE = 0.3
"""How often an optional parameter is given where the tool has no sampler."""
BAD_ID_RATE = 0.04
"""How often an id names no row."""
_DAY_MINUTES = 1440
_DEFAULT_BOUNDS = (1, 100)

WORDS = (
    *("budget", "weekly", "spare", "green", "summer", "review", "family", "notes", "travel"),
    *("kitchen", "report", "garden", "draft", "birthday", "project", "repair", "music", "team"),
)


def arguments(tool: Tool, state: State, rnd: Random) -> dict[str, Any]:
    """Arguments for one call: the tool's own sample, completed from the types of its parameters.

    Ids are of rows alive in the session of `state`; about one in 25 is of no row.
    """
    given = dict(tool.sample(state, rnd)) if tool.sample else {}
    for p in tool.parameters:
        if p.name in given:
            continue
        if p.name in tool.required or _worth_giving(p, tool, rnd):
            given[p.name] = value(p, state, rnd)
    return given


def _worth_giving(p: Field, tool: Tool, rnd: Random) -> bool:
    """An optional parameter that no sampler speaks for; a cursor is only valid from a page."""
    return tool.sample is None and p.name != "cursor" and rnd.random() < OPTIONAL_RATE


def value(p: Field, state: State, rnd: Random) -> Any:
    """A JSON value of a parameter's type, from its marks: reference, choices, bounds, format."""
    if p.ref:
        return _some_id(p.ref, state, rnd)
    if p.choices:
        return rnd.choice(p.choices)
    if p.item is not None:
        return [value(p.item, state, rnd) for _ in range(rnd.randint(1, 3))]
    if isinstance(p.type, type) and issubclass(p.type, Struct):
        return _record(p.type, state, rnd)
    if p.type is bool:
        return rnd.random() < 0.5
    if p.type is dict:
        return {}
    if p.type in (str, object):
        return _text(p, state, rnd)
    return _number(p, rnd)


def namesake(p: Field, state: State, rnd: Random) -> Any:
    """What some row holds in a field that is called like the parameter, as "iban" and
    "payee_iban" are; None where there is none, or the parameter takes an id.
    """
    if p.type is not str or p.ref:
        return None
    columns = _columns(type(state), p.name)  # type: ignore[arg-type]  # a class is hashable
    if not columns:
        return None
    table, name = rnd.choice(columns)
    rows = state.table_of(table)
    row_id = rows.any_id(rnd)
    return getattr(rows[row_id], name) or None if row_id else None


def borrowed(p: Field, server: Server, state: State, rnd: Random) -> Any:
    """What the sampler of some tool takes for a parameter of that kind; None where none does."""
    takers = _takers(p, server)
    if not takers:
        return None
    tool, name = rnd.choice(takers)
    return arguments(tool, state, rnd).get(name)


@lru_cache(maxsize=4096)
def _takers(p: Field, server: Server) -> tuple[tuple[Tool, str], ...]:
    mine = set(kinds(p))
    return tuple(
        (tool, q.name)
        for tool in server.tools.values()
        for q in tool.parameters
        if q.item is None and not mine.isdisjoint(kinds(q))
    )


def kinds(f: Field) -> Iterator[str]:
    """What a value is known under: its name, the table that it refers to, its format."""
    yield f.name
    if f.ref:
        yield f.ref
    if f.format:
        yield f.format.name


@lru_cache(maxsize=4096)
def _columns(state: type[State], name: str) -> tuple[tuple[str, str], ...]:
    """The (table, field) of every text that is called like `name`."""
    return tuple(
        (f"{state.server}.{table}", f.name)
        for table, its in state.tables().items()
        for f in fields_of(its.row)
        if f.type is str and _alike(name, f.name)
    )


def _alike(one: str, other: str) -> bool:
    """As "iban" and "payee_iban" are, "id" and "paid" are not."""
    return f"_{one}".endswith(f"_{other}") or f"_{other}".endswith(f"_{one}")


def _record(record: type[Struct], state: State, rnd: Random) -> dict[str, Any]:
    required = {
        f.name
        for f in msgspec.structs.fields(record)
        if f.default is NODEFAULT and f.default_factory is NODEFAULT
    }
    return {
        f.name: value(f, state, rnd)
        for f in fields_of(record)
        if f.name in required or rnd.random() < OPTIONAL_RATE
    }


def _some_id(ref: str, state: State, rnd: Random) -> str:
    table = state.table_of(ref)
    found = None if rnd.random() < BAD_ID_RATE else table.any_id(rnd)
    return found or _no_id(table.template, rnd.randrange(16**6))


def _no_id(table: Template[Any], number: int) -> str:
    """An id of no row: of made-up letters or, where people say the ids, a mistyped one."""
    if table.row.label or not table.ids:
        return f"{table.prefix}_{number:06x}"
    return f"{table.ids[number % len(table.ids)]}{number % 10}"


def _number(p: Field, rnd: Random) -> int | float:
    """Small numbers are as likely as large ones: uniform in the logarithm of the distance."""
    low, high = (p.range.minimum, p.range.maximum) if p.range else _DEFAULT_BOUNDS
    if low is None:
        low = _DEFAULT_BOUNDS[0] if high is None else high - _DEFAULT_BOUNDS[1]
    if high is None:
        high = low + _DEFAULT_BOUNDS[1]
    drawn = low + math.expm1(rnd.random() * math.log1p(high - low))
    return round(drawn) if p.type is int else round(min(drawn, high), 2)


def _text(p: Field, state: State, rnd: Random) -> str:
    if p.format and p.format.name in _FORMATS:
        return _FORMATS[p.format.name](state, rnd)
    if p.has(SENSITIVE):
        return f"{rnd.randrange(10_000):04d}"
    return " ".join(rnd.sample(WORDS, rnd.randint(1, 2)))


def _some_money(state: State, rnd: Random) -> str:
    return money(round(100 * math.exp(rnd.uniform(0, 7))))


def _some_instant(state: State, rnd: Random) -> str:
    start = state.now.replace(minute=0, second=0, microsecond=0)
    return (start + timedelta(minutes=15 * round(rnd.gauss(600, 1200)))).isoformat()


def _some_date(state: State, rnd: Random) -> str:
    return (state.now + timedelta(days=round(rnd.gauss(14, 30)))).date().isoformat()


def _some_clock(state: State, rnd: Random) -> str:
    minutes = 15 * rnd.randrange(_DAY_MINUTES // 15)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _some_email(state: State, rnd: Random) -> str:
    return rnd.choice(state.cast.people).email


_FORMATS: dict[str, Callable[[State, Random], str]] = {
    MONEY.name: _some_money,
    "instant": _some_instant,
    "date": _some_date,
    "clock": _some_clock,
    "email": _some_email,
}
