"""The fine-tuned baseline: what it learns from, and that it does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from trl import SFTTrainer

from provegym.errors import InputError
from provegym.records import read_rows
from provegym.rollout.run import SessionOpener
from provegym.train import baseline, models, sft
from provegym.train.transcript import Codec
from provegym.types import Task

CONFIG = sft.SftConfig(epochs=20, batch_size=3, learning_rate=3e-3, warmup=2)


@pytest.fixture(scope="module")
def data(tasks: list[Task], tokenizer: Any, open_session: SessionOpener) -> list[sft.Example]:
    return sft.examples(tasks, open_session, Codec(tokenizer))


def test_only_what_the_assistant_writes_has_a_label(
    data: list[sft.Example], tokenizer: Any
) -> None:
    example = data[0]
    taught = [t for t in baseline.labels(example) if t != baseline.IGNORED]
    assert tokenizer.decode(taught) == (
        '<tool_call>{"name":"set_lamp","arguments":{"room":"kitchen","level":4}}</tool_call>'
        "<|im_end|>Done.<|im_end|>"
    )
    assert len(baseline.labels(example)) == len(example.ids) > 2 * len(taught)


def test_the_trainer_s_own_batches_keep_the_labels(
    data: list[sft.Example],
    fresh: Any,
    tokenizer: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Any] = []
    compute = SFTTrainer.compute_loss

    def watch(trainer: Any, model: Any, inputs: Any, *args: Any, **told: Any) -> Any:
        seen.append((inputs["input_ids"], inputs["labels"]))
        return compute(trainer, model, inputs, *args, **told)

    monkeypatch.setattr(SFTTrainer, "compute_loss", watch)
    baseline.train(fresh, tokenizer, data, replace(CONFIG, epochs=1), tmp_path)
    ((ids, labels),) = seen
    wanted = {tuple(e.ids): baseline.labels(e) for e in data}
    assert len(ids) == len(wanted) == 3
    for row, marks in zip(ids.tolist(), labels.tolist(), strict=True):
        (known,) = [k for k in wanted if list(k) == row[: len(k)]]
        assert marks == wanted[known] + [baseline.IGNORED] * (len(row) - len(known))


def test_its_first_loss_is_that_of_the_assistant_s_tokens(
    data: list[sft.Example], fresh: Any, tokenizer: Any, tmp_path: Path
) -> None:
    with torch.no_grad():
        losses = torch.cat([sft.token_losses(fresh, example) for example in data])
    baseline.train(fresh, tokenizer, data, replace(CONFIG, epochs=1), tmp_path)
    first = read_rows(tmp_path / "curves.jsonl")[0]
    assert first["loss"] == pytest.approx(float(losses.mean()), rel=1e-3)


def test_three_epochs_see_each_example_three_times_and_the_same_seed_gives_the_same_policy(
    data: list[sft.Example], fresh: Any, tokenizer: Any, tmp_path: Path
) -> None:
    start = tmp_path / "start"
    models.save(fresh, tokenizer, start)
    found = []
    for name in ("one", "two"):
        model, _ = models.load(start, trainable=True)
        config = replace(CONFIG, epochs=3, batch_size=1)
        policy = baseline.train(model, tokenizer, data, config, tmp_path / name)
        assert len(read_rows(tmp_path / name / "curves.jsonl")) == 9
        found.append(models.load(policy)[0].state_dict())
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_it_lowers_the_loss_and_is_not_trained_twice(
    data: list[sft.Example], fresh: Any, tokenizer: Any, tmp_path: Path
) -> None:
    policy = baseline.train(fresh, tokenizer, data, CONFIG, tmp_path)
    losses = [row["loss"] for row in read_rows(tmp_path / "curves.jsonl")]
    assert losses[-1] < losses[0] / 2
    assert baseline.train(fresh, tokenizer, data, CONFIG, tmp_path) == policy
    assert len(read_rows(tmp_path / "curves.jsonl")) == len(losses)
    with pytest.raises(InputError, match="no conversation fits the limits"):
        baseline.train(fresh, tokenizer, [], CONFIG, tmp_path / "none")
