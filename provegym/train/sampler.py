"""Batched sampling for all live episodes of one event loop.

Every episode awaits its own reply; all waiting ones advance one token at a time in one batch.
Each draws from its own generator, so what it samples does not depend on who else is in the batch.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from random import Random

import torch

from provegym.train.engine import Engine
from provegym.train.tree import Tree


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

    def _step(self) -> None:
        self._live = [r for r in self._live if not r.future.cancelled()]
        places = list(dict.fromkeys((r.tree, r.node) for r in self._live))
        if not places:
            return
        self.engine.compute(places)
        logprobs = torch.log_softmax(self.engine.logits(places) / (self.temperature or 1.0), dim=-1)
        index = {place: row for row, place in enumerate(places)}
        rows = torch.tensor([index[r.tree, r.node] for r in self._live])
        tokens = self._draw(logprobs, rows)
        chosen = logprobs[rows, tokens].tolist()
        self.steps += 1
        for request, token, logprob in zip(self._live, tokens.tolist(), chosen, strict=True):
            self._extend(request, token, logprob)
        self._live = [r for r in self._live if not r.future.done()]

    def _draw(self, logprobs: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """One token a request: the inverse of the distribution function at its own number."""
        if self.temperature == 0:
            return logprobs.argmax(dim=-1)[rows]
        points = torch.tensor([[r.rng.random()] for r in self._live], dtype=torch.float64)
        ladder = logprobs.double().exp().cumsum(dim=-1)[rows]
        drawn = torch.searchsorted(ladder, points * ladder[:, -1:], right=True).squeeze(1)
        return drawn.clamp_(max=logprobs.shape[-1] - 1)

    def _extend(self, request: _Request, token: int, logprob: float) -> None:
        request.ids.append(token)
        request.logprobs.append(logprob)
        request.node = request.tree.child(request.node, token)
        if token == self.end or len(request.ids) >= request.limit:
            request.future.set_result(Sampled(request.ids, request.logprobs))
