"""Calls that are no use: what an assistant tries before the right call, or a wish that is refused.

Their arguments are drawn live, with one of them changed to what another row holds or to any value
of its type, for a tool's own sampler avoids what is refused. Of several reasons for a refusal the
rarer ones are preferred, so that a large set of tasks meets them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from random import Random
from typing import Any

from msgspec import Struct

from provegym.world.fields import SENSITIVE
from provegym.world.sample import arguments, borrowed, namesake, value
from provegym.world.server import Server
from provegym.world.session import Session
from provegym.world.tool import Tool

MISTAKES = 0.12
"""How often a hasty attempt precedes a call: a recovery by corrected parameters (ours)."""
DISALLOWED = 0.5
"""How often a call that the state of the world may not allow is preceded by one that it does not,
where a few draws find one: a recovery by corrected parameters, too (ours)."""
VAIN_DRAWS = 2
"""Arguments that are drawn to take values from."""
TRIED = 12
"""Changes of a call that are tried for one that is refused."""
REFUSED_DRAWS = 100
"""Calls that are tried for one that is refused for a certain reason."""
CHANGES = 5
"""Of so many calls one is drawn anew, and the others are changes of it."""
LEFT_OUT = 0.3
"""How often a change of an optional argument is to leave it out."""
MISSING = "not_found"
"""The code that says no more than that a row is not there."""


class Attempt(Struct, frozen=True):
    """A call that was no use."""

    tool: str
    arguments: dict[str, Any]


class Values:
    """Where values for the parameters of a tool come from in one session."""

    def __init__(self, session: Session, tool: Tool, rnd: Random) -> None:
        self._server = session.world.tools[tool.name].server
        self._state = session.state(self._server.name)
        self._tool, self._rnd = tool, rnd
        self._parameters = {p.name: p for p in tool.parameters}
        self._drawn: list[dict[str, Any]] = []

    def draw(self) -> dict[str, Any]:
        """Arguments as the tool's sampler takes them."""
        self._drawn.append(arguments(self._tool, self._state, self._rnd))
        return dict(self._drawn[-1])

    def changed(self) -> dict[str, Any]:
        """The latest arguments drawn, with another value for one of them or without it."""
        given = dict(self._drawn[-1])
        if given:
            name = self._rnd.choice(list(given))
            if name not in self._tool.required and self._rnd.random() < LEFT_OUT:
                del given[name]
            else:
                given[name] = self.another(name)
        return given

    def another(self, name: str) -> Any:
        """Another value for a parameter: of earlier draws, of another tool's, what some row calls
        so, or any of its type.
        """
        p, rnd, state = self._parameters[name], self._rnd, self._state
        kind = rnd.randrange(4)
        if kind == 0:
            return rnd.choice(self._drawn).get(name)
        found = None
        if kind == 1:
            found = namesake(p, state, rnd)
        elif kind == 2:
            found = borrowed(p, self._server, state, rnd)
        return value(p, state, rnd) if found is None else found


def error(session: Session, tool: Tool, given: Mapping[str, Any]) -> dict[str, str]:
    """What a call would be refused with; empty where it would not be."""
    result = session.fork().call(tool.name, dict(given))
    if result.outcome != "tool_error":
        return {}
    found: dict[str, str] = result.builtins()["error"]
    return found


def refused(session: Session, tool: Tool, code: str, rnd: Random) -> dict[str, Any] | None:
    """Arguments that the session refuses with the code; None where no draw is."""
    values = Values(session, tool, rnd)
    for i in range(REFUSED_DRAWS):
        given = values.changed() if i % CHANGES else values.draw()
        if error(session, tool, given).get("code") == code:
            return given
    return None


def mistake(
    before: Session, tool: Tool, given: Mapping[str, Any], said: Mapping[str, str], rnd: Random
) -> Attempt | None:
    """Now and then, a value as it was said where the tool takes an id, an exact amount or a whole
    path; None where that would not be refused.
    """
    if rnd.random() >= MISTAKES:
        return None
    texts = [(n, v) for n, v in given.items() if isinstance(v, str)]
    spoken = [(n, hasty(v, said.get(n, v))) for n, v in texts]
    wrong = [(n, v) for n, v in spoken if v != given[n]]
    if not wrong:
        return None
    attempt = dict([*given.items(), rnd.choice(wrong)])
    return Attempt(tool.name, attempt) if error(before, tool, attempt) else None


def hasty(value: str, said: str) -> str:
    """What a hasty assistant gives for a value: the user's words, or a path's last part."""
    words = said.strip('"').removeprefix("the ").removeprefix("my ")
    if words == value:
        return value.rsplit("/", 1)[-1] or value
    return value if words.startswith("that ") else words


def disallowed(
    before: Session,
    tool: Tool,
    given: Mapping[str, Any],
    rows: Mapping[str, set[str]],
    rnd: Random,
) -> Attempt | None:
    """Half of the time, the call with one argument changed so that the state of the world does
    not allow it: to another of the `rows` that were shown for it, or to another plain value. A row
    may be given by its name.
    """
    server = before.world.tools[tool.name].server
    if not set(tool.refuses) - {MISSING} or rnd.random() >= DISALLOWED:
        return None
    values = Values(before, tool, rnd)
    for _ in range(VAIN_DRAWS):
        values.draw()
    secret = {p.name for p in tool.parameters if p.has(SENSITIVE)}
    names = sorted(given.keys() - secret)
    found: dict[str, Attempt] = {}
    for name in rnd.choices(names, k=TRIED) if names else ():
        shown = sorted(rows.get(name, ()))
        right = given[name]
        other = hasty(right, rnd.choice(shown)) if shown else values.another(name)
        if other is not None and other != right:
            attempt = {**given, name: other}
            code = error(before, tool, attempt).get("code", "")
            found.setdefault(code, Attempt(tool.name, attempt))
    codes = sorted(found.keys() & set(tool.refuses))
    return found[_rarest(server, codes, rnd)] if codes else None


@lru_cache(maxsize=64)
def declared(server: Server) -> Counter[str]:
    """How many tools of the server declare each code."""
    return Counter(code for tool in server.tools.values() for code in tool.refuses)


def reasons(server: Server, rnd: Random) -> list[str]:
    """All codes that the server's tools declare for what is there, in random order; those that
    few tools declare tend to come first.
    """
    counts = declared(server)
    codes = sorted(counts.keys() - {MISSING})
    return sorted(codes, key=lambda code: -(rnd.random() ** counts[code]))


def tools_that_refuse(server: Server, code: str) -> list[Tool]:
    """The server's tools that declare the code."""
    return [tool for tool in server.tools.values() if code in tool.refuses]


def _rarest(server: Server, codes: list[str], rnd: Random) -> str:
    """One of the codes; those that few tools declare are likelier."""
    counts = declared(server)
    return rnd.choices(codes, [1 / counts[code] ** 2 for code in codes])[0]
