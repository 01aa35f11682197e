"""What each turn of a conversation is to be about, before a model puts it into words.

The same shapes as the offline teacher's: a chain of tools cut into turns, a first turn that lacks
a value or a tool, a wish for a server that is not there, a last wish that the world refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from random import Random
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from provegym.config import Synth
from provegym.graph.entities import consumed
from provegym.synth import say, vain
from provegym.synth.context import entities
from provegym.synth.draft import Shape
from provegym.synth.offline import CHAINS, GIVE_UP, REASONS, Rejected
from provegym.synth.plan import MAX_CALLS
from provegym.world.server import Server
from provegym.world.tool import Tool
from provegym.world.world import World

Mode = Literal[
    "wish",  # something that the tools can do
    "hidden",  # something that only a tool could do that is not on offer
    "insist",  # the same once more
    "irrelevant",  # something that only another server could do
    "refused",  # something that the world does not allow
    "answer",  # what the assistant asked for
    "granted",  # the tool that was not on offer
]


class Item(Struct, frozen=True):
    """One turn. `leave_out` is a parameter of `tools[-1]` whose value the user keeps back, `code`
    what the wish is to be refused with and `example` arguments for which a fresh world does so,
    `server` where the tools are that the task does not show.
    """

    mode: Mode
    tools: tuple[str, ...] = ()
    leave_out: str = ""
    code: str = ""
    example: dict[str, Any] = {}
    server: str = ""


class Agenda(Struct, frozen=True):
    """All turns, and the tool that the first one lacks."""

    items: tuple[Item, ...]
    hidden: str = ""

    @property
    def goals(self) -> frozenset[str]:
        """Tools that users' wishes are about."""
        return frozenset(name for item in self.items for name in item.tools)

    @property
    def away(self) -> frozenset[str]:
        """Servers that the task may show no tool of."""
        return frozenset(item.server for item in self.items if item.server)


class Writer:
    """Draws up the agenda of one candidate. `chain(k)` is its k-th chain of tools, `aims` are codes
    that a last wish should be refused with.
    """

    def __init__(
        self,
        world: World,
        others: Sequence[Server],
        settings: Synth,
        shape: Shape,
        rnd: Random,
        chain: Callable[[int], tuple[str, ...]],
        aims: Sequence[str] = (),
    ) -> None:
        self.world, self.others, self.settings = world, others, settings
        self.shape, self.rnd, self.chain, self.aims = shape, rnd, chain, aims
        self.server = next(iter(world.servers.values()))

    def agenda(self) -> Agenda:
        """All turns. Raises `Rejected` where the chains have no room for the shape."""
        if self.shape.kind == "abstention":
            return self._abstention()
        first, *groups = self._groups()
        hidden = first[0] if self.shape.missing else ""
        items = self._opening(first, groups)
        items += [Item("wish", tuple(group)) for group in groups]
        if len(items) + self.shape.irrelevant < self.settings.max_turns:
            items += self._refused(hidden)
        if self.shape.irrelevant:
            earliest = min(1 + self.shape.supplied, len(items))
            items.insert(self.rnd.randrange(earliest, len(items) + 1), self._irrelevant())
        return Agenda(tuple(items), hidden)

    def _opening(self, first: list[str], groups: list[list[str]]) -> list[Item]:
        """The first turn, and the second where that supplies what the first lacks."""
        if self.shape.missing:
            return [Item("hidden", (first[0],)), Item("granted", tuple(first))]
        if not self.shape.supplied:
            return [Item("wish", tuple(first))]
        before = first if self.shape.partial else []
        wanted, *rest = groups.pop(0) if self.shape.partial else first
        name = self._leavable(self._tool(wanted))
        if not name:
            raise Rejected("nothing_to_leave_out")
        return [Item("wish", (*before, wanted), leave_out=name), Item("answer", tuple(rest))]

    # -- tools of the turns ----------------------------------------------------------------

    def _groups(self) -> list[list[str]]:
        """Tools of one chain, or of more where it is too short, cut into the turns of the shape."""
        count = self.shape.groups
        needed = max(count, self.settings.min_chain)
        tools = list(islice(self._tools(needed), MAX_CALLS))
        if len(tools) < count:
            raise Rejected("short_chains")
        cuts = sorted(self.rnd.sample(range(1, len(tools)), count - 1))
        return [tools[a:b] for a, b in zip([0, *cuts], [*cuts, len(tools)], strict=True)]

    def _tools(self, needed: int) -> Iterator[str]:
        """Distinct tools of the chains, whole chains until there are as many as needed."""
        seen: list[str] = []
        for k in range(CHAINS):
            chain = self.chain(k)[: self.settings.max_chain]
            if not seen:
                chain = next((chain[i:] for i, t in enumerate(chain) if self._may_begin(t)), ())
            fresh = [name for name in chain if name not in seen]
            yield from fresh
            seen += fresh
            if len(seen) >= needed:
                return

    def _may_begin(self, name: str) -> bool:
        """Whether the tool can be hidden, or a value of it left out, where that is wanted."""
        tool = self._tool(name)
        if self.shape.missing:
            return tool.effect == "write"
        return not self.shape.waits or bool(self._leavable(tool))

    def _leavable(self, tool: Tool) -> str:
        """A parameter that can be left open; "" where there is none."""
        names = [p.name for p in tool.parameters if p.name in tool.required]
        open_ = [p.name for p in tool.parameters if p.name in names and say.may_stay_open(p)]
        return self.rnd.choice(open_) if open_ else ""

    def _tool(self, name: str) -> Tool:
        return self.world.tools[name].tool

    # -- wishes that cannot be met ---------------------------------------------------------

    def _refused(self, hidden: str) -> list[Item]:
        """At times a last wish that the world refuses."""
        if not self.aims and self.rnd.random() >= GIVE_UP:
            return []
        codes = list(self.aims) or vain.reasons(self.server, self.rnd)
        session = self.world.open()
        for code in self.rnd.sample(codes, len(codes))[:REASONS] if self.aims else codes[:REASONS]:
            tool = self.rnd.choice(vain.tools_that_refuse(self.server, code))
            given = vain.refused(session, tool, code, self.rnd) if tool.name != hidden else None
            if given is not None and self._nameable(tool, given):
                return [Item("refused", (tool.name,), code=code, example=given)]
        return []

    def _nameable(self, tool: Tool, given: dict[str, Any]) -> bool:
        """Whether a person could name all that the call takes by an id."""
        servers = tuple(self.world.servers)
        known = {e.id for kind in entities(self.world.seed, servers).values() for e in kind}
        taken = [given[name] for _, name in consumed(tool) if name in given]
        return all(
            v in known for value in taken for v in (value if isinstance(value, list) else [value])
        )

    def _irrelevant(self) -> Item:
        server = self.rnd.choice(list(self.others))
        return Item("irrelevant", (self.rnd.choice(list(server.tools)),), server=server.name)

    def _abstention(self) -> Agenda:
        """No turn can be met: wishes for another server, or for a tool that is hidden."""
        if self.shape.irrelevant:
            first = self._irrelevant()
            tools = list(next(s for s in self.others if s.name == first.server).tools)
            wished = self.rnd.sample(tools, min(len(tools), self.shape.turns))
            return Agenda(tuple(replace(first, tools=(name,)) for name in wished))
        writes = [t.name for t in self.server.tools.values() if t.effect == "write"]
        hidden = self.rnd.choice(writes)
        again = [Item("insist", (hidden,))] * (self.shape.turns - 1)
        return Agenda((Item("hidden", (hidden,)), *again), hidden)
