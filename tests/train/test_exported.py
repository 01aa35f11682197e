"""Exported rows in their trainers: TRL's, which plays each task live, and verl's data set."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

from provegym import records
from provegym.dataset.export import Plan, export
from provegym.rewards.total import score
from provegym.rollout.loop import Limits as LoopLimits
from provegym.rollout.loop import system_prompt
from provegym.rollout.run import Job, SessionOpener
from provegym.train import models
from provegym.train.episodes import play
from provegym.train.policy import Limits, LocalPolicies
from provegym.train.transcript import Codec
from provegym.types import Task, Tool

ROOT = Path(__file__).parents[2]


class Episode:
    """What TRL makes of `environment_factory`: it is given each row whole, once a rollout."""

    def reset(self, **row: Any) -> None:
        self.row = row
        self.task = msgspec.json.decode(row["task"], type=Task)


def test_trl_trains_on_exported_rows_and_each_environment_gets_its_task(
    tasks: list[Task],
    tokenizer: Any,
    fresh: Any,
    open_session: SessionOpener,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    template = files("trl") / "chat_templates" / "qwen3_instruct_2507.jinja"
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.chat_template = template.read_text()  # environments need one that knows tools
    records.write_atomic(tmp_path / "tasks.jsonl", map(records.encode, tasks))
    out = tmp_path / "trl.parquet"
    export(tmp_path / "tasks.jsonl", out, Plan("trl"), {})
    rows = load_dataset("parquet", data_files=str(out), split="train", cache_dir=str(tmp_path))
    codec = Codec(tokenizer)
    limits = Limits(prompt=1000, completion=120, reply=40)
    seen: list[dict[str, Any]] = []

    def rollout(prompts: list[Any], trainer: GRPOTrainer) -> dict[str, Any]:
        jobs = [Job(e.task, i, "grpo", 0) for i, e in enumerate(trainer.environments)]
        policies = LocalPolicies(trainer.model, codec, temperature=1.0, limits=limits)
        strict, steps = partial(score, preset="strict"), LoopLimits(max_steps=2)
        episodes = play(jobs, policies, open_session, strict, steps)
        seen.extend(
            {"prompt": p, "row": e.row, "task": e.task}
            for p, e in zip(prompts, trainer.environments, strict=True)
        )
        scripts = [episode.policy.transcript for episode in episodes]
        return {
            "prompt_ids": [script.prompt_ids for script in scripts],
            "completion_ids": [script.completion_ids for script in scripts],
            "env_mask": [script.completion_mask for script in scripts],
            "logprobs": None,
            "normalized": [episode.score.normalized for episode in episodes],
        }

    def reward(normalized: list[float], **_: Any) -> list[float]:
        return normalized

    settings = GRPOConfig(
        output_dir=str(tmp_path / "out"),
        max_steps=2,
        per_device_train_batch_size=4,
        num_generations=2,
        report_to="none",
        save_strategy="no",
        use_cpu=True,
        bf16=False,
        activation_checkpointing=False,
        dataloader_pin_memory=False,
        disable_tqdm=True,
    )
    with models.calm():
        trainer = GRPOTrainer(
            model=fresh,
            reward_funcs=[reward],
            args=settings,
            train_dataset=rows,
            processing_class=tokenizer,
            environment_factory=Episode,
            rollout_func=rollout,
        )
        trainer.train()
    assert trainer.state.global_step == 2
    known = {task.id: task for task in tasks}
    assert {one["row"]["task_id"] for one in seen} == known.keys()
    for one in seen:
        task = known[one["row"]["task_id"]]
        assert one["task"] == task
        assert one["prompt"] == [
            {"role": "system", "content": system_prompt(task)},
            {"role": "user", "content": task.turns[0].user},
        ]
        shown = msgspec.json.decode(one["row"]["tools"], type=tuple[Tool, ...])
        assert shown == task.tools
    rewards = torch.tensor([row["reward"] for row in trainer.state.log_history[:2]])
    assert rewards.isfinite().all()


VERL = """
import json, sys
from pathlib import Path
from hydra import compose, initialize_config_module
from transformers import AutoTokenizer
from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn, get_dataset_class
folder = Path(sys.argv[1])
told = [
    f"data.train_files=[{folder}/verl.parquet]",
    "data.max_prompt_length=1024",
    "data.filter_overlong_prompts=True",
    "data.filter_overlong_prompts_workers=1",
    f"+data.cache_dir={folder}/cache",
]
with initialize_config_module("verl.trainer.config", version_base=None):
    data = compose("ppo_trainer", overrides=told).data
assert get_dataset_class(data) is RLHFDataset
tokenizer = AutoTokenizer.from_pretrained(folder / "tokenizer")
rows = RLHFDataset(data_files=data.train_files, tokenizer=tokenizer, config=data)
batch = collate_fn([rows[i] for i in range(len(rows))])
del batch["dummy_tensor"]
(folder / "batch.json").write_text(json.dumps({k: list(v) for k, v in batch.items()}))
"""


@pytest.mark.slow
def test_verl_s_data_set_gives_its_agent_loop_each_task(
    tasks: list[Task], tokenizer: Any, tmp_path: Path
) -> None:
    made = ["make", "--silent", f"PYTHON={sys.executable}", ".venv-verl/installed"]
    subprocess.run(made, cwd=ROOT, check=True)
    records.write_atomic(tmp_path / "tasks.jsonl", map(records.encode, tasks))
    export(tmp_path / "tasks.jsonl", tmp_path / "verl.parquet", Plan("verl"), {})
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    command = [ROOT / ".venv-verl/bin/python", "-c", VERL, str(tmp_path)]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "HF_HUB_OFFLINE": "1"}, check=True)
    batch = json.loads((tmp_path / "batch.json").read_text())
    assert batch["index"] == [0, 1, 2]
    assert batch["agent_name"] == ["provegym"] * 3
    assert [msgspec.json.decode(i["task"], type=Task) for i in batch["extra_info"]] == tasks
    for said, task in zip(batch["raw_prompt"], tasks, strict=True):
        assert said == [
            {"role": "system", "content": system_prompt(task)},
            {"role": "user", "content": task.turns[0].user},
        ]
