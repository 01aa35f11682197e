"""A real HTTP server on loopback that speaks OpenAI's chat completions, and a teacher there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from provegym import config
from provegym.llm import endpoint as endpoint_module
from provegym.llm.scripted import ScriptedServer
from provegym.llm.teacher import Teacher


@pytest.fixture
def endpoint() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


class Desk:
    """Where a teacher works: a server, a file of answers, settings, and what it told the user."""

    def __init__(self, server: ScriptedServer, file: Path) -> None:
        self.server, self.file = server, file
        self.told: list[str] = []
        self.notify: Callable[[str], None] = self.told.append

    def open(self, **settings: Any) -> Teacher:
        known: dict[str, Any] = {
            "model": "m",
            "base_url": self.server.url,
            "timeout": 60.0,
        } | settings
        return Teacher(config.Teacher(**known), self.file, api_key="k", notify=self.notify)

    def run(self, work: Callable[[Teacher], Awaitable[Any]], **settings: Any) -> Any:
        """What `work` returns, done with a teacher that is closed again afterwards."""

        async def all_of_it() -> Any:
            async with self.open(**settings) as teacher:
                return await work(teacher)

        return asyncio.run(all_of_it())

    def ask(self, text: str = "Hello.", tools: Any = None, **options: Any) -> Any:
        """One answer; options of a request are told apart from settings by their names."""
        asked = {name: options.pop(name) for name in ("schema", "seed") if name in options}
        say = [{"role": "user", "content": text}]
        return self.run(lambda t: t.complete(say, tools, **{"seed": 1, **asked}), **options)


@pytest.fixture
def desk(endpoint: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr(endpoint_module, "FIRST_PAUSE", 0.001)
    return Desk(endpoint, tmp_path / "answers.sqlite")
