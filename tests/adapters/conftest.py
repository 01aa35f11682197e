"""Each adapter is tested beside the real package, in an environment of its own.

`make test-adapters` runs these tests, `make test` only those that need no foreign package.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import pytest

from provegym.servers import SERVERS
from tests.adapters import kiosk

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A file is named for the package that it needs; without it, its tests say so."""
    for item in items:
        package = item.path.stem.removeprefix("test_")
        marked = item.path.parent == HERE and item.get_closest_marker("adapters")
        if marked and find_spec(package) is None:
            reason = f"needs {package}: make test-adapters"
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="module", autouse=True)
def _kiosk() -> Iterator[None]:
    with patch.dict(SERVERS):
        kiosk.register()
        yield
