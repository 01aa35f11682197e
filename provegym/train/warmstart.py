"""The shipped warm start: a small adapter that taught SmolLM2 the form of tool use.

Without it every rollout scores alike and reinforcement learning sees no difference. It is made by
fine-tuning on ground-truth conversations of seeds that no other config uses, without the server
that the demo holds out (`configs/warmstart.toml`), and never tuned on what is evaluated.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from provegym.errors import InputError
from provegym.records import config_hash, read_rows
from provegym.train import models, smollm2
from provegym.types import Task

SHIPPED = Path(__file__).parent / "adapters" / "smollm2-warm"
WEIGHTS = "adapter_model.safetensors"
MAX_BYTES = 10_000_000


def shipped() -> Path:
    """The folder of the adapter that comes with the package. Raises `InputError` without it."""
    if not models.is_policy(SHIPPED):
        raise InputError(
            f"{SHIPPED} holds no adapter; make one with "
            "`provegym warmstart configs/warmstart.toml`, or name a policy folder in run.start"
        )
    return SHIPPED


def ship(trained: Path, tasks: Sequence[Task], recipe: Any, target: Path = SHIPPED) -> Path:
    """Put the fine-tuned policy in `trained` into `target`: bfloat16 weights and a card.

    `recipe` is the settings it was made with. Raises `InputError` if it is no adapter or is
    larger than 10 MB.
    """
    if not (trained / models.ADAPTER).is_file():
        raise InputError(f"{trained} holds no adapter; only adapters over SmolLM2 are shipped")

    def write(work: Path) -> None:
        for name in (models.ADAPTER, models.CARD):
            shutil.copy(trained / name, work / name)
        _halve(trained / WEIGHTS, work / WEIGHTS)
        losses = [row["loss"] for row in read_rows(trained.parent / "curves.jsonl")]
        facts = _facts(tasks, recipe, losses)
        (work / "card.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")
        (work / "README.md").write_text(_card(facts))
        size = sum(path.stat().st_size for path in work.iterdir())
        if size > MAX_BYTES:
            raise InputError(f"the adapter has {size} bytes, more than {MAX_BYTES}; lower its rank")

    models.write_folder(target, write)
    return target


def _halve(source: Path, target: Path) -> None:
    """Copy weights in bfloat16: half the size, and less lost than by one training step."""
    import torch
    from safetensors.torch import load_file, save_file

    weights = load_file(source)
    halves = {name: w.to(torch.bfloat16) for name, w in weights.items()}
    save_file(halves, target, metadata={"format": "pt"})


def _facts(tasks: Sequence[Task], recipe: Any, losses: Sequence[float]) -> dict[str, Any]:
    """What the adapter is, for programs."""
    tail = losses[-max(1, len(losses) // 10) :]
    return {
        "base": smollm2.NAME,
        "package": smollm2.PACKAGE,
        "sha256": smollm2.SHA256,
        "recipe": msgspec.to_builtins(recipe),
        "tasks": len(tasks),
        "task_hash": config_hash([task.id for task in tasks]),
        "servers": sorted({server for task in tasks for server in task.servers}),
        "world_seeds": sorted({task.seed for task in tasks}),
        "steps": len(losses),
        "first_loss": losses[0] if losses else None,
        "last_loss": sum(tail) / len(tail) if tail else None,
    }


def _card(facts: dict[str, Any]) -> str:
    seeds = facts["world_seeds"]
    span = f"{seeds[0]} to {seeds[-1]}" if seeds else "none"
    return f"""# Warm start for SmolLM2

A LoRA adapter for {facts["base"]} (Apache-2.0, from `{facts["package"]}`, file SHA-256
`{facts["sha256"]}`). It teaches the form of tool calls and is where GRPO starts in the demo.

- Data: {facts["tasks"]} certified tasks of the servers {", ".join(facts["servers"])}, worlds of
  {len(seeds)} seeds ({span}), hash `{facts["task_hash"]}`. The tasks' ground truth was played over
  live sessions; the loss is on the assistant's tokens alone.
- Training: {facts["steps"]} steps, loss {_number(facts["first_loss"])} to
  {_number(facts["last_loss"])} nats a token. All settings are in `card.json`.
- Made by `provegym warmstart`. Weights in bfloat16.

Its scores are those of a model that was quantized to 4 bits first, not of SmolLM2 as published.
"""


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"
