"""verl's whole trainer on a CPU, through the command that users type: learn, resume, merge."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import pytest

from provegym import records
from provegym.train.verl import episodes
from provegym.types import Task
from tests.train.verl import small

pytestmark = pytest.mark.verl

ROOT = Path(__file__).parents[3]
STEPS = 24
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


def rewards(run: Path, *steps: int) -> list[float]:
    """The share of the best reward that each episode of these steps got."""
    rows = episodes.read(run / "episodes")
    return [row.parts["normalized"] for row in rows if row.step in steps]


class Trained(NamedTuple):
    """A run's folder, the policy that it started from, and what the command said at its end."""

    run: Path
    start: Path
    told: dict[str, Any]


@pytest.fixture(scope="module")
def trained(place: Path) -> Trained:
    """A run of 2 steps that was then made longer: it goes on from its checkpoint."""
    first = provegym(place)
    assert first.returncode == 0, first.stderr[-5000:]
    assert (place / "run" / "policy-2" / "config.json").is_file()
    second = provegym(place, "--set", f"grpo.steps={STEPS}", "--json")
    assert second.returncode == 0, second.stderr[-5000:]
    return Trained(place / "run", place / "warm" / "policy", json.loads(second.stdout))


def test_a_run_goes_on_at_its_checkpoint_and_loses_no_episode(trained: Trained) -> None:
    starts = [json.loads(path.read_text().splitlines()[0])["step"] for path in logs(trained.run)]
    assert starts == [1, 3]
    assert [row["step"] for row in metrics(trained.run)] == list(range(1, STEPS + 1))
    told = {"policy": f"run/policy-{STEPS}", "steps": STEPS, "episodes": 24 * STEPS, "lost": 0}
    assert trained.told == told
    played = [len(rewards(trained.run, step)) for step in range(1, STEPS + 1)]
    assert played == [24] * STEPS


def test_the_run_is_watched_and_its_best_checkpoint_kept(trained: Trained) -> None:
    rows = records.read_rows(trained.run / "curves.jsonl")
    assert [row["step"] for row in rows] == list(range(1, STEPS + 1))
    for row in rows:
        assert {type(row[name]) for name in ("reward", "entropy", "kl", "tokens", "loss")} == {
            float
        }
        assert 0 <= row["zero_variance"] <= 1
        assert row["masked"] == 0
    (good,) = (trained.run / "good").iterdir()
    assert any(path.suffix == ".pt" for path in (good / "actor").iterdir())


def test_a_run_that_has_all_its_steps_trains_no_more(trained: Trained, place: Path) -> None:
    again = provegym(place, "--set", f"grpo.steps={STEPS}", "--json")
    assert json.loads(again.stdout) == trained.told
    assert len(logs(trained.run)) == 2


def test_the_trainer_gives_each_token_the_probability_it_was_sampled_with(
    trained: Trained,
) -> None:
    for row in metrics(trained.run):
        assert row["data"]["training/rollout_probs_diff_mean"] < 1e-5


def test_the_policy_learns_what_earns_more(trained: Trained) -> None:
    early = fmean(rewards(trained.run, 1, 2))
    late = fmean(rewards(trained.run, *range(STEPS - 3, STEPS + 1)))
    assert late - early >= 0.3, (early, late)
    scored = [row["data"]["critic/score/mean"] for row in metrics(trained.run)]
    assert scored[0] == pytest.approx(1.3 * fmean(rewards(trained.run, 1)), abs=1e-5)


def test_the_checkpoint_is_merged_into_a_policy_of_its_own(trained: Trained) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    policy = trained.run / f"policy-{STEPS}"
    after = AutoModelForCausalLM.from_pretrained(policy).state_dict()
    before = AutoModelForCausalLM.from_pretrained(trained.start).state_dict()
    assert after.keys() == before.keys()
    moved = [(after[name].float() - before[name].float()).abs().max().item() for name in before]
    assert max(moved) > 1e-3
    assert AutoTokenizer.from_pretrained(policy).chat_template


def test_groups_that_teach_nothing_give_way_to_others_and_short_tasks_come_first(
    place: Path, trained: Trained
) -> None:
    options = ["run.out=other", "grpo.resample=true", "grpo.curriculum=true"]
    words = [word for option in options for word in ("--set", option)]
    ran = provegym(place, *words, "--json")
    assert ran.returncode == 0, ran.stderr[-5000:]
    assert json.loads(ran.stdout)["steps"] == 2
    assert (place / "other" / "curriculum.parquet").is_file()
    for step in (1, 2):
        groups: dict[str, set[float | None]] = {}
        for row in episodes.read(place / "other" / "episodes"):
            if row.step == step:
                groups.setdefault(row.id.rpartition("-")[0], set()).add(row.reward)
        assert sum(len(earned) > 1 for earned in groups.values()) >= 3  # a whole step of them
