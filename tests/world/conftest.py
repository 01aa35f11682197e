"""A world of the lending library, and a session of it."""

from __future__ import annotations

from functools import lru_cache

import pytest

from provegym.world.session import Session
from provegym.world.world import World
from tests.world.library import SERVER


@lru_cache(maxsize=8)
def library_world(seed: int) -> World:
    return World(seed, [SERVER])


@pytest.fixture
def session() -> Session:
    return library_world(7).open()
