"""The fine-tuned baseline: TRL's SFTTrainer on the ground truth of the tasks that GRPO learns from.

The conversations are those of `sft.examples`, token for token what GRPO's policy would have read
and should have written. The loss is on the assistant's tokens alone. The warm start, which comes
before any comparison, is made by `sft.train` instead, whose runs resume at any step.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import SFTConfig as TrlConfig
from trl import SFTTrainer

from provegym import seeding
from provegym.errors import InputError
from provegym.train import models
from provegym.train.curves import Curves
from provegym.train.sft import Example, Progress, SftConfig

IGNORED = -100
"""The label of a token that teaches nothing, as torch has it."""


def train(
    model: Any,
    tokenizer: Any,
    data: Sequence[Example],
    config: SftConfig,
    out: Path,
    progress: Progress | None = None,
) -> Path:
    """Fine-tune `model` and return the trained policy's folder, `out`/policy; one row a step is in
    `out`/curves.jsonl.

    A killed run begins anew: it takes minutes, and the same seed gives the same policy. Raises
    `InputError` without examples.
    """
    if not data:
        raise InputError("no conversation fits the limits; raise them or make shorter tasks")
    policy = out / "policy"
    if models.is_policy(policy):
        return policy
    curves = Curves(out / "curves.jsonl")
    curves.resume(0)
    with models.calm():
        trainer = SFTTrainer(
            model=model,
            args=_settings(config, out),
            train_dataset=rows(data),
            processing_class=tokenizer,
            callbacks=[_Recorder(curves, progress)],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    curves.finish()
    models.save(trainer.model.eval(), tokenizer, policy)
    shutil.rmtree(out / "trainer", ignore_errors=True)
    return policy


def rows(data: Sequence[Example]) -> Dataset:
    """The examples as SFTTrainer takes them, labelled where the assistant wrote."""
    return Dataset.from_list(
        [{"input_ids": example.ids, "labels": labels(example)} for example in data]
    )


def labels(example: Example) -> list[int]:
    """Each token that the assistant wrote, and `IGNORED` for what it read."""
    return [token if own else IGNORED for token, own in zip(example.ids, example.mask, strict=True)]


def _settings(config: SftConfig, out: Path) -> TrlConfig:
    return TrlConfig(
        output_dir=str(out / "trainer"),
        num_train_epochs=config.epochs,
        per_device_train_batch_size=config.batch_size,
        learning_rate=config.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=config.warmup,
        weight_decay=0.0,
        max_grad_norm=config.max_grad_norm,
        max_length=None,  # what does not fit was left out before
        packing=False,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        bf16=False,
        activation_checkpointing=False,
        dataloader_pin_memory=False,
        disable_tqdm=True,
        seed=seeding.derive(config.seed, "trainer") % 2**31,
    )


class _Recorder(TrainerCallback):  # type: ignore[misc]
    """Writes a step's row; the trainer also logs a summary at its end, which has no loss."""

    def __init__(self, curves: Curves, progress: Progress | None) -> None:
        self.curves, self.progress, self.begun = curves, progress, 0.0

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Start the step's clock."""
        self.begun = time.perf_counter()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """One row: the step, its loss (nats a token), gradient norm and learning rate."""
        if not logs or "loss" not in logs:
            return
        keys = ("loss", "grad_norm", "learning_rate")
        row = {"step": int(state.global_step), **{key: logs.get(key) for key in keys}}
        row["seconds"] = round(time.perf_counter() - self.begun, 3)
        self.curves.add(row)
        if self.progress:
            self.progress(int(state.global_step), row)
