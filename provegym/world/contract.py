"""What every server must satisfy, as a list of checks with their evidence.

    report = check(load("banking"))
    report.passed, [c for c in report.checks if not c.passed]

Everything is drawn from a fixed seed, so a server passes or fails the same way everywhere.
"""

from __future__ import annotations

import pickle
import re
import string
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from provegym.errors import ServerFault
from provegym.seeding import rng
from provegym.world.explore import Goal, Step, Walk, goals, trail
from provegym.world.fields import Field, fields_of, take_apart
from provegym.world.sample import value
from provegym.world.schema import lint
from provegym.world.server import Server
from provegym.world.session import Session
from provegym.world.tool import Tool
from provegym.world.world import World

MIN_ROWS = 300
"""Rows that a seeded world has at least."""
MAX_RESULT = 16 * 1024
"""Bytes of JSON that a result has at most."""
WORLDS, MORE_WORLDS = 4, 48
"""Worlds that are walked over in any case, and at most, while some goal is not reached."""
CALLS = (800, 250)
"""Calls of a walk, in turn: some states are reached in long lives only, some need many starts."""
WRITES = 8
"""The invariants are checked after so many writes, and at the walk's end."""
INTERLEAVINGS, SESSIONS = 200, 4
SHOWN, LINE = 6, 300
"""How many problems a check's detail lists, and the characters of each."""

UNDECLARED = 3
"""Calls with an undeclared refusal that are tried in other states, for each tool and code."""

_NAME = re.compile(r"[a-z][a-z0-9_]{2,63}")


class Check(Struct, frozen=True):
    """One demand, whether it holds, and the evidence or what breaks it."""

    name: str
    passed: bool
    detail: str


class Report(Struct, frozen=True):
    """All checks of one server."""

    server: str
    tools: int
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every demand holds."""
        return all(c.passed for c in self.checks)


def check(server: Server, seed: int = 0) -> Report:
    """Run the whole contract on a server; the worlds are `seed`, `seed + 1`, ..."""
    found = [_check(name, *judge(server)) for name, judge in _STATIC.items()]
    worlds = [World(seed + i, [server]) for i in range(3)]
    found += [_check(name, *judge(server, worlds)) for name, judge in _WORLDS.items()]
    found += _walked(server, seed)
    return Report(server.name, len(server.tools), tuple(found))


def _check(name: str, problems: Iterable[str], evidence: str) -> Check:
    listed = list(dict.fromkeys(p if len(p) < LINE else f"{p[:LINE]}..." for p in problems))
    more = [f"and {len(listed) - SHOWN} more"] if len(listed) > SHOWN else []
    return Check(name, not listed, "; ".join([*listed[:SHOWN], *more]) or evidence)


# -- what can be read off the tools --------------------------------------------------------------


def _names(server: Server) -> tuple[Iterable[str], str]:
    wrong = [f"tool name {n!r}" for n in server.tools if not _NAME.fullmatch(n)]
    wrong += [
        f"{n} is filed under {key}" for key, t in server.tools.items() if key != (n := t.name)
    ]
    return wrong, f"{len(server.tools)} tools"


def _schemas(server: Server) -> tuple[Iterable[str], str]:
    wrong = []
    for t in server.tools.values():
        parameters = t.schema.function.parameters
        wrong += [f"{t.name}{line}" for line in lint(parameters)]
        for name, schema in parameters["properties"].items():
            wrong += [] if schema.get("description") else [f"{t.name}: {name} is not described"]
    size = len(msgspec.json.encode([t.schema for t in server.tools.values()]))
    return wrong, f"portable and described, {size:,} bytes"


def _phrases(server: Server) -> tuple[Iterable[str], str]:
    tools = server.tools.values()
    wrong = [f"{t.name} has {len(t.phrases)} phrases, not 2" for t in tools if len(t.phrases) < 2]
    wrong += [f"{t.name}: {line}" for t in tools for p in t.phrases for line in _phrase(t, p)]
    return wrong, f"{sum(len(t.phrases) for t in tools)} phrases"


def _phrase(tool: Tool, phrase: str) -> Iterator[str]:
    """A phrase says every required parameter outside of its optional brackets."""
    said = _slots(re.sub(r"\[[^\]]*\]", "", phrase))
    for name in sorted(tool.required - said):
        yield f"{phrase!r} does not say {name}"
    for name in sorted(_slots(phrase) - {p.name for p in tool.parameters}):
        yield f"{phrase!r} has a slot {name!r} that is no parameter"


def _slots(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def _references(server: Server) -> tuple[Iterable[str], str]:
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


# -- what fresh worlds show ----------------------------------------------------------------------


def _rows(server: Server, worlds: list[World]) -> tuple[Iterable[str], str]:
    counts = [sum(len(t.rows) for t in w.templates.values()) for w in worlds]
    wrong = [
        f"world {w.seed} has {n} rows" for w, n in zip(worlds, counts, strict=True) if n < MIN_ROWS
    ]
    for name, template in worlds[0].templates.items():
        mutable = {kind for row in template.rows.values() for kind in _mutable(row)}
        wrong += [f"rows of {name} hold a {kind}" for kind in sorted(mutable)]
        if not all(isinstance(row, template.row) for row in template.rows.values()):
            wrong.append(f"rows of {name} are not all {template.row.__name__}")
    return wrong, f"{min(counts)} to {max(counts)} frozen rows"


def _mutable(value: Any) -> Iterator[str]:
    """Types inside a row that could change under another session's eyes."""
    if isinstance(value, Struct):
        if not value.__struct_config__.frozen:
            yield type(value).__name__
        for name in value.__struct_fields__:
            yield from _mutable(getattr(value, name))
    elif isinstance(value, tuple | frozenset):
        for item in value:
            yield from _mutable(item)
    elif isinstance(value, list | dict | set | bytearray):
        yield type(value).__name__


def _seeded(server: Server, worlds: list[World]) -> tuple[Iterable[str], str]:
    wrong = [f"world {w.seed}: {v}" for w in worlds for v in _violations(server, w.open())]
    if len({w.digest for w in worlds}) < len(worlds):
        wrong.append("two seeds give the same world")
    return wrong, "invariants hold at the start; each seed has its own world"


def _violations(server: Server, session: Session) -> list[str]:
    return list(server.violations(session.state(server.name)))


def _same_everywhere(server: Server, worlds: list[World]) -> tuple[Iterable[str], str]:
    seeds = range(worlds[0].seed, worlds[0].seed + 2)
    try:
        job = pickle.dumps((sys.path, pickle.dumps((server, seeds, 60))))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        return [f"the server cannot be sent to another process: {error}"], ""
    here = trail(server, seeds, 60)
    children = [_child(job) for _ in range(2)]
    answers = [child.communicate(job) for child in children]
    wrong = [
        f"another process found {out.decode().split() or err.decode()[-300:]}, this one {here}"
        for out, err in answers
        if out.decode().split() != here
    ]
    return wrong, "three processes with other hash seeds agree on digests and results"


def _child(job: bytes) -> subprocess.Popen[bytes]:
    """A fresh interpreter; -E takes no hash seed from the environment, so it draws another."""
    code = (
        "import pickle, sys; sys.path[:], job = pickle.load(sys.stdin.buffer);"
        "from provegym.world.explore import trail; print(*trail(*pickle.loads(job)))"
    )
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-E", "-c", code], stdin=pipe, stdout=pipe, stderr=pipe
    )


def _bad_arguments(server: Server, worlds: list[World]) -> tuple[Iterable[str], str]:
    session = worlds[0].open()
    before = session.digest()
    wrong, count = [], 0
    for t in server.tools.values():
        for expected, text in _broken(t, session):
            count += 1
            got = session.call(t.name, text).outcome
            if got != expected:
                wrong.append(f"{t.name}({str(text)[:80]}) gave {got}, not {expected}")
    if session.digest() != before:
        wrong.append("the state changed")
    return wrong, f"{count} calls with bad arguments were rejected"


def _broken(tool: Tool, session: Session) -> Iterator[tuple[str, Any]]:
    """Calls of a tool that must fail, each with the outcome it must have."""
    state = session.state(session.world.tools[tool.name].place)
    rnd = rng(0, "broken", tool.name)
    good = {p.name: value(p, state, rnd) for p in tool.parameters if p.name in tool.required}
    yield from (("malformed", text) for text in ("", "{", "[]", "null", '"x"', b"\xff", "NaN"))
    yield "invalid_arguments", {**good, "no_such_parameter": 1}
    for name in tool.required:
        yield "invalid_arguments", {k: v for k, v in good.items() if k != name}
    for p in tool.parameters:
        yield "invalid_arguments", {**good, p.name: None}
        yield "invalid_arguments", {**good, p.name: [[]] if p.item else []}
        if p.type is not bool:
            yield "invalid_arguments", {**good, p.name: True}
        if p.choices and isinstance(p.choices[0], str):
            yield "tool_error", {**good, p.name: "no such choice"}
        if p.type is int:
            yield "tool_error", {**good, p.name: 2**63}
            yield "invalid_arguments", {**good, p.name: "1"}


def _private(server: Server, worlds: list[World]) -> tuple[Iterable[str], str]:
    """Recorded calls of several sessions give the same in any interleaving."""
    scripts = [_script(server, worlds[0], i) for i in range(SESSIONS)]
    rnd = rng(worlds[0].seed, "interleavings", server.name)
    wrong = []
    for turn in range(INTERLEAVINGS):
        sessions = [worlds[0].open() for _ in scripts]
        order = [i for i, script in enumerate(scripts) for _ in script.calls]
        rnd.shuffle(order)
        places = [iter(script.calls) for script in scripts]
        for i in order:
            name, arguments, answer = next(places[i])
            if sessions[i].call(name, arguments).json() != answer:
                wrong.append(f"interleaving {turn}: {name} answered otherwise than alone")
        ends = [session.digest() for session in sessions]
        if ends != [script.digest for script in scripts]:
            wrong.append(f"interleaving {turn}: another end state than alone")
    return wrong, f"{INTERLEAVINGS} interleavings of {SESSIONS} sessions equal each one alone"


class _Script(Struct, frozen=True):
    calls: tuple[tuple[str, dict[str, Any], bytes], ...]
    digest: str


def _script(server: Server, world: World, number: int) -> _Script:
    session = world.open()
    walk = Walk(server, session, rng(world.seed, "script", number))
    calls = tuple((s.tool.name, s.arguments, s.result.json()) for s in walk.steps(8))
    return _Script(calls, session.digest())


def _copies(server: Server, worlds: list[World]) -> tuple[Iterable[str], str]:
    """Snapshot, restore, fork and reset are exact, and independent of what follows."""
    wrong: list[str] = []
    for world in worlds:
        session = world.open()
        walk = Walk(server, session, rng(world.seed, "copies"))
        for _ in range(8):
            list(walk.steps(8))
            wrong += _copied(server, session, walk)
        session.reset()
        if session.digest() != world.open().digest() or session.changes():
            wrong.append("reset does not lead back to the start")
    return wrong, "snapshot, restore, fork and reset are exact"


def _copied(server: Server, session: Session, walk: Walk) -> Iterator[str]:
    before, kept, twin = session.digest(), session.snapshot(), session.fork()
    if twin.digest() != before:
        yield "a fork starts with another digest"
    calls = [(s.tool.name, s.arguments, s.result.json()) for s in walk.steps(8)]
    after = session.digest()
    if twin.digest() != before:
        yield "a fork follows the session it came from"
    if any(twin.call(name, given).json() != answer for name, given, answer in calls):
        yield "a fork answers otherwise"
    session.restore(kept)
    if session.digest() != before:
        yield "restore does not lead back"
    if any(session.call(name, given).json() != answer for name, given, answer in calls):
        yield "a restored session answers otherwise"
    if not session.digest() == after == twin.digest():
        yield "the same calls lead to another state"


# -- what random walks show ----------------------------------------------------------------------


class _Log:
    """Problems by check, and the goals still open."""

    def __init__(self, server: Server) -> None:
        self.open: set[Goal] = goals(server)
        self.problems: dict[str, list[str]] = {name: [] for name in _WALKS}
        self.undeclared: dict[Goal, list[dict[str, Any]]] = {}
        self.calls = self.worlds = self.largest = 0

    def add(self, check: str, problem: str) -> None:
        self.problems[check].append(problem)

    def size(self, step: Step) -> None:
        size = len(step.result.json())
        if "limit" not in step.arguments:
            self.largest = max(self.largest, size)
            if size > MAX_RESULT:
                self.add("results", f"{size:,} bytes from {step.tool.name}({step.arguments})")

    def invariants(self, server: Server, session: Session, written: list[str]) -> None:
        for problem in _violations(server, session):
            self.add("invariants", f"world {session.world.seed}, after {written}: {problem}")


def _walked(server: Server, seed: int) -> list[Check]:
    log = _Log(server)
    total = len(log.open)
    for i in range(MORE_WORLDS):
        if i >= WORLDS and not log.open:
            break
        log.worlds += 1
        _walk(server, World(seed + i, [server]), log)
    log.problems["reach"] = [f"{tool}: never {code}" for tool, code in sorted(log.open)]
    evidence = {
        name: text.format(goals=total, calls=log.calls, worlds=log.worlds, largest=log.largest)
        for name, text in _WALKS.items()
    }
    return [_check(name, log.problems[name], evidence[name]) for name in _WALKS]


def _walk(server: Server, world: World, log: _Log) -> None:
    session = world.open()
    long = log.worlds % 3 == 0
    walk = Walk(server, session, rng(world.seed, "walk", server.name), long=long)
    before, written = session.snapshot(), list[str]()
    for _ in range(CALLS[log.worlds % 2]):
        log.calls += 1
        try:
            step = walk.step(log.open)
        except ServerFault as fault:
            log.add("bodies", f"{fault}; {walk.tried}")
            continue
        log.open.discard((step.tool.name, step.code))
        after = session.snapshot()
        if not long:
            log.size(step)
        _judge(step, before.overlays != after.overlays, before != after, log)
        before = after
        if step.code == "ok" and step.tool.effect == "write":
            written.append(step.tool.name)
            if len(written) % WRITES == 0:
                log.invariants(server, session, written[-WRITES:])
    log.invariants(server, session, written[-WRITES:])
    _judge_undeclared(log, (world.open(), session))


def _judge_undeclared(log: _Log, sessions: tuple[Session, ...]) -> None:
    """A refusal need not be declared if it follows from the arguments alone.

    It does not if the same call is accepted in another state of the same world.
    """
    for (name, code), calls in log.undeclared.items():
        for given in calls[:UNDECLARED]:
            if any(s.fork().call(name, given).outcome == "ok" for s in sessions):
                log.add("declared", f"{name} does not declare {code}; {given} may succeed")
    log.undeclared.clear()


def _judge(step: Step, rows_changed: bool, changed: bool, log: _Log) -> None:
    """Judge one call by its result and by whether the state changed."""
    tool, ok = step.tool, step.code == "ok"
    call = f"{tool.name}({step.arguments})"
    if tool.effect == "read" and changed:
        log.add("reads", f"{call} changed the state")
    if not ok and changed:
        log.add("atomic", f"{call} was refused with {step.code} and changed the state")
    if tool.effect == "write" and ok and not rows_changed:
        log.add("writes", f"{call} changed nothing")
    if step.result.outcome not in ("ok", "tool_error"):
        log.add("samples", f"{call} is {step.result.outcome}")
    if step.plain and tool.sample and step.code == "invalid_value":
        log.add("samples", f"{call}: {step.result.value['error']['message']}")
    if not ok and step.code not in (*tool.refuses, "invalid_cursor"):
        log.undeclared.setdefault((tool.name, step.code), []).append(step.arguments)
    text = step.result.json()
    if ok and not _conforms(text, tool.returns):
        log.add("results", f"{call} gave {text[:200]!r}, which is not its declared type")


def _conforms(text: bytes, declared: Any) -> bool:
    try:
        return msgspec.json.encode(msgspec.json.decode(text, type=declared)) == text
    except msgspec.MsgspecError:
        return False


Judge = tuple[Iterable[str], str]
_STATIC: dict[str, Callable[[Server], Judge]] = {
    "names": _names,
    "schemas": _schemas,
    "phrases": _phrases,
    "references": _references,
}
_WORLDS: dict[str, Callable[[Server, list[World]], Judge]] = {
    "rows": _rows,
    "seeded worlds": _seeded,
    "same everywhere": _same_everywhere,
    "bad arguments": _bad_arguments,
    "private sessions": _private,
    "copies": _copies,
}
_WALKS: dict[str, str] = {
    "reach": "{goals} successes and refusals all occur within {calls:,} calls in {worlds} worlds",
    "bodies": "no tool failed in {calls:,} calls",
    "samples": "samplers keep to the schemas",
    "declared": "every refusal that depends on the state is declared",
    "reads": "no read changed anything",
    "writes": "every accepted write changed a row",
    "atomic": "no refused call changed anything",
    "results": "results are of their declared types, {largest:,} bytes at most",
    "invariants": "kept in {calls:,} calls over {worlds} worlds",
}
