"""A real HTTP server on loopback that speaks OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from provegym.llm.scripted import ScriptedServer


@pytest.fixture
def endpoint() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server
