"""Chains of 2 to 5 tools along the graph's edges.

The law: the tools are shuffled once a round, and chain number i is grown around tool number
i mod n of its round, so every n chains cover all n tools. A length is drawn from `LENGTHS`, then
the chain grows by one tool at a time, at its front (a tool that leads to the first) or at its end
(one that the last leads to), each a fair choice among those not in the chain; implicit edges are
drawn three times as often, for there are few. A chain that cannot grow stays shorter.

A crossing chain is grown around a step from one server to another: a bridge of the graph half of
the time, where the two have one, else a look-up and a call that takes what it shows. Either must
carry a plain value that can be pointed at.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from random import Random

from provegym.graph.edges import Graph
from provegym.graph.leaves import shown, taken
from provegym.seeding import rng
from provegym.world.server import Server
from provegym.world.tool import Tool

LENGTHS: dict[int, float] = {2: 0.35, 3: 0.35, 4: 0.2, 5: 0.1}
"""Share of each chain length (the paper gives the range only)."""
IMPLICIT_WEIGHT = 3
BRIDGED = 0.5
"""How often a crossing is a bridge where there is one (ours)."""


class Paths:
    """A graph's neighbours, ready for sampling."""

    def __init__(self, graph: Graph) -> None:
        self.tools = tuple(sorted(graph.tools))
        self._next: dict[str, list[str]] = {name: [] for name in self.tools}
        self._before: dict[str, list[str]] = {name: [] for name in self.tools}
        for edge in (e for e in graph.edges if e.kind != "bridge"):
            times = IMPLICIT_WEIGHT if edge.kind == "implicit" else 1
            self._next[edge.source] += [edge.target] * times
            self._before[edge.target] += [edge.source] * times

    def chain(self, seed: int, i: int, through: str = "") -> tuple[str, ...]:
        """Chain number `i`, or one that goes `through` a tool; a tool without any edge is a chain
        of one.
        """
        rnd = rng(seed, "chain", i)
        if through:
            return self._grown([through], max(LENGTHS), rnd)
        order = list(self.tools)
        rng(seed, "round", i // len(order)).shuffle(order)
        return self._grown([order[i % len(order)]], max(LENGTHS), rnd)

    def _grown(self, chain: list[str], most: int, rnd: Random) -> tuple[str, ...]:
        length = rnd.choices(list(LENGTHS), list(LENGTHS.values()))[0]
        while len(chain) < min(length, most) and self._grow(chain, rnd):
            pass
        return tuple(chain)

    def _grow(self, chain: list[str], rnd: Random) -> bool:
        front = [t for t in self._before[chain[0]] if t not in chain]
        end = [t for t in self._next[chain[-1]] if t not in chain]
        if not front and not end:
            return False
        if end and (not front or rnd.random() < 0.5):
            chain.append(rnd.choice(end))
        else:
            chain.insert(0, rnd.choice(front))
        return True


class Crossings(Paths):
    """Chains from the first of a graph's two servers to the second."""

    def __init__(self, graph: Graph, first: Server, second: Server) -> None:
        super().__init__(graph)
        ends = first.tools, second.tools
        self._bridges = [
            (e.source, e.target)
            for e in graph.edges
            if e.kind == "bridge" and e.source in ends[0] and e.target in ends[1]
            if _carries(first.tools[e.source], second.tools[e.target], first)
        ]
        self._steps = [
            (source.name, target.name)
            for source in first.tools.values()
            for target in second.tools.values()
            if source.effect == "read" and _carries(source, target, first)
        ]

    @property
    def count(self) -> int:
        """How many steps lead across."""
        return len(self._bridges) + len(self._steps)

    @property
    def bridged(self) -> bool:
        """Whether the servers share a fact that a bridge carries."""
        return bool(self._bridges)

    def crossing(self, seed: int, i: int, most: int) -> tuple[str, ...]:
        """Crossing chain number `i`, of at most `most` tools; there must be a step across."""
        rnd = rng(seed, "crossing", i)
        told = self._bridges and (not self._steps or rnd.random() < BRIDGED)
        step = rnd.choice(self._bridges if told else self._steps)
        return self._grown(list(step), most, rnd)


def _carries(source: Tool, target: Tool, home: Server) -> bool:
    """Whether the target takes such a value as the source shows so that it can be pointed at."""
    kinds = _pointable(source, home)
    return any(kind in kinds for kind, _ in taken(target))


@lru_cache(maxsize=1024)
def _pointable(source: Tool, home: Server) -> frozenset[str]:
    """Kinds of values that the result shows in a record that has a name, or alone."""
    rows = {f"{home.name}.{name}": table.row for name, table in home.state.tables().items()}
    named = {kind for kind, _, entity in shown(source) if entity in rows and rows[entity].label}
    single = Counter(kind for kind, _, _ in shown(source))
    alone = {kind for kind, steps, _ in shown(source) if "*" not in steps and single[kind] == 1}
    return frozenset(named | alone)
