"""verl's own worker in this process: it plays tasks with scripted replies."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from provegym import records
from provegym.config import checked
from provegym.dataset.rows import Entry, verl_rows
from provegym.types import Task
from tests.train.verl.small import Scripted


class Worker:
    """verl's `AgentLoopWorker` over the launcher's own settings, with scripted replies."""

    def __init__(self, model: Path, folder: Path, url: str = "", **settings: Any) -> None:
        """`settings` are those of `[grpo]`, `url` that of a gateway."""
        from hydra import compose, initialize_config_module
        from verl.experimental.reward_loop import migrate_legacy_reward_impl

        from provegym.train.verl import command
        from provegym.train.verl.settings import Settings

        grpo = {"learning_rate": 1e-4, "max_prompt_tokens": 700, "max_response_tokens": 600}
        tables = {
            "run": {"name": "contract", "out": str(folder)},
            "model": {"path": str(model)},
            "grpo": {**grpo, **settings},
            "machine": {"device": "cpu", "gpus": 1, "workers": 1, "tokens_per_gpu": 60_000},
            "sessions": {"url": url},
        }
        told = checked(Settings, tables, "the test")
        records.write_atomic(folder / command.LOOP, [command.agent_loop(told).encode()])
        with initialize_config_module("verl.trainer.config", version_base=None):
            composed = compose("ppo_trainer", overrides=command.command(told)[3:])
        self.config = migrate_legacy_reward_impl(composed)

    def play(self, client: Scripted, *known: Task) -> list[dict[str, Any]]:
        """One episode of each task; what verl has of it then."""
        import numpy as np
        from verl import DataProto
        from verl.experimental.agent_loop import AgentLoopWorker

        rows = [
            msgspec.to_builtins(row)
            for number, task in enumerate(known)
            for row in verl_rows(Entry(task, task.id, "train", number))
        ]
        columns = {
            "agent_name": [row["agent_name"] for row in rows],
            "raw_prompt": [row["prompt"] for row in rows],
            "extra_info": [row["extra_info"] for row in rows],
            "reward_model": [row["reward_model"] for row in rows],
            "data_source": [row["data_source"] for row in rows],
            "uid": [f"u{number}" for number in range(len(rows))],
            "index": list(range(len(rows))),
        }
        batch = DataProto.from_dict(
            non_tensors={key: np.array(value, dtype=object) for key, value in columns.items()},
            meta_info={"global_steps": 1, "validate": False},
        )
        worker = AgentLoopWorker(self.config, client)
        out = asyncio.run(worker.generate_sequences(batch))
        return [_episode(out[number : number + 1]) for number in range(len(rows))]


def _episode(row: Any) -> dict[str, Any]:
    """One row without its padding."""
    wide = row.batch["prompts"].shape[1]
    seen = row.batch["attention_mask"][0].bool()
    kept = row.batch["responses"][0][seen[wide:]]
    size = len(kept)
    return {
        "prompt": row.batch["prompts"][0][seen[:wide]].tolist(),
        "response": kept.tolist(),
        "mask": row.batch["response_mask"][0][:size].tolist(),
        "logprobs": row.batch["rollout_log_probs"][0][:size].tolist(),
        "scores": row.batch["rm_scores"][0].tolist(),
        "reward": float(row.batch["rm_scores"][0].sum()),
        "turns": int(row.non_tensor_batch["__num_turns__"][0]),
        "parts": {key: row.non_tensor_batch[key][0] for key in PARTS},
    }


PARTS = (
    *("validity", "coverage", "efficiency", "name", "argument", "state", "normalized", "strict"),
    *("calls", "malformed", "finished", "replies"),
)


Asked = list[tuple[list[int], list[int], list[float]]]


def check_tokens(episode: dict[str, Any], asked: Asked) -> None:
    """Every id that the server saw and gave stands where it was; mask and log-probabilities too."""
    whole = episode["prompt"] + episode["response"]
    written: dict[int, float] = {}
    start = len(episode["prompt"])
    assert asked[0][0] == episode["prompt"]
    for prompt, ids, logprobs in asked:
        assert whole[: len(prompt) + len(ids)] == prompt + ids
        written |= {len(prompt) - start + n: value for n, value in enumerate(logprobs)}
    places = range(len(whole) - start)
    assert episode["mask"] == [int(place in written) for place in places]
    assert episode["logprobs"] == pytest.approx([written.get(place, 0.0) for place in places])
