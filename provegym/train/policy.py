"""The laptop policies as policies of the agent loop, one object an episode.

A policy keeps the ids that it read and sampled (`transcript`), so the episode that is trained on
is token for token the one that was lived. Rollouts of one task share a prefix tree while the
weights stay the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any
from weakref import WeakValueDictionary

from provegym import seeding
from provegym.rollout.parse import parse
from provegym.rollout.policies import oracle
from provegym.rollout.reply import Policy, Reply
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
            cut=script.codec.end not in sampled.ids[-1:],
        )

    def limit(self, tokens: int) -> None:
        """Write messages of at most so many tokens; never more than all may have."""
        self._limits = replace(self._limits, reply=min(tokens, self._limits.reply))


class Recorder:
    """A policy that lets a teacher act and writes down what a laptop policy would see and say."""

    def __init__(self, teacher: Policy, codec: Codec) -> None:
        self.transcript = Transcript(codec)
        self.cut = False
        """Whether the teacher was shown a result that the policy sees in part only."""
        self._teacher = teacher

    async def __call__(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        """The teacher's reply."""
        self.transcript.read(messages, tools)
        self.cut = any(map(self.transcript.codec.cuts, messages))
        reply = await self._teacher(messages, tools)
        self.transcript.write(self.transcript.codec.reply(_message(reply)))
        return reply


def _message(reply: Reply) -> dict[str, Any]:
    calls = [{"function": {"name": c.name, "arguments": c.arguments_text}} for c in reply.calls]
    return {"role": "assistant", "content": reply.content, "tool_calls": calls}


class Demonstrator(Recorder):
    """An episode that follows the ground truth, in the tree of the task's other episodes."""

    def __init__(self, task: Task, codec: Codec, tree: Tree) -> None:
        super().__init__(oracle(task, 0), codec)
        self.tree = tree


@dataclass(frozen=True)
class Draft:
    """A conversation that episodes of a task are likely to follow for a while.

    `mask` is 1 on what the policy would write. Drafts are computed once and ahead; they change
    how fast episodes are sampled, never what.
    """

    ids: Sequence[int]
    mask: Sequence[int]


class LocalPolicies:
    """Makes the policies of a run: a `PolicyFactory` over one model.

    Call `renew` after the weights changed. Trees of tasks with a draft are kept for as long as
    there are fewer than `keep` nodes in them; all others go with the last of their episodes.
    """

    def __init__(
        self,
        model: Any,
        codec: Codec,
        *,
        temperature: float = 1.0,
        limits: Limits | None = None,
        drafts: Mapping[str, Draft] | None = None,
        keep: int = 20_000,
    ) -> None:
        """A kept node takes some 50 KB; `drafts` are by the id of their task."""
        self.engine = Engine(model)
        self.codec = codec
        self.sampler = Sampler(self.engine, end=codec.end, temperature=temperature)
        self.limits = limits or Limits()
        self._drafts, self._keep = dict(drafts or {}), keep
        self._trees: WeakValueDictionary[str, Tree] = WeakValueDictionary()
        self._kept: dict[str, Tree] = {}

    def renew(self) -> None:
        """Take the model's weights as they are now."""
        self.engine.refresh()
        for task, tree in self._kept.items():
            tree.cut(len(self._drafts[task].ids))
        self._trees = WeakValueDictionary(self._kept)

    def __call__(self, task: Task, seed: int) -> LocalPolicy:
        """The policy of one episode; the same seed samples the same way."""
        tree = self._tree(task)
        rng = seeding.rng(seed, "sample", task.id)
        return LocalPolicy(self.sampler, self.codec, tree, rng, self.limits)

    def demonstrator(self, task: Task) -> Demonstrator:
        """One that follows the ground truth instead."""
        return Demonstrator(task, self.codec, self._tree(task))

    def _tree(self, task: Task) -> Tree:
        tree = self._trees.get(task.id)
        if tree is None:
            tree = self._trees[task.id] = self.engine.tree()
        if task.id in self._drafts:
            self._ahead(task.id, tree)
        return tree

    def _ahead(self, task: str, tree: Tree) -> None:
        """Compute the task's draft, by itself: its lower states then never depend on company."""
        draft = self._drafts[task]
        if tree.rows:
            return
        path = tree.path(draft.ids)
        asked = [node for node, next_is in zip(path, draft.mask[1:], strict=False) if next_is]
        self.sampler.prepare(tree, path, asked)
        if self.engine.middle_layer and sum(map(len, self._kept.values())) < self._keep:
            self._kept[task] = tree
