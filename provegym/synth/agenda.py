"""What each turn of a conversation is to be about, before a model puts it into words.

The same shapes as the offline teacher's: a chain of tools cut into turns, a first turn that lacks
a value or a tool, a wish for a server that is not there, a last wish that the world refuses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from provegym import servers as library
from provegym.graph.entities import consumed
from provegym.synth import say, vain
from provegym.synth.brief import CHAINS, Brief, kin
from provegym.synth.context import entities
from provegym.synth.offline import Rejected
from provegym.synth.plan import MAX_CALLS
from provegym.world.tool import Tool

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
    """All turns, and the tool that the first one lacks, with its server."""

    items: tuple[Item, ...]
    hidden: str = ""
    home: str = ""

    @property
    def goals(self) -> frozenset[str]:
        """Tools that users' wishes are about."""
        return frozenset(name for item in self.items for name in item.tools)

    @property
    def away(self) -> frozenset[str]:
        """Servers that the task may show no tool of as a distractor: a wish that cannot be met may
        be taken for one that theirs can.
        """
        wished = {item.server for item in self.items if item.server}
        return kin(wished | ({self.home} if self.home else set()))


class Writer:
    """Draws up the agenda of one candidate."""

    def __init__(self, brief: Brief) -> None:
        self.brief, self.world, self.settings = brief, brief.world, brief.settings
        self.shape, self.rnd, self.server = brief.shape, brief.rnd, brief.server

    def agenda(self) -> Agenda:
        """All turns. Raises `Rejected` where the chains have no room for the shape."""
        if self.shape.kind == "abstention":
            return self._abstention()
        first, *groups = self._groups()
        hidden = first[0] if self.shape.missing else ""
        items = self._opening(first, groups)
        items += [Item("wish", tuple(group)) for group in groups]
        items += self._refused(hidden) if self.brief.gives_up() else []
        if self.shape.irrelevant:
            earliest = min(1 + self.shape.supplied, len(items))
            items.insert(self.rnd.randrange(earliest, len(items) + 1), self._irrelevant())
        return Agenda(tuple(items), hidden, self._home(hidden))

    def _opening(self, first: Sequence[str], groups: list[Sequence[str]]) -> list[Item]:
        """The first turn, and the second where that supplies what the first lacks."""
        if self.shape.missing:
            return [Item("hidden", (first[0],)), Item("granted", tuple(first))]
        if not self.shape.supplied:
            return [Item("wish", tuple(first))]
        before = first if self.shape.partial else []
        wanted, *rest = groups.pop(0) if self.shape.partial else first
        name = self._leavable(self.brief.tool(wanted))
        if not name:
            raise Rejected("nothing_to_leave_out")
        return [Item("wish", (*before, wanted), leave_out=name), Item("answer", tuple(rest))]

    # -- tools of the turns ----------------------------------------------------------------

    def _groups(self) -> list[Sequence[str]]:
        """Tools of one chain, or of more where it is too short, cut into the turns of the shape."""
        count = self.shape.groups
        needed = max(count, self.settings.min_chain)
        tools = list(islice(self._tools(needed), MAX_CALLS))
        if len(tools) < count:
            raise Rejected("short_chains")
        return self.brief.parted(tools)

    def _tools(self, needed: int) -> Iterator[str]:
        """Distinct tools of the chains, whole chains until there are as many as needed."""
        seen: list[str] = []
        for k in range(CHAINS):
            chain = self.brief.chain(k)[: self.settings.max_chain]
            chosen = chain if seen else self.brief.suited(chain)
            fresh = [name for name in chosen if name not in seen]
            yield from fresh
            seen += fresh
            if len(seen) >= needed:
                return

    def _leavable(self, tool: Tool) -> str:
        """A parameter that can be left open; "" where there is none."""
        names = [p.name for p in tool.parameters if p.name in tool.required]
        open_ = [p.name for p in tool.parameters if p.name in names and say.may_stay_open(p)]
        return self.rnd.choice(open_) if open_ else ""

    # -- wishes that cannot be met ---------------------------------------------------------

    def _refused(self, hidden: str) -> list[Item]:
        """A last wish that the world refuses, if one is found."""
        session = self.world.open()
        for code in self.brief.codes():
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
        strangers = self.brief.strangers
        if not strangers:
            raise Rejected("no_other_server")
        server = self.rnd.choice(strangers)
        return Item("irrelevant", (self.rnd.choice(list(server.tools)),), server=server.name)

    def _abstention(self) -> Agenda:
        """No turn can be met: wishes for another server, or for a tool that is hidden."""
        if self.shape.irrelevant and self.brief.strangers:
            first = self._irrelevant()
            tools = list(library.load(first.server).tools)
            wished = self.rnd.sample(tools, min(len(tools), self.shape.turns))
            return Agenda(tuple(replace(first, tools=(name,)) for name in wished))
        writes = [t.name for t in self.server.tools.values() if t.effect == "write"]
        hidden = self.rnd.choice(writes)
        again = [Item("insist", (hidden,))] * (self.shape.turns - 1)
        return Agenda((Item("hidden", (hidden,)), *again), hidden, self.server.name)

    def _home(self, hidden: str) -> str:
        return self.world.tools[hidden].place if hidden else ""
