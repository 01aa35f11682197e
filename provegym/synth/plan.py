"""The offline teacher's plan: a chain of tools carried out on a live scratch session.

Every id that a call needs is taken from the result of a call before it; where none has it, a
discovery call is put in front. What cannot be named so that the policy could find it is not used.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

from msgspec import Struct

from provegym.graph.entities import Handle, consumed, handles, noun, produced, unique_label
from provegym.synth import say
from provegym.types import Ref
from provegym.world.fields import Field
from provegym.world.sample import arguments
from provegym.world.session import Session
from provegym.world.tool import Tool

TRIES = 6
"""Plans of one call that are tried before the teacher gives it up."""
FAILURES_KEPT = 0.15
"""Share of refused attempts that stay in the conversation, to show a recovery (ours)."""
ADJACENT = 0.85
"""How often an id comes from the latest result that has one."""

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
    failed: tuple[dict[str, Any], ...] = ()
    """Arguments of attempts that were refused before this one."""

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
        self.rnd = rnd
        self.steps: list[Step] = []
        self.seen: list[Handle] = []

    def extend(self, name: str) -> bool:
        """Make one more call of the tool, discovery calls first where needed."""
        tool = self.session.world.tools[name].tool
        failed: list[dict[str, Any]] = []
        for _ in range(TRIES):
            start = len(self.steps), len(self.seen)
            choice = self._choose(tool, depth=1)
            if choice and self._perform(tool, choice, failed):
                return True
            plain = choice is not None and len(self.steps) == start[0]
            if choice and plain and not failed and self.rnd.random() < FAILURES_KEPT:
                failed.append(choice.arguments)
            self._forget(*start)
        return False

    def give_up(self, name: str) -> Refusal | None:
        """Look for a call of the tool that this world refuses; its look-ups become steps.

        None where none was found, or where no look-up would show why.
        """
        tool = self.session.world.tools[name].tool
        for _ in range(TRIES):
            start = len(self.steps), len(self.seen)
            choice = self._choose(tool, depth=1)
            if choice and len(self.steps) > start[0] and say.says_all(tool, choice.said):
                result = self.session.fork().call(name, choice.arguments)
                error = result.builtins().get("error", {}) if result.outcome != "ok" else {}
                if error.get("code") in tool.refuses:
                    return Refusal(name, choice, error["code"], error["message"], start[0])
            self._forget(*start)
        return None

    def _forget(self, steps: int, seen: int) -> None:
        """Drop discovery calls that led nowhere (reads leave no trace in the session)."""
        del self.steps[steps:], self.seen[seen:]

    def _perform(self, tool: Tool, choice: Choice, failed: list[dict[str, Any]]) -> bool:
        repeated = any(s.tool == tool.name and s.arguments == choice.arguments for s in self.steps)
        if repeated or not say.says_all(tool, choice.said):
            return False
        result = self.session.call(tool.name, choice.arguments)
        if result.outcome != "ok":
            return False
        self._record(tool, choice, result.builtins(), tuple(failed))
        return True

    def _record(
        self, tool: Tool, choice: Choice, result: Any, failed: tuple[dict[str, Any], ...] = ()
    ) -> None:
        call = f"g{len(self.steps)}"
        write = tool.effect == "write"
        self.steps.append(
            Step(call, tool.name, choice.arguments, choice.refs, choice.said, result, write, failed)
        )
        self.seen += handles(tool, result, call, self.session.world.templates)

    # -- arguments -------------------------------------------------------------------------

    def _choose(self, tool: Tool, depth: int) -> Choice | None:
        server = self.session.world.tools[tool.name].server.name
        state = self.session.state(server)
        drawn = arguments(tool, state, self.rnd)
        choice = Choice({}, {}, {})
        for p in tool.parameters:
            if p.name not in tool.required and not (tool.sample and p.name in drawn):
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
                wanted = self._shown_value(entity, wanted)
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

    def _shown_value(self, entity: str, wanted: Any) -> Any:
        """A value that people say (a path, a code): often one that the last results showed."""
        last = {s.id for s in self.steps[-2:]}
        shown = [h.value for h in self.seen if h.entity == entity and h.call in last]
        return self.rnd.choice(shown) if shown and self.rnd.random() < SHOWN else wanted

    def _by_value(self, entity: str) -> bool:
        return not self.session.world.templates[entity].row.label

    def _named(self, h: Handle) -> str:
        return h.label if unique_label(h, self.seen) else f"that {noun(h.entity)}"

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
            if choice and self._perform(tool, choice, []):
                call = self.steps[-1].id
                shown = [h for h in self._usable(entity) if h.call == call]
                match = [h for h in shown if h.value == wanted]
                if shown:
                    return match[0] if match else self.rnd.choice(shown)
            self._forget(*start)
        return None

    def _readers(self, entity: str) -> list[Tool]:
        """Read tools that show the entity, those that need the fewest ids first."""
        server = entity.split(".")[0]
        tools = self.session.world.servers[server].tools.values()
        readers = [
            t for t in tools if t.effect == "read" and any(e == entity for e, _ in produced(t))
        ]
        self.rnd.shuffle(readers)
        return sorted(readers, key=_needs)


def _needs(tool: Tool) -> int:
    return sum(name in tool.required for _, name in consumed(tool))


def tools_of(steps: Iterable[Step]) -> list[str]:
    """Names of the tools in order of first use."""
    return list(dict.fromkeys(step.tool for step in steps))
