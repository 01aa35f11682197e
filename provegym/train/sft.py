"""Supervised fine-tuning on ground-truth conversations: the comparison, and the warm start.

The conversations are lived, not written: a teacher (the oracle) acts over live sessions, and what
a laptop policy would have read and should have written is recorded token by token.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import Tensor

from provegym import loops, seeding
from provegym.errors import InfrastructureError, InputError
from provegym.llm.local import loading
from provegym.rollout.policies import oracle
from provegym.rollout.run import Job, SessionOpener, play
from provegym.rollout.summary import is_masked
from provegym.train import chat, models
from provegym.train.curves import Curves, Row
from provegym.train.engine import base_model
from provegym.train.policy import Limits, Recorder
from provegym.train.transcript import Codec, Transcript
from provegym.types import Task

log = logging.getLogger(__name__)

Progress = Callable[[int, Row], None]


@dataclass(frozen=True)
class SftConfig:
    """Settings of a run. The learning rate warms up over `warmup` steps and falls to 0 linearly."""

    epochs: float = 3.0
    batch_size: int = 4
    learning_rate: float = 2e-4
    warmup: int = 10
    max_grad_norm: float = 1.0
    seed: int = 0
    save_every: int = 20


@dataclass(frozen=True)
class Example:
    """One conversation; `mask` is 1 on the tokens to learn."""

    task_id: str
    ids: list[int]
    mask: list[int]


def examples(
    tasks: Sequence[Task],
    open_session: SessionOpener,
    codec: Codec,
    limits: Limits | None = None,
    *,
    thin: bool = True,
) -> list[Example]:
    """Record the oracle on every task; episodes that do not fit the limits are left out.

    So are those with a result that is cut: they would teach to write ids that were never read.
    Tasks without calls are short, so tight limits alone raise their share. `thin` leaves out more,
    so that every kind keeps the share that it has among the tasks. Episodes that our own faults
    hit are left out, counted and told; raises `InfrastructureError` where they all are.
    """
    within, lost = limits or Limits(), 0

    async def one(task: Task) -> Example | None:
        nonlocal lost
        recorder = Recorder(oracle(task, 0), codec)
        trace = await play(Job(task, 0, "oracle", 0), open_session, lambda *_: recorder)
        script = recorder.transcript
        lost += is_masked(trace)
        if trace.stop_reason != "done" or recorder.cut or not _fits(script, within):
            return None
        return Example(task.id, script.ids, script.mask)

    async def everyone() -> list[Example]:
        return [e for e in [await one(task) for task in tasks] if e is not None]

    fitting = loops.run(everyone())
    if lost:
        told = f"faults of ours hit the oracle on {lost} of {len(tasks)} tasks"
        if lost == len(tasks):
            raise InfrastructureError(f"{told}; mend the cause and run again")
        log.warning("%s, which are not learnt from", told)
    return _thinned(fitting, tasks) if thin else fitting


def _thinned(data: list[Example], tasks: Sequence[Task]) -> list[Example]:
    """The first examples of each kind, as many as leave the kinds their shares among `tasks`."""
    kinds = {task.id: task.kind for task in tasks}
    there = Counter(kinds.values())
    left = Counter(kinds[example.task_id] for example in data)
    rarest = min((left[kind] / there[kind] for kind in left), default=0.0)
    room = {kind: max(1, round(rarest * count)) for kind, count in there.items()}
    kept = []
    for example in data:
        kind = kinds[example.task_id]
        if room[kind]:
            room[kind] -= 1
            kept.append(example)
    return kept


def texts(tasks: Sequence[Task], open_session: SessionOpener) -> list[str]:
    """The oracle's conversations as text, for training a tokenizer on."""

    async def one(task: Task) -> str:
        trace = await play(Job(task, 0, "oracle", 0), open_session, oracle)
        tools = msgspec.to_builtins([*task.tools, *(t for turn in task.turns for t in turn.tools)])
        return "\n".join(row["content"] for row in chat.plain(trace.messages, tools))

    async def everyone() -> list[str]:
        return [await one(task) for task in tasks]

    return loops.run(everyone())


def _fits(script: Transcript, limits: Limits) -> bool:
    return script.prompt_length <= limits.prompt and len(script.completion_ids) <= limits.completion


def train(
    model: Any,
    tokenizer: Any,
    data: Sequence[Example],
    config: SftConfig,
    out: Path,
    progress: Progress | None = None,
) -> Path:
    """Teach `model` the examples and return the trained policy's folder, `out`/policy.

    Goes on where an earlier run in `out` stopped. Raises `InputError` without examples.
    """
    if not data:
        raise InputError("no conversation fits the limits; raise them or make shorter tasks")
    policy = out / "policy"
    if models.is_policy(policy):
        return policy
    run = _Run(model, data, config, out)
    for step in range(run.begin(), run.steps):
        row = run.step(step)
        if progress:
            progress(step + 1, row)
    run.curves.finish()
    models.save(model, tokenizer, policy)
    return policy


class _Run:
    """The state of a run: weights, optimizer, and how far it is."""

    def __init__(self, model: Any, data: Sequence[Example], config: SftConfig, out: Path) -> None:
        self.model, self.data, self.config = model, data, config
        self.batches = _batches(data, config)
        self.steps = len(self.batches)
        self.learnt = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self.optimizer = torch.optim.AdamW(list(self.learnt.values()), weight_decay=0.0)
        self.checkpoint = out / "checkpoint.pt"
        self.curves = Curves(out / "curves.jsonl")
        model.train()

    def begin(self) -> int:
        """Load the checkpoint, if there is one; the number of steps done."""
        done = 0
        if self.checkpoint.is_file():
            with loading(str(self.checkpoint)):
                state = torch.load(self.checkpoint, weights_only=True)
            self.model.load_state_dict(state["weights"], strict=False)
            self.optimizer.load_state_dict(state["optimizer"])
            done = int(state["step"])
        self.curves.resume(done)
        return done

    def save(self, done: int) -> None:
        """Replace the checkpoint in one move."""
        weights = {name: p.detach() for name, p in self.learnt.items()}
        beside = self.checkpoint.with_suffix(".new")
        torch.save(
            {"step": done, "weights": weights, "optimizer": self.optimizer.state_dict()}, beside
        )
        os.replace(beside, self.checkpoint)

    def step(self, step: int) -> Row:
        """One update; its row is written before the checkpoint that contains it."""
        begun = time.perf_counter()
        batch = [self.data[i] for i in self.batches[step]]
        rate = self.rate(step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        tokens = sum(sum(example.mask) for example in batch)
        loss = sum(self._backward(example, tokens) for example in batch)
        norm = torch.nn.utils.clip_grad_norm_(self.learnt.values(), self.config.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        row: Row = {"step": step + 1, "loss": loss, "tokens": tokens, "learning_rate": rate}
        row |= {"grad_norm": float(norm), "seconds": round(time.perf_counter() - begun, 3)}
        self.curves.add(row)
        if (step + 1) % self.config.save_every == 0 or step + 1 == self.steps:
            self.save(step + 1)
        return row

    def rate(self, step: int) -> float:
        """The learning rate of a step."""
        rising = min(1.0, (step + 1) / max(1, self.config.warmup))
        return self.config.learning_rate * rising * (1 - step / self.steps)

    def _backward(self, example: Example, tokens: int) -> float:
        loss = token_losses(self.model, example).sum() / tokens
        loss.backward()  # type: ignore[no-untyped-call]
        return float(loss.detach())


def token_losses(model: Any, example: Example) -> Tensor:
    """Cross-entropy (nats) of every token to learn, in order; nothing else is even computed."""
    base = base_model(model)
    ids = torch.tensor([example.ids])
    at = torch.tensor([i - 1 for i, learn in enumerate(example.mask) if learn])
    hidden = base.model(input_ids=ids, use_cache=False).last_hidden_state[0, at]
    logits = base.lm_head(hidden).float()
    return torch.nn.functional.cross_entropy(logits, ids[0, at + 1], reduction="none")


def _batches(data: Sequence[Example], config: SftConfig) -> list[list[int]]:
    """Indices of every step: one shuffled pass after another, the last one perhaps in part."""
    order: list[int] = []
    wanted = max(1, round(config.epochs * len(data)))
    while len(order) < wanted:
        epoch = list(range(len(data)))
        seeding.rng(config.seed, "sft", len(order)).shuffle(epoch)
        order.extend(epoch)
    size = config.batch_size
    return [order[start : min(start + size, wanted)] for start in range(0, wanted, size)]
