"""Settings shared by all tests, and the command line for those that need it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import settings

from provegym import cli

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
