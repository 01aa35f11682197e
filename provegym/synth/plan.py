"""The offline teacher's plan: a chain of tools carried out on a live scratch session.

Every id that a call needs is taken from the result of a call before it; where none has it, a
discovery call is put in front. What cannot be named so that the policy could find it is not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from provegym.dataset.leaks import id_shape
from provegym.graph.entities import Handle, consumed, handles, noun, produced, unique_label
from provegym.graph.leaves import CARRIED, Leaf, leaves, looks_ahead, taken
from provegym.rollout import pointer
from provegym.synth import lookup, say, vain
from provegym.synth.vain import Attempt
from provegym.types import Ref
from provegym.world.fields import Field
from provegym.world.sample import arguments
from provegym.world.server import Server
from provegym.world.session import Session
from provegym.world.table import Row
from provegym.world.tool import Tool

MAX_CALLS = 6
"""Most calls of a task, discovery calls included (ours; keeps episodes within a laptop's reach)."""
TRIES = 6
"""Plans of one call that are tried before the teacher gives it up."""
DETOURS = 0.8
"""How often a look-up that misses what is sought precedes one that shows it, where there is
such a look-up: a recovery by an alternative tool (ours)."""
DEPTH = 2
"""Look-ups that may stand one behind the other before a call, each for an id of the next."""
ADJACENT = 0.85
"""How often an id comes from the latest result that has one."""
CROSSING_TRIES, CARRIES = 2, 4
"""Plans of a call that leads to another server, and values of the other one tried in each."""
SHOWN = 0.6
"""How often a value that people say is taken from the latest results, so that calls connect."""


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
    """Arguments of a call in the making, with what they refer to and how they are said."""

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
        self.before: dict[str, Session] = {}
        """The moment before each step, by its id."""
        self.seen: list[Handle] = []
        self.leaves: list[Leaf] = []
        """Plain values shown so far, where the plan may lead to another server."""
        self.plain = False
        """Whether look-ups are made without optional arguments, so that they can go unsaid."""
        self.sought: list[Row] = []
        """The rows that look-ups in the making are to lead to, the outermost first."""
        self.strict = False
        """Whether the arguments that were drawn are the only ones that will do."""

    def extend(self, name: str, most: int = MAX_CALLS) -> bool:
        """Make one more call of the tool, discovery calls first where needed, if there are to be
        no more than `most` calls then.
        """
        tool = self.session.world.tools[name].tool
        crosses = bool(self.steps) and self._server(name) != self._server(self.steps[-1].tool)
        if crosses and not self._carriable(tool):
            return False
        for _ in range(CROSSING_TRIES if crosses else TRIES):
            start = len(self.steps), len(self.seen)
            choice = self._choose(tool, DEPTH)
            ways = self._ways(tool, choice, crosses) if choice and len(self.steps) < most else ()
            if any(self._perform(tool, way) for way in ways):
                return True
            self._forget(*start)
        return False

    def _ways(self, tool: Tool, choice: Choice, crosses: bool) -> list[Choice]:
        """The choice itself or, where the call leads across, some with a value carried over."""
        if not crosses:
            return [choice]
        found = self._carriable(tool)
        return [
            _carrying(tool, choice, *c) for c in self.rnd.sample(found, min(CARRIES, len(found)))
        ]

    def _server(self, name: str) -> str:
        return self.session.world.tools[name].place

    def give_up(self, name: str, code: str) -> Refusal | None:
        """Look for a call of the tool that this world refuses with the code; its look-ups become
        steps.

        None where none was found, or where no look-up would show why.
        """
        tool = self.session.world.tools[name].tool
        drawn = vain.refused(self.session, tool, code, self.rnd)
        self.strict = True
        found = None if drawn is None else self._refused(tool, code, drawn)
        self.strict = False
        return found

    def _refused(self, tool: Tool, code: str, drawn: dict[str, Any]) -> Refusal | None:
        """The drawn call, if look-ups lead to all that it takes."""
        for _ in range(TRIES):
            start = len(self.steps), len(self.seen)
            choice = self._choose(tool, DEPTH, drawn)
            if choice and self._looked(tool, start[0]) and self._sayable(tool, choice):
                error = vain.error(self.session, tool, choice.arguments)
                if error.get("code") == code:
                    return Refusal(tool.name, choice, code, error["message"], start[0])
            self._forget(*start)
        return None

    def _sayable(self, tool: Tool, choice: Choice) -> bool:
        """Whether people can say all of the call's values: none is, or looks like, a row's id."""
        prefixes = {t.prefix for t in self.session.world.templates.values()}
        shape = re.compile(rf"\b{id_shape(prefixes)}")
        ids = any(shape.search(said) for said in choice.said.values())
        return say.says_all(tool, choice.said) and not ids

    def _looked(self, tool: Tool, start: int) -> bool:
        """Whether there is a look-up from step `start` on; if not, one is made of what the tool
        takes by its value or makes.
        """
        about = [e for e, _ in consumed(tool)] + [e for e, _ in produced(tool)]
        for entity in dict.fromkeys(about):
            if len(self.steps) == start and entity in self.session.world.templates:
                self._show(entity)
        return len(self.steps) > start

    def _show(self, entity: str) -> None:
        """Make a look-up that needs no id and shows the entity, if there is one."""
        for reader in self._readers(entity)[:3]:
            choice = self._choose(reader, 0)
            if choice and self._perform(reader, choice):
                return

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
        self.before[f"g{len(self.steps)}"] = before
        self._record(tool, choice, result.builtins(), self._failed(before, tool, choice))
        return True

    def _failed(self, before: Session, tool: Tool, choice: Choice) -> tuple[Attempt, ...]:
        """What is tried in vain before the call."""
        rows = {
            name: {h.value for h in self.seen if h.entity == entity} | {choice.said[name]}
            for entity, name in consumed(tool)
            if f"/{name}" in choice.refs
        }
        given = choice.arguments
        found = vain.disallowed(before, tool, given, rows, self.rnd) or vain.mistake(
            before, tool, given, choice.said, self.rnd
        )
        return (found,) if found else ()

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
        bare = self.plain and depth < DEPTH
        optional = tool.sample is not None and not bare
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
        if self.strict:
            return wanted
        last, given = {s.id for s in self.steps[-2:]}, list(choice.arguments.values())
        seen = [h.value for h in self.seen if h.entity == entity and h.call in last]
        shown = [value for value in seen if value not in given]
        return self.rnd.choice(shown) if shown and self.rnd.random() < SHOWN else wanted

    def _by_value(self, entity: str) -> bool:
        return not self.session.world.templates[entity].row.label

    def _named(self, h: Handle) -> str:
        return h.label if unique_label(h, self.seen) else f"that {noun(h.entity)}"

    # -- values of another server ----------------------------------------------------------

    def _carriable(self, tool: Tool) -> list[tuple[str, Leaf, str]]:
        """(parameter, value of another server that it may take, words for it)."""
        at = {step.id: self._server(step.tool) for step in self.steps}
        abroad = [leaf for leaf in self.leaves if at[leaf.call] != self._server(tool.name)]
        now = self.session.now
        return [
            (name, leaf, words)
            for kind, name in taken(tool)
            for leaf in abroad
            if leaf.kind == kind and not looks_ahead(name, leaf.value, now)
            if (words := self._pointed(leaf))
        ]

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
        if usable and not self.strict and (not sure or self.rnd.random() < ADJACENT):
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
        state = self.session.state(entity.split(".")[0])
        row = state.table_of(entity).get(wanted) if isinstance(wanted, str) else None
        if row is None:
            return self._seek(entity, None, depth)
        self.sought.append(row)
        found = self._seek(entity, row, depth)
        self.sought.pop()
        return found

    def _seek(self, entity: str, wanted: Row | None, depth: int) -> Handle | None:
        for tool in self._readers(entity)[:3]:
            start = len(self.steps), len(self.seen)
            choice = self._choose(tool, depth - 1, self._leading_to(wanted, tool))
            if choice and self._perform(tool, choice):
                call = self.steps[-1].id
                shown = [h for h in self._usable(entity) if h.call == call]
                match = [h for h in shown if wanted and h.value == wanted.id]
                if match or (shown and not self.strict):
                    found = match[0] if match else self.rnd.choice(shown)
                    self._detour(tool, found)
                    return found
            self._forget(*start)
        return None

    def _leading_to(self, wanted: Row | None, tool: Tool) -> dict[str, Any]:
        """Arguments of a look-up, with the ids that the wanted row refers to; where no other row
        will do, filtered by what that row holds.
        """
        drawn = arguments(tool, self.session.state(self._server(tool.name)), self.rnd)
        if wanted is None:
            return drawn
        led = {n: v for n, v in lookup.owners(tool, wanted).items() if n in tool.required}
        if not self.strict:
            return drawn | led
        needed = {n: v for n, v in drawn.items() if n in tool.required}
        return needed | lookup.filters(tool, self.sought, self.rnd) | led

    def _detour(self, tool: Tool, found: Handle) -> None:
        """Sometimes put a look-up in front of the last one that does not show the entity: one by
        its name where an id is due, or one of another list.
        """
        if self.rnd.random() >= DETOURS:
            return
        server = self._server_of(tool)
        name = vain.hasty(found.value, found.label)
        by_name = [Attempt(t.name, {p: name}) for t, p in lookup.lookers(server, found.entity)]
        readers = lookup.readers(server, found.entity)
        lists = [Attempt(t.name, {}) for t in readers if not t.required]
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
        found = lookup.readers(self.session.world.servers[entity.split(".")[0]], entity)
        mixed = self.rnd.sample(found, len(found))
        return sorted(mixed, key=lookup.demands if self.plain else lookup.ids_needed)


def _carrying(tool: Tool, choice: Choice, name: str, leaf: Leaf, words: str) -> Choice:
    """The choice with a value of another server for one argument."""
    many = any(p.name == name and p.item is not None for p in tool.parameters)
    place = f"/{name}/0" if many else f"/{name}"
    return Choice(
        {**choice.arguments, name: [leaf.value] if many else leaf.value},
        {**choice.refs, place: Ref(leaf.call, leaf.path)},
        {**choice.said, name: words},
    )


def uses_of(step: Step, refs: Iterable[Mapping[str, Ref]]) -> set[Any]:
    """The values in the step's result that the references lead to."""
    paths = {ref.path for found in refs for ref in found.values() if ref.call == step.id}
    return {pointer.resolve(step.result, path) for path in paths}


def tools_of(steps: Iterable[Step]) -> list[str]:
    """Names of the tools in order of first use."""
    names = ([*(a.tool for a in step.failed), step.tool] for step in steps)
    return list(dict.fromkeys(name for group in names for name in group))
