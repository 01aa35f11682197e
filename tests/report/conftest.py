"""The run that is reported; made once, for its page is a function of its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.small import made


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("report") / "run")
