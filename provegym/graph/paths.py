"""Chains of 2 to 5 tools along the graph's edges.

The law: the tools are shuffled once a round, and chain number i is grown around tool number
i mod n of its round, so every n chains cover all n tools. A length is drawn from `LENGTHS`, then
the chain grows by one tool at a time, at its front (a tool that leads to the first) or at its end
(one that the last leads to), each a fair choice among those not in the chain; implicit edges are
drawn three times as often, for there are few. A chain that cannot grow stays shorter.
"""

from __future__ import annotations

from random import Random

from provegym.graph.edges import Graph
from provegym.seeding import rng

LENGTHS: dict[int, float] = {2: 0.35, 3: 0.35, 4: 0.2, 5: 0.1}
"""Share of each chain length (the paper gives the range only)."""
IMPLICIT_WEIGHT = 3


class Paths:
    """A graph's neighbours, ready for sampling."""

    def __init__(self, graph: Graph) -> None:
        self.tools = tuple(sorted(graph.tools))
        self._next: dict[str, list[str]] = {name: [] for name in self.tools}
        self._before: dict[str, list[str]] = {name: [] for name in self.tools}
        for edge in graph.edges:
            times = IMPLICIT_WEIGHT if edge.kind == "implicit" else 1
            self._next[edge.source] += [edge.target] * times
            self._before[edge.target] += [edge.source] * times

    def chain(self, seed: int, i: int) -> tuple[str, ...]:
        """Chain number `i`; a tool without any edge is a chain of one."""
        rnd = rng(seed, "chain", i)
        order = list(self.tools)
        rng(seed, "round", i // len(order)).shuffle(order)
        chain = [order[i % len(order)]]
        length = rnd.choices(list(LENGTHS), list(LENGTHS.values()))[0]
        while len(chain) < length and self._grow(chain, rnd):
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
