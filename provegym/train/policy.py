"""The laptop policies as policies of the agent loop, one object an episode.

A policy keeps the ids that it read and sampled (`transcript`), so the episode that is trained on
is token for token the one that was lived. Rollouts of one task share a prefix tree while the
weights stay the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any
from weakref import WeakValueDictionary

from provegym import seeding
from provegym.rollout.parse import parse
from provegym.rollout.reply import Reply
from provegym.train.engine import Engine
from provegym.train.sampler import Sampler
from provegym.train.transcript import Codec, Transcript
from provegym.train.tree import ROOT, Tree
from provegym.types import Task, Usage


@dataclass(frozen=True)
class Limits:
    """Tokens: of the prompt, of all that follows it in one episode, and of one reply."""

    prompt: int = 1536
    completion: int = 1024
    reply: int = 192


class LocalPolicy:
    """One episode's policy over a shared sampler."""

    def __init__(
        self, sampler: Sampler, codec: Codec, tree: Tree, rng: Random, limits: Limits
    ) -> None:
        self.transcript = Transcript(codec)
        self.tree = tree
        self._sampler, self._rng, self._limits = sampler, rng, limits
        self._node = ROOT

    async def __call__(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        """Sample the next message; `overflow` once the episode's tokens are used up."""
        script = self.transcript
        ids = script.read(messages, tools)
        room = self._limits.completion - len(script.completion_ids)
        if room <= 0 or script.prompt_length > self._limits.prompt:
            return Reply(overflow=True)
        start = self.tree.path(ids, self._node)[-1]
        limit = min(room, self._limits.reply)
        sampled = await self._sampler.complete(self.tree, start, limit, self._rng)
        self._node = self.tree.path(sampled.ids, start)[-1]
        usage = Usage(prompt_tokens=len(script.ids), completion_tokens=len(sampled.ids))
        script.write(sampled.ids, sampled.logprobs)
        text = script.codec.decode(sampled.ids)
        parsed = parse(text)
        return Reply(
            content=parsed.content,
            calls=parsed.calls,
            usage=usage,
            raw=text,
            form=parsed.form,
            reasoning=parsed.reasoning,
        )


class LocalPolicies:
    """Makes the policies of a run: a `PolicyFactory` over one model.

    Call `renew` after the weights changed. Trees go when the last of their episodes does.
    """

    def __init__(
        self,
        model: Any,
        codec: Codec,
        *,
        temperature: float = 1.0,
        limits: Limits | None = None,
        share: bool = True,
    ) -> None:
        """`share` keeps one tree a task for all its rollouts; without it each has its own."""
        self.engine = Engine(model)
        self.codec = codec
        self.sampler = Sampler(self.engine, end=codec.end, temperature=temperature)
        self.limits = limits or Limits()
        self._share = share
        # A tree lives as long as an episode that uses it: it takes some 50 KB a token.
        self._trees: WeakValueDictionary[str, Tree] = WeakValueDictionary()

    def renew(self) -> None:
        """Take the model's weights as they are now."""
        self._trees.clear()
        self.engine.refresh()

    def __call__(self, task: Task, seed: int) -> LocalPolicy:
        """The policy of one episode; the same seed samples the same way."""
        tree = self._trees.get(task.id) if self._share else None
        if tree is None:
            tree = self._trees[task.id] = self.engine.tree()
        rng = seeding.rng(seed, "sample", task.id)
        return LocalPolicy(self.sampler, self.codec, tree, rng, self.limits)
