"""GRPO through TRL's trainer, over our own agent loop and live sessions.

TRL owns advantages, the loss, the optimizer and the steps. Ours are the episodes (`rollout_func`),
the log-probabilities (over prefix trees, see `learn`) and the checkpoints: a folder a step, moved
into place whole, so that a run killed at any moment goes on as if it had not been.
"""

from __future__ import annotations

import copy
import logging
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # read when a trainer is built

import torch
from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig as TrlConfig
from trl import GRPOTrainer

from provegym import seeding
from provegym.errors import InputError
from provegym.rewards.total import score
from provegym.rollout.loop import Limits as LoopLimits
from provegym.rollout.run import Job, SessionOpener
from provegym.train import models, sft, stability
from provegym.train.curves import Curves, Row, is_flat, summary
from provegym.train.engine import first_trainable
from provegym.train.episodes import DEMONSTRATION, Episode, play
from provegym.train.learn import score_nodes
from provegym.train.order import ordered
from provegym.train.policy import Draft, Limits, LocalPolicies
from provegym.train.transcript import Codec
from provegym.types import Task

log = logging.getLogger(__name__)

Progress = Callable[[int, Row], None]
"""Told the number of steps done and the row of the last one."""


ROUNDING = 2e-3
"""Advantages up to this come from rounding alone: of equal rewards, whose mean is inexact."""


@dataclass(frozen=True)
class GrpoConfig:
    """Settings of a run. Steps times prompts times group size is the number of rollouts.

    It learns from the first `tasks` that fit the limits (0: from all), seen again and again.
    `preset` names the reward. `train_layers` lets only the adapters of that many top layers learn
    (0: everything does), `max_steps` counts assistant messages in one user turn, `max_seconds`
    ends the run at the first step that passes it (0: never), `beta` weighs the KL term to the
    starting policy. `scale_rewards` divides advantages by the standard deviation of the "group",
    of the whole "batch", or, with "none", not at all. The last `demonstrations` of each group
    follow the ground truth; the curves leave them out. Groups that teach nothing are played anew
    with other tasks up to `resample` times; with `curriculum`, tasks of few calls come first.
    """

    steps: int = 30
    tasks: int = 0
    prompts_per_step: int = 4
    group_size: int = 8
    demonstrations: int = 0
    resample: int = 0
    curriculum: bool = False
    learning_rate: float = 1e-4
    adam_epsilon: float = 1e-8
    beta: float = 0.0
    temperature: float = 1.0
    scale_rewards: str = "group"
    preset: str = "strict"
    seed: int = 0
    train_layers: int = 0
    max_grad_norm: float = 1.0
    max_response_tokens: int = 384
    max_steps: int = 6
    limits: Limits = field(default_factory=Limits)
    save_every: int = 1
    max_seconds: float = 0.0


def train(
    model: Any,
    tokenizer: Any,
    tasks: Sequence[Task],
    config: GrpoConfig,
    out: Path,
    open_session: SessionOpener,
    progress: Progress | None = None,
) -> Path:
    """Train `model` on `tasks` and return the folder of the trained policy, `out`/policy.

    Goes on where an earlier run in `out` stopped; `out`/curves.jsonl has one row a step. `model`
    must be the starting policy in either case. Tasks whose ground truth does not fit the limits
    are left out. Raises `InputError` if none is left.
    """
    policy = out / "policy"
    if models.is_policy(policy):
        return policy
    codec = Codec(tokenizer, config.max_response_tokens)
    whole = sft.examples(tasks, open_session, codec, config.limits, thin=False)
    known = {example.task_id: example for example in whole}
    fitting = [(task, known[task.id]) for task in tasks if task.id in known]
    if not fitting:
        raise InputError(f"none of {len(tasks)} tasks fits {config.limits}; raise the limits")
    models.train_top(model, config.train_layers)
    fitting = fitting[: config.tasks or None]
    with models.calm():
        trainer = Trainer(model, tokenizer, fitting, config, out, open_session, progress)
        trainer.train(resume_from_checkpoint=trainer.resume())
    trainer.curves.finish()
    models.save(trainer.model, tokenizer, policy)
    return policy


def schedule(tasks: Sequence[Task], config: GrpoConfig) -> list[Task]:
    """The tasks of all steps, in order."""
    wanted = config.steps * config.prompts_per_step
    return ordered(tasks, wanted, config.seed, curriculum=config.curriculum)


def _settings(config: GrpoConfig, out: Path) -> TrlConfig:
    return TrlConfig(
        output_dir=str(out / "checkpoints"),
        max_steps=config.steps,
        per_device_train_batch_size=config.prompts_per_step * config.group_size,
        gradient_accumulation_steps=1,
        num_generations=config.group_size,
        max_completion_length=config.limits.completion,
        learning_rate=config.learning_rate,
        adam_epsilon=config.adam_epsilon,
        lr_scheduler_type="constant",
        temperature=config.temperature,
        max_grad_norm=config.max_grad_norm,
        scale_rewards=config.scale_rewards,
        beta=0.0,  # the reference policy is set up by our trainer, see there
        loss_type="dapo",  # a sum over tokens, so that groups can be learnt from one by one
        shuffle_dataset=False,
        save_strategy="steps",
        save_steps=config.save_every,
        logging_steps=1,
        report_to="none",
        use_cpu=True,
        bf16=False,
        activation_checkpointing=False,
        dataloader_pin_memory=False,
        disable_tqdm=True,
        seed=seeding.derive(config.seed, "trainer") % 2**31,
    )


class Trainer(GRPOTrainer):  # type: ignore[misc]
    """TRL's trainer with live episodes, tree log-probabilities and atomic checkpoints."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        tasks: Sequence[tuple[Task, sft.Example]],
        config: GrpoConfig,
        out: Path,
        open_session: SessionOpener,
        progress: Progress | None = None,
    ) -> None:
        """`tasks` come with their ground truth as a conversation, the draft of their rollouts."""
        self.ours, self.open_session = config, open_session
        self.tasks = schedule([task for task, _ in tasks], config)
        self.folder, self.good = out / "checkpoints", out / "good"
        self.codec = Codec(tokenizer, config.max_response_tokens)
        self.low = first_trainable(model)
        self.curves = Curves(out / "curves.jsonl")
        self.episodes: list[Episode] = []
        self.resampled = 0
        self.rows: list[int] = []
        reference = copy.deepcopy(model).eval().requires_grad_(False) if config.beta else None
        super().__init__(
            model=model,
            reward_funcs=[_reward],
            args=_settings(config, out),
            train_dataset=Dataset.from_list([{"prompt": str(i)} for i in range(len(self.tasks))]),
            processing_class=tokenizer,
            rollout_func=Trainer._rollout,
            callbacks=[_Recorder(self, progress)],
        )
        self.remove_callback(PrinterCallback)
        self.beta, self.ref_model = config.beta, reference
        self.policies = LocalPolicies(
            model,
            self.codec,
            temperature=config.temperature,
            limits=config.limits,
            drafts={task.id: Draft(e.ids, e.mask) for task, e in tasks},
        )

    # -- episodes --------------------------------------------------------------------------

    @staticmethod
    def _rollout(prompts: list[str], trainer: Trainer) -> dict[str, Any]:
        """TRL's `rollout_func`. A prompt is the number of a task in the schedule."""
        trainer.policies.renew()
        tasks = [trainer.tasks[int(prompt)] for prompt in prompts]
        trainer.episodes = trainer._play(tasks, 0)
        trainer.resampled = 0
        for again in range(1, trainer.ours.resample + 1):
            if not trainer._resample(again):
                break
        return _fields(trainer.episodes)

    def _play(self, tasks: Sequence[Task], again: int) -> list[Episode]:
        """One episode a place, live; the last places of each group follow the ground truth."""
        config = self.ours
        names = ("rollout", self.state.global_step, *([again] if again else []))
        root = seeding.derive(config.seed, *names)
        sampled = config.group_size - config.demonstrations
        jobs = [
            Job(task, i, "grpo" if i % config.group_size < sampled else DEMONSTRATION, root)
            for i, task in enumerate(tasks)
        ]
        reward, limits = (
            partial(score, preset=config.preset),
            LoopLimits(max_steps=config.max_steps),
        )
        return play(jobs, self.policies, self.open_session, reward, limits)

    def _resample(self, again: int) -> bool:
        """Play the groups that teach nothing anew, with tasks that this step has not seen; False
        where there is nothing to do.
        """
        size = self.ours.group_size
        starts = range(0, len(self.episodes), size)
        flat = [i for i in starts if is_flat(self.episodes[i : i + size])]
        seen = {episode.task.id for episode in self.episodes}
        spare = [t for t in {t.id: t for t in self.tasks}.values() if t.id not in seen]
        seeding.rng(self.ours.seed, "spare", self.state.global_step, again).shuffle(spare)
        places = list(zip(flat, spare, strict=False))
        played = self._play([task for _, task in places for _ in range(size)], again)
        for k, (start, _) in enumerate(places):
            self.episodes[start : start + size] = played[k * size : (k + 1) * size]
        self.resampled += len(places)
        return bool(places)

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        """One batch a step, in the order it was played: the groups stay together."""
        return self._generate_and_score_completions(generation_batch)

    # -- learning --------------------------------------------------------------------------

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> torch.Tensor:
        """Group by group, backward included, so that one group's activations live at a time.

        Rollouts without an advantage have no gradient and are left out.
        """
        total, size = 0.0, self.ours.group_size
        advantages = inputs["advantages"].abs().tolist()
        for start in range(0, len(advantages), size):
            group = range(start, start + size)
            self.rows = [i for i in group if advantages[i] > ROUNDING or self.beta]
            if self.rows:
                loss = self._compute_loss(model, _take(inputs, self.rows))
                self.accelerator.backward(loss)
                total += loss.item()
        # The trainer wants something to call backward on; everything was done above.
        return torch.tensor(total, requires_grad=True)

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: Any, attention_mask: Any, logits_to_keep: int, **_: Any
    ) -> tuple[torch.Tensor, torch.Tensor, None]:
        """Log-probabilities of the sampled tokens of the current rows; zeros where not sampled."""
        rows = self.rows or list(range(len(self.episodes)))
        logprobs = torch.zeros(len(rows), logits_to_keep)
        entropies = torch.zeros(len(rows), logits_to_keep)
        by_tree: dict[Any, list[tuple[int, int, int]]] = {}
        for row, index in enumerate(rows):
            tree, places = _sampled(self.episodes[index])
            by_tree.setdefault(tree, []).extend((row, at, node) for at, node in places)
        for tree, found in by_tree.items():
            if not found:
                continue
            nodes = list(dict.fromkeys(node for _, _, node in found))
            scored = score_nodes(model, tree, nodes, self.low, self.ours.temperature)
            column = {node: i for i, node in enumerate(nodes)}
            at = torch.tensor([[row, position] for row, position, _ in found]).t()
            pick = torch.tensor([column[node] for _, _, node in found])
            logprobs = logprobs.index_put((at[0], at[1]), scored.logprobs[pick])
            entropies = entropies.index_put((at[0], at[1]), scored.entropies[pick])
        return logprobs, entropies, None

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        self.rows = []
        return super()._generate_and_score_completions(inputs)

    # -- checkpoints -----------------------------------------------------------------------

    def resume(self) -> str | None:
        """The newest checkpoint, with the curves cut back to it; None to start afresh.

        Raises `InputError` for a damaged one.
        """
        steps = _steps(self.folder)
        newest = self.folder / f"checkpoint-{steps[-1]}" if steps else None
        if newest:
            models.see_whole(newest)
        self.curves.resume(steps[-1] if steps else 0)
        return str(newest) if newest else None

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """The best so far is kept as a policy of its own: what is left after a collapse."""
        step = self.state.global_step
        if stability.is_best(self.curves.rows):
            models.save(self.model, self.processing_class, self.good)
        models.write_folder(self.folder / f"checkpoint-{step}", self._fill)
        for old in _steps(self.folder)[:-2]:
            shutil.rmtree(self.folder / f"checkpoint-{old}")

    def _fill(self, folder: Path) -> None:
        learnt = {n: p.detach() for n, p in self.model.named_parameters() if p.requires_grad}
        torch.save(learnt, folder / "weights.pt")
        self._save_optimizer_and_scheduler(str(folder))
        self._save_rng_state(str(folder))
        self.state.save_to_json(str(folder / "trainer_state.json"))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        path = Path(resume_from_checkpoint) / "weights.pt"
        self.model.load_state_dict(torch.load(path, weights_only=True), strict=False)


class _Recorder(TrainerCallback):  # type: ignore[misc]
    """Writes a step's row as soon as the trainer has logged it, before the checkpoint."""

    def __init__(self, trainer: Trainer, progress: Progress | None) -> None:
        self.trainer, self.progress, self.begun = trainer, progress, 0.0

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Start the step's clock."""
        self.begun = time.perf_counter()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Write the row; the trainer also logs a summary at its end, which has no loss."""
        if not logs or "loss" not in logs:
            return
        trainer, step = self.trainer, int(state.global_step)
        row = {
            "step": step,
            **summary(trainer.episodes, trainer.ours.group_size),
            "resampled": trainer.resampled,
            **{key: logs.get(key) for key in ("loss", "grad_norm", "kl", "learning_rate")},
            "seconds": round(time.perf_counter() - self.begun, 3),
        }
        row["collapse"] = stability.collapse([*trainer.curves.rows, row])
        if row["collapse"] and not any(r["collapse"] for r in trainer.curves.rows):
            log.warning(
                "step %d: %s; the best policy is in %s", step, row["collapse"], trainer.good
            )
        trainer.curves.add(row)
        if self.progress:
            self.progress(step, row)
        if 0 < trainer.ours.max_seconds <= trainer.curves.seconds:
            control.should_training_stop = True


def _reward(prompts: Sequence[str], normalized: Sequence[float | None], **_: Any) -> list[Any]:
    """TRL's reward function: the scores that came with the rollouts; None is masked."""
    return list(normalized)


def _fields(episodes: Sequence[Episode]) -> dict[str, Any]:
    """The rollouts as TRL takes them. An episode without a token becomes one that teaches none."""
    scripts = [episode.policy.transcript for episode in episodes]
    blank = scripts[0].codec.end
    return {
        "prompt_ids": [s.prompt_ids or [blank] for s in scripts],
        "completion_ids": [s.completion_ids or [blank] for s in scripts],
        "env_mask": [s.completion_mask or [0] for s in scripts],
        "logprobs": None,
        "normalized": [episode.score.normalized for episode in episodes],
    }


def _sampled(episode: Episode) -> tuple[Any, list[tuple[int, int]]]:
    """An episode's tree, and position in the completion and node of each sampled token."""
    script, tree = episode.policy.transcript, episode.policy.tree
    nodes = tree.path(script.ids)[script.prompt_length :]
    places = [(at, n) for at, n in enumerate(nodes) if script.completion_mask[at]]
    return tree, places


def _take(inputs: dict[str, Any], rows: list[int]) -> dict[str, Any]:
    """Some rows of a batch; what is one number for all stays."""
    index = torch.tensor(rows)
    return {
        key: value[index] if torch.is_tensor(value) and value.dim() > 0 else value
        for key, value in inputs.items()
    }


def _steps(folder: Path) -> list[int]:
    """The steps that have a whole checkpoint, in order."""
    return sorted(int(path.name.rpartition("-")[2]) for path in folder.glob("checkpoint-*"))
