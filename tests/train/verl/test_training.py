"""verl's whole trainer on a CPU, through the command that users type: learn, resume, merge."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from provegym import records
from provegym.train.verl import episodes
from provegym.types import Task
from tests.train.verl import small

pytestmark = pytest.mark.verl

ROOT = Path(__file__).parents[3]
CONFIG = """
[run]
name = "lamps"
tasks = "tasks.jsonl"
out = "run"

[model]
path = "{model}"

[grpo]
steps = 2
prompts_per_step = 3
group_size = 8
learning_rate = 5e-4
kl = 0.01
max_prompt_tokens = 700
max_response_tokens = 100
max_assistant_turns = 3
save_every = 1

[machine]
device = "cpu"
gpus = 1
workers = 1
tokens_per_gpu = 8192
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, qwen: Any, tasks: list[Task]) -> Path:
    """A folder with tasks, a model that can write calls, and a config."""
    folder = tmp_path_factory.mktemp("place")
    model = small.warm(folder / "warm", qwen, tasks)
    records.write_atomic(folder / "tasks.jsonl", map(records.encode, tasks))
    (folder / "lamps.toml").write_text(CONFIG.format(model=model))
    return folder


def provegym(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{Path(__file__).parent}",
        "VERL_USE_EXTERNAL_MODULES": "lights",
        "HF_HUB_OFFLINE": "1",
    }
    command = [sys.executable, "-c", "from provegym.cli import main; main()", "train", "verl"]
    return subprocess.run(
        [*command, "lamps.toml", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def logs(run: Path) -> list[Path]:
    """What verl logged, a file a start."""
    return sorted((run / "metrics").glob("*.jsonl"))


def metrics(run: Path) -> list[dict[str, Any]]:
    """What it logged of each step."""
    return [json.loads(line) for path in logs(run) for line in path.read_text().splitlines()]


def rewards(run: Path, step: int) -> list[float]:
    """The share of the best reward that each episode of a step got."""
    rows = episodes.read(run / "episodes")
    return [row.parts["normalized"] for row in rows if row.step == step]


def test_three_steps_with_checkpoint_resume_and_merge(place: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    out = "run.out=three"
    first = provegym(place, "--set", out, "--set", "grpo.steps=2")
    assert first.returncode == 0, first.stdout[-3000:] + first.stderr[-3000:]
    assert (place / "three" / "checkpoints" / "global_step_2").is_dir()
    second = provegym(place, "--set", out, "--set", "grpo.steps=3", "--json")
    assert second.returncode == 0, second.stdout[-3000:] + second.stderr[-3000:]
    told = json.loads(second.stdout.splitlines()[-1])
    assert told == {"policy": "three/policy-3", "steps": 3, "episodes": 72, "lost": 0}
    starts = [json.loads(p.read_text().splitlines()[0])["step"] for p in logs(place / "three")]
    assert starts == [1, 3]
    for row in metrics(place / "three"):
        assert row["data"]["training/rollout_probs_diff_mean"] < 1e-5
        assert row["data"]["actor/kl_loss"] < 0.5
    policy = place / "three" / "policy-3"
    trained = AutoModelForCausalLM.from_pretrained(policy)
    start = AutoModelForCausalLM.from_pretrained(place / "warm" / "policy")
    assert [*trained.state_dict()] == [*start.state_dict()]
    moved = [
        (name, (trained.state_dict()[name].float() - before.float()).abs().max().item())
        for name, before in start.state_dict().items()
    ]
    assert max(change for _, change in moved) > 1e-4
    assert AutoTokenizer.from_pretrained(policy).chat_template
    again = provegym(place, "--set", out, "--set", "grpo.steps=3", "--json")
    assert json.loads(again.stdout.splitlines()[-1]) == told
    assert len(logs(place / "three")) == 2  # nothing was trained again


def test_the_policy_learns_what_earns_more(place: Path) -> None:
    ran = provegym(place, "--set", "run.out=learn", "--set", "grpo.steps=16")
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    run = place / "learn"
    early = fmean(reward for step in (1, 2) for reward in rewards(run, step))
    late = fmean(reward for step in (15, 16) for reward in rewards(run, step))
    assert late - early >= 0.3, (early, late)
    assert {len(rewards(run, step)) for step in range(1, 17)} == {24}
