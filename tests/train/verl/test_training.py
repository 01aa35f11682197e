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


def metrics(run: Path) -> list[dict[str, Any]]:
    """What verl logged of each step, over all starts."""
    paths = sorted((run / "metrics").glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]
