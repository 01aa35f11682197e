"""The shipped adapter."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from provegym.errors import InputError
from provegym.train import models, warmstart
from provegym.train.curves import Curves
from provegym.types import Task


@dataclass(frozen=True)
class Recipe:
    rank: int = 2


def adapter(model: Any, folder: Path) -> Any:
    adapted = models.with_lora(model, rank=2, seed=1)
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    models.save(adapted, None, folder / "policy")
    curve = Curves(folder / "curves.jsonl")
    for step, loss in enumerate([2.0, 1.0, 0.5], start=1):
        curve.add({"step": step, "loss": loss})
    return adapted


def test_a_shipped_adapter_is_half_as_large_and_says_what_it_is(
    fresh: Any, tasks: list[Task], tmp_path: Path
) -> None:
    adapted = adapter(fresh, tmp_path)
    target = warmstart.ship(tmp_path / "policy", tasks, Recipe(), tmp_path / "shipped")
    assert models.is_policy(target)
    weights = load_file(target / warmstart.WEIGHTS)
    whole = load_file(tmp_path / "policy" / warmstart.WEIGHTS)
    assert all(torch.equal(w.to(torch.bfloat16), weights[n]) for n, w in whole.items())
    assert len(weights) == sum(1 for n, _ in adapted.named_parameters() if "lora" in n)
    facts = json.loads((target / "card.json").read_text())
    assert facts["recipe"] == {"rank": 2}
    assert (facts["first_loss"], facts["last_loss"]) == (2.0, 0.5)
    assert facts["servers"] == ["lights"]
    card = (target / "README.md").read_text()
    assert "dequantized from Q4" in card
    assert "loss 2.000 to\n  0.500" in card


def test_an_adapter_that_is_too_large_is_refused_and_leaves_nothing(
    fresh: Any, tasks: list[Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter(fresh, tmp_path)
    monkeypatch.setattr(warmstart, "MAX_BYTES", 1000)
    with pytest.raises(InputError, match="lower its rank"):
        warmstart.ship(tmp_path / "policy", tasks, Recipe(), tmp_path / "shipped")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["curves.jsonl", "policy"]


def test_a_whole_model_is_not_shipped(
    fresh: Any, tokenizer: Any, tasks: list[Task], tmp_path: Path
) -> None:
    models.save(fresh, tokenizer, tmp_path / "policy")
    with pytest.raises(InputError, match="holds no adapter"):
        warmstart.ship(tmp_path / "policy", tasks, Recipe(), tmp_path / "shipped")
