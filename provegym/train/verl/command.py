"""The command that starts verl: settings as its Hydra takes them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from provegym.dataset.rows import AGENT
from provegym.train.verl.device import device, put
from provegym.train.verl.settings import Settings

LOOP = "agent_loop.yaml"
TARGET = "provegym.train.verl.agent_loop.ProvegymAgentLoop"


def command(settings: Settings) -> list[str]:
    """The whole command, with the settings of `machine.hydra` last."""
    told = [*_training(settings), *_rollout(settings), *_data(settings), *_trainer(settings)]
    told += device(settings)
    return [sys.executable, "-m", "verl.trainer.main_ppo", *told, *settings.machine.hydra]


def agent_loop(settings: Settings) -> str:
    """The file that registers our agent loop and tells it its settings (JSON is YAML, too)."""
    grpo = settings.grpo
    told = {
        "name": AGENT,
        "_target_": TARGET,
        "calls": settings.model.calls,
        "preset": grpo.preset,
        "max_assistant_turns": grpo.max_assistant_turns,
        "max_result_chars": grpo.max_result_chars,
        "sessions": settings.sessions.url,
        "journal": str(settings.run.folder.absolute() / "episodes"),
    }
    return json.dumps([told], indent=1) + "\n"


def rows(settings: Settings, split: str) -> Path:
    """Where the rows of `train` or `validation` lie."""
    return settings.run.folder / f"{split}.parquet"


def learnt(settings: Settings) -> Path:
    """The rows that are learnt from: those of `train`, or what the curriculum makes of them."""
    return rows(settings, "curriculum" if settings.grpo.curriculum else "train")


def checkpoints(settings: Settings) -> Path:
    """Where verl keeps its checkpoints."""
    return settings.run.folder / "checkpoints"


def _quoted(path: Path) -> str:
    return _text(str(path.absolute()))


def _text(text: str) -> str:
    """A text as a value of Hydra's grammar, whatever characters it has."""
    if re.fullmatch(r"[\w.-]*/[\w./-]+", text, re.ASCII):
        return text
    return "'{}'".format(text.replace("\\", "\\\\").replace("'", "\\'"))


def _value(value: Any) -> str:
    """A value of TOML in Hydra's grammar."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_value(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_value, value)) + "]"
    return json.dumps(value) if isinstance(value, bool | int | float) else _text(str(value))


def _training(settings: Settings) -> Iterator[str]:
    grpo, machine, actor = settings.grpo, settings.machine, "actor_rollout_ref.actor"
    yield from put("algorithm", adv_estimator="grpo", use_kl_in_reward=False)
    yield from put("algorithm.filter_groups", enable=grpo.resample, metric="reward")
    yield from put(
        actor,
        strategy="fsdp2",
        ppo_mini_batch_size=grpo.prompts_per_step,
        use_dynamic_bsz=True,
        ppo_max_token_len_per_gpu=machine.tokens_per_gpu,
        use_kl_loss=grpo.kl > 0,
        kl_loss_coef=grpo.kl,
        kl_loss_type="low_var_kl",
        entropy_coeff=0,
    )
    yield from put(f"{actor}.optim", lr=grpo.learning_rate)
    yield from put("actor_rollout_ref.ref", strategy="fsdp2")
    for part in ("actor", "ref") if machine.offload else ():
        where = f"actor_rollout_ref.{part}.fsdp_config"
        yield from put(where, param_offload=True, optimizer_offload=part == "actor")


def _rollout(settings: Settings) -> Iterator[str]:
    grpo, machine, model = settings.grpo, settings.machine, settings.model
    place, rollout = "actor_rollout_ref.model", "actor_rollout_ref.rollout"
    local = Path(model.path).exists()
    yield from put(place, path=_quoted(Path(model.path)) if local else _text(model.path))
    if model.lora_rank:
        yield from put(place, lora_rank=model.lora_rank, lora_alpha=model.lora_alpha)
        yield from put(place, target_modules="all-linear")
        yield from put(rollout, load_format="safetensors", layered_summon=True)
    yield from put(
        rollout, n=grpo.group_size, temperature=grpo.temperature, calculate_log_probs=True
    )
    yield from put(f"{rollout}.multi_turn", enable=True)
    yield from put(
        f"{rollout}.agent",
        num_workers=machine.workers,
        default_agent_loop=AGENT,
        agent_loop_config_path=_quoted(settings.run.folder / LOOP),
    )


def _data(settings: Settings) -> Iterator[str]:
    grpo = settings.grpo
    split = "validation" if settings.run.validation else "train"
    yield from put(
        "data",
        train_files=_quoted(learnt(settings)),
        val_files=_quoted(rows(settings, split)),
        train_batch_size=grpo.prompts_per_step,
        max_prompt_length=grpo.max_prompt_tokens,
        max_response_length=grpo.max_response_tokens,
        filter_overlong_prompts=False,
        shuffle=not grpo.curriculum,  # its rows are in the order of the curriculum
        seed=settings.run.seed,
    )
    for key, value in settings.model.template.items():
        yield f"+data.apply_chat_template_kwargs.{key}={_value(value)}"


def _trainer(settings: Settings) -> Iterator[str]:
    grpo, machine, run = settings.grpo, settings.machine, settings.run
    yield from put(
        "trainer",
        device=machine.device,
        n_gpus_per_node=machine.gpus,
        nnodes=machine.nodes,
        project_name="provegym",
        experiment_name=run.name,
        logger="[console,file]",
        total_training_steps=grpo.steps,
        total_epochs=grpo.steps,  # never fewer passes than steps ask for
        save_freq=grpo.save_every,
        max_actor_ckpt_to_keep=2,
        test_freq=grpo.validate_every if run.validation and grpo.validate_every else -1,
        val_before_train=bool(run.validation and grpo.validate_every),
        default_local_dir=_quoted(checkpoints(settings)),
        resume_mode="auto",
    )
    yield "trainer.v1.sampler.sync_refill_failed_groups=True"
