"""What one candidate is made from, and the choices that are the same whoever words it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import TypeVar

from msgspec import Struct

from provegym.config import Synth
from provegym.synth import say, vain
from provegym.synth.draft import Shape
from provegym.world.server import Server
from provegym.world.tool import Tool
from provegym.world.world import World

T = TypeVar("T")

GIVE_UP, AIMING = 0.5, 0.9
"""How often a task with a turn to spare ends in a wish that is refused, and how often it does where
there is a reason to aim at (ours)."""
REASONS, AIMED = 4, 12
"""Reasons that are tried for such a wish, and tries for those that are aimed at."""
AIMS = 60_000
"""Tries for those that are aimed at, in all: many tasks find them with fewer tries each."""
CHAINS = 4
"""Chains that are strung together at most where one is too short."""

AKIN = (
    frozenset({"shopping", "marketplace", "retail_chain"}),
    frozenset({"banking", "budget", "payments", "trading"}),
    frozenset({"email", "team_chat", "social_media"}),
    frozenset({"calendar", "video_meeting"}),
    frozenset({"maps", "vehicle", "travel_booking", "food_delivery"}),
    frozenset({"issue_tracker", "crm"}),
)
"""Servers whose wishes may be taken for wishes for one another: "find a lamp" (ours)."""


def akin(name: str) -> frozenset[str]:
    """The server itself and those that a wish for it may be taken for a wish for."""
    return frozenset({name}).union(*(group for group in AKIN if name in group))


def kin(names: Iterable[str]) -> frozenset[str]:
    """Those of all of these."""
    return frozenset().union(*map(akin, names))


class Brief(Struct, frozen=True):
    """A world that the candidate is about, servers for distractors and wishes in vain, its shape.
    `chain(k)` is its k-th chain of tools, `aims` the codes that its last wish should meet.
    """

    world: World
    others: Sequence[Server]
    settings: Synth
    shape: Shape
    rnd: Random
    chain: Callable[[int], tuple[str, ...]]
    aims: Sequence[str] = ()

    @property
    def server(self) -> Server:
        """The one that the candidate is about."""
        return next(iter(self.world.servers.values()))

    @property
    def strangers(self) -> list[Server]:
        """Other servers whose wishes nobody takes for wishes that this world can meet."""
        home = kin(self.world.servers)
        return [server for server in self.others if server.name not in home]

    def tool(self, name: str) -> Tool:
        """The world's tool of that name."""
        return self.world.tools[name].tool

    def may_begin(self, name: str) -> bool:
        """Whether the tool can be hidden, or a value of it left out, where that is wanted."""
        tool = self.tool(name)
        if self.shape.missing:
            return tool.effect == "write"
        return not self.shape.waits or any(
            p.name in tool.required and say.may_stay_open(p) for p in tool.parameters
        )

    def suited(self, chain: Sequence[str]) -> Sequence[str]:
        """The chain from the first tool on that the first turn can be about."""
        return next((chain[i:] for i, name in enumerate(chain) if self.may_begin(name)), ())

    def parted(self, items: Sequence[T]) -> list[Sequence[T]]:
        """The items cut into the turns of the shape, none of them empty."""
        cuts = sorted(self.rnd.sample(range(1, len(items)), self.shape.groups - 1))
        return [items[a:b] for a, b in zip([0, *cuts], [*cuts, len(items)], strict=True)]

    def gives_up(self) -> bool:
        """Whether a turn and a call to spare are to be for a wish that is refused."""
        shape = self.shape
        room = not shape.calls or shape.calls > shape.groups
        spare = room and shape.length < self.settings.max_turns
        return spare and self.rnd.random() < (AIMING if self.aims else GIVE_UP)

    def codes(self) -> list[str]:
        """Reasons to refuse such a wish, in the order in which they are tried."""
        if not self.aims:
            return vain.reasons(self.server, self.rnd)[:REASONS]
        tries = max(1, min(AIMED, AIMS // self.settings.limit))
        aimed = self.rnd.choices(self.aims, k=tries)
        # A task whose length is given counts on the wish: any reason will do in the end.
        return (
            [*aimed, *vain.reasons(self.server, self.rnd)[:REASONS]] if self.shape.calls else aimed
        )
