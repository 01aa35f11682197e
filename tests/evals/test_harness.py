"""Making the environments of benchmarks' own programs."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from provegym.errors import InputError
from provegym.evals import harness


def test_an_environment_that_another_process_makes_is_left_to_it(tmp_path: Path) -> None:
    place = harness.folder(harness.named("bfcl"), tmp_path)
    place.mkdir()
    (place / "half").touch()
    with (tmp_path / f".{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match=f"^{place} is being made by another process; wait"):
            harness.setup("bfcl", tmp_path)
    assert (place / "half").exists()
