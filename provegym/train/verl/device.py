"""What verl's command needs besides for each kind of machine: GPUs with vLLM, or one CPU."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from provegym.train.verl.settings import Settings

CPU_PLUGIN = "provegym.train.verl.cpu"
MODULES = "VERL_USE_EXTERNAL_MODULES"
"""The variable that names what each of verl's processes imports at its start."""


def put(prefix: str, **values: Any) -> Iterator[str]:
    """Hydra's overrides of one part; `+` before the part adds keys that verl has no default of."""
    for key, value in values.items():
        text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        yield f"{prefix}.{key}={text}"


def device(settings: Settings) -> Iterator[str]:
    """Settings of verl for `machine.device`."""
    yield from _cpu(settings) if settings.machine.device == "cpu" else _cuda(settings)


def environment(settings: Settings) -> dict[str, str]:
    """Variables that verl's processes need besides those of this one."""
    told = {"TOKENIZERS_PARALLELISM": "false"}
    if settings.machine.device == "cpu":
        modules = filter(None, [CPU_PLUGIN, os.environ.get(MODULES)])
        told |= {"VERL_PLATFORM": "cpu", MODULES: ",".join(modules), "OMP_NUM_THREADS": "1"}
        told["RAY_worker_register_timeout_seconds"] = "900"  # imports take long on a busy core
    return told


def _cuda(settings: Settings) -> Iterator[str]:
    """Weights and optimizer stay float32: bfloat16 would round steps of 5e-8 away."""
    machine = settings.machine
    yield from put("actor_rollout_ref.actor.fsdp_config", model_dtype="fp32")
    yield from put(
        "actor_rollout_ref.actor",
        ulysses_sequence_parallel_size=machine.sequence_parallel,
        entropy_from_logits_with_chunking=True,
    )
    yield from put("actor_rollout_ref.model", use_remove_padding=True)
    yield from put(
        "actor_rollout_ref.rollout",
        name="vllm",
        tensor_model_parallel_size=machine.tensor_parallel,
        gpu_memory_utilization=machine.server_memory,
    )


def _cpu(settings: Settings) -> Iterator[str]:
    """What the plug-in needs: float32, one process, no kernels of GPUs, short polls."""
    actor, model = "actor_rollout_ref.actor", "actor_rollout_ref.model"
    rollout = "actor_rollout_ref.rollout"
    yield from put(model, use_remove_padding=False, enable_gradient_checkpointing=False)
    yield f"+{model}.override_config.attn_implementation=sdpa"
    for part in ("actor", "ref"):
        where = f"actor_rollout_ref.{part}.fsdp_config"
        yield from put(where, use_torch_compile=False)
        yield f"+{where}.mixed_precision.param_dtype=fp32"
        yield f"+{where}.mixed_precision.reduce_dtype=fp32"
    yield from put(actor, use_torch_compile=False)
    yield from put(rollout, name="provegym_cpu", tensor_model_parallel_size=1)
    yield from put("data", dataloader_num_workers=0)
    yield from put("reward", num_workers=1)
    yield "transfer_queue.backend.SimpleStorage.num_data_storage_units=1"
    yield from put("ray_kwargs.ray_init", num_cpus=8)
    yield "+ray_kwargs.ray_init.resources={NPU:1}"
    yield "+ray_kwargs.ray_init.include_dashboard=False"
    yield from put("trainer.v1.sampler.custom_sampler", name="QuickBuffer")
    yield f"trainer.v1.sampler.custom_sampler.path=pkg://{CPU_PLUGIN}_server"
    if settings.grpo.resample:  # verl tells a custom sampler nothing of the groups to leave out
        told = "+trainer.v1.sampler.sampler_kwargs"
        yield f"{told}.filter_groups_metric=reward"
        yield f"{told}.train_batch_size={settings.grpo.prompts_per_step}"
