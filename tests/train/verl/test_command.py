"""Hydra composes the commands that the launcher prints, and verl finds no fault in them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from provegym import cli

pytestmark = pytest.mark.verl

ROOT = Path(__file__).parents[3]
CONFIGS = sorted((ROOT / "configs" / "paper").glob("*.toml"))


def composed(words: list[str]) -> Any:
    """What verl would run with these settings."""
    from hydra import compose, initialize_config_module
    from verl.experimental.reward_loop import migrate_legacy_reward_impl

    with initialize_config_module("verl.trainer.config", version_base=None):
        return migrate_legacy_reward_impl(compose("ppo_trainer", overrides=words))


def printed(capsys: pytest.CaptureFixture[str], config: Path, *more: str) -> list[str]:
    """The settings of a dry run's command."""
    assert cli.call(["train", "verl", str(config), "--dry-run", *more]) == 0
    words = shlex.split(capsys.readouterr().out.replace("\\\n", " "))
    return words[words.index("verl.trainer.main_ppo") + 1 :]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_verl_takes_the_command_of_every_config(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    told = composed(printed(capsys, config))
    if not told.actor_rollout_ref.model.lora_rank:  # verl asks vLLM about ranks
        validate_config(told, use_reference_policy=True, use_critic=False)
    actor, rollout = told.actor_rollout_ref.actor, told.actor_rollout_ref.rollout
    assert omega_conf_to_dataclass(rollout).name == "vllm"
    assert omega_conf_to_dataclass(actor).use_kl_loss
    assert told.data.train_batch_size * rollout.n == (64 if "lora" in config.stem else 256)
    assert (rollout.prompt_length, rollout.response_length) == (12384, 16384)
    assert actor.ppo_max_token_len_per_gpu * actor.ulysses_sequence_parallel_size >= 28768
    assert actor.fsdp_config.model_dtype == "fp32"
    assert told.trainer.total_training_steps == 350
    assert rollout.agent.default_agent_loop == "provegym"
    if config.stem == "qwen3-8b":
        assert told.data.apply_chat_template_kwargs == {"enable_thinking": False}


def test_a_path_with_odd_characters_reaches_verl_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / "it's {odd}, no? = [$x]"
    words = printed(capsys, CONFIGS[0], "--set", f"run.out={json.dumps(str(odd))}")
    told = composed(words)
    assert told.data.train_files == str(odd / "train.parquet")
    assert told.trainer.default_local_dir == str(odd / "checkpoints")


def test_values_with_odd_characters_reach_verl_as_they_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = {"deep": {"is-on": True, "word": "it's {x}, null", "list": [1, 0.5, "true"]}, "n": 3}
    toml = '{deep={is-on=true,word="it\'s {x}, null",list=[1,0.5,"true"]},n=3}'
    words = printed(
        capsys, CONFIGS[0], "--set", "model.path=a,b{c", "--set", f"model.template={toml}"
    )
    settings = composed(words)
    assert settings.actor_rollout_ref.model.path == "a,b{c"
    assert settings.data.apply_chat_template_kwargs == told


@pytest.mark.parametrize("wrong", ["trainer.save_frequency=3", "trainer.save_freq={"])
def test_what_verl_s_hydra_refuses_is_told_before_anything_starts(
    wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", "verl", str(CONFIGS[0]), "--dry-run"]
    assert cli.call([*command, "--set", f"machine.hydra={json.dumps([wrong])}"]) == 0
    refused = [
        line for line in capsys.readouterr().err.splitlines() if "verl does not take" in line
    ]
    (line,) = refused
    assert f"machine.hydra = ['{wrong}']" in line
    assert cli.call(command) == 0
    assert "verl does not take" not in capsys.readouterr().err
