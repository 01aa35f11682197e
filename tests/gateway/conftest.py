"""One gateway over real HTTP for all tests that only look at it from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx2
import pytest

from provegym.gateway import http
from provegym.gateway.settings import Settings

Opened = Callable[[int, list[str]], str]
"""Makes a session of that seed and those servers; gives its path, `/s/ID`."""


@pytest.fixture(scope="session")
def gateway() -> Iterator[str]:
    """The URL of a running gateway with the settings it has where nobody sets any."""
    settings = Settings(port=0)
    with http.background(http.app(http.new_rooms(settings), settings), settings) as url:
        yield url


@pytest.fixture(scope="session")
def opened(gateway: str) -> Opened:
    """Opens sessions on that gateway."""

    def make(seed: int, names: list[str]) -> str:
        made = httpx2.post(
            f"{gateway}/v1/sessions", json={"seed": seed, "servers": names}, timeout=120
        )
        assert made.is_success, made.text
        return f"/s/{made.json()['id']}"

    return make
