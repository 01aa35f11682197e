"""verl lives in an environment of its own: `make test-verl` runs these tests, `make test` none."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from provegym.servers import SERVERS
from provegym.types import Task
from tests.train.verl import small

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where someone runs all tests without verl, these say why they are skipped."""
    if find_spec("verl") is None:
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="needs verl: make test-verl"))


@pytest.fixture(scope="session", autouse=True)
def _lights() -> Iterator[None]:
    """Let the lamps' world be known here, as in verl's processes."""
    with patch.dict(SERVERS):
        from tests.train.verl import (
            lights,
        )  # to import it makes them known, in verl's processes too

        lights.register()
        yield


@pytest.fixture(scope="session")
def qwen(tasks: list[Task]) -> Any:
    """A tokenizer with Qwen's chat template."""
    return small.tokenizer(small.rendered(tasks))


@pytest.fixture(scope="session")
def model(qwen: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that knows nothing."""
    return small.save(tmp_path_factory.mktemp("model"), qwen)
