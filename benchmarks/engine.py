"""What the engine adds to a tool's own body, what sessions cost, and the naive ways beside it.

Run `python -m benchmarks.engine`, or `provegym bench`.

Overhead is a whole call, JSON text in and JSON text out, with a body that only repeats the real
one's writes and result. All times are the best of several runs.
"""

from __future__ import annotations

import asyncio
import copy
import gc
import resource
import tracemalloc
from collections.abc import Callable
from functools import cache
from statistics import median, quantiles
from time import perf_counter
from timeit import Timer

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from provegym.seeding import rng
from provegym.servers import SERVERS, load, world
from provegym.world.sample import arguments
from provegym.world.session import Session
from provegym.world.tool import Tool
from provegym.world.world import World

READ_TARGET, WRITE_TARGET = 2.5, 4.0
"""Micro-seconds of overhead at the median over the tools."""
BODY_TARGET = 1000.0
"""Micro-seconds of the slowest tool's body."""
SOME = ("banking", "calendar", "filesystem", "shopping")
OPEN_TARGET, OPEN_ALL_TARGET = 5.0, 20.0
"""Micro-seconds to open and close a session of four servers, and of all."""
FRESH_TARGET, FRESH_ALL_TARGET, LIVE_TARGET = 8 * 1024, 32 * 1024, 1 << 30
"""Bytes of such sessions before the first write, and of 10,000 alive."""
BUILD_TARGET, LONG = 3.0, 200.0
"""Seconds to make one world of all servers; micro-seconds of a body that is listed."""

ROUNDS, LOOP = 150, 200
"""Times each call is measured with its body; calls of a loop without it."""
SEEDS = 100
LIVE = 10_000
MICRO = 1e6

_encode = msgspec.json.Encoder().encode


class Cost(Struct, frozen=True):
    """Micro-seconds of one tool's call."""

    tool: Tool
    overhead: float
    least: float
    """The same without the engine: decoder, body and encoder called one after the other."""
    in_place: float
    """The same around the real body, which leaves the processor's caches full of other things."""
    body: float


class Case(Struct, frozen=True):
    """A call that succeeds in a state of the world."""

    server: str
    tool: Tool
    text: bytes
    seed: int


def cases() -> list[Case]:
    """One accepted call of every tool, on the start of the first world that has one."""
    return [accepted(name, tool) for name in SERVERS for tool in load(name).tools.values()]


def accepted(server: str, tool: Tool) -> Case:
    """A call of the tool that the start of some world accepts."""
    for seed in range(SEEDS):
        session = world(seed, (server,)).open()
        given = arguments(tool, session.state(server), rng(seed, "benchmark", tool.name))
        if session.call(tool.name, given).outcome == "ok":
            return Case(server, tool, msgspec.json.encode(given), seed)
    raise ValueError(f"no call of {tool.name} is accepted at the start of {SEEDS} worlds")


def costs(found: list[Case]) -> list[Cost]:
    """Measure every case; the collector of cycles stands still meanwhile."""
    gc.collect()
    gc.disable()
    try:
        return [cost(case) for case in found]
    finally:
        gc.enable()


def cost(case: Case) -> Cost:
    """What one call costs."""
    return Cost(case.tool, *_overhead(case), *_in_place(case))


def _overhead(case: Case) -> tuple[float, float]:
    """Micro-seconds of a call whose body only makes the recorded writes and gives the recorded
    result: decode, validate, dispatch, commit, encode. Then those of decoder, body and encoder
    without anything between them.
    """
    own = World(case.seed, [load(case.server)])
    session, name, text = own.open(), case.tool.name, case.text
    value = session.call(name, text).value
    writes = [
        (session.open_table(table), row or own.templates[table].rows[key])
        for table, rows in session.snapshot().overlays.items()
        for key, row in rows.items()
    ]

    def replay(*_: object) -> object:
        for table, row in writes:
            table.put(row)
        return value

    body = replay if writes else lambda *_: value
    own.tools[name] = own.tools[name]._replace(run=body)
    whole = best("call(name, text).json()", call=session.call, name=name, text=text)
    least = best(
        "encode(run(state, *astuple(decode(text))))",
        **{"run": body, "state": session.state(case.server), "text": text},
        **{"decode": case.tool.decoder.decode, "encode": _encode, "astuple": astuple},
    )
    return whole, least


def best(statement: str, **names: object) -> float:
    """Micro-seconds of a statement: the best of many short loops, as a busy machine needs."""
    return MICRO * min(Timer(statement, globals=names).repeat(15, LOOP)) / LOOP


def _in_place(case: Case) -> tuple[float, float]:
    """Micro-seconds that a real call takes around its body, and in it."""
    own = World(case.seed, [load(case.server)])
    clock = Clock(case.tool.run)
    own.tools[case.tool.name] = own.tools[case.tool.name]._replace(run=clock)
    session, name, text = own.open(), case.tool.name, case.text
    session.call(name, text)
    session.reset()
    around, inside = [], []
    for _ in range(ROUNDS):
        begin = perf_counter()
        session.call(name, text).json()
        around.append(perf_counter() - begin - clock.seconds)
        inside.append(clock.seconds)
        session.reset()
    return min(around) * MICRO - _watching(), median(inside) * MICRO


class Clock:
    """A tool's body, and how long it took the last time."""

    def __init__(self, run: Callable[..., object]) -> None:
        self.run = run
        self.seconds = 0.0

    def __call__(self, *given: object) -> object:
        """Run the body."""
        begin = perf_counter()
        value = self.run(*given)
        self.seconds = perf_counter() - begin
        return value


@cache
def _watching() -> float:
    """Micro-seconds that the two clocks themselves add to a call."""
    clock = Clock(lambda: None)
    added = []
    for _ in range(10_000):
        begin = perf_counter()
        clock()
        added.append(perf_counter() - begin - clock.seconds)
    return min(added) * MICRO


def spread(values: list[float]) -> tuple[float, float, float]:
    """Median, 90th percentile and maximum."""
    return median(values), quantiles(values, n=10)[-1], max(values)


def per_second(run: Callable[[], object], count: int = 20_000, repeats: int = 5) -> float:
    """How often `run` goes in a second: the best of some repeats."""
    seconds = []
    for _ in range(repeats):
        begin = perf_counter()
        for _ in range(count):
            run()
        seconds.append(perf_counter() - begin)
    return count / min(seconds)


def open_and_close(of: World) -> float:
    """Micro-seconds to open a session of the world and close it."""
    return MICRO / per_second(lambda: of.open().close())


def bytes_per_session(of: World, prepare: Callable[[Session], object], count: int = 500) -> float:
    """Bytes that each of `count` live sessions holds after `prepare`."""
    prepare(of.open())
    gc.collect()
    tracemalloc.start()
    try:
        sessions = []
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(count):
            session = of.open()
            prepare(session)
            sessions.append(session)
        return (tracemalloc.get_traced_memory()[0] - before) / count
    finally:
        tracemalloc.stop()


def read_all(found: list[Case]) -> Callable[[Session], object]:
    """Make every read that the world of seed 0 accepts."""
    reads = [c for c in found if c.tool.effect == "read" and c.seed == 0]
    return lambda session: [session.call(c.tool.name, c.text) for c in reads]


def write_some(found: list[Case], count: int) -> Callable[[Session], object]:
    """Make some writes that the world of seed 0 accepts."""
    writes = [c for c in found if c.tool.effect == "write" and c.seed == 0][:count]
    return lambda session: [session.call(c.tool.name, c.text) for c in writes]


def copied(of: World) -> tuple[float, float]:
    """Micro-seconds and bytes of a session that is a deep copy of all rows as plain dicts."""
    rows = {
        name: {key: msgspec.to_builtins(row) for key, row in template.rows.items()}
        for name, template in of.templates.items()
    }
    seconds = MICRO / per_second(lambda: copy.deepcopy(rows), count=5, repeats=3)
    tracemalloc.start()
    try:
        kept = [copy.deepcopy(rows) for _ in range(5)]
        return seconds, tracemalloc.get_traced_memory()[0] / len(kept)
    finally:
        tracemalloc.stop()


def peak_memory() -> int:
    """Most bytes that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def live_sessions(of: World, prepare: Callable[[Session], object], count: int = LIVE) -> int:
    """Bytes by which `count` sessions alive at once raise the process's peak."""
    before = peak_memory()
    sessions = [of.open() for _ in range(count)]
    for session in sessions:
        prepare(session)
    return peak_memory() - before


def measure() -> list[tuple[str, float, float | None, str]]:
    """(what, value, target or None, unit) of everything in this file."""
    found = cases()
    few, of = world(0, SOME), world(0, tuple(SERVERS))
    some = [case for case in found if case.server in SOME]
    memory = live_sessions(few, write_some(some, 10))
    deep_time, deep_bytes = copied(few)
    sdk = sdk_call()
    return [
        *_costs_by_effect(costs(found)),
        ("open and close a session of 4 servers", open_and_close(few), OPEN_TARGET, "us"),
        ("the same of all servers", open_and_close(of), OPEN_ALL_TARGET, "us"),
        ("the same of 4 by copy.deepcopy", deep_time, None, "us"),
        ("a session of 4, untouched", bytes_per_session(few, lambda _: None), FRESH_TARGET, "B"),
        ("the same after reads", bytes_per_session(few, read_all(some)), FRESH_TARGET, "B"),
        ("a session of all", bytes_per_session(of, lambda _: None), FRESH_ALL_TARGET, "B"),
        ("a session of 4 by copy.deepcopy", deep_bytes, None, "B"),
        (f"{LIVE:,} sessions of 4 after 10 writes", memory, LIVE_TARGET, "B"),
        ("make a world of all servers", build_world(), BUILD_TARGET, "s"),
        *([("MCP SDK, call_tool in process", sdk, None, "us")] if sdk else []),
    ]


def build_world() -> float:
    """Seconds to make one world of all servers, which all its sessions share then."""
    seconds = []
    for seed in range(SEEDS, SEEDS + 3):
        begin = perf_counter()
        World(seed, [load(name) for name in SERVERS])
        seconds.append(perf_counter() - begin)
    return min(seconds)


def _costs_by_effect(measured: list[Cost]) -> list[tuple[str, float, float | None, str]]:
    rows: list[tuple[str, float, float | None, str]] = []
    for effect, target in (("read", READ_TARGET), ("write", WRITE_TARGET)):
        part = [cost for cost in measured if cost.tool.effect == effect]
        named = zip(("median", "p90", "max"), spread([c.overhead for c in part]), strict=True)
        rows += [
            (f"overhead of a {effect}, {name}", value, target if name == "median" else None, "us")
            for name, value in named
        ]
        least, real = median(c.least for c in part), median(c.in_place for c in part)
        rows.append((f"decoder, body and encoder of a {effect} alone", least, None, "us"))
        rows.append((f"around the real body of a {effect}, median", real, None, "us"))
    named = zip(("median", "p90", "max"), spread([c.body for c in measured]), strict=True)
    limit = {"max": BODY_TARGET}
    rows += [(f"a tool's body, {n}", value, limit.get(n), "us") for n, value in named]
    long = sorted((c for c in measured if c.body > LONG), key=lambda c: -c.body)
    return [*rows, *((f"the body of {c.tool.name}", c.body, BODY_TARGET, "us") for c in long)]


def sdk_call() -> float | None:
    """Micro-seconds of the MCP SDK's in-process `call_tool` of a trivial tool; None without it."""
    try:
        from mcp.server.mcpserver import MCPServer
    except ImportError:
        return None
    server = MCPServer("bare")

    @server.tool()
    def get_account(account_id: str) -> dict[str, str]:
        """Show an account."""
        return {"id": account_id}

    async def calls(count: int) -> float:
        begin = perf_counter()
        for _ in range(count):
            await server.call_tool("get_account", {"account_id": "a1"})
        return (perf_counter() - begin) / count

    return MICRO * min(asyncio.run(calls(500)) for _ in range(5))


if __name__ == "__main__":
    for what, value, target, unit in measure():
        aim = f"  (at most {target:,.1f})" if target else ""
        print(f"{what:40} {value:14,.2f} {unit}{aim}")
