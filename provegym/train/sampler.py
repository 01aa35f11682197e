"""Batched sampling for all live episodes of one event loop.

Every episode awaits its own reply; all waiting ones advance one token at a time in one batch.
Each draws from its own generator, so what it samples does not depend on who else is in the batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

import torch

from provegym.train.engine import Engine
from provegym.train.tree import Row, Tree

COLUMNS = 24
"""Columns up to which a forward pass costs about the same on two cores."""


@dataclass(frozen=True)
class Sampled:
    """A reply's ids (the end token included, if it came) and their log-probabilities."""

    ids: list[int]
    logprobs: list[float]


@dataclass
class _Request:
    tree: Tree
    node: int
    limit: int
    rng: Random
    future: asyncio.Future[Sampled]
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)


class Sampler:
    """Samples replies from an engine. `temperature` 0 is greedy.

    `end` is the token that closes a reply.
    """

    def __init__(self, engine: Engine, *, end: int, temperature: float = 1.0) -> None:
        self.engine, self.end, self.temperature = engine, end, temperature
        self.steps = 0
        self._live: list[_Request] = []
        self._pump: asyncio.Task[None] | None = None

    async def complete(self, tree: Tree, node: int, limit: int, rng: Random) -> Sampled:
        """At most `limit` tokens (at least one) that follow `node`."""
        future: asyncio.Future[Sampled] = asyncio.get_running_loop().create_future()
        self._live.append(_Request(tree, node, max(1, limit), rng, future))
        if self._pump is None or self._pump.done():
            self._pump = asyncio.ensure_future(self._run())
        return await future

    async def _run(self) -> None:
        """Advance all live requests until none is left; a fault goes to every one that waits."""
        await asyncio.sleep(0)
        while self._live:
            try:
                self._step()
            except Exception as fault:  # noqa: BLE001 - a task has no caller: the waiters are told
                for request in self._live:
                    if not request.future.done():
                        request.future.set_exception(fault)
                self._live.clear()
            await asyncio.sleep(0)

    def prepare(self, tree: Tree, path: Sequence[int], asked: Sequence[int]) -> None:
        """Compute a path ahead, and what may follow each of its `asked` nodes.

        Episodes that go along the path then need no forward pass of their own, and sample just as
        they would without.
        """
        self.engine.compute([(tree, path[-1])])
        places = [(tree, node) for node in asked if node not in tree.rows]
        for (_, node), row in zip(places, self._distributions(places), strict=True):
            tree.rows[node] = row

    def _step(self) -> None:
        """One forward pass, then as many tokens as can be drawn without another."""
        self._live = [r for r in self._live if not r.future.cancelled()]
        self._look_ahead()
        rows: dict[tuple[Tree, int], Row] = {}
        self.steps += 1
        ready = self._live
        while ready:
            missing = {(r.tree, r.node): None for r in ready if r.node not in r.tree.rows}
            places = [place for place in missing if place not in rows]
            rows.update(zip(places, self._distributions(places), strict=True))
            for request in ready:
                row = request.tree.rows.get(request.node) or rows[request.tree, request.node]
                self._extend(request, *self._draw(request, row))
            ready = [r for r in ready if not r.future.done() and r.tree.done[r.node]]
        self._live = [r for r in self._live if not r.future.done()]

    def _look_ahead(self) -> None:
        """Compute the nodes that are asked for and a few that may be asked for next.

        With few columns a matrix product costs what reading the matrix costs, so guesses are
        nearly free until there are `COLUMNS` of them.
        """
        places = dict.fromkeys((r.tree, r.node) for r in self._live)
        lacking = [place for place in places if not place[0].done[place[1]]]
        if lacking:
            length = COLUMNS // len(lacking)
            ends = [(tree, tree.guess(node, length)) for tree, node in lacking]
            self.engine.compute(lacking + ends)

    def _distributions(self, places: Sequence[tuple[Tree, int]]) -> list[Row]:
        if not places:
            return []
        logits = self.engine.logits(places) / (self.temperature or 1.0)
        logprobs = torch.log_softmax(logits, dim=-1)
        ladders = logprobs.double().exp().cumsum(dim=-1).float()
        return [Row(*pair) for pair in zip(logprobs, ladders, strict=True)]

    def _draw(self, request: _Request, row: Row) -> tuple[int, float]:
        """A token and its log-probability: the inverse of the distribution at a random number."""
        if self.temperature == 0:
            token = int(row.logprobs.argmax())
        else:
            point = request.rng.random() * float(row.ladder[-1])
            found = int(torch.searchsorted(row.ladder, point, right=True))
            token = min(found, len(row.ladder) - 1)
        return token, float(row.logprobs[token])

    def _extend(self, request: _Request, token: int, logprob: float) -> None:
        request.ids.append(token)
        request.logprobs.append(logprob)
        request.node = request.tree.child(request.node, token)
        if token == self.end or len(request.ids) >= request.limit:
            request.future.set_result(Sampled(request.ids, request.logprobs))
