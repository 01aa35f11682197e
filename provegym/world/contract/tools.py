"""The contract's checks that need no world: what can be read off a server's tools."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator

import msgspec
from msgspec import Struct

from provegym.world.contract.judged import Judged
from provegym.world.fields import Field, fields_of, take_apart
from provegym.world.schema import lint
from provegym.world.server import Server
from provegym.world.tool import Tool

_NAME = re.compile(r"[a-z][a-z0-9_]{2,63}")


def _names(server: Server) -> Judged:
    wrong = [f"tool name {n!r}" for n in server.tools if not _NAME.fullmatch(n)]
    wrong += [
        f"{n} is filed under {key}" for key, t in server.tools.items() if key != (n := t.name)
    ]
    return wrong, f"{len(server.tools)} tools"


def _schemas(server: Server) -> Judged:
    wrong = []
    for t in server.tools.values():
        parameters = t.schema.function.parameters
        wrong += [f"{t.name}{line}" for line in lint(parameters)]
        for name, schema in parameters["properties"].items():
            wrong += [] if schema.get("description") else [f"{t.name}: {name} is not described"]
    size = len(msgspec.json.encode([t.schema for t in server.tools.values()]))
    return wrong, f"portable and described, {size:,} bytes"


def _phrases(server: Server) -> Judged:
    tools = server.tools.values()
    wrong = [f"{t.name} has {len(t.phrases)} phrases, not 2" for t in tools if len(t.phrases) < 2]
    wrong += [f"{t.name}: {line}" for t in tools for p in t.phrases for line in _phrase(t, p)]
    return wrong, f"{sum(len(t.phrases) for t in tools)} phrases"


def _phrase(tool: Tool, phrase: str) -> Iterator[str]:
    """A phrase says every required parameter outside of its optional brackets, and no other."""
    said = _slots(re.sub(r"\[[^\]]*\]", "", phrase))
    for name in sorted(tool.required - said):
        yield f"{phrase!r} does not say {name}"
    for name in sorted(said & {p.name for p in tool.parameters} - tool.required):
        yield f"{phrase!r} always says {name}, which is optional; put it into brackets"
    for name in sorted(_slots(phrase) - {p.name for p in tool.parameters}):
        yield f"{phrase!r} has a slot {name!r} that is no parameter"


def unsaid(tool: Tool, names: Iterable[str]) -> list[str]:
    """The parameters for which some phrase has no slot."""
    return [name for name in names if not all(name in _slots(text) for text in tool.phrases)]


def _slots(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def _references(server: Server) -> Judged:
    tables = server.state.tables()
    known = {f"{server.name}.{name}" for name in tables}
    wrong, count = [], 0
    for where, f in _all_fields(server):
        ref = f.ref or (f.item.ref if f.item else None)
        count += ref is not None
        if ref and ref.startswith(f"{server.name}.") and ref not in known:
            wrong.append(f"{where} refers to {ref}, which is no table")
        if not ref and f.item is None and _is_id(where, f.name, tables):
            wrong.append(f"{where} names an entity but carries no Ref")
    wrong += _unnamed(server)
    return wrong, f"{count} typed references to {len(known)} tables"


def _is_id(where: str, name: str, tables: Iterable[str]) -> bool:
    """Whether a field is called like an id; a row's own key needs no reference to its table."""
    return name.endswith("_id") or (name == "id" and where.removesuffix(".id") not in tables)


def _unnamed(server: Server) -> Iterator[str]:
    """Tables whose ids tools take, and which no result shows beside the fields of their label."""
    taken = {f.ref for t in server.tools.values() for p in t.parameters for f in (p, p.item) if f}
    shown = _shown(server)
    for name, table in server.state.tables().items():
        slots, full = _slots(table.row.label), f"{server.name}.{name}"
        if full in taken and not any(slots <= fields for ref, fields in shown if ref == full):
            yield f"no result shows an id of {name} beside the fields of its label"


def _shown(server: Server) -> list[tuple[str | None, set[str]]]:
    """For each id in a result: its table, and the fields beside it."""
    found: list[tuple[str | None, set[str]]] = []
    for t in server.tools.values():
        for _, f in _inside(t.name, take_apart("result", t.returns)):
            if _is_record(f):
                inner = fields_of(f.type)
                found += [(g.ref, {h.name for h in inner}) for g in inner if g.ref]
    return found


def _all_fields(server: Server) -> Iterator[tuple[str, Field]]:
    """Every field of parameters, results and rows with the place it stands in."""
    for t in server.tools.values():
        for f in (*t.parameters, take_apart("result", t.returns)):
            yield from _inside(t.name, f)
    for name, table in server.state.tables().items():
        for f in fields_of(table.row):
            yield from _inside(name, f)


def _inside(where: str, f: Field) -> Iterator[tuple[str, Field]]:
    yield f"{where}.{f.name}", f
    if f.item is not None:
        yield from _inside(where, f.item)
    if _is_record(f):
        for inner in fields_of(f.type):
            yield from _inside(f"{where}.{f.name}", inner)


def _is_record(f: Field) -> bool:
    return isinstance(f.type, type) and issubclass(f.type, Struct)


CHECKS: dict[str, Callable[[Server], Judged]] = {
    "names": _names,
    "schemas": _schemas,
    "phrases": _phrases,
    "references": _references,
}
