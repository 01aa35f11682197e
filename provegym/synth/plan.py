"""The offline teacher's plan: a chain of tools carried out on a live scratch session.

Every id that a call needs is taken from the result of a call before it; where none has it, a
discovery call is put in front. What cannot be named so that the policy could find it is not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from random import Random
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from provegym.graph.entities import Handle, consumed, handles, noun, produced, unique_label
from provegym.graph.leaves import CARRIED, Leaf, leaves, taken
from provegym.synth import say
from provegym.types import Ref
from provegym.world.fields import SENSITIVE, Field
from provegym.world.sample import arguments
from provegym.world.server import Server
from provegym.world.session import Session
from provegym.world.tool import Tool

TRIES = 6
"""Plans of one call that are tried before the teacher gives it up."""
MISTAKES = 0.12
"""How often a refused attempt precedes a call: a recovery by corrected parameters (ours)."""
DISALLOWED = 0.5
"""How often a write is preceded by one that the state of the world does not allow, where a few
draws find one: a recovery by corrected parameters, too (ours)."""
VAIN_DRAWS = 3
"""Arguments that are drawn to find such a value."""
REFUSED_DRAWS = 12
"""Arguments that are drawn to find a refused call."""
DETOURS = 0.8
"""How often a look-up that misses what is sought precedes one that shows it, where there is
such a look-up: a recovery by an alternative tool (ours)."""
ADJACENT = 0.85
"""How often an id comes from the latest result that has one."""
SHOWN = 0.6
"""How often a value that people say is taken from the latest results, so that calls connect."""


class Attempt(Struct, frozen=True):
    """A call that was no use."""

    tool: str
    arguments: dict[str, Any]


class Step(Struct, frozen=True):
    """One call of the plan. `said` has the words for each argument that the user must give."""

    id: str
    tool: str
    arguments: dict[str, Any]
    refs: dict[str, Ref]
    said: dict[str, str]
    result: Any
    write: bool
    failed: tuple[Attempt, ...] = ()
    """What was tried before this call: wrong arguments, or another look-up in vain."""

    @property
    def sources(self) -> set[str]:
        """Ids of the calls whose results this one uses."""
        return {ref.call for ref in self.refs.values()}


class Choice(Struct):
    """Arguments of a call in the making."""

    arguments: dict[str, Any]
    refs: dict[str, Ref]
    said: dict[str, str]


class Refusal(Struct, frozen=True):
    """A call that no plan could make succeed, as it was last tried."""

    tool: str
    choice: Choice
    code: str
    message: str
    start: int
    """Number of steps before the look-ups for this call."""


class Planner:
    """Carries out tools one by one; `steps` is what worked, `seen` every id shown so far."""

    def __init__(self, session: Session, rnd: Random) -> None:
        self.session = session
        self.crossing = len(session.world.servers) > 1
        self.rnd = rnd
        self.steps: list[Step] = []
        self.seen: list[Handle] = []
        self.leaves: list[Leaf] = []
        """Plain values shown so far, where the plan may lead to another server."""
        self.plain = False
        """Whether look-ups are made without optional arguments, so that they can go unsaid."""

    def extend(self, name: str) -> bool:
        """Make one more call of the tool, discovery calls first where needed."""
        tool = self.session.world.tools[name].tool
        crosses = bool(self.steps) and self._server(name) != self._server(self.steps[-1].tool)
        for _ in range(TRIES):
            start = len(self.steps), len(self.seen)
            choice = self._choose(tool, depth=1)
            if choice and crosses and not self._carry(tool, choice):
                choice = None
            if choice and self._perform(tool, choice):
                return True
            self._forget(*start)
        return False

    def _server(self, name: str) -> str:
        return self.session.world.tools[name].place

    def give_up(self, name: str, code: str) -> Refusal | None:
        """Look for a call of the tool that this world refuses, with that code if the draws find
        one; its look-ups become steps.

        None where none was found, or where no look-up would show why.
        """
        tool = self.session.world.tools[name].tool
        drawn = self._refused(tool, code)
        for _ in range(TRIES):
            start = len(self.steps), len(self.seen)
            choice = self._choose(tool, depth=1, drawn=drawn)
            if choice and len(self.steps) > start[0] and say.says_all(tool, choice.said):
                error = _error(self.session, tool, choice.arguments)
                if error.get("code") in tool.refuses:
                    return Refusal(name, choice, error["code"], error["message"], start[0])
            self._forget(*start)
        return None

    def _refused(self, tool: Tool, code: str) -> dict[str, Any] | None:
        """Arguments that the session refuses with the code; None where no draw is."""
        state = self.session.state(self._server(tool.name))
        for _ in range(REFUSED_DRAWS):
            drawn = arguments(tool, state, self.rnd)
            if _error(self.session, tool, drawn).get("code") == code:
                return drawn
        return None

    def _forget(self, steps: int, seen: int) -> None:
        """Drop discovery calls that led nowhere (reads leave no trace in the session)."""
        del self.steps[steps:], self.seen[seen:]
        kept = {step.id for step in self.steps}
        self.leaves = [leaf for leaf in self.leaves if leaf.call in kept]

    def _perform(self, tool: Tool, choice: Choice) -> bool:
        repeated = any(s.tool == tool.name and s.arguments == choice.arguments for s in self.steps)
        if repeated or not say.says_all(tool, choice.said):
            return False
        before = self.session.fork()
        result = self.session.call(tool.name, choice.arguments)
        if result.outcome != "ok":
            return False
        self._record(tool, choice, result.builtins(), self._failed(before, tool, choice))
        return True

    def _failed(self, before: Session, tool: Tool, choice: Choice) -> tuple[Attempt, ...]:
        """What is tried in vain before the call."""
        write = tool.effect == "write"
        if write and self.rnd.random() < DISALLOWED and (vain := self._vain(before, tool, choice)):
            return vain
        return self._mistake(before, tool, choice) if self.rnd.random() < MISTAKES else ()

    def _mistake(self, before: Session, tool: Tool, choice: Choice) -> tuple[Attempt, ...]:
        """A value as it was said where the tool takes an id, an exact amount or a whole path;
        nothing where that would not be refused.
        """
        given = [(n, v) for n, v in choice.arguments.items() if isinstance(v, str)]
        said = [(n, _hasty(v, choice.said.get(n, v))) for n, v in given]
        wrong = [(n, v) for n, v in said if v != choice.arguments[n]]
        if not wrong:
            return ()
        name, spoken = self.rnd.choice(wrong)
        arguments = {**choice.arguments, name: spoken}
        outcome = before.fork().call(tool.name, arguments).outcome
        return (Attempt(tool.name, arguments),) if outcome == "tool_error" else ()

    def _vain(self, before: Session, tool: Tool, choice: Choice) -> tuple[Attempt, ...]:
        """The call with another row, or another plain value, than the right one; of what is
        refused for different reasons, each reason is as likely. Nothing where none is refused.
        """
        state = before.state(self._server(tool.name))
        drawn = [arguments(tool, state, self.rnd) for _ in range(VAIN_DRAWS)]
        secret = {p.name for p in tool.parameters if p.has(SENSITIVE)}
        others = [
            (name, other)
            for name, right in choice.arguments.items()
            if name not in secret
            for other in self._others(tool, choice, name, drawn)
            if other is not None and other != right
        ]
        found: dict[str, Attempt] = {}
        for name, other in self.rnd.sample(others, min(REFUSED_DRAWS, len(others))):
            given = {**choice.arguments, name: other}
            found[_error(before, tool, given).get("code", "")] = Attempt(tool.name, given)
        reasons = sorted(found.keys() & set(tool.refuses))
        return (found[self.rnd.choice(reasons)],) if reasons else ()

    def _others(
        self, tool: Tool, choice: Choice, name: str, drawn: Sequence[dict[str, Any]]
    ) -> list[Any]:
        """The rows that were shown for an argument that is an id, else values that were drawn."""
        entity = {p: e for e, p in consumed(tool)}.get(name)
        if entity is None or f"/{name}" not in choice.refs:
            return [given.get(name) for given in drawn]
        return sorted({h.value for h in self.seen if h.entity == entity})

    def _record(self, tool: Tool, choice: Choice, result: Any, failed: tuple[Attempt, ...]) -> None:
        call = f"g{len(self.steps)}"
        write = tool.effect == "write"
        self.steps.append(
            Step(call, tool.name, choice.arguments, choice.refs, choice.said, result, write, failed)
        )
        self.seen += handles(tool, result, call, self.session.world.templates)
        if self.crossing:
            self.leaves += leaves(tool, result, call, self.session.world.templates)

    # -- arguments -------------------------------------------------------------------------

    def _choose(self, tool: Tool, depth: int, drawn: dict[str, Any] | None = None) -> Choice | None:
        """Arguments for a call, of the `drawn` ones those that the policy can be led to."""
        if drawn is None:
            drawn = arguments(tool, self.session.state(self._server(tool.name)), self.rnd)
        choice = Choice({}, {}, {})
        optional = tool.sample is not None and not (self.plain and not depth)
        for p in tool.parameters:
            if p.name not in tool.required and not (optional and p.name in drawn):
                continue
            if not self._fill(tool, p, drawn.get(p.name), tool.sample is not None, choice, depth):
                return None
        return choice

    def _fill(
        self, tool: Tool, p: Field, wanted: Any, sure: bool, choice: Choice, depth: int
    ) -> bool:
        entity = p.ref or (p.item.ref if p.item else None)
        if entity is None or self._by_value(entity):
            if entity and p.ref:
                wanted = self._shown_value(entity, wanted, choice)
            if wanted is None:
                return False
            choice.arguments[p.name] = wanted
            choice.said[p.name] = say.value(tool, p.name, wanted)
            return True
        wishes = wanted if isinstance(wanted, list) else [wanted]
        found = [self._find(entity, w, sure, depth) for w in wishes]
        if not found or any(h is None for h in found):
            return False
        chosen = [h for h in found if h is not None]
        self._refer(p, chosen, choice)
        return len({h.value for h in chosen}) == len(chosen)

    def _refer(self, p: Field, chosen: list[Handle], choice: Choice) -> None:
        many = p.item is not None
        choice.arguments[p.name] = [h.value for h in chosen] if many else chosen[0].value
        for i, h in enumerate(chosen):
            choice.refs[f"/{p.name}/{i}" if many else f"/{p.name}"] = Ref(h.call, h.path)
        choice.said[p.name] = " and ".join(self._named(h) for h in chosen)

    def _shown_value(self, entity: str, wanted: Any, choice: Choice) -> Any:
        """A value that people say (a path, a code): often one that the last results showed, and
        that the call does not hold yet.
        """
        last, given = {s.id for s in self.steps[-2:]}, list(choice.arguments.values())
        seen = [h.value for h in self.seen if h.entity == entity and h.call in last]
        shown = [value for value in seen if value not in given]
        return self.rnd.choice(shown) if shown and self.rnd.random() < SHOWN else wanted

    def _by_value(self, entity: str) -> bool:
        return not self.session.world.templates[entity].row.label

    def _named(self, h: Handle) -> str:
        return h.label if unique_label(h, self.seen) else f"that {noun(h.entity)}"

    # -- values of another server ----------------------------------------------------------

    def _carry(self, tool: Tool, choice: Choice) -> bool:
        """Let one argument be a value that another server has shown; False where none can."""
        at = {step.id: self._server(step.tool) for step in self.steps}
        abroad = [leaf for leaf in self.leaves if at[leaf.call] != self._server(tool.name)]
        options = [
            (name, leaf, words)
            for kind, name in taken(tool)
            for leaf in abroad
            if leaf.kind == kind and (words := self._pointed(leaf))
        ]
        if not options:
            return False
        name, leaf, words = self.rnd.choice(options)
        many = any(p.name == name and p.item is not None for p in tool.parameters)
        choice.arguments[name] = [leaf.value] if many else leaf.value
        choice.refs[f"/{name}/0" if many else f"/{name}"] = Ref(leaf.call, leaf.path)
        choice.said[name] = words
        return True

    def _pointed(self, leaf: Leaf) -> str:
        """Words that single the value out among all shown so far; empty where there are none."""
        if leaf.words:
            same = {x.value for x in self.leaves if x.words == leaf.words}
            return leaf.words if same == {leaf.value} else ""
        latest = [x for x in self.leaves if x.kind == leaf.kind]
        alone = len(latest) == 1 and self.steps[-1].id == leaf.call
        return f"that {CARRIED[leaf.kind]}" if alone else ""

    # -- ids -------------------------------------------------------------------------------

    def _find(self, entity: str, wanted: Any, sure: bool, depth: int) -> Handle | None:
        """A handle of the entity: the wanted one if it was shown, else one that was, else look."""
        usable = self._usable(entity)
        match = [h for h in usable if h.value == wanted]
        if match:
            return match[-1]
        if usable and (not sure or self.rnd.random() < ADJACENT):
            latest = [h for h in usable if h.call == usable[-1].call]
            return self.rnd.choice(latest)
        return self._discover(entity, wanted, depth) if depth else None

    def _usable(self, entity: str) -> list[Handle]:
        """Handles that the user can name: by a unique label, or as the only one just shown."""
        of_entity = [h for h in self.seen if h.entity == entity]
        last = {h.value for h in of_entity if h.call == of_entity[-1].call}
        return [
            h
            for h in of_entity
            if unique_label(h, self.seen) or (last == {h.value} and h.call == of_entity[-1].call)
        ]

    def _discover(self, entity: str, wanted: Any, depth: int) -> Handle | None:
        """Put a read in front that shows the entity."""
        for tool in self._readers(entity)[:3]:
            start = len(self.steps), len(self.seen)
            choice = self._choose(tool, depth - 1)
            if choice and self._perform(tool, choice):
                call = self.steps[-1].id
                shown = [h for h in self._usable(entity) if h.call == call]
                match = [h for h in shown if h.value == wanted]
                if shown:
                    found = match[0] if match else self.rnd.choice(shown)
                    self._detour(tool, found)
                    return found
            self._forget(*start)
        return None

    def _detour(self, tool: Tool, found: Handle) -> None:
        """Sometimes put a look-up in front of the last one that does not show the entity: one by
        its name where an id is due, or one of another list.
        """
        if self.rnd.random() >= DETOURS:
            return
        server = self._server_of(tool)
        name = _hasty(found.value, found.label)
        by_name = [Attempt(t.name, {p: name}) for t, p in lookers(server, found.entity)]
        lists = [Attempt(t.name, {}) for t in readers(server, found.entity) if not t.required]
        tried = [a for a in by_name + lists if a.tool != tool.name and self._misses(a, found)]
        if tried:
            step = self.steps[-1]
            self.steps[-1] = replace(step, failed=(self.rnd.choice(tried), *step.failed))

    def _misses(self, attempt: Attempt, found: Handle) -> bool:
        result = self.session.call(attempt.tool, attempt.arguments)
        return result.outcome != "ok" or found.value.encode() not in result.json()

    def _server_of(self, tool: Tool) -> Server:
        return self.session.world.tools[tool.name].server

    def _readers(self, entity: str) -> list[Tool]:
        """Read tools that show the entity, those that need the fewest ids first; where look-ups
        are to be plain, those that need the fewest arguments.
        """
        found = readers(self.session.world.servers[entity.split(".")[0]], entity)
        mixed = self.rnd.sample(found, len(found))
        return sorted(mixed, key=_demands if self.plain else _needs)


def _error(session: Session, tool: Tool, given: dict[str, Any]) -> dict[str, str]:
    """What a call would be refused with; empty where it would not be."""
    result = session.fork().call(tool.name, given)
    if result.outcome != "tool_error":
        return {}
    error: dict[str, str] = result.builtins()["error"]
    return error


@lru_cache(maxsize=4096)
def readers(server: Server, entity: str) -> tuple[Tool, ...]:
    """Read tools whose results show ids of the entity."""
    tools = server.tools.values()
    return tuple(
        t for t in tools if t.effect == "read" and any(e == entity for e, _ in produced(t))
    )


@lru_cache(maxsize=4096)
def lookers(server: Server, entity: str) -> tuple[tuple[Tool, str], ...]:
    """Read tools that need one id of the entity and nothing else, with that parameter."""
    return tuple(
        (t, name)
        for t in server.tools.values()
        for e, name in consumed(t)
        if t.effect == "read" and e == entity and t.required == {name}
    )


@lru_cache(maxsize=4096)
def alternatives(server: Server, tool: Tool) -> frozenset[str]:
    """Other read tools that need no id and show an entity that this one shows."""
    return frozenset(
        other.name
        for entity, _ in produced(tool)
        for other in readers(server, entity)
        if other is not tool and not _needs(other)
    )


def _hasty(value: str, said: str) -> str:
    """What a hasty assistant gives for a value: the user's words, or a path's last part."""
    words = said.strip('"').removeprefix("the ").removeprefix("my ")
    if words == value:
        return value.rsplit("/", 1)[-1] or value
    return value if words.startswith("that ") else words


def _needs(tool: Tool) -> int:
    return sum(name in tool.required for _, name in consumed(tool))


def _demands(tool: Tool) -> int:
    return len(tool.required)


def tools_of(steps: Iterable[Step]) -> list[str]:
    """Names of the tools in order of first use."""
    names = ([*(a.tool for a in step.failed), step.tool] for step in steps)
    return list(dict.fromkeys(name for group in names for name in group))
