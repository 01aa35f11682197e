"""Settings shared by all tests, and the command line for those that need it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from hypothesis import settings

from provegym import cli
from provegym.types import Task
from provegym.world.session import Session

# The same examples on every machine and run, and no time limit an example could miss on a busy one.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")


class Ran(NamedTuple):
    """What a command line left behind."""

    code: int
    out: str
    err: str


Command = Callable[..., Ran]


@pytest.fixture
def provegym(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs one command line in this process."""

    def command(*arguments: object) -> Ran:
        code = cli.call([str(argument) for argument in arguments])
        return Ran(code, *capsys.readouterr())

    return command


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Session]]:
    """The sessions that this process opens; after the test none of them may be open."""
    from provegym import worlds
    from provegym.train import sessions

    found: list[Session] = []
    real = worlds.open_session

    def open_session(task: Task) -> Session:
        found.append(real(task))
        return found[-1]

    monkeypatch.setattr(worlds, "open_session", open_session)
    sessions.opener.cache_clear()
    yield found
    sessions.opener.cache_clear()
    assert all(session.closed for session in found)
