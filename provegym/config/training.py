"""`[sft]`, `[grpo]` and `[eval]`: how a policy learns, and how it is measured."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from provegym.config.section import AtOnce, Count, Group, Natural, Positive, Rate, Section, Steps
from provegym.types import MOST_TRIALS


class Sft(Section):
    """Supervised fine-tuning on the ground truth (ours but for `epochs`)."""

    epochs: Positive = 3.0
    learning_rate: Rate = 2e-4
    batch_size: Count = 4
    warmup: Natural = 10
    lora_rank: Count = 16
    compare: bool = False
    """Also fine-tune the starting policy on the tasks that GRPO trains on, and evaluate that."""


class Grpo(Section):
    """Group-relative policy optimization; `beta` weighs the KL term, 0 leaves it out."""

    steps: Steps = 350
    tasks: Natural = 0
    """Learn from the first so many tasks that fit the limits; 0 means all (ours)."""
    group_size: Group = 16
    demonstrations: Natural = 0
    """Of each group, the rollouts that follow the ground truth instead of being sampled, so that
    a group in which nothing is solved still has something to learn from (ours; the idea is that
    of LUFFY, arXiv 2504.14945)."""
    prompts_per_step: Count = 16
    learning_rate: Rate = 1e-6
    beta: Annotated[float, Field(ge=0)] = 0.01
    temperature: Positive = 1.0
    scale_rewards: Literal["group", "batch", "none"] = "group"
    """Advantages are divided by the standard deviation of the group or the whole step, or not."""
    max_completion_tokens: Count = 16_384
    """Of all that follows the prompt in one episode, tool results included."""
    max_reply_tokens: Count = 16_384
    """Of one assistant message (ours)."""
    max_result_tokens: Count = 16_384
    """Of one tool result; the rest is cut off (ours)."""
    max_steps: Count = 10
    """Assistant messages in one user turn."""
    train_layers: Natural = 0
    """Let only the adapters of this many top layers learn; 0 means all (ours)."""
    max_seconds: Annotated[float, Field(ge=0)] = 0.0
    """End at the first step that passes it; 0 means never (ours)."""
    resample: Natural = 0
    """How often groups that all earned the same, which teach nothing, are played anew with other
    tasks (ours; the dynamic sampling of DAPO, arXiv 2503.14476, with an end)."""
    curriculum: bool = False
    """Begin with the tasks of the fewest calls and add longer ones by and by (ours)."""
    preset: str = "paper"

    @model_validator(mode="after")
    def _something_is_sampled(self) -> Grpo:
        if self.demonstrations > self.group_size - 2:
            raise ValueError("demonstrations leaves fewer than two of group_size to be sampled")
        return self


class Eval(Section):
    """Held-out evaluation, greedy: how many tasks, how often each, and scored how (ours)."""

    tasks: Count = 200
    trials: Annotated[int, Field(ge=1, le=MOST_TRIALS)] = 1
    concurrency: AtOnce = 16
    preset: str = "strict"
