"""What every server must satisfy, as a list of checks with their evidence.

    report = check(load("banking"))
    report.passed, [c for c in report.checks if not c.passed]

Everything is drawn from a fixed seed, so a server passes or fails the same way everywhere.
"""

from __future__ import annotations

from msgspec import Struct

from provegym.world.contract import tools, worlds
from provegym.world.contract.judged import Check, judge
from provegym.world.contract.walks import walked
from provegym.world.server import Server
from provegym.world.world import World

__all__ = ["Check", "Report", "check"]

FRESH = 3
"""Worlds that the checks on fresh worlds look at."""


class Report(Struct, frozen=True):
    """All checks of one server."""

    server: str
    tools: int
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every demand holds."""
        return all(c.passed for c in self.checks)


def check(server: Server, seed: int = 0) -> Report:
    """Run the whole contract on a server; the worlds are `seed`, `seed + 1`, ..."""
    fresh = [World(seed + i, [server]) for i in range(FRESH)]
    found = [judge(name, run(server)) for name, run in tools.CHECKS.items()]
    found += [judge(name, run(server, fresh)) for name, run in worlds.CHECKS.items()]
    found += [judge(name, outcome) for name, outcome in walked(server, seed).items()]
    return Report(server.name, len(server.tools), tuple(found))
