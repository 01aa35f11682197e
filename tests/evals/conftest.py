"""Benchmarks' environments: made once and cached, in PROVEGYM_HARNESSES where it is set."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from provegym.evals import harness
from provegym.evals.harness import Environment

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def harnesses() -> Path:
    told = os.environ.get("PROVEGYM_HARNESSES")
    return Path(told) if told else ROOT / ".cache" / "harnesses"


def made(suite: str, cache: Path) -> Environment:
    """The environment, made where it is missing; other workers wait meanwhile."""
    import fcntl

    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{suite}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return harness.setup(suite, cache)


@pytest.fixture(scope="session")
def bfcl_environment(harnesses: Path) -> Environment:
    return made("bfcl", harnesses)


@pytest.fixture(scope="session")
def tau2_environment(harnesses: Path) -> Environment:
    return made("tau2", harnesses)


@pytest.fixture(scope="session")
def teval_environment(harnesses: Path) -> Environment:
    return made("teval", harnesses)
