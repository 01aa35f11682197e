"""The contract's checks on fresh worlds: rows, processes, bad arguments, private sessions."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from provegym.seeding import rng
from provegym.world.contract.judged import Judged, violations
from provegym.world.contract.ranges import ranges
from provegym.world.explore import Walk, trail
from provegym.world.sample import value
from provegym.world.server import Server
from provegym.world.session import Session
from provegym.world.tool import Tool
from provegym.world.world import World

MIN_ROWS = 300
"""Rows that a seeded world has at least."""
INTERLEAVINGS, SESSIONS = 200, 4


def _rows(server: Server, worlds: list[World]) -> Judged:
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


def _seeded(server: Server, worlds: list[World]) -> Judged:
    wrong = [f"world {w.seed}: {v}" for w in worlds for v in violations(server, w.open())]
    if len({w.digest for w in worlds}) < len(worlds):
        wrong.append("two seeds give the same world")
    return wrong, "invariants hold at the start; each seed has its own world"


def _same_everywhere(server: Server, worlds: list[World]) -> Judged:
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


def _bad_arguments(server: Server, worlds: list[World]) -> Judged:
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


def _private(server: Server, worlds: list[World]) -> Judged:
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


def _copies(server: Server, worlds: list[World]) -> Judged:
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


CHECKS: dict[str, Callable[[Server, list[World]], Judged]] = {
    "rows": _rows,
    "seeded worlds": _seeded,
    "same everywhere": _same_everywhere,
    "bad arguments": _bad_arguments,
    "ranges": ranges,
    "private sessions": _private,
    "copies": _copies,
}
