"""Makes the lamps' world known, and one whose tool is broken, to each of verl's processes."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from provegym.servers import SERVERS
from provegym.world.cast import Cast
from provegym.world.server import Seeds, Server, State
from provegym.world.table import Row, table
from provegym.world.tool import tool


class Fuse(Row, frozen=True):
    amps: int


class Fuses(State):
    server = "cellar"
    fuses = table(Fuse, "fuse")


@tool("write", phrases=("Cut the power",))
def cut_power(fuses: Fuses) -> int:
    """Cut the power. It has a bug."""
    return 1 // 0


def _seed(cast: Cast, rnd: Random) -> Seeds:
    return {"fuses": [Fuse("main", 16)]}


def _violations(state: Any) -> Iterable[str]:
    return ()


SERVER = Server("cellar", "Cellar", Fuses, {"cut_power": cut_power}, _seed, _violations)


def lamps() -> ModuleType:
    """The module of the lamps' world. verl installs a package `tests`, which hides ours."""
    spec = spec_from_file_location("lamps", Path(__file__).parents[1] / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def register() -> None:
    """Make both known."""
    SERVERS["lights"] = lamps().__name__
    SERVERS["cellar"] = __name__


register()
