"""A model server on transformers in place of vLLM, and a replay buffer that polls often.

For tiny models on a CPU; see `provegym.train.verl.cpu`.
"""

from __future__ import annotations

import asyncio
from typing import Any

import torch
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, TokenOutput

POLL_SECONDS = 0.05
"""verl's own 2 seconds would be most of a step here."""
NAME = "provegym_cpu_{}_0"


class QuickBuffer(ReplayBuffer):  # type: ignore[misc]
    """verl's replay buffer with short polls. verl tells a custom one nothing of refills, so what
    it needs for them is in `sampler_kwargs`.
    """

    def __init__(self, *args: Any, sampler_kwargs: Any, **kwargs: Any) -> None:
        refill = {"sync_refill_failed_groups": True, "gen_batch_size": 1, **sampler_kwargs}
        told = {**kwargs, **refill, "poll_interval": POLL_SECONDS}
        super().__init__(*args, sampler_kwargs=sampler_kwargs, **told)


class Server:
    """Token in, token out, one request after another. A Ray actor."""

    def __init__(self, model_config: Any, config: Any) -> None:
        from transformers import AutoModelForCausalLM
        from verl.utils.config import omega_conf_to_dataclass

        torch.set_num_threads(1)
        told = omega_conf_to_dataclass(model_config)
        load = AutoModelForCausalLM.from_pretrained
        self.model = load(told.local_path, dtype=torch.float32).eval()
        self.pad, self.version, self._lock = told.tokenizer.pad_token_id, 0, asyncio.Lock()

    async def generate(
        self, request_id: str, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any
    ) -> TokenOutput:
        """At most `max_tokens` ids with their log-probabilities."""
        async with self._lock:
            return await asyncio.to_thread(self._generate, list(prompt_ids), sampling_params)

    @torch.no_grad()
    def _generate(self, prompt: list[int], sampling: dict[str, Any]) -> TokenOutput:
        heat = float(sampling.get("temperature", 1.0))
        ids = torch.tensor([prompt])
        made = self.model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=int(sampling["max_tokens"]),
            do_sample=heat > 0,
            temperature=heat or None,
            top_k=0 if heat else None,
            top_p=None,
            return_dict_in_generate=True,
            output_logits=True,
            pad_token_id=self.pad,
        )
        written = made.sequences[0, len(prompt) :].tolist()
        rows = [torch.log_softmax(row[0].float() / (heat or 1.0), -1) for row in made.logits]
        logprobs = [float(row[token]) for row, token in zip(rows, written, strict=True)]
        told = {"global_steps": self.version}
        return TokenOutput(
            token_ids=written, log_probs=logprobs, stop_reason="completed", extra_fields=told
        )

    async def load(self, weights: dict[str, torch.Tensor]) -> None:
        """Take new weights."""
        self.model.load_state_dict(weights, strict=False)

    async def set_global_steps(self, steps: int) -> None:
        """Say which step the weights are of."""
        self.version = steps

    async def idle(self, *_: Any, **__: Any) -> None:
        """There is no cache to free and no request to abort."""

    wake_up = sleep = clear_kv_cache = release_kv_cache = resume_kv_cache = idle
    abort_all_requests = resume_generation = idle


class Replica(RolloutReplica):  # type: ignore[misc]
    """One server."""

    async def launch_servers(self) -> None:
        """Start it."""
        import ray

        options = {"name": NAME.format(self.replica_rank), "max_concurrency": 256, "num_cpus": 0}
        actor: Any = ray.remote(Server)
        server = actor.options(**options).remote(self.model_config, self.config)
        await server.set_global_steps.remote(0)
        self.servers, self._server_handle = [server], server
        self._server_address = f"cpu-{self.replica_rank}"


class Adapter(BaseRollout):  # type: ignore[misc]
    """Hands the trainer's weights to the server."""

    def __init__(
        self, config: Any, model_config: Any, device_mesh: Any, replica_rank: int = -1, **_: Any
    ) -> None:
        super().__init__(config, model_config, device_mesh)

    async def resume(self, tags: Any) -> None:
        """Nothing was released."""

    async def release(self) -> None:
        """Nothing is held."""

    async def update_weights(self, weights: Any, global_steps: int | None = None, **_: Any) -> None:
        """Copy them over."""
        import ray

        server = ray.get_actor(NAME.format(0))
        await server.load.remote({name: _whole(tensor) for name, tensor in weights})
        if global_steps is not None:
            await server.set_global_steps.remote(global_steps)


def _whole(tensor: Any) -> torch.Tensor:
    full = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return torch.as_tensor(full.detach().float().cpu().clone())
