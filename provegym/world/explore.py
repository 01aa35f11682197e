"""Seeded random walks over a server: plausible calls, and calls that ought to be refused.

A walk draws on what has happened in its session: it repeats calls, and takes arguments over from
earlier ones, which is how most refusals come about (freezing a frozen card, moving into itself).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from msgspec import Struct

from provegym.seeding import rng
from provegym.world.fields import Field, fields_of, take_apart
from provegym.world.sample import arguments, borrowed, kinds, namesake, value
from provegym.world.server import Server, State
from provegym.world.session import Result, Session
from provegym.world.tool import Tool
from provegym.world.world import World

Goal = tuple[str, str]
"""A tool and what should happen to it: "ok" or the code of a refusal."""

GOAL_RATE = 0.5
"""How often a call aims at a goal that is still open."""
REPEAT_RATE = 0.1
"""How often a write is called twice in a row with the same arguments."""
PLAIN_RATE, SOUGHT_RATE = 0.55, 0.25
"""How often arguments are left as the tool's sampler made them; less where a goal is sought."""
AGAIN_RATE = 0.3
"""How often a goal is aimed at by changing the tool's call before."""
SAME_RATE = 0.15
"""How often a text follows one of the call's other texts, and a list is cut to one item."""
MEMORY = 200
"""Earlier values kept of each kind."""
SHOWN = "shown"
LONG = 20_000
"""Characters of a long text."""


class Step(Struct, frozen=True):
    """One call of a walk; `plain` if its arguments are the tool's own sample."""

    tool: Tool
    arguments: dict[str, Any]
    plain: bool
    result: Result

    @property
    def code(self) -> str:
        """The code of the error, "ok" without one."""
        ok = self.result.outcome == "ok"
        return "ok" if ok else str(self.result.value["error"]["code"])


def goals(server: Server) -> set[Goal]:
    """Each tool's success and each of its declared refusals."""
    tools = server.tools.values()
    return {(t.name, code) for t in tools for code in ("ok", *t.refuses)}


class Walk:
    """A generator of calls for one session. It remembers what it has tried and seen."""

    def __init__(
        self, server: Server, session: Session, rnd: Random, *, long: bool = False
    ) -> None:
        """`long`: now and then a text is so long that limits of size show."""
        self.session = session
        self._long = long
        self._server, self._tools = server, server.tools
        self._names = list(server.tools)
        self._state: State = session.state(server.name)
        self._rnd = rnd
        self._seen: defaultdict[tuple[str, str], deque[str]] = defaultdict(_memory)
        self._last: tuple[Tool, dict[str, Any]] | None = None
        self._before: dict[str, dict[str, Any]] = {}

    def steps(self, count: int) -> Iterator[Step]:
        """Make `count` calls."""
        return (self.step(set()) for _ in range(count))

    def step(self, wanted: set[Goal]) -> Step:
        """Make one call, of a tool with open goals if there are any. Raises ServerFault."""
        tool, given, plain = self._propose(wanted)
        self._last = tool, given
        self._before[tool.name] = given
        result = self.session.call(tool.name, given)
        step = Step(tool, given, plain, result)
        for p in tool.parameters:
            if p.name in given:
                self._remember(p, given[p.name])
                self._remember(p, given[p.name], _refused(step.code, tool))
        if step.code == "ok":
            self._remember(take_apart("", tool.returns), result.value, SHOWN)
        return step

    @property
    def tried(self) -> str:
        """The latest call as a line of text."""
        return f"{self._last[0].name}({self._last[1]})" if self._last else ""

    def _propose(self, wanted: set[Goal]) -> tuple[Tool, dict[str, Any], bool]:
        rnd = self._rnd
        if self._last and self._last[0].effect == "write" and rnd.random() < REPEAT_RATE:
            return (*self._last, False)
        sought = bool(wanted) and rnd.random() < GOAL_RATE
        name, code = rnd.choice(sorted(wanted)) if sought else (rnd.choice(self._names), "")
        tool = self._tools[name]
        before = self._before.get(name) if sought and rnd.random() < AGAIN_RATE else None
        given = dict(before or arguments(tool, self._state, rnd))
        plain = before is None and rnd.random() < (SOUGHT_RATE if sought else PLAIN_RATE)
        if plain or not tool.parameters:
            return tool, given, plain
        altered = [p for p in tool.parameters if p.name != "cursor"] or tool.parameters
        for p in rnd.sample(altered, min(len(altered), rnd.choice((1, 1, 2, 3)))):
            twin = given.get(rnd.choice(tool.parameters).name)
            if p.type is str and isinstance(twin, str) and rnd.random() < SAME_RATE:
                given[p.name] = self._namesake(p, twin)
            else:
                given[p.name] = self._other(p, given.get(p.name), _refused(code, tool))
        return tool, given, False

    def _other(self, p: Field, now: Any, code: str) -> Any:
        """Another value for a parameter: one that another tool refused with `code`, or one from
        earlier calls, from a row, or from its type.
        """
        if p.item is not None:
            items = list(now or value(p, self._state, self._rnd))
            if self._rnd.random() < SAME_RATE:
                return items[:1]
            place = self._rnd.randrange(len(items))
            return [*items[:place], self._other(p.item, items[place], code), *items[place + 1 :]]
        sources = (
            *(self._earlier, self._shown, self._shown, self._borrowed),
            *(self._written, self._from_a_row, self._edited, self._edited),
        )
        refused = self._earlier(p, code) if self._rnd.random() < 0.5 else None
        if refused and self._rnd.random() < 0.3:
            refused = self._edited(p, refused)
        found = refused or self._rnd.choice(sources)(p)
        return value(p, self._state, self._rnd) if found is None else found

    def _earlier(self, p: Field, code: str = "") -> Any:
        """What a call gave for such a parameter; with a `code`, a call that was refused so."""
        known = [found for kind in kinds(p) if (found := self._seen[code, kind])]
        return self._recent(self._rnd.choice(known)) if known else None

    def _shown(self, p: Field) -> Any:
        """What results showed of that kind."""
        known = [found for kind in kinds(p) if (found := self._seen[SHOWN, kind])]
        return self._rnd.choice(self._rnd.choice(known)) if known else None

    def _borrowed(self, p: Field) -> Any:
        """What another tool's sampler takes for such a parameter."""
        return borrowed(p, self._server, self._state, self._rnd)

    def _written(self, p: Field) -> Any:
        """The id of a row that this session wrote to."""
        own = self._state.table_of(p.ref).own if p.ref else None
        return self._recent(list(own)) if own else None

    def _recent(self, items: Sequence[str]) -> str:
        """One of the items, the last ones most often."""
        return items[-1 - int(self._rnd.random() ** 3 * len(items))]

    def _from_a_row(self, p: Field) -> Any:
        """What some row holds in a field of that name."""
        return namesake(p, self._state, self._rnd)

    def _edited(self, p: Field, text: Any = None) -> Any:
        """An earlier text joined to another as a path, or cut, or so long that limits show."""
        text = text or self._earlier(p)
        if not isinstance(text, str) or p.choices:
            return None
        if "/" in text:
            below = str(self._earlier(p)).rpartition("/")[2]
            return self._rnd.choice((f"{text}/{below}", text.rpartition("/")[0] or "/"))
        free = self._long and not p.ref and p.format is None
        return (f"{text} " * (LONG // (len(text) + 1) + 1))[:LONG] if free else None

    def _namesake(self, p: Field, text: str) -> str:
        """The text itself; of a path, another one that ends alike, or where that one lies."""
        end = "/" + text.rpartition("/")[2]
        known = [
            other
            for source in ("", SHOWN)
            for kind in kinds(p)
            for other in self._seen[source, kind]
            if other.endswith(end) and other != text
        ]
        found = self._rnd.choice(known) if known and "/" in text else text
        return self._rnd.choice((found, found.rpartition("/")[0] or found))

    def _remember(self, f: Field, item: Any, code: str = "") -> None:
        """Keep the texts inside a parameter's or a result's value, by what kind each is."""
        if f.item is not None and isinstance(item, list):
            for inner in item:
                self._remember(f.item, inner, code)
        elif isinstance(item, Struct):
            for g in fields_of(type(item)):
                self._remember(g, getattr(item, g.name), code)
        elif isinstance(item, str) and len(item) < LONG:
            for kind in kinds(f):
                self._seen[code, kind].append(item)


def _refused(code: str, tool: Tool) -> str:
    """Reads and writes refuse for different reasons, though they may call them alike."""
    return f"{tool.effect}: {code}"


def _memory() -> deque[str]:
    return deque(maxlen=MEMORY)


def trail(server: Server, seeds: range, calls: int) -> list[str]:
    """What must be the same in every process: each world's digest, that after a walk, and a hash of
    all that its calls gave.
    """
    found = []
    for seed in seeds:
        world = World(seed, [server])
        session = world.open()
        results = [s.result.json() for s in Walk(server, session, rng(seed, "trail")).steps(calls)]
        given = hashlib.sha256(b"\n".join(results)).hexdigest()
        found += [world.digest, session.digest(), given]
    return found
