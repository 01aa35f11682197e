"""A help desk as an external server, found out about once for all tests."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from provegym.gateway.external import settings
from provegym.gateway.external.library import Site
from provegym.gateway.external.settings import External
from provegym.servers import SERVERS

DESK = Path(__file__).with_name("desk.py")
COMMAND = f"{sys.executable} {DESK}"
TOLD = External(
    command=f"{COMMAND} --plain",
    reset="start_over",
    snapshot="whole_desk",
    volatile=("id",),
    seconds=120.0,
)
"""With so much time for a start that a busy machine does not matter."""


@pytest.fixture
def told() -> External:
    """The desk's settings."""
    return TOLD


@pytest.fixture
def known_servers() -> Iterator[None]:
    """Puts `SERVERS` back as it was."""
    with patch.dict(SERVERS):
        yield


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose provegym.toml has the desk; what is known of it lies there, too."""
    folder = tmp_path_factory.mktemp("shop")
    path = folder / settings.FILE
    path.write_text(settings.table("desk", TOLD))
    site = Site("desk", path, TOLD)
    site.learned()
    site.close()
    return folder


@pytest.fixture
def url() -> Iterator[str]:
    """A desk that listens on a port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, DESK, "--http", str(port)])
    try:
        for _ in range(2400):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()
