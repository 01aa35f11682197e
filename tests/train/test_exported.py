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


class Rollouts:
    """Our episodes as TRL's `rollout_func`; keeps what each one was given."""

    def __init__(self, codec: Codec, open_session: SessionOpener) -> None:
        self.codec, self.open_session = codec, open_session
        self.seen: list[tuple[Any, dict[str, Any]]] = []

    def __call__(self, prompts: list[Any], trainer: GRPOTrainer) -> dict[str, Any]:
        """Play the task of each environment live."""
        given = [episode.row for episode in trainer.environments]
        self.seen += zip(prompts, given, strict=True)
        jobs = [Job(e.task, i, "grpo", 0) for i, e in enumerate(trainer.environments)]
        limits = Limits(prompt=1000, completion=120, reply=40)
        policies = LocalPolicies(trainer.model, self.codec, temperature=1.0, limits=limits)
        strict, steps = partial(score, preset="strict"), LoopLimits(max_steps=2)
        episodes = play(jobs, policies, self.open_session, strict, steps)
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


def settings(folder: Path) -> GRPOConfig:
    return GRPOConfig(
        output_dir=str(folder),
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


def exported(tasks: list[Task], form: str, folder: Path) -> Path:
    records.write_atomic(folder / "tasks.jsonl", map(records.encode, tasks))
    export(folder / "tasks.jsonl", folder / f"{form}.parquet", Plan(form), {})
    return folder / f"{form}.parquet"


def opening(task: Task) -> list[dict[str, str]]:
    return [
        {"role": "system", "content": system_prompt(task)},
        {"role": "user", "content": task.turns[0].user},
    ]


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
    path = str(exported(tasks, "trl", tmp_path))
    rows = load_dataset("parquet", data_files=path, split="train", cache_dir=str(tmp_path))
    rollouts = Rollouts(Codec(tokenizer), open_session)
    with models.calm():
        trainer = GRPOTrainer(
            model=fresh,
            reward_funcs=[reward],
            args=settings(tmp_path / "out"),
            train_dataset=rows,
            processing_class=tokenizer,
            environment_factory=Episode,
            rollout_func=rollouts,
        )
        trainer.train()
    assert trainer.state.global_step == 2
    rewards = torch.tensor([row["reward"] for row in trainer.state.log_history[:2]])
    assert rewards.isfinite().all()
    known = {task.id: task for task in tasks}
    assert {row["task_id"] for _, row in rollouts.seen} == known.keys()
    for prompt, row in rollouts.seen:
        task = known[row["task_id"]]
        assert msgspec.json.decode(row["task"], type=Task) == task
        assert msgspec.json.decode(row["tools"], type=tuple[Tool, ...]) == task.tools
        assert prompt == opening(task)


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
    exported(tasks, "verl", tmp_path)
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    command = [str(ROOT / ".venv-verl/bin/python"), "-c", VERL, str(tmp_path)]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "HF_HUB_OFFLINE": "1"}, check=True)
    batch = json.loads((tmp_path / "batch.json").read_text())
    assert batch["index"] == [0, 1, 2]
    assert batch["agent_name"] == ["provegym"] * 3
    assert [msgspec.json.decode(i["task"], type=Task) for i in batch["extra_info"]] == tasks
    assert batch["raw_prompt"] == list(map(opening, tasks))
