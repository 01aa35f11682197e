"""Clients of other people play one episode, over HTTP and stdio, and all see and do the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from provegym.gateway.rooms import open_world
from tests.gateway.clients import CLIENTS, Place, old_sdk
from tests.gateway.conftest import Opened
from tests.gateway.episode import BEFORE, LATEST, SEED, SERVER, digest, played

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "from provegym.cli import main; main()")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize("protocol", [LATEST, BEFORE])
@pytest.mark.parametrize("client", CLIENTS)
def test_an_episode_over_http_ends_in_the_state_of_the_one_in_process(
    client: str, protocol: str, gateway: str, opened: Opened
) -> None:
    session = opened(SEED, [SERVER])
    seen = CLIENTS[client](Place(f"{gateway}{session}/mcp"), protocol)
    assert seen == played(protocol)
    at = session.replace("/s/", "/v1/sessions/")
    assert httpx2.get(f"{gateway}{at}/digest", timeout=120).json() == {"digest": digest()}


@pytest.mark.parametrize("client", CLIENTS)
def test_an_episode_over_stdio_ends_in_the_state_of_the_one_in_process(
    client: str, tmp_path: Path
) -> None:
    noted = tmp_path / "digest"
    script = (sys.executable, str(Path(__file__).with_name("noted_stdio.py")), str(noted))
    assert CLIENTS[client](Place(command=script, env=ENVIRONMENT), LATEST) == played(LATEST)
    assert noted.read_text() == digest()


def test_a_client_of_2025_plays_the_episode_with_the_command_over_stdio() -> None:
    command = (*COMMAND, "serve", SERVER, "--seed", str(SEED))
    assert CLIENTS["sdk"](Place(command=command, env=ENVIRONMENT), BEFORE) == played(BEFORE)


@pytest.mark.slow
def test_the_sdk_of_before_2_plays_the_episode(
    gateway: str, opened: Opened, tmp_path: Path
) -> None:
    pip = sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tmp_path)
    subprocess.run([*pip, "mcp==1.30.0"], check=True)
    session = opened(SEED, [SERVER])
    command = (*COMMAND, "serve", SERVER, "--seed", str(SEED))
    for place in (
        Place(f"{gateway}{session}/mcp"),
        Place(command=command, env=ENVIRONMENT),
    ):
        assert old_sdk(place, tmp_path) == played(BEFORE)


def test_the_episode_writes_and_is_refused() -> None:
    told = played(LATEST).told
    assert sum(one.is_error for one in told) == 5
    assert sum(one.code is not None for one in told) == 1
    assert digest() != open_world(SEED, (SERVER,)).digest()
