"""Policies' weights on disk and in memory: adapters, whole models, and what of them is trained.

A policy folder holds either a whole model (`tiny`) or a LoRA adapter over SmolLM2. Both carry
the version of the chat rendering that they were trained on, and are refused under another one.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from provegym.errors import InputError
from provegym.llm.local import loading
from provegym.records import content_hash
from provegym.train import chat, smollm2

ADAPTER = "adapter_config.json"
CARD = "provegym.json"
SUMS = "sums.json"
"""The hash of each file of a folder that is written here."""
LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def quiet() -> None:
    """No progress bars of transformers: the command draws its own."""
    from transformers.utils import logging

    logging.disable_progress_bar()


@contextmanager
def calm() -> Iterator[None]:
    """Without the warning that PEFT and TRL cause by asking transformers by an old name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`is_gradient_checkpointing` is deprecated")
        yield


def with_lora(model: Any, rank: int = 16, seed: int = 0) -> Any:
    """`model` under a fresh LoRA adapter on all seven projections of every layer."""
    import torch
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules=LINEAR, task_type="CAUSAL_LM"
    )
    with torch.random.fork_rng(devices=[]), calm():
        torch.manual_seed(seed % 2**63)
        return get_peft_model(model, config).eval()


def train_top(model: Any, layers: int) -> None:
    """Let only the adapters of the top `layers` decoder layers learn; 0 leaves all as they are.

    What lies below stays as it is, so training needs no backward pass there, nor a forward pass
    beyond the one that sampling did anyway.
    """
    from provegym.train.engine import base_model

    if layers == 0:
        return
    below = base_model(model).model
    frozen = [below.embed_tokens, *below.layers[: max(0, len(below.layers) - layers)]]
    for part in frozen:
        part.requires_grad_(False)


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write a policy folder whole or not at all, replacing what was there."""
    write_folder(folder, lambda work: save_into(model, tokenizer, work))


def save_into(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write a policy's files into an existing folder."""
    card = {"chat": chat.CHAT_VERSION, "base": ""}
    if hasattr(model, "peft_config"):
        card["base"] = smollm2.PACKAGE
        for config in model.peft_config.values():
            config.base_model_name_or_path = None  # a path of this machine helps nobody
        model.save_pretrained(folder, save_embedding_layers=False)
        (folder / "README.md").unlink(missing_ok=True)
    else:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    (folder / CARD).write_text(json.dumps(card) + "\n")


def write_folder(folder: Path, write: Callable[[Path], None]) -> None:
    """Fill a folder beside its place and move it there, so a killed run leaves no half of it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        write(work)
        (work / SUMS).write_text(json.dumps(_sums(work), indent=1) + "\n")
        work.chmod(0o755)
        old = work.with_name(work.name + "-old")
        if folder.exists():
            os.rename(folder, old)
        os.rename(work, folder)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def load(
    folder: Path,
    *,
    cache: Path | None = None,
    precision: smollm2.Precision = "auto",
    trainable: bool = False,
) -> tuple[Any, Any]:
    """A policy folder's model and tokenizer. Raises `InputError` for a folder that is none, or that
    is damaged.
    """
    quiet()
    with loading(str(folder)):
        _check(folder)
        return _loaded(folder, cache, precision, trainable)


def _loaded(
    folder: Path, cache: Path | None, precision: smollm2.Precision, trainable: bool
) -> tuple[Any, Any]:
    if (folder / ADAPTER).is_file():
        from peft import PeftModel

        base, tokenizer = smollm2.load(cache, precision)
        with calm():
            model = PeftModel.from_pretrained(base, folder, is_trainable=trainable)
        return model.eval(), tokenizer
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return model.eval(), AutoTokenizer.from_pretrained(folder)


def see_whole(folder: Path) -> None:
    """Raise `InputError` where a file of a folder is not as `write_folder` left it."""
    if not (folder / SUMS).is_file():
        return
    try:
        told = dict(json.loads((folder / SUMS).read_text()))
    except (ValueError, TypeError):
        told = {SUMS: ""}
    for name, known in told.items():
        if not (folder / name).is_file() or content_hash(folder / name) != known:
            raise InputError(
                f"{folder / name} is damaged (it is not as it was written); delete {folder}, and "
                "the same command makes it anew"
            )


def _sums(folder: Path) -> dict[str, str]:
    """The hash of each file but texts for people."""
    files = sorted(path for path in folder.iterdir() if path.suffix != ".md")
    return {path.name: content_hash(path) for path in files}


def is_policy(folder: Path) -> bool:
    """Whether `folder` was written by `save`."""
    return (folder / CARD).is_file()


def _check(folder: Path) -> None:
    if not is_policy(folder):
        raise InputError(f"{folder} holds no policy of provegym ({CARD} is missing)")
    version = json.loads((folder / CARD).read_text()).get("chat")
    if version != chat.CHAT_VERSION:
        raise InputError(
            f"{folder} was trained on chat rendering {version}, this is {chat.CHAT_VERSION}; "
            "train it again"
        )
    see_whole(folder)
