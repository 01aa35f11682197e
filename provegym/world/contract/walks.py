"""The contract's checks by random walks: what is reached, and what every call keeps to."""

from __future__ import annotations

from typing import Any

import msgspec

from provegym.errors import ServerFault, seen
from provegym.seeding import rng
from provegym.world.contract.judged import Judged, violations
from provegym.world.contract.tools import unsaid
from provegym.world.explore import Goal, Step, Walk, goals
from provegym.world.sample import arguments
from provegym.world.server import Server
from provegym.world.session import Session
from provegym.world.world import World

MAX_RESULT = 16 * 1024
"""Bytes of JSON that a result has at most."""
WORLDS, MORE_WORLDS, MOST_WORLDS = 4, 40, 160
"""Worlds that are walked over in any case; while some goal is not reached; and of which only the
start is tried after that."""
CALLS = (800, 250)
"""Calls of a walk, in turn: some states are reached in long lives only, some need many starts."""
STARTS = 3
"""Calls of each tool with open goals that are tried on each untouched world."""
WRITES = 7
"""The invariants are checked after so many writes, and at the walk's end. Odd, for a fault that
one call puts in and the next one takes out."""
UNDECLARED = 3
"""Calls with an undeclared refusal that are tried in other states, for each tool and code."""


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
        for problem in violations(server, session):
            self.add("invariants", f"world {session.world.seed}, after {written}: {problem}")


def walked(server: Server, seed: int) -> dict[str, Judged]:
    """Walk over worlds until every goal is reached, and judge each call."""
    log = _Log(server)
    total = len(log.open)
    for i in range(MOST_WORLDS):
        if i >= WORLDS and not log.open:
            break
        world = World(seed + i, [server])
        log.worlds += 1
        _start(server, world, log)
        if i < MORE_WORLDS:
            _walk(server, world, log)
    log.problems["reach"] = [f"{tool}: never {code}" for tool, code in sorted(log.open)]
    evidence = {
        name: text.format(goals=total, calls=log.calls, worlds=log.worlds, largest=log.largest)
        for name, text in _WALKS.items()
    }
    return {name: (log.problems[name], evidence[name]) for name in _WALKS}


def _start(server: Server, world: World, log: _Log) -> None:
    """Try the tools with open goals on the untouched world: some states exist at the start only."""
    rnd = rng(world.seed, "start", server.name)
    for name in sorted({name for name, _ in log.open}) * STARTS:
        session = world.open()
        tool = server.tools[name]
        given = arguments(tool, session.state(server.name), rnd)
        log.calls += 1
        log.open.discard((name, Step(tool, given, True, session.call(name, given)).code))


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
    if step.plain and tool.sample:
        if step.code == "invalid_value":
            log.add("samples", f"{call}: {step.result.value['error']['message']}")
        for name in unsaid(tool, step.arguments):
            log.add("samples", f"{tool.name} samples {name}, which not every phrase can say")
    if not ok and step.code not in (*tool.refuses, "invalid_cursor"):
        log.undeclared.setdefault((tool.name, step.code), []).append(step.arguments)
    text = step.result.json()
    if ok and not _conforms(text, tool.returns):
        log.add("results", f"{call} gave {seen(text, 200)}, which is not its declared type")


def _conforms(text: bytes, declared: Any) -> bool:
    try:
        return msgspec.json.encode(msgspec.json.decode(text, type=declared)) == text
    except msgspec.MsgspecError:
        return False


_WALKS: dict[str, str] = {
    "reach": "{goals} successes and refusals all occur within {calls:,} calls in {worlds} worlds",
    "bodies": "no tool failed in {calls:,} calls",
    "samples": "samplers keep to the schemas and give what every phrase can say",
    "declared": "every refusal that depends on the state is declared",
    "reads": "no read changed anything",
    "writes": "every accepted write changed a row",
    "atomic": "no refused call changed anything",
    "results": "results are of their declared types, {largest:,} bytes at most",
    "invariants": "kept in {calls:,} calls over {worlds} worlds",
}
