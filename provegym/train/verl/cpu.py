"""verl on a CPU, for tests and for trying out a setup with a tiny model.

Loaded by `VERL_USE_EXTERNAL_MODULES` in each of verl's processes. It registers a platform, the FSDP
engine over gloo and a model server on transformers; trainer, data set, agent loop, replay buffer,
advantages, loss and checkpoints are verl's own.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any

import torch
from torch.distributed.fsdp import CPUOffloadPolicy
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry

ROLLOUT = "provegym_cpu"
SERVER = "provegym.train.verl.cpu_server"


def _nothing(*_: Any, **__: Any) -> None: ...


def _zero(*_: Any, **__: Any) -> int:
    return 0


def _device() -> types.ModuleType:
    """`torch.cpu` with what verl asks of `torch.cuda` besides."""
    module = types.ModuleType("provegym_cpu_device")
    module.__dict__.update({k: v for k, v in vars(torch.cpu).items() if not k.startswith("__")})
    memory = ("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved")
    idle = ("empty_cache", "ipc_collect", "reset_peak_memory_stats", "set_device", "synchronize")
    module.__dict__.update(dict.fromkeys(memory, _zero))
    module.__dict__.update(dict.fromkeys((*idle, "manual_seed", "manual_seed_all"), _nothing))
    module.__dict__.update(
        mem_get_info=lambda *_: (0, 0),
        is_available=lambda: False,
        device_count=lambda: 1,
        current_device=lambda: "cpu",
        get_rng_state=lambda *_: torch.get_rng_state(),
        set_rng_state=lambda state, *_: torch.set_rng_state(state),
        get_device_name=lambda *_: "cpu",
    )
    return module


@PlatformRegistry.register(platform="cpu")
class Cpu(PlatformBase):  # type: ignore[misc]
    """The platform. Its Ray resource is called NPU since verl counts GPUs and NPUs alone."""

    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _device()

    def is_available(self) -> bool:  # noqa: D102
        return True

    def current_device(self) -> str:
        """What verl passes to `Module.to`."""
        return "cpu"

    def device_count(self) -> int:  # noqa: D102
        return 1

    set_device = synchronize = set_allocator_settings = empty_cache = _nothing
    profiler_start = profiler_stop = cudart = _nothing

    def manual_seed(self, seed: int) -> None:  # noqa: D102
        torch.manual_seed(seed)

    manual_seed_all = manual_seed

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:  # noqa: D102
        return (None, None)

    def communication_backend_name(self) -> str:  # noqa: D102
        return "gloo"

    def visible_devices_envvar(self) -> str:  # noqa: D102
        return "VERL_CPU_VISIBLE_DEVICES"

    @contextlib.contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:  # noqa: D102
        yield

    def ray_resource_name(self) -> str:  # noqa: D102
        return "NPU"

    def ray_resource_options(self, num_gpus: float) -> dict[str, Any]:  # noqa: D102
        return {"resources": {"NPU": num_gpus}}

    def ray_noset_envvars(self) -> list[str]:  # noqa: D102
        return []

    def is_ipc_supported(self) -> bool:  # noqa: D102
        return False


def _register_engine() -> None:
    """Let verl find its FSDP engine for this device, at the first look-up: importing it is slow."""
    from verl.workers.engine.base import EngineRegistry

    look_up = EngineRegistry.get_engine_cls.__func__

    def get_engine_cls(cls: Any, model_type: str, backend: str) -> Any:
        from verl.workers.engine.fsdp import transformer_impl as fsdp

        # The reference model is offloaded to pinned memory, which is an accelerator's.
        fsdp.CPUOffloadPolicy = lambda pin_memory: CPUOffloadPolicy(pin_memory=False)
        cls._engines["language_model"]["fsdp2"].setdefault("cpu", fsdp.FSDPEngineWithLMHead)
        return look_up(cls, model_type, backend)

    EngineRegistry.get_engine_cls = classmethod(get_engine_cls)


def _use_one_backend() -> None:
    """Replace verl's "cpu:gloo,cpu:gloo", which torch rejects, by one back end."""
    from verl.utils import distributed

    name = "initialize_global_process_group_ray"
    made = getattr(distributed, name)

    @functools.wraps(made)
    def start(timeout_second: int | None = None, backend: str | None = None) -> Any:
        return made(timeout_second, backend or "cpu:gloo")

    for module in [m for key, m in list(sys.modules.items()) if key.startswith("verl.")]:
        if vars(module).get(name) is made:
            setattr(module, name, start)


def _register_server() -> None:
    from verl.workers.rollout import base
    from verl.workers.rollout.replica import RolloutReplicaRegistry

    def replica() -> Any:
        from provegym.train.verl.cpu_server import Replica

        return Replica

    base._ROLLOUT_REGISTRY[(ROLLOUT, "async")] = f"{SERVER}.Adapter"
    RolloutReplicaRegistry.register(ROLLOUT, replica)


_register_engine()
_use_one_backend()
_register_server()
