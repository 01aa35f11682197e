"""The only source of randomness: one root seed, split by names.

`rng(seed, "synth", 12)` is the same generator in every process and on every machine,
and independent of `rng(seed, "synth", 13)`.
"""

from __future__ import annotations

import hashlib
from random import Random


def derive(root_seed: int, *names: str | int) -> int:
    """A 64-bit seed for the place called `names` under `root_seed` (SHA-256 of both)."""
    text = "\x1f".join([str(root_seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def rng(root_seed: int, *names: str | int) -> Random:
    """A private generator for the place called `names` under `root_seed`."""
    return Random(derive(root_seed, *names))
